"""Counts of coarse cells that occur together in a row, per class: the base of the sums of derived columns of cells."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np

from tallybayes.arrays.array_types import Integers
from tallybayes.arrays.column import Key
from tallybayes.errors import DataError, ForgetError
from tallybayes.tally.counts import Counts
from tallybayes.tally.exact import Exact
from tallybayes.tally.tally import Arrays, Commit
from tallybayes.tally.vocabulary import BAG_KINDS

__all__ = ["CellCounts"]

_AMOUNTS = BAG_KINDS[0]


class CellCounts(Counts):
    """Exact amounts per (column, integer that stands for cells, class); `sizes` are the cells of each input."""

    has_keys: ClassVar[bool] = False  # cells have no slots in `Predictive.bind_matrix`

    def __init__(
        self, features: tuple[str, ...], n_classes: int, sizes: Mapping[str, tuple[int, ...]] | None = None
    ) -> None:
        super().__init__(features, n_classes)
        self.sizes = dict(sizes or {})

    @staticmethod
    @abstractmethod
    def count_keys(sizes: tuple[int, ...]) -> int:
        """How many keys a column with inputs of these sizes can have; they are the integers from 0 on."""

    @abstractmethod
    def _check(self, feature: str) -> None:
        """Raise a ValueError if no rows can have the counts of a column."""

    @classmethod
    def of_cells(
        cls, sizes: Mapping[str, tuple[int, ...]], counted: Sequence[tuple[Integers, Exact]], n_classes: int
    ) -> Self:
        """From the sorted places `key * n_classes + class` of each column, and the amount at each."""
        features, first, rows, classes, kept = tuple(sizes), [0], [], [], []
        for column_sizes, (places, amounts) in zip(sizes.values(), counted, strict=True):
            there = amounts.nonzero()
            key, klass = np.divmod(places[there], max(n_classes, 1))
            rows.append(first[-1] + key)
            classes.append(klass)
            kept.append(amounts[there])
            first.append(first[-1] + cls.count_keys(column_sizes))

        def names_of(rows: list[int]) -> list[tuple[str, Key]]:
            at = np.searchsorted(first, rows, side="right") - 1
            return [(features[i], row - first[i]) for i, row in zip(at.tolist(), rows, strict=True)]

        none = np.zeros(0, np.int64)
        amounts = Exact.concatenate(kept) if kept else Exact.zeros(0)
        result = cls._of_entries(
            features, n_classes, np.concatenate([none, *rows]), np.concatenate([none, *classes]), amounts, names_of
        )
        assert isinstance(result, cls)
        result.sizes = dict(sizes)
        return result

    def _empty(self, features: tuple[str, ...]) -> Self:
        return type(self)(features, self.n_classes, self.sizes)

    def _amounts_of(self, keys: Mapping[str, int]) -> Exact:
        """The amounts of one key of each column, per class."""
        slots = [self.index.get(name, {}).get(keys[name], -1) for name in self.features]
        column_of = np.full(len(self.key_of) + 1, -1, np.int64)
        column_of[slots] = np.arange(len(slots))
        column_of[-1] = -1
        table = self.store.table()
        columns = column_of[table.slots]
        there = np.flatnonzero(columns >= 0)
        groups = columns[there] * self.n_classes + table.classes[there]
        total = table.sums[_AMOUNTS][there].grouped(groups, len(self.features) * self.n_classes)
        return total.reshaped(len(self.features), self.n_classes)

    @property
    def is_whole(self) -> bool:
        """Whether all amounts are integers."""
        return self.store.table().sums[_AMOUNTS].is_whole

    def prepare(self, other: Counts, sign: int) -> Commit:
        """Check that `other` can be added or subtracted; the function returned does it."""
        assert isinstance(other, CellCounts)
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
    def from_arrays(cls, arrays: Arrays, n_classes: int, like: Counts) -> Self:
        """Counts that rows can have, or a ValueError; `like` has the sizes."""
        assert isinstance(like, CellCounts)
        result = super().from_arrays(arrays, n_classes, like)
        assert isinstance(result, cls)
        result.sizes = {name: like.sizes[name] for name in arrays.features}
        for name in arrays.features:
            result._check(name)
        return result
