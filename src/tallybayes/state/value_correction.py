"""A correction of the evidence of a column by value and class, fitted after the sums.

    correction_c(v) = slope_c * z(v)             z(v) = (v - centre) / scale, cut off at 4 on both sides (numbers)
                    + table_c[cell of v]         (columns in coarse cells)

The weighted evidence of a column is its own log likelihood times a weight: right about the column alone, but blind to
what other columns repeat. The slope moves the evidence where a trend of the value remains, the table where single
values remain. Both are settings like column weights, are folded into the tables of the predictive when a scorer is
derived (`Predictive.corrected`), and are part of what the column contributes to an explanation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tallybayes.arrays.column import Codes, Flags, Reals
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.errors import ParameterError, is_real_number
from tallybayes.families.predictive import Correction, Floats

__all__ = ["FARTHEST", "ValueCorrection"]

FARTHEST = 4.0  # standard deviations from the centre up to which a trend goes on: beyond there are few rows to fit it


@dataclass(frozen=True)
class ValueCorrection:
    """The correction of one column.

    slopes: by class, per standard deviation `scale` from `centre`; classes that are not named have 0.
    cells, table: coarse cells of the column, and what is added in each of them, by class.

    >>> trend = ValueCorrection({"ill": 0.5, "well": -0.5}, centre=37.0, scale=2.0)
    >>> trend.bound(["ill", "well"]).of_numbers(np.array([38.0, 41.0, 99.0])).tolist()
    [[0.25, -0.25], [1.0, -1.0], [2.0, -2.0]]
    """

    slopes: Mapping[Any, float] = field(default_factory=dict)
    centre: float = 0.0
    scale: float = 1.0
    cells: CellInput | None = None
    table: Mapping[Any, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "slopes", dict(self.slopes))
        object.__setattr__(self, "table", {label: tuple(line) for label, line in self.table.items()})
        numbers = (*self.slopes.values(), self.centre, self.scale, *(x for line in self.table.values() for x in line))
        if not all(is_real_number(number) and np.isfinite(number) for number in numbers):
            raise ParameterError("finite slopes, tables, centre and scale", got=list(numbers))
        if not self.scale > 0:
            raise ParameterError("a scale above 0", got=self.scale)
        n_cells = 0 if self.cells is None else self.cells.n_cells
        for line in self.table.values():
            if len(line) != n_cells:
                raise ParameterError(f"a table of {n_cells} cells", got=len(line))

    @property
    def labels(self) -> set[Any]:
        """The classes it names."""
        return {*self.slopes, *self.table}

    def only(self, classes: Collection[Any]) -> ValueCorrection:
        """The correction for some classes."""
        slopes = {label: slope for label, slope in self.slopes.items() if label in classes}
        return replace(
            self, slopes=slopes, table={label: line for label, line in self.table.items() if label in classes}
        )

    def bound(self, classes: Sequence[Any]) -> Correction:
        """The correction as arrays over classes in order."""
        slopes = np.array([self.slopes.get(label, 0.0) for label in classes], np.float64)
        n_cells = 0 if self.cells is None else self.cells.n_cells
        none = (0.0,) * n_cells
        lines = [*np.array([self.table.get(label, none) for label in classes]).reshape(len(classes), n_cells).T]
        table = np.array([*lines, np.zeros(len(classes))])  # the last line is of a value without a cell
        return _BoundCorrection(slopes, self.centre, self.scale, self.cells, table)


@dataclass(frozen=True, eq=False)
class _BoundCorrection(Correction):
    slopes: Floats
    centre: float
    scale: float
    cells: CellInput | None
    table: Floats

    def of_numbers(self, values: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            z = np.clip((values - self.centre) / self.scale, -FARTHEST, FARTHEST)
        result = z[:, None] * self.slopes
        return np.asarray(result if self.cells is None else result + self.table[self.cells.cells(Reals(values))])

    def of_keys(self, keys: Sequence[Any]) -> Floats:
        if self.cells is None:
            return np.zeros((len(keys), len(self.slopes)))
        if self.cells.keys is None:
            return self.table[self.cells.cells(Flags(np.array(keys, np.int8)))]
        return self.table[self.cells.cells(Codes(np.arange(len(keys), dtype=np.int32), list(keys)))]
