"""What the families of derived columns share: counts of coarse cells and of all pairs of them.

A row adds 1 to each of its cells that is not missing, and to each pair of them. The tables have a line for every pair
of cells, so their number is limited; `check_pairs` says how much memory they would take.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Codes32, Floats, Integers, Weights
from tallybayes.arrays.chunks import in_threads, split
from tallybayes.arrays.column import Cells, Column
from tallybayes.errors import Described, ParameterError
from tallybayes.families.family import Family, Predictive, PriorT, Smoothing
from tallybayes.tally import CellPairCounts, Exact
from tallybayes.tally.cell_pair_counts import symmetric_pairs

__all__ = ["CellPairFamily", "check_pairs"]

_MEMORY = 2**30  # bytes of the table of pairs of one column; deriving from it takes a few times as much
_SMALL = 2**16  # cells of a table that is used however few rows there are
_COPIES = 4  # of a row in the mean, up to which copies are counted one by one
_ENTRIES = 2**22  # pairs of rows that are listed at a time


@dataclass(frozen=True)
class CellPairFamily(Family[CellPairCounts, PriorT]):
    """A family of derived columns, counted as pairs of cells."""

    column: ClassVar[type[Column]] = Cells

    def observe(
        self, features: tuple[str, ...], columns: Sequence[Cells], codes: Codes32, n_classes: int, weights: Weights
    ) -> CellPairCounts:
        """Count every cell and every pair of cells of a row."""
        named = dict(zip(features, map(self.to_count, columns), strict=True))
        for name, column in named.items():
            check_pairs(name, sum(column.sizes), n_classes)
        sizes = {name: column.sizes for name, column in named.items()}
        counted = [_count_pairs(column, codes, n_classes, weights) for column in named.values()]
        return CellPairCounts.of_cells(sizes, counted, n_classes)

    def check_inputs(self, name: str, sizes: Sequence[int], n_classes: int) -> None:
        """Refuse more pairs of cells than there is memory for."""
        check_pairs(name, sum(sizes), n_classes)

    def to_count(self, column: Cells) -> Cells:
        """The cells of a column that are counted."""
        return column

    @abstractmethod
    def table_of(self, sizes: tuple[int, ...], pairs: Floats) -> Any:
        """What is derived of one column, from a symmetric table of counts (`CellPairCounts.pair_table`)."""

    @abstractmethod
    def prior_of(self, tables: Sequence[Any], smoothing: Smoothing) -> PriorT:
        """The prior, given the tables of all columns; 0 is maximum likelihood."""

    @abstractmethod
    def predictive_of(
        self, features: tuple[str, ...], n_classes: int, tables: Sequence[Any], prior: PriorT
    ) -> Predictive:
        """The predictive, given the tables of its columns."""

    def tables_of(self, tally: CellPairCounts) -> list[Any]:
        """The tables of all columns."""
        for name in tally.features:
            check_pairs(name, sum(tally.sizes[name]), tally.n_classes)
        return [self.table_of(tally.sizes[name], tally.pair_table(name)) for name in tally.features]

    def prior(self, tally: CellPairCounts, smoothing: Smoothing) -> PriorT:
        """The given strength, or the best one by evidence."""
        return self.prior_of(self.tables_of(tally), smoothing)

    def predictive(self, tally: CellPairCounts, prior: PriorT) -> Predictive:
        """Smoothed frequencies."""
        return self.predictive_of(tally.features, tally.n_classes, self.tables_of(tally), prior)

    def derive(self, tally: CellPairCounts, smoothing: Smoothing) -> Predictive:
        """The tables are computed once for the prior and the predictive."""
        tables = self.tables_of(tally)
        return self.predictive_of(tally.features, tally.n_classes, tables, self.prior_of(tables, smoothing))

    def plug_in(self, tally: CellPairCounts) -> Predictive:
        """Frequencies."""
        return self.derive(tally, 0.0)

    def held_out(
        self,
        tally: CellPairCounts,
        smoothing: Smoothing,
        columns: Sequence[Cells],
        codes: Codes32,
        copies: Weights,
        folds: Integers,
    ) -> list[Floats] | None:
        """Each row scored by the counts without its fold: dense tables are subtracted, not sums by key."""
        n_rows = int(len(codes) if copies is None else copies.sum())
        if not tally.is_whole or n_rows > _COPIES * len(codes) or (copies is not None and (copies % 1).any()):
            return None
        at = np.arange(len(codes)) if copies is None else np.repeat(np.arange(len(codes)), copies.astype(np.int64))
        numbers = range(int(folds.max(initial=-1)) + 1)
        rows = [(np.flatnonzero(folds == number), at[folds[at] == number]) for number in numbers]
        classes = [np.ascontiguousarray(codes[less]) for _, less in rows]
        scores = []
        for name, column in zip(tally.features, columns, strict=True):
            total, counted, sizes = tally.pair_table(name), self.to_count(column), np.array(column.sizes, np.int64)
            scores.append(out := np.zeros((len(codes), tally.n_classes)))
            for (sampled, less), labels in zip(rows, classes, strict=True):
                cells = np.ascontiguousarray(counted.codes[less])
                counts = kernels.active.count_cell_pairs(cells, sizes, labels, tally.n_classes, 0, len(less))
                pairs = total - symmetric_pairs(counts[:-1].reshape(total.shape))
                tables = [self.table_of(column.sizes, pairs)]
                predictive = self.predictive_of((name,), tally.n_classes, tables, self.prior_of(tables, smoothing))
                predictive.bind([column.take(sampled)])(
                    part := np.zeros((len(sampled), tally.n_classes)), 0, len(sampled)
                )
                out[sampled] = part
        return scores


def check_pairs(name: str, n_cells: int, n_classes: int) -> None:
    """Refuse a derived column with more pairs of cells than there is memory for.

    >>> check_pairs("all columns", 100_000, 2)
    Traceback (most recent call last):
        ...
    tallybayes.errors.ParameterError: column 'all columns': expected at most 1 GiB for pairs of cells, got 149 GiB (100,000 cells, 2 classes)
    hint: exclude columns (ignore=), above all those with many categories, or fit with dependence="none"
    """  # noqa: E501 - the message is one line
    if (needed := n_cells * n_cells * max(n_classes, 1) * 8) > _MEMORY:
        raise ParameterError(
            "at most 1 GiB for pairs of cells",
            got=Described(
                f"{needed / 2**30:.3g} GiB ({n_cells:,} cells, {n_classes:,} class{'' if n_classes == 1 else 'es'})"
            ),
            column=name,
            hint='exclude columns (ignore=), above all those with many categories, or fit with dependence="none"',
        )


def _count_pairs(column: Cells, codes: Codes32, n_classes: int, weights: Weights) -> tuple[Integers, Exact]:
    """Sorted places `key * n_classes + class`, and the amount at each."""
    sizes, n_inputs = np.array(column.sizes, np.int64), len(column.sizes)
    n_places = (sum(column.sizes) ** 2 + 1) * n_classes
    n_pairs = n_inputs * (n_inputs + 1) // 2 + 1
    if weights is None and n_places <= max(_SMALL, 4 * len(codes) * n_pairs):
        parts = in_threads(
            lambda start, stop: kernels.active.count_cell_pairs(column.codes, sizes, codes, n_classes, start, stop),
            len(codes),
        )
        table = sum(parts[1:], parts[0]).reshape(-1)
        places = np.flatnonzero(table)
        return places, Exact.whole(table[places])
    counted = []
    for start, stop in split(len(codes), max(_ENTRIES // n_pairs, 1)):
        row, places = _list_places(column, codes, n_classes, start, stop)
        amounts = np.ones(len(row)) if weights is None else weights[row]
        used, group = np.unique(places, return_inverse=True)
        counted.append((used, Exact.summed(amounts, group, len(used))))
    if not counted:
        return np.zeros(0, np.int64), Exact.zeros(0)
    used, group = np.unique(np.concatenate([places for places, _ in counted]), return_inverse=True)
    return used, Exact.concatenate([amounts for _, amounts in counted]).grouped(group, len(used))


def _list_places(column: Cells, codes: Codes32, n_classes: int, start: int, stop: int) -> tuple[Integers, Integers]:
    """The row and the place of every cell and pair of cells of rows start to stop, and of the rows themselves."""
    offsets, cells = column.offsets, column.codes[start:stop].astype(np.int64)
    n_cells, code = int(offsets[-1]), codes[start:stop].astype(np.int64)
    first, second = np.triu_indices(len(column.sizes))
    number = cells + offsets[:-1]
    key = np.concatenate(
        [number[:, first] * n_cells + number[:, second], np.full((len(cells), 1), n_cells * n_cells)], axis=1
    )
    there = np.concatenate(
        [(cells[:, first] >= 0) & (cells[:, second] >= 0), (cells >= 0).any(axis=1, keepdims=True)], axis=1
    )
    there &= (code >= 0)[:, None]
    row, pair = np.nonzero(there)
    return row + start, key[row, pair] * n_classes + code[row]
