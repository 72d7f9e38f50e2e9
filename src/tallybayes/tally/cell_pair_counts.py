"""Counts of the coarse cells of rows and of pairs of them, per class: the sums of derived columns.

Cell a of input i has the number `offset_i + a`, S is the number of all cells. The key of a pair of cells of different
inputs, the smaller number first, is `first * S + second`; the key of a single cell is `first * S + first`; and
`S * S` counts the rows in which some input is not missing.
"""

from __future__ import annotations

import numpy as np

from tallybayes.arrays.array_types import Floats
from tallybayes.tally.cell_counts import CellCounts
from tallybayes.tally.exact import Exact, require

__all__ = ["CellPairCounts", "symmetric_pairs"]


class CellPairCounts(CellCounts):
    """Exact amounts per (column, pair of cells, class).

    >>> places = np.array([0, 1, 3, 4])  # of one class: cells 0 and 1, the pair and the rows
    >>> tally = CellPairCounts.of_cells({"ab": (1, 1)}, [(places, Exact.whole(np.array([3, 2, 2, 3])))], 1)
    >>> tally.pair_table("ab")[..., 0].tolist(), tally.rows_seen().floats().tolist()
    ([[3.0, 2.0], [2.0, 2.0]], [[3.0]])
    """

    @staticmethod
    def count_keys(sizes: tuple[int, ...]) -> int:
        """All pairs of cells, and one for the rows."""
        return sum(sizes) ** 2 + 1

    def n_cells(self, feature: str) -> int:
        """The number S of all cells of a column."""
        return sum(self.sizes[feature])

    def rows_seen(self) -> Exact:
        """Rows in which some input of the column is not missing, per column and class."""
        return self._amounts_of({name: self.n_cells(name) ** 2 for name in self.features})

    def pair_table(self, feature: str) -> Floats:
        """Rounded amounts of pairs of cells, (cells, cells, classes), symmetric; of single cells on the diagonal."""
        n_cells, index = self.n_cells(feature), self.index.get(feature, {})
        keys, slots = np.array([*index], np.int64), np.array([*index.values()], np.int64)
        table = np.zeros((n_cells * n_cells + 1, self.n_classes))
        table[keys] = self.rows(slots)
        return symmetric_pairs(table[:-1].reshape(n_cells, n_cells, self.n_classes))

    def _check(self, feature: str) -> None:
        """Raise a ValueError if no rows can have these counts."""
        n_cells, keys = self.n_cells(feature), list(self.index[feature])
        require(all(type(key) is int and 0 <= key <= n_cells**2 for key in keys), "keys that are not pairs of cells")
        input_of = np.repeat(np.arange(len(self.sizes[feature])), self.sizes[feature])
        pairs = np.array([key for key in keys if key != n_cells**2], np.int64)
        first, second = np.divmod(pairs, max(n_cells, 1))
        different = (first < second) & (input_of[first] != input_of[second])
        require((different | (first == second)).all(), "pairs of cells out of order")
        single = self.table(feature, (np.arange(n_cells) * (n_cells + 1)).tolist())
        (rows,) = self.table(feature, [n_cells**2])
        counts = self.table(feature, pairs.tolist())
        require((counts <= single[first]).all() and (counts <= single[second]).all(), "more pairs of cells than cells")
        totals = np.zeros((len(self.sizes[feature]), self.n_classes))
        np.add.at(totals, input_of, single)
        require((totals <= rows * (1 + 1e-9)).all(), "more cells than rows")  # fractional weights are rounded


def symmetric_pairs(pairs: Floats) -> Floats:
    """Amounts of pairs of cells in either order, from those where the first cell has the smaller number."""
    result = pairs + pairs.transpose(1, 0, 2)
    diagonal = np.arange(len(pairs))
    result[diagonal, diagonal] = pairs[diagonal, diagonal]
    return result
