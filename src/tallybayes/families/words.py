"""What tokens say: the predictive of text.

A score is a sum over the tokens of a document, amount * weight[token, class]. Weights are worked out for the tokens
that a batch holds, or once for all of them where a batch is large; they are valid until the tally changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.column import Bag, Column, Key
from tallybayes.errors import UnsupportedError
from tallybayes.families.base import Floats, Predictive, Score
from tallybayes.families.shrinkage import by_group, laplace
from tallybayes.kernels.reference.tokens import spans
from tallybayes.tally import Documents, Vocabulary
from tallybayes.tally.vocabulary import LOST, lexicon_of

if TYPE_CHECKING:
    from tallybayes.families.text import Text

__all__ = ["TextPredictive", "Word", "whole_amounts"]

_KIND = {"count": "counts", "once": "documents", "log": "logs"}
_FEW = 4  # tokens of a batch times this are fewer than all: only theirs are worked out
_SHOWN = 10  # tokens per class in a table


@dataclass(frozen=True, eq=False)
class Word:
    """A token of a document: where it stands (first and last character), and what it adds to log P(class, row)."""

    token: str
    log_evidence: Floats
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class TextPredictive(Predictive):
    """Documents scored by their tokens."""

    features: tuple[str, ...]
    n_classes: int
    tally: Documents
    family: Text
    k: float
    _whole: dict[str, Floats] = field(default_factory=dict, repr=False)

    # Weights

    def weights(self, name: str, slots: NDArray[np.int64] | None = None) -> Floats:
        """What a token adds for an amount of one, (slots, classes), for all slots if none are given; 0 if unknown."""
        if slots is not None and not self._looks_at_all:
            return self._weights(name, self.tally.words[name].rows(self._kind, slots))
        if name not in self._whole:
            self._whole[name] = self._all_weights(name)
        return self._whole[name] if slots is None else self._whole[name][slots]

    @property
    def _kind(self) -> str:
        return "documents" if self.family.variant == "presence" else _KIND[self.family.tf]

    @property
    def _looks_at_all(self) -> bool:
        """Whether one weight depends on all tokens."""
        return self.family.idf or self.family.balanced or self.family.min_count > 1

    def _weights(self, name: str, n: Floats, factor: Any = 1.0) -> Floats:
        """Of counts (tokens, classes); `factor` is what a token weighs (0: it is silent)."""
        part = self.tally.words[name]
        known = (n.sum(axis=1, keepdims=True) > 0) & (np.asarray(factor) > 0)
        if self.family.variant == "presence":
            log_yes, log_no = self._log_presence(name, n)
            return np.where(known, log_yes - np.where(np.isinf(log_no), 0.0, log_no), 0.0)
        total, n_keys = part.total(self._kind), part.n_keys
        if self._looks_at_all:
            n = n * factor
            token, klass = np.nonzero(n)
            total, n_keys = by_group(klass, n[token, klass], self.n_classes), int(np.count_nonzero(known))
        if self.family.variant == "complement":
            whole = n.sum(axis=1, keepdims=True)
            return np.where(known, -laplace(np.maximum(whole - n, 0.0), total.sum() - total, self.k, n_keys), 0.0)
        return np.where(known, laplace(n, total, self.k, n_keys), 0.0)

    def _all_weights(self, name: str) -> Floats:
        part, family = self.tally.words[name], self.family
        slot, klass = part.cells()
        if not self._looks_at_all and family.variant != "presence" and 0 < self.k < np.inf and part.n_keys:
            return self._plain_weights(name, slot, klass)
        n = np.zeros((len(part.lexicon), self.n_classes))
        n[slot, klass] = part.floats(self._kind)
        factor: Any = 1.0
        if family.min_count > 1:
            factor = np.bincount(slot, part.floats("counts"), len(n))[:, None] >= family.min_count
        if family.idf:
            documents = np.bincount(slot, part.floats("documents"), len(n))[:, None]
            every = self.tally.n_documents(name).floats().sum()
            factor = factor * np.log(np.maximum(every / np.maximum(documents, 1e-300), 1.0))
        weights = self._weights(name, n, factor)
        if family.balanced:
            size = np.sort(np.abs(weights), axis=0).sum(axis=0)
            weights = weights * np.where(size > 0, size.mean() / np.where(size > 0, size, 1.0), 1.0)
        return weights * factor if family.idf else weights

    def _plain_weights(self, name: str, slot: NDArray[np.int64], klass: NDArray[np.int64]) -> Floats:
        """The same as `_weights` of all tokens, with logarithms of nothing but the cells that are there."""
        part = self.tally.words[name]
        total, n = part.total(self._kind), part.floats(self._kind)
        if self.family.variant == "complement":
            whole = np.bincount(slot, n, len(part.lexicon))
            log_total = np.log(total.sum() - total + self.k * part.n_keys)
            table = log_total - np.log(whole + self.k)[:, None]
            table[slot, klass] = log_total[klass] - np.log(np.maximum(whole[slot] - n, 0.0) + self.k)
        else:
            log_total = np.log(total + self.k * part.n_keys)
            table = np.empty((len(part.lexicon), self.n_classes))
            table[:] = np.log(self.k) - log_total
            table[slot, klass] = np.log(n + self.k) - log_total[klass]
        if part.n_keys < len(part.lexicon):
            table[~self._speaking(part)] = 0.0
        return np.asarray(table)

    def _log_presence(self, name: str, n: Floats) -> tuple[Floats, Floats]:
        """Log probability that a token is there and that it is not, (tokens, classes)."""
        documents = self.tally.n_documents(name).floats()
        return laplace(n, documents, self.k, 2), laplace(np.maximum(documents - n, 0.0), documents, self.k, 2)

    def _absent(self, name: str) -> tuple[Floats, Floats]:
        """Per class: the log probability that no token is there, and how many tokens all its documents had (k = 0)."""
        part, documents = self.tally.words[name], self.tally.n_documents(name).floats()
        klass, n = part.cells()[1], part.floats("documents")
        if self.family.min_count > 1:
            slot = part.cells()[0]
            often = np.bincount(slot, part.floats("counts"), len(part.lexicon)) >= self.family.min_count
            klass, n, n_keys = klass[often[slot]], n[often[slot]], int(np.count_nonzero(often))
        else:
            n_keys = part.n_keys
        seen = laplace(np.maximum(documents[klass] - n, 0.0), documents[klass], self.k, 2)
        never = laplace(documents, documents, self.k, 2)
        certain = np.isinf(seen)
        total = by_group(klass, np.where(certain, 0.0, seen), self.n_classes)
        n_never = n_keys - np.bincount(klass, minlength=self.n_classes)
        n_certain = np.bincount(klass, weights=certain, minlength=self.n_classes)
        return total + n_never * never, np.asarray(n_certain, np.float64)

    # Scores

    def bind(self, columns: Sequence[Column]) -> Score:
        """Get ready to score documents."""
        pairs = zip(self.features, columns, strict=True)
        scores = [self._bind_one(name, column) for name, column in pairs if isinstance(column, Bag)]

        def score(out: Floats, start: int, stop: int) -> None:
            for one in scores:
                one(out, start, stop)

        return score

    def _bind_one(self, name: str, bag: Bag) -> Score:
        bag = self.known(name, bag)
        part, presence = self.tally.words[name], self.family.variant == "presence"
        indices, slots = bag.indices, None
        if len(indices) * _FEW < len(part.lexicon):
            used, indices = np.unique(indices, return_inverse=True)
            slots, indices = used.astype(np.int64), indices.astype(np.int32)
        table = self.weights(name, slots)
        amounts = self.amounts(bag)
        if self.family.tf == "log" and not presence:
            table = table * 2.0**-30
        if self._is_capped:
            amounts = self._capped(bag, indices, amounts, table)
        absent = certain = np.zeros(self.n_classes)
        always = None
        if presence:
            absent, certain = self._absent(name)
            if certain.any():
                n = part.rows("documents", np.arange(len(part.lexicon)) if slots is None else slots)
                always = np.isinf(self._log_presence(name, n)[1]).astype(np.float64)

        def score(out: Floats, start: int, stop: int) -> None:
            if presence:
                rows = slice(None) if bag.present is None else bag.present[start:stop]
                out[start:stop][rows] += absent
            kernels.active.add_bags(bag.indptr, indices, amounts, table, out, start, stop)
            if always is not None:
                hits = np.zeros((stop - start, self.n_classes))
                kernels.active.add_bags(bag.indptr[start : stop + 1], indices, None, always, hits, 0, stop - start)
                lacking = hits < certain
                if bag.present is not None:
                    lacking &= bag.present[start:stop, None]
                out[start:stop][lacking] = -np.inf

        return score

    def known(self, name: str, bag: Bag) -> Bag:
        """The documents with the tokens that have been counted, by their slots."""
        bag, part = bag.expanded(), self.tally.words[name]
        indices, kept = np.ascontiguousarray(bag.indices, np.int32), None
        if bag.keys is not part.lexicon and not part.is_hashed:
            slots = part.lexicon.find(*lexicon_of(bag.keys).packed()) if len(bag.keys) else np.zeros(0, np.int32)
            indices = slots[indices]
            kept = indices >= 0
        if part.n_keys < len(part.lexicon) or self.family.min_count > 1:
            there = self._speaking(part)
            kept = there[indices] if kept is None else kept & there[indices]
        if kept is None or kept.all():
            return Bag(bag.indptr, indices, bag.amounts, part.lexicon, bag.present)
        before = np.concatenate([[0], np.cumsum(kept)])
        amounts = None if bag.amounts is None else bag.amounts[kept]
        return Bag(before[bag.indptr], indices[kept], amounts, part.lexicon, bag.present)

    def _speaking(self, part: Vocabulary) -> NDArray[np.bool_]:
        """Which slots have counts, enough of them."""
        slot, _ = part.cells()
        least = max(self.family.min_count, 1)
        there: NDArray[np.bool_] = np.zeros(len(part.lexicon), bool)
        if least > 1:
            return np.asarray(np.bincount(slot, part.floats("counts"), len(there)) >= least)
        there[slot] = True
        return there

    def amounts(self, bag: Bag) -> Any:
        """What each token of a document counts; logarithms in units of 2**-30. None: one each."""
        if self.family.variant == "presence" or self.family.tf == "once":
            return None
        if self.family.tf == "count":
            return bag.amounts
        return kernels.active.log_amounts(
            np.ascontiguousarray(bag.indptr, np.int64), whole_amounts(bag), self.family.unit
        )

    def words_of(self, name: str, text: bytes) -> list[Word]:
        """The tokens of a document that say something, in the order in which they come first; they add up to its score.

        Where absent tokens speak too (presence), the last one has no name and stands for all of them.
        """
        family, lexicon = self.family, self.tally.words[name].lexicon
        places: dict[str, list[tuple[int, int]]] = {}
        for token, start, stop in spans(text, family.rules, family.stop_words()):
            places.setdefault(token, []).append((start, stop))
        tokens: dict[int, list[str]] = {}  # several of them may be in one bucket
        for token in places:
            tokens.setdefault(lexicon.number(token), []).append(token)
        tokens.pop(-1, None)
        times = [sum(len(places[token]) for token in own) for own in tokens.values()]
        ends, numbers = np.array([0, len(tokens)]), np.fromiter(tokens, np.int32, len(tokens))
        bag = self.known(name, Bag(ends, numbers, np.array(times, np.int32), lexicon))
        slots, amounts = bag.indices.astype(np.int64), self.amounts(bag)
        table = self.weights(name, slots)
        if family.tf == "log" and amounts is not None:
            table = table * 2.0**-30
        if self._is_capped:
            amounts = self._capped(bag, np.arange(len(slots)), amounts, table)
        added = table if amounts is None else np.where(amounts[:, None] == 0, 0.0, amounts[:, None] * table)
        result = []
        for slot, part in zip(slots.tolist(), added, strict=True):
            every = sum(len(places[token]) for token in tokens[slot])
            result += [Word(t, part * (len(places[t]) / every), tuple(places[t])) for t in tokens[slot]]
        return [*result, Word("", self._absent(name)[0])] if family.variant == "presence" else result

    @property
    def _is_capped(self) -> bool:
        return bool(self.family.cap or self.family.top or self.family.length)

    def _capped(self, bag: Bag, indices: Any, amounts: Any, table: Floats) -> Floats:
        """Amounts after the caps."""
        result = np.ones(len(indices)) if amounts is None else amounts.astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = table.max(axis=1, initial=-np.inf) - table.min(axis=1, initial=np.inf)
            reach = np.where(np.isnan(spread), 0.0, np.maximum(spread, 0.0))[indices]
            if self.family.cap:  # what says nothing may occur as often as it likes
                result = np.minimum(result, self.family.cap / reach)
        lengths = np.diff(bag.indptr)
        if self.family.top and lengths.max(initial=0) > self.family.top:
            row = np.repeat(np.arange(len(lengths)), lengths)
            order = np.lexsort((np.arange(len(row)), -(result * reach), row))
            rank = np.empty(len(row), np.int64)
            rank[order] = np.arange(len(row)) - np.repeat(bag.indptr[:-1], lengths)
            result = np.where(rank < self.family.top, result, 0.0)
        if self.family.length:
            scale = 1.0 if amounts is None or self.family.tf != "log" else 2.0**-30
            owner = np.repeat(np.arange(len(lengths)), lengths)
            size = np.bincount(owner, result, len(lengths)) * scale
            result = result * np.minimum(1.0, self.family.length / np.maximum(size, 1e-300))[owner]
        return result

    # For people

    def part(self, number: int) -> TextPredictive:
        """One column."""
        name = self.features[number]
        whole = {name: self._whole[name]} if name in self._whole else {}
        return TextPredictive((name,), self.n_classes, self.tally.only((name,)), self.family, self.k, whole)

    def note(self, number: int) -> str:
        """How many tokens there are, and what a bounded vocabulary has lost."""
        part = self.tally.words[self.features[number]]
        lost = part.lost()["counts"].sum()
        if part.is_hashed:
            return f"{part.n_keys:,} of {len(part.lexicon):,} buckets in use"
        if not lost:
            return f"{part.n_keys:,} tokens"
        return f"{part.n_keys - 1:,} tokens; {lost:,.0f} occurrences of rarer ones are counted together"

    def log_prob(self, columns: Sequence[Column]) -> Floats:
        """Log likelihood of each row under each class, (rows, classes)."""
        self._only_likelihood("log_prob")
        return super().log_prob(columns)

    def _only_likelihood(self, what: str) -> None:
        if not self.family.is_likelihood:
            raise UnsupportedError(f"{self.family.told()} is a way of scoring, not a likelihood: it has no {what}")

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Texts: tokens with blanks between them, as many as texts seen had."""
        self._only_likelihood("samples")
        return [[" ".join(map(str, words)) for words in self._sample_one(name, rng, code, n)] for name in self.features]

    def _sample_one(self, name: str, rng: np.random.Generator, code: int, n: int) -> list[list[Key]]:
        part = self.tally.words[name]
        pairs = sorted(zip(part.names(part.live()), part.live().tolist(), strict=True))
        pairs = [(key, slot) for key, slot in pairs if key != LOST]
        keys, slots = [key for key, _ in pairs], np.array([slot for _, slot in pairs], np.int64)
        if self.family.variant == "presence":
            p = np.exp(self._log_presence(name, part.rows("documents", slots))[0][:, code])
            return [[keys[i] for i in np.flatnonzero(rng.random(len(keys)) < p)] for _ in range(n)]
        p = np.exp(self.weights(name, slots)[:, code]) if keys else np.zeros(0)
        sizes = self.tally.lengths.keys(name)
        share = self.tally.lengths.table(name, sizes)[:, code] if sizes else np.zeros(0)
        if share.sum() == 0 or p.sum() == 0:
            return [[] for _ in range(n)]
        lengths = rng.choice(np.array(sizes), size=n, p=share / share.sum())
        return [[keys[i] for i in rng.choice(len(keys), size=size, p=p / p.sum())] for size in lengths.tolist()]

    def table(self) -> list[dict[str, Any]]:
        """The tokens that speak most for each class, ten of those it has had, with their probability (or weight)."""
        return [row for name in self.features for row in self._table_of(name)]

    def _table_of(self, name: str) -> list[dict[str, Any]]:
        part = self.tally.words[name]
        slots = part.live()
        if not len(slots) or not self.n_classes:
            return []
        n, weights = part.rows(self._kind, slots), self.weights(name, slots)
        what, value = "weight", weights
        if self.family.variant == "presence":
            what, value = "P(token)", np.exp(self._log_presence(name, n)[0])
        elif self.family.is_likelihood:
            what, value = "P(token)", np.exp(weights)
        with np.errstate(invalid="ignore"):
            lead = np.nan_to_num(weights - weights.mean(axis=1, keepdims=True), nan=0.0, posinf=1e9, neginf=-1e9)
        names = part.names(slots)
        shown: dict[int, None] = {}
        for c in range(self.n_classes):
            own = np.flatnonzero((n[:, c] > 0) & (lead[:, c] > 0))
            top = own[np.argsort(-lead[own, c], kind="stable")[: 4 * _SHOWN]]
            best = sorted(top.tolist(), key=lambda i: (-lead[i, c], names[i]))[:_SHOWN]
            shown |= dict.fromkeys(i for i in best if names[i] != LOST)
        return [
            {"column": name, "class": c, "token": names[i], what: float(value[i, c])}
            for c in range(self.n_classes)
            for i in shown
        ]


def whole_amounts(bag: Bag) -> Any:
    """How often each token occurs, as whole numbers."""
    if bag.amounts is None:
        return np.ones(len(bag.indices), np.int32)
    if bag.amounts.dtype == np.int32:
        return np.ascontiguousarray(bag.amounts)
    return np.asarray(bag.amounts, np.float64).round().astype(np.int32)
