"""The predictives of columns of tokens: bags and tags, and text with what each token of a document contributes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from tallybayes.arrays.axis import sort_keys
from tallybayes.arrays.column import Bag, Column, Key
from tallybayes.arrays.token_rules import Tokeniser
from tallybayes.errors import UnsupportedError
from tallybayes.families.credible import beta_interval, with_ends
from tallybayes.families.family import Floats, Predictive, Score
from tallybayes.families.predictive import TokenAmounts, TokenEvidence
from tallybayes.families.tokens.multinomial_coefficient import multinomial_coefficient
from tallybayes.families.tokens.token_options import TokenOptions, TokenScales
from tallybayes.families.tokens.token_weights import Slots, TokenWeights
from tallybayes.formatting import several
from tallybayes.kernels.densities import laplace
from tallybayes.kernels.token_spans import spans
from tallybayes.tally import TokenTally

__all__ = ["TextPredictive", "TokenPredictive"]

_SHOWN = 10  # tokens per class in a table
_SIDE_BY_SIDE = 12  # up to this many classes, a table shows all of these tokens for every class
_TOLERANCE = 1e-9  # of a sum of probabilities, by rounding


@dataclass(frozen=True, eq=False)
class TokenPredictive(Predictive):
    """Bags or documents scored by their tokens; valid until the tally changes. family: its string form."""

    takes_sparse_matrix: ClassVar[bool] = True

    features: tuple[str, ...]
    n_classes: int
    tally: TokenTally
    family: str
    options: TokenOptions
    k: Floats  # (columns,)
    held: Mapping[str, TokenScales] | None = None  # what weights are multiplied with; None: derived from the sums
    columns: dict[str, TokenWeights] = field(default_factory=dict, repr=False)
    declared: tuple[str, ...] = ()  # tokens that exist, whether they have been seen or not
    lists_all: bool = False  # whether tables list every token, not only those that favour a class most

    def __post_init__(self) -> None:
        for name, k in zip(self.features, self.k.tolist(), strict=True):
            if name not in self.columns:
                rows = self.tally.n_rows(name).floats()
                held = None if self.held is None else self.held[name]
                self.columns[name] = TokenWeights(self.tally.tokens[name], rows, self.options, k, held, self.declared)

    def part(self, number: int) -> TokenPredictive:
        """One column."""
        name = self.features[number]
        columns, k = {name: self.columns[name]}, self.k[number : number + 1]
        return replace(self, features=(name,), tally=self.tally.only((name,)), k=k, columns=columns)

    def weighted(self, weights: Floats, log_prior: Floats) -> TokenPredictive | None:
        """With weights in the tables, unless those of a column differ between the classes.

        Then the score of a bag is centred as a whole, which is no sum over its tokens.
        """
        if (weights != weights[:, :1]).any():
            return None
        column_weights = zip(self.features, weights[:, 0].tolist(), strict=True)
        return replace(self, columns={name: self.columns[name].with_weight(weight) for name, weight in column_weights})

    def with_token_corrections(self, corrections: Mapping[str, tuple[Sequence[Key], Floats]]) -> TokenPredictive:
        """With corrections added to the weights of some tokens."""
        columns = {
            name: column.with_corrections(*corrections[name]) if name in corrections else column
            for name, column in self.columns.items()
        }
        return replace(self, columns=columns)

    def token_amounts(self, feature: str, column: Column) -> TokenAmounts | None:
        """The amounts of tokens that are scored; None with caps, for hashed tokens and for tokens that are not text."""
        weights = self.columns[feature]
        if not isinstance(column, Bag) or self.options.has_caps or weights.words.index.is_hashed:
            return None
        return TokenAmounts(*weights.scored_amounts(column), weights.words.index.keys)

    def bind(self, columns: Sequence[Column]) -> Score:
        """Get ready to score bags; a column with weight 0 contributes nothing."""
        pairs = [(self.columns[name], column) for name, column in zip(self.features, columns, strict=True)]
        scores = [weights.bind(column) for weights, column in pairs if isinstance(column, Bag) and weights.weight]

        def score(out: Floats, start: int, stop: int) -> None:
            for score_column in scores:
                score_column(out, start, stop)

        return score

    def log_prob(self, columns: Sequence[Column]) -> Floats:
        """Log likelihood of each row under each class, (rows, classes)."""
        self.check_likelihood("log_prob")
        return super().log_prob(columns)

    def log_coefficient(self, columns: Sequence[Column]) -> Floats:
        """The log multinomial coefficient of each bag: log n! minus the sum of log x!; of presence there is none."""
        result = super().log_coefficient(columns)
        for name, bag in zip(self.features, columns, strict=True):
            if isinstance(bag, Bag) and not self.columns[name].is_presence:
                ends, slots, amounts = self.columns[name].scored_amounts(bag)
                result += multinomial_coefficient(name, ends, slots, amounts)
        return result

    def check_likelihood(self, what: str) -> None:
        """Raise where scores are not likelihoods."""
        if not self.options.is_likelihood:
            raise UnsupportedError(f"{self.family} is a way of scoring, not a likelihood: it has no {what}")

    def log_cumulants(self, columns: Sequence[Column]) -> Floats:
        """Cumulants of a Dirichlet, or of one Beta for each token."""
        if self.options.needs_all:
            raise UnsupportedError(f"{self.family} is a way of scoring: its weights have no posterior")
        result = np.zeros((3, len(columns[0]), self.n_classes))
        for name, bag in zip(self.features, columns, strict=True):
            if isinstance(bag, Bag):
                result += self.columns[name].cumulants(bag, name)
        return result

    # The parts of a score

    absent: ClassVar[str] = "absent tokens"  # what people call the tokens that a row lacks

    def tokens_interact(self, feature: str) -> bool:
        """Whether what a token adds depends on the absence, number or length of the others."""
        options, is_hashed = self.options, self.columns[feature].words.index.is_hashed
        scaled = options.tf == "log" and options.unit
        shared = is_hashed and options.tf != "count"  # tokens in one bucket are one
        return options.variant == "presence" or scaled or shared or bool(options.top or options.length)

    def absence_evidence(self, feature: str, tokens: Sequence[Key]) -> Floats | None:
        """Log P(absent | class), where absence is scored."""
        column = self.columns[feature]
        return column.absence(column.words.index.find(tokens)) if column.is_presence else None

    def token_evidence(self, feature: str, column: Column, text: bytes | None = None) -> list[TokenEvidence]:
        """The tokens of a bag that contribute to its score, and what absent tokens add; they add up to it."""
        assert isinstance(column, Bag)
        weights, bag = self.columns[feature], column.expanded()
        used, indices = np.unique(bag.indices, return_inverse=True)  # of a batch, a row may use few keys
        if weights.words.index.lexicon is None:
            bag = Bag(bag.indptr, indices, bag.amounts, [bag.keys[i] for i in used.tolist()], bag.present)
        known = weights.known(bag)
        amounts = np.ones(len(known.indices)) if known.amounts is None else known.amounts
        names = weights.words.index.keys(known.indices.astype(np.int64))
        parts = zip(names, weights.row_evidence(known), amounts.tolist(), strict=True)
        return self._with_absence(weights, known, [TokenEvidence(name, part, (), n) for name, part, n in parts])

    def _with_absence(self, weights: TokenWeights, bag: Bag, tokens: list[TokenEvidence]) -> list[TokenEvidence]:
        """The tokens of a bag of known ones, and what the absent ones add where they are scored."""
        if not weights.is_presence:
            return tokens
        score = np.zeros((1, self.n_classes))
        weights.bind_known(bag)(score, 0, 1)
        of_tokens = sum((token.log_evidence for token in tokens), np.zeros(self.n_classes))
        with np.errstate(invalid="ignore"):
            of_absent = np.where(
                np.isneginf(score[0]), np.where(np.isneginf(of_tokens), 0.0, -np.inf), score[0] - of_tokens
            )
        return [*tokens, TokenEvidence("", of_absent, rest=self.absent)]

    # Samples

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Bags as dicts of token and amount (presence: lists of tokens), with lengths drawn from those seen."""
        self.check_likelihood("samples")
        return [self._sample_one(name, rng, code, n) for name in self.features]

    def draw(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """The same with lengths drawn from those of all classes, which is what scores without lengths assume."""
        self.check_likelihood("samples")
        for name in self.features:
            self._check_probabilities(name, code)
        return [self._sample_one(name, rng, code, n, ignores_class=True) for name in self.features]

    def _check_probabilities(self, name: str, code: int) -> None:
        """Raise unless scores are the sum over tokens of log probabilities that add up to 1."""
        column = self.columns[name]
        if column.is_presence and not column.words.has_pooled():
            return
        p = np.exp(column.of(column.named_slots())[:, code])
        if column.is_presence or self.options.tf != "count" or (len(p) and abs(p.sum() - 1) > _TOLERANCE):
            expected = "tokens that are all counted and scored as often as they occur, to draw bags from their scores"
            raise UnsupportedError(expected, got=self.family, column=name, hint="fit with text:counts,tf=count")

    def _sample_one(
        self, name: str, rng: np.random.Generator, code: int, n: int, *, ignores_class: bool = False
    ) -> list[Any]:
        column = self.columns[name]
        slots = column.words.named() if column.is_presence else column.named_slots()
        slot_of = dict(zip(column.words.index.keys(slots), slots.tolist(), strict=True))
        keys = sort_keys(slot_of)
        slots = np.array([slot_of[key] for key in keys], np.int64)
        if column.is_presence:
            p = np.exp(column.log_presence(column.words.rows("documents", slots))[0][:, code])
            return [[keys[i] for i in np.flatnonzero(row)] for row in rng.random((n, len(keys))) < p]
        p = np.exp(column.of(slots)[:, code]) if keys else np.zeros(0)
        sizes = self.tally.lengths.keys(name)
        by_class = self.tally.lengths.table(name, sizes) if sizes else np.zeros((0, self.n_classes))
        share = by_class.sum(axis=1) if ignores_class else by_class[:, code]
        if share.sum() == 0 or p.sum() == 0:
            return [{} for _ in range(n)]
        drawn = rng.choice(len(sizes), size=n, p=share / share.sum())
        return [self._draw_bag(rng, keys, p / p.sum(), sizes[i]) for i in drawn.tolist()]

    def _draw_bag(self, rng: np.random.Generator, keys: list[Key], p: Floats, size: Any) -> Any:
        """A bag of a size."""
        amounts = rng.multinomial(int(size), p) if keys else p
        return {keys[i]: int(amounts[i]) for i in np.flatnonzero(amounts)}

    # Tables for people

    def table(self) -> list[dict[str, Any]]:
        """Up to ten tokens of each class that favour it most, or all tokens, with their probability or weight."""
        return [row for name in self.features for row in self._table_of(name)]

    def listing_all(self) -> TokenPredictive:
        """The same with tables of all tokens, those that tell the classes apart most first."""
        return replace(self, lists_all=True)

    def n_tokens(self, feature: str) -> int:
        """How many tokens are scored; pooled ones have no name and are not among them."""
        return len(self.columns[feature].named_slots())

    def log_penalty(self, number: int) -> float | None:
        """Of a Dirichlet over the tokens that were counted, or of a Beta for each."""
        if not self.options.has_probabilities or math.isinf(self.k[number]):
            return None
        column = self.columns[self.features[number]]
        words, slots = column.words, np.arange(column.words.n_slots)
        n = words.rows(column.kind, slots)
        if not column.k or not (known := words.store.has(slots)).any():
            return 0.0
        if column.is_presence:
            return float(column.k * np.sum(column.log_presence(n[known])))
        total, n_keys = column.totals
        factor = column.scales.factor
        used = n[known] if factor is None else n[known] * factor[slots[known]][:, None]
        return float(column.k * laplace(used, total, column.k, n_keys).sum())

    def n_parameters(self, number: int) -> int:
        """A probability for each token that is scored and each class; they add up to 1, unless each is by itself.

        Tokens that are counted together are one.
        """
        column = self.columns[self.features[number]]
        n = len(column.named_slots()) + int(bool(column.words.pooled("counts").any()))
        return (n if column.is_presence else max(n - 1, 0)) * self.n_classes

    def _table_of(self, name: str) -> list[dict[str, Any]]:
        if self.lists_all:
            best_by_class = [self._in_order(name)] * self.n_classes
        else:
            best_by_class = [self._best(name, code) for code in range(self.n_classes)]
            if not any(best_by_class):  # no token favours a class
                best_by_class = [self._in_order(name)[:_SHOWN]] * self.n_classes
        shown = list(dict.fromkeys(slot for best in best_by_class for slot in best))
        if not shown:
            return []
        column, slots = self.columns[name], np.array(shown, np.int64)
        key_of = dict(zip(shown, column.words.index.keys(slots), strict=True))
        place = {slot: i for i, slot in enumerate(shown)}
        what, value = self._shown(column, slots)
        few = self.n_classes <= _SIDE_BY_SIDE
        return [
            {"column": name, "class": code, "token": key_of[slot], what: float(value[place[slot], code])}
            for code in range(self.n_classes)
            for slot in (shown if few else best_by_class[code])
        ]

    def _in_order(self, name: str) -> list[int]:
        """The slots of all tokens, those whose weights differ most between the classes first."""
        column = self.columns[name]
        slots = column.named_slots()
        with np.errstate(invalid="ignore"):
            spread = np.nan_to_num(np.ptp(column.of(slots), axis=1)) if len(slots) else np.zeros(0)
        keys = column.words.index.keys(slots)
        place = {key: i for i, key in enumerate(keys)}
        by_name = np.array([place[key] for key in sort_keys(keys)], np.int64)
        return [int(slot) for slot in slots[by_name[np.argsort(-spread[by_name], kind="stable")]]]

    def _best(self, name: str, code: int) -> list[int]:
        """The slots of the tokens of a class whose weight is most above the mean over the classes."""
        column = self.columns[name]
        table, words = column.words.store.table(), column.words
        slots = table.slots[table.classes == code]
        slots = slots[slots != words.index.pooled_slot]
        weights = column.of(slots)
        with np.errstate(invalid="ignore"):
            lead = (weights - weights.mean(axis=1, keepdims=True))[:, code]
        lead = np.nan_to_num(lead, nan=0.0, posinf=1e9, neginf=-1e9)
        top = np.flatnonzero(lead > 0)
        top = top[np.argsort(-lead[top], kind="stable")[: 4 * _SHOWN]]
        keys = words.index.keys(slots[top])
        first = {key: i for i, key in enumerate(sort_keys(keys))}
        order = sorted(range(len(top)), key=lambda i: (-lead[top[i]], first[keys[i]]))[:_SHOWN]
        return [int(slots[top[i]]) for i in order]

    def _shown(self, column: TokenWeights, slots: Slots) -> tuple[str, Floats]:
        """What a table shows of tokens: their probability, or their weight."""
        if column.is_presence:
            return "P(token)", np.exp(column.log_presence(column.words.rows("documents", slots))[0])
        weights = column.of(slots)
        return ("P(token)", np.exp(weights)) if self.options.is_likelihood else ("weight", weights)

    def intervals(self, level: float) -> list[dict[str, Any]]:
        """Rows like those of `table` with the ends of credible intervals; none where weights are not probabilities."""
        rows: list[dict[str, Any]] = []
        for name in self.features if self.options.is_likelihood and not self.options.needs_all else ():
            column, table = self.columns[name], self._table_of(name)
            tokens = list(dict.fromkeys(row["token"] for row in table))
            alpha, total = column.posterior(column.words.index.find(tokens), name)
            rows += with_ends(table, tokens, *beta_interval(alpha, total, level))
        return rows


@dataclass(frozen=True, eq=False)
class TextPredictive(TokenPredictive):
    """Documents scored by their tokens."""

    takes_sparse_matrix: ClassVar[bool] = False
    absent: ClassVar[str] = "absent words"

    tokeniser: Tokeniser | None = None

    def lexicon(self, feature: str) -> Any:
        """The lexicon of its vocabulary."""
        return self.columns[feature].words.index.lexicon

    def token_evidence(self, feature: str, column: Column, text: bytes | None = None) -> list[TokenEvidence]:
        """The same of a document, with the places of the tokens in its text, in order of first occurrence."""
        if text is None:
            return super().token_evidence(feature, column)
        assert self.tokeniser is not None
        weights = self.columns[feature]
        places: dict[str, list[tuple[int, int]]] = {}
        for token, start, stop in spans(text, self.tokeniser.rules, self.tokeniser.stop_words()):
            places.setdefault(token, []).append((start, stop))
        lexicon = weights.words.index.lexicon
        tokens: dict[int, list[str]] = {}  # several of them may be in one bucket
        for token in places:
            tokens.setdefault(lexicon.number(token), []).append(token)
        tokens.pop(-1, None)
        times = [sum(len(places[token]) for token in group) for group in tokens.values()]
        ends, numbers = np.array([0, len(tokens)]), np.fromiter(tokens, np.int32, len(tokens))
        bag = weights.known(Bag(ends, numbers, np.array(times, np.int32), lexicon))
        result = []
        for slot, part in zip(bag.indices.tolist(), weights.row_evidence(bag), strict=True):
            every = sum(len(places[token]) for token in tokens[slot])
            for token in tokens[slot]:
                n = len(places[token])
                result.append(TokenEvidence(token, part * (n / every), tuple(places[token]), n))
        return self._with_absence(weights, bag, result)

    def note(self, number: int) -> str:
        """How many tokens there are, and how many occurrences are pooled."""
        words = self.columns[self.features[number]].words
        if words.index.is_hashed:
            return f"{words.n_keys:,} of {len(words.index):,} buckets in use"
        pooled = words.pooled("counts").sum()
        if not pooled:
            return several(words.n_keys, "token")
        return f"{several(words.n_keys - 1, 'token')}; {pooled:,.0f} occurrences of rarer ones are counted together"

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Texts: tokens with blanks between them, as many as texts seen had."""
        return [[" ".join(map(str, tokens)) for tokens in texts] for texts in super().sample(rng, code, n)]

    def _draw_bag(self, rng: np.random.Generator, keys: list[Key], p: Floats, size: Any) -> Any:
        return [keys[i] for i in rng.choice(len(keys), size=size, p=p)] if keys else []
