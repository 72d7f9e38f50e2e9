"""Counts of the coarse cells of rows and of pairs of them, per class: the sums of derived columns.

Cell a of input i has the number `offset_i + a`, S is the number of all cells. The key of a pair of cells of different
inputs, the smaller number first, is `first * S + second`; the key of a single cell is `first * S + first`; and
`S * S` counts the rows in which some input is not missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np

from tallybayes.arrays.array_types import Floats, Integers
from tallybayes.arrays.column import Key
from tallybayes.errors import DataError, ForgetError
from tallybayes.tally.counts import Counts
from tallybayes.tally.exact import Exact, require
from tallybayes.tally.tally import Arrays, Commit
from tallybayes.tally.vocabulary import BAG_KINDS

__all__ = ["CellPairCounts", "symmetric_pairs"]

_AMOUNTS = BAG_KINDS[0]


class CellPairCounts(Counts):
    """Exact amounts per (column, pair of cells, class); `sizes` are the cells of each input, by column.

    >>> places = np.array([0, 1, 3, 4])  # of one class: cells 0 and 1, the pair and the rows
    >>> tally = CellPairCounts.of_pairs({"ab": (1, 1)}, [(places, Exact.whole(np.array([3, 2, 2, 3])))], 1)
    >>> tally.pair_table("ab")[..., 0].tolist(), tally.rows_seen().floats().tolist()
    ([[3.0, 2.0], [2.0, 2.0]], [[3.0]])
    """

    has_keys: ClassVar[bool] = False  # cells have no slots in `Predictive.bind_matrix`

    def __init__(
        self, features: tuple[str, ...], n_classes: int, sizes: Mapping[str, tuple[int, ...]] | None = None
    ) -> None:
        super().__init__(features, n_classes)
        self.sizes = dict(sizes or {})

    @classmethod
    def of_pairs(
        cls, sizes: Mapping[str, tuple[int, ...]], counted: Sequence[tuple[Integers, Exact]], n_classes: int
    ) -> CellPairCounts:
        """From the sorted places `key * n_classes + class` of each column, and the amount at each."""
        features, first, rows, classes, kept = tuple(sizes), [0], [], [], []
        for column_sizes, (places, amounts) in zip(sizes.values(), counted, strict=True):
            there = amounts.nonzero()
            key, klass = np.divmod(places[there], max(n_classes, 1))
            rows.append(first[-1] + key)
            classes.append(klass)
            kept.append(amounts[there])
            first.append(first[-1] + sum(column_sizes) ** 2 + 1)

        def names_of(rows: list[int]) -> list[tuple[str, Key]]:
            at = np.searchsorted(first, rows, side="right") - 1
            return [(features[i], row - first[i]) for i, row in zip(at.tolist(), rows, strict=True)]

        none = np.zeros(0, np.int64)
        amounts = Exact.concatenate(kept) if kept else Exact.zeros(0)
        result = cls._of_entries(
            features, n_classes, np.concatenate([none, *rows]), np.concatenate([none, *classes]), amounts, names_of
        )
        assert isinstance(result, CellPairCounts)
        result.sizes = dict(sizes)
        return result

    def _empty(self, features: tuple[str, ...]) -> Self:
        return type(self)(features, self.n_classes, self.sizes)

    def n_cells(self, feature: str) -> int:
        """The number S of all cells of a column."""
        return sum(self.sizes[feature])

    def rows_seen(self) -> Exact:
        """Rows in which some input of the column is not missing, per column and class."""
        slots = [self.index.get(name, {}).get(self.n_cells(name) ** 2, -1) for name in self.features]
        column_of = np.full(len(self.key_of) + 1, -1, np.int64)
        column_of[slots] = np.arange(len(slots))
        column_of[-1] = -1
        table = self.store.table()
        columns = column_of[table.slots]
        there = np.flatnonzero(columns >= 0)
        groups = columns[there] * self.n_classes + table.classes[there]
        total = table.sums[_AMOUNTS][there].grouped(groups, len(self.features) * self.n_classes)
        return total.reshaped(len(self.features), self.n_classes)

    def pair_table(self, feature: str) -> Floats:
        """Rounded amounts of pairs of cells, (cells, cells, classes), symmetric; of single cells on the diagonal."""
        n_cells, index = self.n_cells(feature), self.index.get(feature, {})
        keys, slots = np.array([*index], np.int64), np.array([*index.values()], np.int64)
        table = np.zeros((n_cells * n_cells + 1, self.n_classes))
        table[keys] = self.rows(slots)
        return symmetric_pairs(table[:-1].reshape(n_cells, n_cells, self.n_classes))

    @property
    def is_whole(self) -> bool:
        """Whether all amounts are integers."""
        return self.store.table().sums[_AMOUNTS].is_whole

    def prepare(self, other: Counts, sign: int) -> Commit:
        """Check that `other` can be added or subtracted; the function returned does it."""
        assert isinstance(other, CellPairCounts)
        for name in self.sizes.keys() & other.sizes.keys():
            if self.sizes[name] != other.sizes[name]:
                raise DataError(f"{self.sizes[name]} cells of the inputs", got=other.sizes[name], column=name)
        sizes = self.sizes | other.sizes
        try:
            commit = super().prepare(other, sign)
        except ForgetError as error:
            raise ForgetError("these values were not learned together that often", column=error.column) from error

        def commit_all() -> None:
            commit()
            self.sizes = sizes

        return commit_all

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_classes: int, like: Counts) -> CellPairCounts:
        """Counts that rows can have, or a ValueError; `like` has the sizes."""
        assert isinstance(like, CellPairCounts)
        result = super().from_arrays(arrays, n_classes, like)
        assert isinstance(result, CellPairCounts)
        result.sizes = {name: like.sizes[name] for name in arrays.features}
        for name in arrays.features:
            result._check(name)
        return result

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
