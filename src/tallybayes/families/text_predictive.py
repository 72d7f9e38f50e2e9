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
from tallybayes.families.bag_scores import Absence, score_bags
from tallybayes.families.credible import (
    absence_cumulants,
    bag_cumulants,
    beta_interval,
    check_posterior,
    presence_cumulants,
    with_ends,
)
from tallybayes.families.predictive import Floats, Predictive, Score, Word
from tallybayes.families.shrinkage import by_group, laplace
from tallybayes.kernels.reference.tokeniser import spans
from tallybayes.tally import Documents, Vocabulary
from tallybayes.tally.vocabulary import LOST, lexicon_of

if TYPE_CHECKING:
    from tallybayes.families.text import Text

__all__ = ["KIND_OF", "TextPredictive", "whole_amounts"]

KIND_OF = {"count": "counts", "once": "documents", "log": "logs"}
_FEW = 4  # tokens of a batch times this are fewer than all: only theirs are worked out
_SHOWN = 10  # tokens per class in a table
_SIDE_BY_SIDE = 12  # classes up to which all are told about all of these tokens


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
        return "documents" if self.family.variant == "presence" else KIND_OF[self.family.tf]

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
        factor: Any = self._often(part)[:, None] if family.min_count > 1 else 1.0
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
            silent = np.ones(len(part.lexicon), bool)
            silent[slot] = False
            table[silent] = 0.0
        return np.asarray(table)

    def _often(self, part: Vocabulary) -> NDArray[np.bool_]:
        """Which slots have a name and enough counts."""
        often = np.bincount(part.cells()[0], part.floats("counts"), len(part.lexicon)) >= max(self.family.min_count, 1)
        if part.has_lost():
            often[part.lexicon.number(LOST)] = False
        return np.asarray(often)

    def _log_presence(self, name: str, n: Floats) -> tuple[Floats, Floats]:
        """Log probability that a token is there and that it is not, (tokens, classes)."""
        documents = self.tally.n_documents(name).floats()
        return laplace(n, documents, self.k, 2), laplace(np.maximum(documents - n, 0.0), documents, self.k, 2)

    def _absent(self, name: str) -> tuple[Floats, Floats]:
        """Per class: the log probability that no token is there, and how many tokens all its documents had (k = 0)."""
        part, documents = self.tally.words[name], self.tally.n_documents(name).floats()
        slot, klass = part.cells()
        n, n_keys = part.floats("documents"), part.n_keys
        if self.family.min_count > 1 or part.has_lost():
            often = self._often(part)
            klass, n, n_keys = klass[often[slot]], n[often[slot]], int(np.count_nonzero(often))
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
        part, indices, slots = self.tally.words[name], bag.indices, None
        if len(indices) * _FEW < len(part.lexicon):
            used, indices = np.unique(indices, return_inverse=True)
            slots, indices = used.astype(np.int64), indices.astype(np.int32)
        table, amounts = self._table_and_amounts(name, bag, indices, slots)
        if self.family.variant != "presence":
            return score_bags(bag, indices, amounts, table)
        log_none, n_certain = self._absent(name)
        certain = None
        if n_certain.any():
            n = part.rows("documents", np.arange(len(part.lexicon)) if slots is None else slots)
            certain = np.isinf(self._log_presence(name, n)[1]).astype(np.float64)
        return score_bags(bag, indices, amounts, table, Absence(log_none, n_certain, certain))

    def known(self, name: str, bag: Bag) -> Bag:
        """The documents with the tokens that have been counted, by their slots."""
        bag, part = bag.expanded(), self.tally.words[name]
        indices = np.ascontiguousarray(bag.indices, np.int32)
        if bag.keys is not part.lexicon and not part.is_hashed:
            slots = part.lexicon.find(*lexicon_of(bag.keys).packed()) if len(bag.keys) else np.zeros(0, np.int32)
            indices = slots[indices]
        kept = part.has(indices)
        if self.family.min_count > 1:
            kept &= self._often(part)[indices]
        if kept.all():
            return Bag(bag.indptr, indices, bag.amounts, part.lexicon, bag.present)
        before = np.concatenate([[0], np.cumsum(kept)])
        amounts = None if bag.amounts is None else bag.amounts[kept]
        return Bag(before[bag.indptr], indices[kept], amounts, part.lexicon, bag.present)

    def _table_and_amounts(
        self, name: str, bag: Bag, indices: Any, slots: NDArray[np.int64] | None
    ) -> tuple[Floats, Any]:
        """The weights of slots, and what each token of a document counts (None: one each), after the caps."""
        family, table = self.family, self.weights(name, slots)
        amounts: Any = None
        if family.variant != "presence" and family.tf == "count":
            amounts = bag.amounts
        elif family.variant != "presence" and family.tf == "log":
            ends = np.ascontiguousarray(bag.indptr, np.int64)
            amounts, table = kernels.active.log_amounts(ends, whole_amounts(bag), family.unit), table * 2.0**-30
        if family.cap or family.top or family.length:
            amounts = self._capped(bag, indices, amounts, table)
        return table, amounts

    def lexicon(self, feature: str) -> Any:
        """That of its vocabulary."""
        return self.tally.lexicon(feature)

    @property
    def tokens_interact(self) -> bool:
        """Whether what a token adds depends on the absence, number or length of the others."""
        family = self.family
        scaled = family.tf == "log" and family.unit
        shared = family.buckets > 0 and family.tf != "count"  # tokens in one bucket are one
        return family.variant == "presence" or scaled or shared or bool(family.top or family.length)

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
        slots = bag.indices.astype(np.int64)
        table, amounts = self._table_and_amounts(name, bag, np.arange(len(slots)), slots)
        added = table if amounts is None else np.where(amounts[:, None] == 0, 0.0, amounts[:, None] * table)
        result = []
        for slot, part in zip(slots.tolist(), added, strict=True):
            every = sum(len(places[token]) for token in tokens[slot])
            result += [Word(t, part * (len(places[t]) / every), tuple(places[t])) for t in tokens[slot]]
        if family.variant != "presence":
            return result
        score = np.zeros((1, self.n_classes))
        self._bind_one(name, bag)(score, 0, 1)
        return [*result, Word("", np.where(np.isinf(score[0]), score[0], score[0] - added.sum(axis=0)))]

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
        pairs = sorted(zip(part.names(part.named()), part.named().tolist(), strict=True))
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
        slots = part.named()
        if not len(slots) or not self.n_classes:
            return []
        own = [self._best(name, slots, c) for c in range(self.n_classes)]
        shown = sorted({slot for best in own for slot in best}, key=[s for best in own for s in best].index)
        names = dict(zip(shown, part.names(np.array(shown, np.int64)), strict=True))
        place = {slot: i for i, slot in enumerate(shown)}
        what, value = self._shown(name, np.array(shown, np.int64))
        few = self.n_classes <= _SIDE_BY_SIDE  # then each class is told about the tokens of the others too
        return [
            {"column": name, "class": c, "token": names[slot], what: float(value[place[slot], c])}
            for c in range(self.n_classes)
            for slot in (shown if few else own[c])
        ]

    def _posterior(self, name: str, slots: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Alpha of tokens, (tokens, classes), and what all tokens (presence: yes and no) add up to, (classes,)."""
        check_posterior(self.k > 0, name)
        part = self.tally.words[name]
        n, total, n_keys = part.rows(self._kind, slots), part.total(self._kind), part.n_keys
        if self.family.variant == "presence":
            total, n_keys = self.tally.n_documents(name).floats(), 2
        elif self.family.variant == "complement":
            n, total = np.maximum(n.sum(axis=1, keepdims=True) - n, 0.0), total.sum() - total
        return n + self.k, total + self.k * n_keys

    def intervals(self, level: float) -> list[dict[str, Any]]:
        """Of the probabilities of the tokens that `table` shows; none of weights that are no probabilities."""
        rows: list[dict[str, Any]] = []
        for name in () if self._looks_at_all or not self.family.is_likelihood else self.features:
            own = self._table_of(name)
            tokens = list(dict.fromkeys(row["token"] for row in own))
            alpha, total = self._posterior(name, self.tally.words[name].slots(tokens))
            rows += with_ends(own, tokens, *beta_interval(alpha, total, level))
        return rows

    def log_cumulants(self, columns: Sequence[Column]) -> Floats:
        """Of a Dirichlet, or of one Beta for each token."""
        if self._looks_at_all:
            raise UnsupportedError(f"{self.family.told()} is a way of scoring: its weights have no posterior")
        bags = zip(self.features, (column for column in columns if isinstance(column, Bag)), strict=True)
        none = np.zeros((3, len(columns[0]), self.n_classes))
        return sum((self._cumulants_of(name, bag) for name, bag in bags), none)

    def _cumulants_of(self, name: str, bag: Bag) -> Floats:
        if np.isinf(self.k):
            return np.zeros((3, len(bag), self.n_classes))
        bag, part = self.known(name, bag), self.tally.words[name]
        used, indices = np.unique(bag.indices, return_inverse=True)
        slots = used.astype(np.int64)
        alpha, total = self._posterior(name, slots)
        amounts = self._table_and_amounts(name, bag, indices, slots)[1]
        amounts = np.ones(len(indices)) if amounts is None else np.asarray(amounts, np.float64)
        if self.family.variant == "presence":
            (slot, klass), n = part.cells(), part.floats("documents")
            named = np.isin(slot, part.named())
            documents = self.tally.n_documents(name).floats()
            absent = absence_cumulants(n[named], klass[named], len(part.named()), documents, self.k)
            return presence_cumulants(bag, indices, amounts, alpha, total, absent)
        unit = 2.0**-30 if self.family.tf == "log" else 1.0
        own = bag_cumulants(bag, indices, amounts * unit, alpha, total)
        return own * [[[-1]], [[1]], [[-1]]] if self.family.variant == "complement" else own

    def _best(self, name: str, slots: NDArray[np.int64], code: int) -> list[int]:
        """The slots of the tokens that speak most for a class, of those it has had."""
        part = self.tally.words[name]
        slot, klass = part.cells()
        mine = np.intersect1d(slot[klass == code], slots)
        weights = self.weights(name, mine)
        with np.errstate(invalid="ignore"):
            lead = np.nan_to_num(weights - weights.mean(axis=1, keepdims=True), nan=0.0, posinf=1e9, neginf=-1e9)[
                :, code
            ]
        top = np.flatnonzero(lead > 0)
        top = top[np.argsort(-lead[top], kind="stable")[: 4 * _SHOWN]]
        names = part.names(mine[top])
        order = sorted(range(len(top)), key=lambda i: (-lead[top[i]], names[i]))[:_SHOWN]
        return [int(mine[top[i]]) for i in order]

    def _shown(self, name: str, slots: NDArray[np.int64]) -> tuple[str, Floats]:
        """What a table says of tokens: their probability, or their weight."""
        if self.family.variant == "presence":
            rows = self.tally.words[name].rows("documents", slots)
            return "P(token)", np.exp(self._log_presence(name, rows)[0])
        weights = self.weights(name, slots)
        return ("P(token)", np.exp(weights)) if self.family.is_likelihood else ("weight", weights)


def whole_amounts(bag: Bag) -> Any:
    """How often each token occurs, as whole numbers."""
    if bag.amounts is None:
        return np.ones(len(bag.indices), np.int32)
    if bag.amounts.dtype == np.int32:
        return np.ascontiguousarray(bag.amounts)
    return np.asarray(bag.amounts, np.float64).round().astype(np.int32)
