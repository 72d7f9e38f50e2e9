"""Columns of a block converted to one dtype, and the errors for values that a kernel does not accept."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.array_types import Booleans, Codes32, Columns, Floats, Indices, Numbers, Weights
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Codes, Column, Flags, Reals
from tallybayes.errors import DataError
from tallybayes.families.predictive import Predictive, Score
from tallybayes.tally import Exact

__all__ = [
    "ArrayPredictive",
    "first_true",
    "flag_arrays",
    "integer_arrays",
    "real_arrays",
    "refuse",
    "score_codes",
    "sum_columns",
]


def real_arrays(columns: Sequence[Column]) -> list[NDArray[np.floating]]:
    """The arrays of real columns in one dtype, without a copy where they have one."""
    arrays = [column.values for column in columns if isinstance(column, Reals)]
    return _align(arrays, lambda array: array.astype(np.float64, copy=False))


def flag_arrays(columns: Sequence[Column]) -> list[Numbers]:
    """The arrays of boolean columns in one dtype, without a copy where they have one."""
    return _align([column.values for column in columns if isinstance(column, Flags)], float_flags)


def integer_arrays(columns: Sequence[Column]) -> list[Indices]:
    """The codes of category columns in one dtype, without a copy where they have one."""
    arrays = [column.codes for column in columns if isinstance(column, Codes)]
    return _align(arrays, lambda array: array.astype(np.int64, copy=False))


def _align(arrays: list[Any], convert: Callable[[Any], Any]) -> list[Any]:
    return [convert(array) for array in arrays] if len({array.dtype for array in arrays}) > 1 else arrays


def float_flags(array: Numbers) -> Numbers:
    """Flags as reals; missing is -1 in integers and NaN in reals."""
    reals = array.astype(np.float64)
    return np.where(reals == -1, np.nan, reals) if array.dtype.kind == "i" else reals


class ArrayPredictive(Predictive):
    """A predictive that scores arrays of numbers, which are columns or a matrix."""

    expected: ClassVar[str] = "a finite number"  # what a value must be, for errors

    @abstractmethod
    def kernel(self) -> tuple[Callable[..., int], tuple[Any, ...]]:
        """The kernel that scores arrays, and its tables; it returns the place of a value that it does not accept."""

    def bind_arrays(self, arrays: Columns) -> Score:
        """Prepare to score a list of arrays, or a matrix (rows, columns)."""
        add, tables = self.kernel()

        def score(out: Floats, start: int, stop: int) -> None:
            refuse(add(arrays, *tables, out, start, stop), self.features, arrays, self.expected)

        return score

    def bind(self, columns: Sequence[Column]) -> Score:
        """Prepare to score columns."""
        return self.bind_arrays([*real_arrays(columns), *flag_arrays(columns)])

    def bind_matrix(self, values: Floats) -> Score | None:
        """Prepare to score a matrix of numbers."""
        return self.bind_arrays(values)


def score_codes(columns: Sequence[Codes], tables: Sequence[Floats], n_classes: int) -> Score:
    """The score of columns of categories by a table for each column, (keys, classes)."""
    origins = np.array([column.origin for column in columns], np.int64)
    offsets = np.cumsum([0, *map(len, tables)]).astype(np.int64)
    table = np.concatenate([*tables, np.zeros((0, n_classes))])
    return partial(kernels.active.add_codes, integer_arrays(columns), origins, offsets, table)


def sum_columns(
    arrays: Sequence[NDArray[Any]], codes: Codes32, n_classes: int, weights: Weights, order: int
) -> tuple[list[Exact], int]:
    """Exact sums of 1, x and (if `order` is 2) x*x, (columns, classes), and the place of the first infinite value."""
    parts = in_threads(
        lambda start, stop: kernels.active.sum_columns(list(arrays), codes, n_classes, weights, order, start, stop),
        len(codes),
    )
    sums = [Exact.added([Exact(*part[i]) for part in parts]) for i in range(order + 1)]
    return sums, min((part[3] for part in parts if part[3] >= 0), default=-1)


def first_true(where: Booleans) -> int:
    """The first place where an array is true, or -1."""
    return int(np.argmax(where)) if where.any() else -1


def refuse(place: int, features: tuple[str, ...], arrays: Sequence[Numbers] | Numbers, wanted: str) -> None:
    """Raise for the value at `row * n_columns + column`, unless the place is -1; `arrays` may be a matrix."""
    if place >= 0:
        row, column = divmod(place, len(features))
        value = (arrays[row, column] if isinstance(arrays, np.ndarray) else arrays[column][row]).item()
        hint = (
            f"leave the cell empty if the value is unknown; in files, --missing={value:g} reads it so"
            if np.isinf(value)
            else None
        )
        raise DataError(wanted, got=value, column=features[column], row=row, hint=hint)
