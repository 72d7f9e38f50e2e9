"""The tables of averaged one-dependence estimators: from counts of pairs of cells to log probabilities.

The formulas are at the head of `one_dependence.py`. For leave-one-out scores: without a row of class y, only counts of
the class y change: those of its cells and of the pairs of them, each by the weight of the row. The scores of the other
classes change only if a cell is no parent any more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallybayes.arrays.array_types import Booleans, Codes32, Floats, Indices, Integers, Weights
from tallybayes.arrays.column import Cells
from tallybayes.families.leave_one_out_scores import never_learned, subtract_weights
from tallybayes.families.predictive import Score

__all__ = ["OneDependenceTables", "PairSums", "leave_one_out_score"]

_PARENT_ROWS = 20.0  # of a parent, at least (a study of 52 tables; Webb et al. had 30)
_CELL_STRENGTH = 1.0  # rows added to a column, spread over its cells (the same study)
_PAIR_STRENGTH = 5.0  # rows added to a parent, spread as P(x_k | c) (the same study)


@dataclass(frozen=True, eq=False)
class PairSums:
    """Rounded counts of one column.

    sizes: cells of each input; input_of: the input of every cell; pairs: of rows with two cells, (cells, cells,
    classes); single: with one, (cells, classes); total: with any cell of an input, (inputs, classes); with_input: with
    a cell and any cell of an input, (cells, inputs, classes).
    """

    sizes: tuple[int, ...]
    input_of: Integers
    pairs: Floats
    single: Floats
    total: Floats
    with_input: Floats

    @classmethod
    def of_pairs(cls, sizes: tuple[int, ...], pairs: Floats) -> PairSums:
        """From the counts of pairs of cells, symmetric, with those of single cells on the diagonal."""
        first, single = np.cumsum([0, *sizes])[:-1], np.ascontiguousarray(np.diagonal(pairs).T)
        input_of = np.repeat(np.arange(len(sizes)), sizes)
        if not sizes:
            return cls(sizes, input_of, pairs, single, single, pairs)
        total, with_input = np.add.reduceat(single, first, axis=0), np.add.reduceat(pairs, first, axis=1)
        return cls(sizes, input_of, pairs, single, total, with_input)

    @property
    def share(self) -> Floats:
        """1 / V of every cell, V the cells of its input."""
        return 1.0 / np.repeat(self.sizes, self.sizes)


@dataclass(frozen=True, eq=False)
class OneDependenceTables:
    """Log probabilities of one column: log P(cell | c), log P(second cell | c, first cell), and which are parents."""

    sizes: tuple[int, ...]
    single: Floats  # (cells, classes)
    pair: Floats  # (cells, cells, classes)
    is_parent: Booleans  # (cells,)

    @property
    def offsets(self) -> Integers:
        """The first cell of each input, and the number of all cells."""
        return np.cumsum([0, *self.sizes])

    @classmethod
    def of(cls, sums: PairSums, k: float) -> OneDependenceTables:
        """From counts, with strengths of smoothing times k."""
        at, share = sums.input_of, sums.share[:, None]
        p, single = _log_singles(sums.single, sums.total[at], share, k)
        pair = _log_pairs(sums.pairs, sums.with_input[:, at], p, k)
        is_parent = sums.single.sum(axis=1) >= _PARENT_ROWS
        return cls(sums.sizes, np.ascontiguousarray(single), np.ascontiguousarray(pair), is_parent)


def _log_singles(n: Floats, total: Floats, share: Floats, k: float) -> tuple[Floats, Floats]:
    """P(cell | c) and its log; without smoothing 0 / 0 is silence, which is NaN and 0."""
    if np.isinf(k):
        p = np.broadcast_to(share, n.shape)
        return p, np.log(p)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = (n + k * _CELL_STRENGTH * share) / (total + k * _CELL_STRENGTH)
        return p, _silent(np.log(p))


def _log_pairs(n: Floats, total: Floats, p: Floats, k: float) -> Floats:
    """Log P(cell | c, parent), given P(cell | c)."""
    if np.isinf(k):
        return np.broadcast_to(np.log(p), n.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        prior = k * _PAIR_STRENGTH * p if k else 0.0
        return _silent(np.log((n + prior) / (total + k * _PAIR_STRENGTH)))


def _silent(log_p: Floats) -> Floats:
    return np.where(np.isnan(log_p), 0.0, log_p)


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
        n, total = (
            subtract_weights(sums.single[self.number, code], amounts),
            subtract_weights(sums.total[inputs, code], amounts),
        )
        share = sums.share[self.number]
        self.p, self.log_p = _log_singles(np.maximum(n, 0.0), np.maximum(total, 0.0), share, k)
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
        left = subtract_weights(self.sums.single.sum(axis=1)[self.number], self.amounts)
        is_parent = self.there & (left >= _PARENT_ROWS)
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
            n = subtract_weights(self.sums.pairs[parent, child, codes], self.weights[at])
            whole = subtract_weights(self.sums.with_input[parent, k, codes], self.weights[at])
            pair[rows, codes] = _log_pairs(np.maximum(n, 0.0), np.maximum(whole, 0.0), self.p[at, k], self.k)
            total += np.where(there[:, None], pair, 0.0)
        return total
