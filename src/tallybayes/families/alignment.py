"""Columns of a block converted to one dtype, and the errors for values that a kernel does not accept."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Booleans, Indices, Numbers
from tallybayes.arrays.column import Codes, Flags, Reals
from tallybayes.errors import DataError

__all__ = ["first_true", "flag_arrays", "integer_arrays", "real_arrays", "refuse"]


def real_arrays(columns: Sequence[Reals]) -> list[NDArray[np.floating]]:
    """The arrays of real columns in one dtype, without a copy where they have one."""
    arrays = [column.values for column in columns]
    if len({array.dtype for array in arrays}) > 1:
        return [array.astype(np.float64, copy=False) for array in arrays]
    return arrays


def flag_arrays(columns: Sequence[Flags]) -> list[Numbers]:
    """The arrays of boolean columns in one dtype, without a copy where they have one."""
    arrays = [column.values for column in columns]
    if len({array.dtype for array in arrays}) > 1:
        return [_float_flags(array) for array in arrays]
    return arrays


def _float_flags(array: Numbers) -> Numbers:
    """Flags as reals; missing is -1 in integers and NaN in reals."""
    reals = array.astype(np.float64)
    return np.where(reals == -1, np.nan, reals) if array.dtype.kind == "i" else reals


def integer_arrays(columns: Sequence[Codes]) -> list[Indices]:
    """The codes of category columns in one dtype, without a copy where they have one."""
    arrays = [column.codes for column in columns]
    if len({array.dtype for array in arrays}) > 1:
        return [array.astype(np.int64, copy=False) for array in arrays]
    return arrays


def first_true(where: Booleans) -> int:
    """The first place where an array is true, or -1."""
    return int(np.argmax(where)) if where.any() else -1


def refuse(place: int, features: tuple[str, ...], arrays: Sequence[Numbers] | Numbers, wanted: str) -> None:
    """Raise for the value at `row * n_columns + column`, unless the place is -1; `arrays` may be a matrix."""
    if place >= 0:
        row, column = divmod(place, len(features))
        value = (arrays[row, column] if isinstance(arrays, np.ndarray) else arrays[column][row]).item()
        hint = "leave the cell empty if the value is unknown" if np.isinf(value) else None
        raise DataError(wanted, got=value, column=features[column], row=row, hint=hint)
