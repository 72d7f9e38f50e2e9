"""Ways of scoring documents, evaluated on a sample: each document is scored by the sums without itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Booleans, Codes32, Integers
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Bag
from tallybayes.families.bag_leave_one_out import LeaveOneOutBags
from tallybayes.families.predictive import Floats
from tallybayes.families.temperature import Tempered, tempered
from tallybayes.families.token_options import TokenOptions
from tallybayes.families.token_weights import TokenWeights, integer_amounts
from tallybayes.tally import Vocabulary

__all__ = ["DocumentTrial", "ScoringCandidate"]

_CELLS = 2**22  # (token, class) pairs of the sample at most, to limit memory


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


class DocumentTrial:
    """Candidates evaluated on documents.

    words, n_rows: the sums of all documents, and documents by class, (classes,); bag, codes, weights: of the sample;
    slots: of its keys, -1 for tokens without a name of their own.
    """

    def __init__(
        self, words: Vocabulary, n_rows: Floats, bag: Bag, codes: Codes32, weights: Floats, slots: Integers
    ) -> None:
        self._words, self._n_rows, self._slots = words, n_rows, slots
        self._bag, self._codes, self._weights = bag, codes, weights
        self._scored: dict[tuple[int, bool], _Scored] = {}
        self._restricted: dict[int, Vocabulary] = {0: words}  # by the number of words of the longest n-grams

    def __len__(self) -> int:
        return len(self._codes)

    def first(self, n_pairs: int, least: int, most: int) -> DocumentTrial:
        """The first documents with so many (document, token) pairs, from `least` to `most`, as far as memory allows."""
        n = max(least, int(np.searchsorted(self._bag.indptr, n_pairs, side="right")) - 1)
        n = min(n, most, len(self))
        while n > 1 and self._n_tokens(n) * len(self._n_rows) > _CELLS:
            n //= 2
        if n == len(self):
            return self
        bag = self._bag.take(np.arange(n))
        part = DocumentTrial(self._words, self._n_rows, bag, self._codes[:n], self._weights[:n], self._slots)
        part._restricted = self._restricted
        return part

    def _n_tokens(self, n: int) -> int:
        return len(np.unique(self._bag.indices[: int(self._bag.indptr[n])]))

    def evaluated(self, candidates: list[ScoringCandidate]) -> list[Tempered]:
        """Every candidate at its best temperature."""
        for candidate in candidates:
            self._prepare(candidate.options)
        return in_threads(lambda i, _: self._evaluated(candidates[i]), len(candidates), size=1, small=0)

    def mean(self, losses: Floats | Booleans) -> float:
        """The mean of losses or errors over the documents, with their weights."""
        return float((losses * self._weights).sum() / self._weights.sum())

    def losses(self, candidate: ScoringCandidate) -> Floats:
        """-log P(class | document) of every document, without a temperature."""
        scores = self._log_prior() + self.scores(candidate)
        scores -= scores.max(axis=1, keepdims=True)
        return np.asarray(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(scores)), self._codes])

    def scores(self, candidate: ScoringCandidate) -> Floats:
        """Every document scored by the sums without itself, (documents, classes)."""
        scored = self._prepare(candidate.options)
        column = TokenWeights(scored.words, self._n_rows, replace(candidate.options, scored_ngrams=0), candidate.k)
        factor = column.scales.factor
        return scored.bags.scores(column, None if factor is None else factor[scored.slots])

    def _evaluated(self, candidate: ScoringCandidate) -> Tempered:
        with np.errstate(all="ignore"):  # scores that are not numbers count as 0
            return tempered(self._log_prior(), self.scores(candidate), self._codes, self._weights)

    def _log_prior(self) -> Floats:
        own = np.zeros((len(self), len(self._n_rows)))
        own[np.arange(len(own)), self._codes] = self._weights
        return np.log(np.maximum(self._n_rows - own, 0.0) + 1.0)

    def _prepare(self, options: TokenOptions) -> _Scored:
        """The documents with the n-grams that these options score."""
        key = options.scored_ngrams, options.unit
        if key not in self._scored:
            if key[0] not in self._restricted:
                self._restricted[key[0]] = self._words.up_to(key[0])
            words = self._restricted[key[0]]
            kept = words.store.has(self._slots)[self._bag.indices]
            counts, ends = integer_amounts(self._bag), np.ascontiguousarray(self._bag.indptr, np.int64)
            logs = kernels.active.log_amounts(ends, counts, options.unit)[kept] * 2.0**-30
            used, indices = np.unique(self._bag.indices[kept], return_inverse=True)
            own_ends = np.concatenate([[0], np.cumsum(kept)])[ends].astype(np.int64)
            bag = Bag(own_ends, indices.astype(np.int32), counts[kept], ())
            slots = self._slots[used]
            tables = words.store.tables(slots)
            bags = LeaveOneOutBags(words, self._n_rows, bag, self._codes, self._weights, tables, logs)
            self._scored[key] = _Scored(words, slots, bags)
        return self._scored[key]
