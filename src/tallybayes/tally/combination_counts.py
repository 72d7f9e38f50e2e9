"""Counts of combinations of coarse cells per class: the sums of full joint distributions.

The combination of cells a, b, ... has the key `(a * size of the second input + b) * size of the third + ...`. Rows that
lack some of their cells are counted apart, by the key that is one above the last combination.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tallybayes.arrays.array_types import Floats
from tallybayes.tally.cell_counts import CellCounts
from tallybayes.tally.exact import Exact, require

__all__ = ["CombinationCounts"]


class CombinationCounts(CellCounts):
    """Exact amounts per (column, combination of cells, class).

    >>> places = np.array([1, 2, 4])  # of one class: cells 0 and 1, cells 1 and 0, incomplete rows
    >>> tally = CombinationCounts.of_cells({"ab": (2, 2)}, [(places, Exact.whole(np.array([3, 2, 5])))], 1)
    >>> tally.combination_table("ab")[:, 0].tolist(), tally.rows_seen().floats().tolist(), tally.incomplete_rows()
    ([0.0, 3.0, 2.0, 0.0], [[5.0]], {'ab': 5.0})
    """

    incomplete_rows_are: ClassVar[str] = "not counted"

    @staticmethod
    def count_keys(sizes: tuple[int, ...]) -> int:
        """All combinations, and one for incomplete rows."""
        return math.prod(sizes) + 1

    def _incomplete(self) -> Exact:
        """The incomplete rows per column and class."""
        return self._amounts_of({name: math.prod(self.sizes[name]) for name in self.features})

    def rows_seen(self) -> Exact:
        """Complete rows, per column and class."""
        return super().rows_seen() - self._incomplete()

    def incomplete_rows(self) -> dict[str, float]:
        """Rows that lack some of their cells, by column."""
        n_rows = self._incomplete().floats().sum(axis=1).tolist()
        return {name: n for name, n in zip(self.features, n_rows, strict=True) if n > 0}

    def combination_table(self, feature: str) -> Floats:
        """Rounded amounts of all combinations, (combinations, classes)."""
        index, n = self.index.get(feature, {}), math.prod(self.sizes[feature])
        keys, slots = np.array([*index], np.int64), np.array([*index.values()], np.int64)
        table = np.zeros((n + 1, self.n_classes))
        table[keys] = self.rows(slots)
        return table[:-1]

    def _check(self, feature: str) -> None:
        """Raise a ValueError if no rows can have these counts."""
        n = self.count_keys(self.sizes[feature])
        keys = list(self.index[feature])
        require(all(type(key) is int and 0 <= key < n for key in keys), "keys that are not combinations of cells")
