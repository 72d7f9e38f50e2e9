"""Ways of scoring documents, evaluated on a sample: each document is scored by the sums without itself.

Candidates that are unlikely to win are evaluated on the first documents of the sample only. All parts of a sample share
its arrays, and nothing is evaluated twice on the same part.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Booleans, Codes32, Integers
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Bag
from tallybayes.arrays.distinct_numbers import distinct
from tallybayes.families.predictive import Floats
from tallybayes.families.temperature import Tempered, temper_scores
from tallybayes.families.tokens.bag_leave_one_out import LeaveOneOutBags
from tallybayes.families.tokens.token_options import KIND_OF, TokenOptions
from tallybayes.families.tokens.token_weights import TokenWeights, integer_amounts
from tallybayes.tally import Vocabulary

__all__ = ["ScoringCandidate", "VariantEvaluation"]

_PAIRS = 2**22  # (token, class) pairs of the sample at most, to limit memory


@dataclass(frozen=True)
class ScoringCandidate:
    """A way of scoring: options and k."""

    options: TokenOptions
    k: float


@dataclass(frozen=True, eq=False)
class _Scored:
    """The documents with the n-grams that are scored: their sums, and what is scored without a document."""

    words: Vocabulary
    slots: Integers  # of the tokens of the documents
    bags: LeaveOneOutBags


class VariantEvaluation:
    """Candidates evaluated on documents.

    words, n_rows: the sums of all documents, and documents by class, (classes,); bag, codes, weights: of the sample;
    slots: of its keys, -1 for tokens without a name of their own.
    """

    def __init__(
        self, words: Vocabulary, n_rows: Floats, bag: Bag, codes: Codes32, weights: Floats, slots: Integers
    ) -> None:
        self._words, self._n_rows, self._slots = words, n_rows, slots
        self._bag, self._n = bag, len(codes)
        while self._n > 1 and self._n_tokens(self._n) * len(n_rows) > _PAIRS:
            self._n //= 2
        if self._n < len(codes):
            self._bag = bag.take(np.arange(self._n))
        self._every_code, self._every_weight = codes[: self._n], weights[: self._n]
        self._scored: dict[tuple[int, bool], _Scored] = {}
        self._results: dict[int, dict[ScoringCandidate, Tempered]] = {}  # by the number of documents

    def __len__(self) -> int:
        return self._n

    def first(self, n_pairs: int, least: int, most: int) -> VariantEvaluation:
        """The first documents with so many (document, token) pairs, from `least` to `most`, as far as there are."""
        n = max(least, int(np.searchsorted(self._bag.indptr, n_pairs, side="right")) - 1)
        part = copy(self)
        part.__dict__.pop("_log_prior", None)
        part._n = min(n, most, len(self._every_code))
        return part

    def _n_tokens(self, n: int) -> int:
        return int(np.count_nonzero(np.bincount(self._bag.indices[: int(self._bag.indptr[n])])))

    @property
    def _codes(self) -> Codes32:
        return self._every_code[: self._n]

    @property
    def _weights(self) -> Floats:
        return self._every_weight[: self._n]

    def evaluate(self, candidates: list[ScoringCandidate]) -> list[Tempered]:
        """Every candidate at its best temperature."""
        known = self._results.setdefault(self._n, {})
        new = [candidate for candidate in dict.fromkeys(candidates) if candidate not in known]
        for candidate in new:
            self._prepare(candidate.options).bags.sums.whole(KIND_OF[candidate.options.tf])  # which threads share
        results = in_threads(lambda i, _: self._evaluate_one(new[i]), len(new), size=1, small=0) if new else []
        known.update(zip(new, results, strict=True))
        return [known[candidate] for candidate in candidates]

    def mean(self, losses: Floats | Booleans) -> float:
        """The mean of losses or errors over the documents, with their weights."""
        return float((losses * self._weights).sum() / self._weights.sum())

    def losses(self, candidate: ScoringCandidate) -> Floats:
        """-log P(class | document) of every document, without a temperature."""
        scores = self._log_prior + self.scores(candidate)
        scores -= scores.max(axis=1, keepdims=True)
        return np.asarray(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(scores)), self._codes])

    def scores(self, candidate: ScoringCandidate) -> Floats:
        """Every document scored by the sums without itself, (documents, classes)."""
        scored = self._prepare(candidate.options)
        column = TokenWeights(scored.words, self._n_rows, replace(candidate.options, scored_ngrams=0), candidate.k)
        factor = column.scales.factor
        return scored.bags.scores(column, None if factor is None else factor[scored.slots], 0, self._n)

    def _evaluate_one(self, candidate: ScoringCandidate) -> Tempered:
        with np.errstate(all="ignore"):  # scores that are not numbers count as 0
            return temper_scores(self._log_prior, self.scores(candidate), self._codes, self._weights)

    @cached_property
    def _log_prior(self) -> Floats:
        removed = np.zeros((len(self), len(self._n_rows)))
        removed[np.arange(len(removed)), self._codes] = self._weights
        return np.asarray(np.log(np.maximum(self._n_rows - removed, 0.0) + 1.0))

    def _prepare(self, options: TokenOptions) -> _Scored:
        """The documents with the n-grams that these options score."""
        key = options.scored_ngrams, options.unit
        if key not in self._scored:
            words = self._words.up_to(key[0]) if key[0] else self._words
            kept = words.store.has(self._slots)[self._bag.indices]
            counts, ends = integer_amounts(self._bag), np.ascontiguousarray(self._bag.indptr, np.int64)
            logs = kernels.active.log_amounts(ends, counts, options.unit)[kept] * 2.0**-30
            used, indices = distinct(self._bag.indices[kept], len(self._slots))
            scored_ends = np.concatenate([[0], np.cumsum(kept)])[ends].astype(np.int64)
            bag, slots = Bag(scored_ends, indices, counts[kept], ()), self._slots[used]
            sums = words, self._n_rows, bag, self._every_code, self._every_weight, words.sums_of(slots), logs
            self._scored[key] = _Scored(words, slots, LeaveOneOutBags(*sums))
        return self._scored[key]
