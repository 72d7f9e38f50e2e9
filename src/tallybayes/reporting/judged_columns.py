"""The columns of some of the evaluated rows: their coarse cells and missing values, by class."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.column import Column
from tallybayes.reporting.learned_cells import LearnedCells
from tallybayes.scoring.missing_evidence import is_missing

__all__ = ["JudgedColumns"]

Cells = NDArray[np.int16]


class JudgedColumns:
    """The classes of rows, the cell of every value (-1: missing; after the last cell: another value), and gaps."""

    def __init__(self, cells: Mapping[str, LearnedCells], n_classes: int) -> None:
        self.learned = dict(cells)
        self.class_rows: NDArray[np.int64] = np.zeros(n_classes, np.int64)
        self.missing: dict[str, NDArray[np.int64]] = {}  # rows of each class without a value, by column
        self._codes: list[NDArray[np.int64]] = []
        self._cells: dict[str, list[Cells]] = {name: [] for name in cells}

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.class_rows.sum())

    @property
    def codes(self) -> NDArray[np.int64]:
        """The class of every row."""
        return np.concatenate([np.zeros(0, np.int64), *self._codes])

    def add(self, columns: Mapping[str, Column], codes: NDArray[np.int64]) -> None:
        """Add rows with their encoded columns and classes."""
        n_classes = len(self.class_rows)
        self.class_rows += np.bincount(codes, minlength=n_classes)
        self._codes.append(codes)
        for name, column in columns.items():
            gaps = is_missing(column)
            own = self.missing.setdefault(name, np.zeros(n_classes, np.int64))
            own += np.bincount(codes[gaps], minlength=n_classes)
            if name in self.learned:
                cells = self.learned[name].input.cells(column)
                other = self.learned[name].input.n_cells
                self._cells[name].append(np.where((cells < 0) & ~gaps, other, cells).astype(np.int16))

    def cells(self, name: str) -> Cells:
        """The cell of a column in every row."""
        return np.concatenate([np.zeros(0, np.int16), *self._cells[name]])

    def counts(self, name: str) -> NDArray[np.int64]:
        """The rows in each cell of a column, that of other values last; rows without a value are not counted."""
        cells = self.cells(name)
        return np.bincount(cells[cells >= 0], minlength=len(self.learned[name].shares))
