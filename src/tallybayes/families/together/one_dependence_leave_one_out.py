"""Leave-one-out scores of averaged one-dependence estimators.

Without a row of class y, only counts of the class y change: those of its cells and of the pairs of them, each by the
weight of the row. The scores of the other classes change only if a cell is no parent any more.
"""

from __future__ import annotations

import numpy as np

from tallybayes.arrays.array_types import Booleans, Codes32, Floats, Indices, Integers, Weights
from tallybayes.arrays.column import Cells
from tallybayes.families.leave_one_out_scores import never_learned
from tallybayes.families.predictive import Score
from tallybayes.families.together.one_dependence_tables import (
    PARENT_ROWS,
    OneDependenceTables,
    PairSums,
    log_pairs,
    log_singles,
)

__all__ = ["leave_one_out_score"]

_ROUNDING = 1e-12  # a difference of fractional weights below this share of the sum is a rounding error


def leave_one_out_score(
    sums: PairSums, k: float, feature: str, column: Cells, codes: Codes32, weights: Weights
) -> Score:
    """The score of one column whose rows are in the sums; k: what the strengths of smoothing are multiplied by."""
    tables = OneDependenceTables.of(sums, k)
    amounts = np.ones(len(codes)) if weights is None else weights

    def score(out: Floats, start: int, stop: int) -> None:
        rows = _Rows(sums, tables, k, column.codes[start:stop], codes[start:stop], amounts[start:stop])
        if (lost := rows.never_learned()).any():
            raise never_learned(feature, start + int(np.argmax(lost)))
        out[start:stop] += rows.log_prob()

    return score


class _Rows:
    """Some rows: the numbers of their cells (-1: missing), classes and weights."""

    def __init__(
        self, sums: PairSums, tables: OneDependenceTables, k: float, cells: Indices, codes: Codes32, weights: Floats
    ) -> None:
        self.sums, self.tables, self.k, self.codes, self.weights = sums, tables, k, codes.astype(np.int64), weights
        self.number = np.where(cells < 0, -1, cells + tables.offsets[:-1])
        self.there: Booleans = self.number >= 0
        code = self.codes[:, None]
        inputs = np.arange(self.number.shape[1])
        amounts = np.where(self.there, weights[:, None], 0.0)
        n, total = _subtract(sums.single[self.number, code], amounts), _subtract(sums.total[inputs, code], amounts)
        share = sums.share[self.number]
        self.p, self.log_p = log_singles(np.maximum(n, 0.0), np.maximum(total, 0.0), share, k)
        self.n, self.amounts = n, amounts

    def never_learned(self) -> Booleans:
        """Rows whose cells, or pairs of them, were counted less often than their weight."""
        return np.asarray((self.there & (self.n < 0)).any(axis=1))

    def log_prob(self) -> Floats:
        """Log P(x | c) of every row without itself, (rows, classes)."""
        n_rows, n_inputs = self.number.shape
        tables, rows = self.tables, np.arange(n_rows)
        naive = np.zeros((n_rows, tables.single.shape[1]))
        terms = np.full((n_inputs, *naive.shape), -np.inf)
        left = _subtract(self.sums.single.sum(axis=1)[self.number], self.amounts)
        is_parent = self.there & (left >= PARENT_ROWS)
        for j in range(n_inputs):
            single = tables.single[self.number[:, j]]
            single[rows, self.codes] = self.log_p[:, j]
            naive += np.where(self.there[:, j, None], single, 0.0)
            at = np.flatnonzero(is_parent[:, j])
            terms[j, at] = single[at] + self._children(j, at)
        n_parents = is_parent.sum(axis=1)
        top = terms.max(axis=0, initial=-np.inf)
        shift = np.where(np.isinf(top), 0.0, top)
        with np.errstate(divide="ignore"):
            mean = shift + np.log(np.exp(terms - shift).sum(axis=0)) - np.log(np.maximum(n_parents, 1))[:, None]
        return np.where((n_parents > 0)[:, None], mean, naive)

    def _children(self, j: int, at: Integers) -> Floats:
        """The sum of log P(x_k | c, x_j) over the other inputs k of some rows, (rows, classes)."""
        total = np.zeros((len(at), self.tables.single.shape[1]))
        parent, codes, rows = self.number[at, j], self.codes[at], np.arange(len(at))
        for k in range(self.number.shape[1]):
            if k == j:
                continue
            child, there = self.number[at, k], self.there[at, k]
            pair = self.tables.pair[parent, child]
            n = _subtract(self.sums.pairs[parent, child, codes], self.weights[at])
            whole = _subtract(self.sums.with_input[parent, k, codes], self.weights[at])
            pair[rows, codes] = log_pairs(np.maximum(n, 0.0), np.maximum(whole, 0.0), self.p[at, k], self.k)
            total += np.where(there[:, None], pair, 0.0)
        return total


def _subtract(counts: Floats, amounts: Floats) -> Floats:
    """Counts without the amounts that are in them."""
    rest = counts - amounts
    return np.where(np.abs(rest) <= _ROUNDING * counts, 0.0, rest)
