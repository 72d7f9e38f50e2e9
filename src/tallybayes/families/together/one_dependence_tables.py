"""The tables of averaged one-dependence estimators: from counts of pairs of cells to log probabilities.

The formulas are at the head of `one_dependence.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallybayes.arrays.array_types import Booleans, Floats, Integers
from tallybayes.families.together.cell_pair_family import check_pairs
from tallybayes.tally import CellPairCounts

__all__ = ["OneDependenceTables", "PairSums", "log_pairs", "log_singles"]

PARENT_ROWS = 20.0  # of a parent, at least (a study of 52 tables; Webb et al. had 30)
CELL_STRENGTH = 1.0  # rows added to a column, spread over its cells (the same study)
PAIR_STRENGTH = 5.0  # rows added to a parent, spread as P(x_k | c) (the same study)


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
    def of(cls, tally: CellPairCounts, feature: str) -> PairSums:
        """The counts of a column."""
        sizes = tally.sizes[feature]
        check_pairs(feature, sum(sizes), tally.n_classes)
        return cls.of_pairs(sizes, tally.pair_table(feature))

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
        p, single = log_singles(sums.single, sums.total[at], share, k)
        pair = log_pairs(sums.pairs, sums.with_input[:, at], p, k)
        is_parent = sums.single.sum(axis=1) >= PARENT_ROWS
        return cls(sums.sizes, np.ascontiguousarray(single), np.ascontiguousarray(pair), is_parent)


def log_singles(n: Floats, total: Floats, share: Floats, k: float) -> tuple[Floats, Floats]:
    """P(cell | c) and its log; without smoothing 0 / 0 is silence, which is NaN and 0."""
    if np.isinf(k):
        p = np.broadcast_to(share, n.shape)
        return p, np.log(p)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = (n + k * CELL_STRENGTH * share) / (total + k * CELL_STRENGTH)
        return p, _silent(np.log(p))


def log_pairs(n: Floats, total: Floats, p: Floats, k: float) -> Floats:
    """Log P(cell | c, parent), given P(cell | c)."""
    if np.isinf(k):
        return np.broadcast_to(np.log(p), n.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        prior = k * PAIR_STRENGTH * p if k else 0.0
        return _silent(np.log((n + prior) / (total + k * PAIR_STRENGTH)))


def _silent(log_p: Floats) -> Floats:
    return np.where(np.isnan(log_p), 0.0, log_p)
