"""Counts on a fine grid of the floating-point numbers, for histograms.

A cell is a double with its low bits dropped: its integer in the order of the doubles, shifted right by the level of the
column. The level is the lowest at which at most 1,024 cells are in use, so it depends on the set of values and not on
their order. Adding takes the coarser of two levels, and a coarser one still if more than 1,024 cells are in use.

Memory is bounded, so a column with more than 1,024 different values does not keep them all. Subtracting rows leaves the
level as it is: the result is exactly the sums of the remaining rows on that grid, which may be coarser than the grid
that the remaining rows alone would have. A column without any rows left has level 0 again.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Booleans, Codes32, Columns, Floats, Integers
from tallybayes.arrays.axis import merge_keys, positions
from tallybayes.errors import ForgetError
from tallybayes.tally.exact import Exact, check_amounts, check_counts, check_totals, require
from tallybayes.tally.tally import Arrays, Commit, Tally, check_ends

__all__ = ["LIMIT", "Grid", "lowest_value"]

LIMIT = 1024  # cells in use per column: fine enough for 128 buckets of 8 cells, small enough for the cache

_SIGNLESS = np.int64(2**63 - 1)
_LOWEST = np.array(np.finfo(np.float64).min).view(np.int64) ^ _SIGNLESS  # a cell may reach below the finite numbers
_HIGHEST = np.array(np.finfo(np.float64).max).view(np.int64)
_LEVELS = 54  # here all doubles lie in 1,024 cells


def lowest_value(cell: Integers, level: Integers) -> Floats:
    """The least double that lies in a cell.

    >>> lowest_value(np.array([4611686018427387904, 0]), np.array([0, 0])).tolist()
    [2.0, 0.0]
    """
    ordered = cell << level
    ordered = np.maximum(ordered, _LOWEST)
    return np.asarray(np.where(ordered < 0, ordered ^ _SIGNLESS, ordered).view(np.float64))


@dataclass(eq=False)
class Grid(Tally):
    """Exact amounts per (column, cell, class), as flat arrays sorted in that order, which are never written to."""

    features: tuple[str, ...]
    n_classes: int
    levels: Integers  # (columns,)
    owner: Integers  # the number of the column of every entry
    cell: Integers
    klass: Integers
    amounts: Exact

    @classmethod
    def empty(cls, features: tuple[str, ...], n_classes: int) -> Grid:
        """No rows yet."""
        none = np.zeros(0, np.int64)
        return cls(features, n_classes, np.zeros(len(features), np.int64), none, none, none, Exact.zeros(0))

    @classmethod
    def of_table(
        cls, features: tuple[str, ...], levels: Integers, offsets: Integers, cells: Integers, table: Exact
    ) -> Grid:
        """From the result of the kernel `cells`: a dense table (cells, classes)."""
        owner = np.repeat(np.arange(len(features)), np.diff(offsets))
        if table.is_whole:
            listed = kernels.active.list_entries(owner, cells, np.ascontiguousarray(table.digits[..., 0]))
            owner, cell, klass, amounts = listed
            return cls(features, table.shape[1], levels, owner, cell, klass, Exact.whole(amounts))
        row, klass = np.nonzero(table.nonzero())
        return cls(features, table.shape[1], levels, owner[row], cells[row], klass, table[row, klass])

    @classmethod
    def side_by_side(cls, features: tuple[str, ...], grids: Sequence[Grid], n_classes: int) -> Grid:
        """Grids of different columns as one."""
        if not grids:
            return cls.empty(features, n_classes)
        first = itertools.accumulate((len(grid.features) for grid in grids), initial=0)
        return cls(
            features,
            n_classes,
            np.concatenate([grid.levels for grid in grids]),
            np.concatenate([grid.owner + start for grid, start in zip(grids, first, strict=False)]),
            np.concatenate([grid.cell for grid in grids]),
            np.concatenate([grid.klass for grid in grids]),
            Exact.concatenate([grid.amounts for grid in grids]),
        )

    def copy(self) -> Grid:
        """An independent tally with the same sums."""
        return replace(self)

    def _entries(self, some: Any) -> Grid:
        """The same columns with some of the entries."""
        return replace(
            self, owner=self.owner[some], cell=self.cell[some], klass=self.klass[some], amounts=self.amounts[some]
        )

    def with_classes(self, positions: Integers, n_classes: int) -> Grid:
        """The same sums with class c at positions[c]."""
        klass = positions[self.klass] if len(self.klass) else self.klass
        return replace(self, n_classes=n_classes, klass=klass)._entries(klass >= 0).summed(coarsen=False)

    def only(self, features: tuple[str, ...]) -> Grid:
        """The sums of some of the columns."""
        where = positions(self.features, features)
        levels = self.levels[positions(features, self.features)]
        part = self._entries(where[self.owner] >= 0 if len(self.owner) else np.zeros(0, bool))
        amounts = part.amounts.trimmed()
        return replace(part, features=features, levels=levels, owner=where[part.owner], amounts=amounts)

    def between(self, start: int, stop: int) -> Grid:
        """The sums of the columns from number start to stop, without a copy."""
        part = self._entries(slice(*np.searchsorted(self.owner, [start, stop]).tolist()))
        features, levels = self.features[start:stop], self.levels[start:stop]
        return replace(part, features=features, levels=levels, owner=part.owner - start)

    def with_features(self, features: tuple[str, ...]) -> Grid:
        """The same sums with more columns."""
        if features == self.features:
            return self
        where = positions(self.features, features)
        levels = np.zeros(len(features), np.int64)
        levels[where] = self.levels
        return replace(
            self, features=features, levels=levels, owner=where[self.owner] if len(self.owner) else self.owner
        )

    def at_levels(self, levels: Integers) -> Grid:
        """The same sums on a grid that is nowhere finer than these levels."""
        target = np.maximum(levels, self.levels)
        return replace(self, levels=target, cell=self.cell >> (target - self.levels)[self.owner])

    def summed(self, coarsen: bool = True) -> Grid:
        """Entries sorted and equal ones added; coarser where more than LIMIT cells of a column are in use.

        A column without counts has level 0, as if nothing had ever been counted there.
        """
        order = kernels.active.sort_entries(*map(np.ascontiguousarray, (self.owner, self.cell, self.klass)))
        owner, cell, klass = self.owner[order], self.cell[order], self.klass[order]
        first = np.ones(len(order), bool)
        first[1:] = (owner[1:] != owner[:-1]) | (cell[1:] != cell[:-1]) | (klass[1:] != klass[:-1])
        amounts = self.amounts[order].grouped(np.cumsum(first) - 1, int(first.sum())) if len(order) else self.amounts
        kept = amounts.nonzero()
        owner, cell, klass = (array[first][kept] for array in (owner, cell, klass))
        levels = np.zeros_like(self.levels)
        levels[owner] = self.levels[owner]
        grid = Grid(self.features, self.n_classes, levels, owner, cell, klass, amounts[kept].trimmed())
        steps = grid._levels_to_coarsen() if coarsen else np.zeros(1, np.int64)
        return grid.at_levels(grid.levels + steps).summed(coarsen=False) if steps.any() else grid

    def _levels_to_coarsen(self) -> Integers:
        """By how many levels to coarsen each column so that at most LIMIT of its cells are in use.

        Neighbouring cells become one l levels up if they differ only in their last l bits. So it is enough to count
        the pairs of neighbours by the highest bit in which they differ: one pass, whatever the number of levels.
        """
        same = np.flatnonzero(self.owner[1:] == self.owner[:-1])
        differing = self.cell[same + 1] ^ self.cell[same]  # negative where zero lies between them: never one cell
        high, low = differing >> 32, differing & (2**32 - 1)  # halves, which doubles hold exactly
        n_bits = np.where(high > 0, 32 + np.frexp(high)[1], np.frexp(low)[1])
        place = self.owner[same] * 65 + np.where(high < 0, 64, n_bits)
        pairs = np.bincount(place, minlength=len(self.features) * 65).reshape(-1, 65)
        apart = pairs[:, ::-1].cumsum(axis=1)[:, ::-1] - pairs  # pairs that are still apart, by levels coarsened
        return np.asarray(np.argmax(apart < LIMIT, axis=1))

    def first_of_cells(self) -> Booleans:
        """Which entries are the first of their cell."""
        first = np.ones(len(self.cell), bool)
        first[1:] = (self.owner[1:] != self.owner[:-1]) | (self.cell[1:] != self.cell[:-1])
        return first

    def n_cells(self) -> Integers:
        """How many cells of each column are in use."""
        return np.bincount(self.owner[self.first_of_cells()], minlength=len(self.features))

    def prepare(self, other: Grid, sign: int) -> Commit:
        """Check that `other` can be added or subtracted; the function returned does it."""
        features = tuple(merge_keys(self.features, other.features))
        a, b = self.with_features(features), other.with_features(features)
        if sign < 0 and (b.levels > a.levels).any():
            raise self._impossible(features[int(np.argmax(b.levels > a.levels))])
        levels = np.maximum(a.levels, b.levels)
        a, b = a.at_levels(levels), b.at_levels(levels)
        result = Grid(
            features,
            self.n_classes,
            levels,
            np.concatenate([a.owner, b.owner]),
            np.concatenate([a.cell, b.cell]),
            np.concatenate([a.klass, b.klass]),
            Exact.concatenate([a.amounts, b.amounts if sign > 0 else -b.amounts]),
        ).summed(coarsen=sign > 0)
        if sign < 0 and result.amounts.negative().any():
            raise self._impossible(features[int(result.owner[int(np.argmax(result.amounts.negative()))])])
        check_counts(result.amounts)

        def commit() -> None:
            self.__dict__.update(result.__dict__)

        return commit

    def without(self, columns: Columns, codes: Codes32) -> Grid:
        """The sums without rows that are counted here, one each: as `prepare` has them, but their cells are known."""
        first = self.first_of_cells()
        offsets = np.searchsorted(self.owner[first], np.arange(len(self.features) + 1)).astype(np.int64)
        counted, unknown = kernels.active.count_known_cells(
            columns, codes, self.n_classes, self.levels, offsets, self.cell[first], 0, len(codes)
        )
        if unknown >= 0:
            raise self._impossible(self.features[unknown % len(self.features)])
        less = counted[np.cumsum(first) - 1, self.klass]
        amounts = self.amounts - Exact.whole(less)
        if (strange := amounts.negative()).any() or less.sum() < counted.sum():
            raise self._impossible(self.features[int(self.owner[int(np.argmax(strange))])])
        rest = replace(self, amounts=amounts)._entries(amounts.nonzero())
        levels = np.zeros_like(self.levels)
        levels[rest.owner] = self.levels[rest.owner]
        return replace(rest, levels=levels, amounts=rest.amounts.trimmed())

    @staticmethod
    def _impossible(feature: str) -> ForgetError:
        return ForgetError("these values were not learned that often in this class", column=feature)

    def change_notes(self, sign: int) -> tuple[str, ...]:
        """Subtracting rows does not make the grid finer again."""
        if sign > 0 or not self.levels.any():
            return ()
        return (f"histogram columns that have had more than {LIMIT:,} different values stay on their present grid",)

    def rows_seen(self) -> Exact:
        """Amount per (column, class)."""
        n = len(self.features) * self.n_classes
        total = self.amounts.grouped(self.owner * self.n_classes + self.klass, n)
        return total.reshaped(len(self.features), self.n_classes)

    def arrays(self) -> Arrays:
        """Levels and entries of each column; also amounts per (column, class), which limit the memory of reading."""
        in_use = np.flatnonzero(np.bincount(self.owner)).tolist()
        grid = self.only(tuple(self.features[i] for i in in_use))
        ends = np.searchsorted(grid.owner, np.arange(len(grid.features)), side="right").astype(np.int64)
        return Arrays(
            grid.features,
            {"amounts": grid.amounts.trimmed(), "totals": grid.rows_seen().trimmed()},
            {"levels": grid.levels, "ends": ends, "cells": grid.cell, "classes": grid.klass},
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_classes: int, like: Grid) -> Grid:
        """A grid that rows can have, or a ValueError."""
        n, totals, amounts = len(arrays.features), arrays.sums["totals"], arrays.sums["amounts"]
        levels, cell, klass = (arrays.places[name] for name in ("levels", "cells", "classes"))
        require(levels.shape == (n,) and cell.ndim == 1 and klass.shape == cell.shape, "a grid of the wrong shape")
        require(amounts.shape == cell.shape and totals.shape == (n, n_classes), "amounts of the wrong shape")
        owner = check_ends(arrays.places["ends"], n, len(cell), "cells")
        require(((levels >= 0) & (levels <= _LEVELS)).all(), "levels out of range")
        require(((klass >= 0) & (klass < n_classes)).all(), "classes out of range")
        level = levels[owner]
        require(((cell >= _LOWEST >> level) & (cell <= _HIGHEST >> level)).all(), "cells out of range")
        same_column, same_cell = owner[1:] == owner[:-1], cell[1:] == cell[:-1]
        sorted_ = ~same_column | (cell[1:] > cell[:-1]) | (same_cell & (klass[1:] > klass[:-1]))
        require(sorted_.all(), "cells out of order")
        require(amounts.nonzero().all(), "cells without a count")
        check_amounts(amounts, "cells")
        check_totals(totals.reshaped(n * n_classes), amounts, owner * n_classes + klass)
        result = cls(arrays.features, n_classes, levels, owner, cell, klass, amounts)
        require((result.n_cells() <= LIMIT).all(), f"more than {LIMIT} cells of a column")
        return result
