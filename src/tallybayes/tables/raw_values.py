"""Values of raw columns: whether they are missing, numbers, or whole numbers throughout, such as ages and years."""

from __future__ import annotations

import decimal
import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.cells.arrow import combine_chunks, to_numpy

__all__ = ["are_whole", "has_fraction", "is_masked", "is_missing", "is_number", "plain_reals"]

_FIRST = 20_000  # rows that are examined, of a table as of a stream
_FEW_NUMBERS = 100  # numbers that mostly tell already
_PLAIN = {float, int, type(None)}
_NUMBERS = (int, float, np.integer, np.floating, np.bool_, decimal.Decimal)


def is_masked(value: Any) -> bool:
    """Whether a value is a masked array; `np.ma`, which takes a while to import, is not asked about other values."""
    return type(value) is not np.ndarray and isinstance(value, np.ndarray) and isinstance(value, np.ma.MaskedArray)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN of any type, NaT, pandas' NA or NumPy's masked; lists and arrays never are.

    >>> [is_missing(value) for value in (None, np.float16("nan"), decimal.Decimal("sNaN"), 0, "", [None])]
    [True, True, True, False, False, False]
    """
    if value is None or (is_masked(value) and value is np.ma.masked):
        return True
    if isinstance(value, np.ndarray) and value.ndim:
        return False
    try:
        return bool(value != value)
    except (TypeError, ArithmeticError):  # pandas' NA is not a truth value; a signalling NaN cannot be compared
        return True


def plain_reals(values: list[Any]) -> NDArray[np.float64] | None:
    """A list of floats, integers and None as doubles, NaN for None; None if it holds anything else.

    >>> plain_reals([1, None, 2.5]), plain_reals([1, "2"]), plain_reals([10**400])
    (array([1. , nan, 2.5]), None, None)
    """
    if not set(map(type, values)) <= _PLAIN:
        return None
    try:
        return np.array(values, np.float64)
    except OverflowError:  # no double holds it
        return None


def is_number(value: Any) -> bool:
    """Whether a value is a number or boolean, of Python or NumPy.

    >>> [is_number(value) for value in (1, np.float32(2), decimal.Decimal(3), "4", np.timedelta64(5))]
    [True, True, True, False, False]
    """
    return isinstance(value, _NUMBERS) and not isinstance(value, np.timedelta64)


def has_fraction(values: np.ndarray) -> bool:
    """Whether one of some reals is finite and not a whole number.

    >>> has_fraction(np.array([1.0, np.nan, 2.5])), has_fraction(np.array([1.0, np.inf]))
    (True, False)
    """
    values = np.ma.compressed(values) if is_masked(values) else values
    first = values.item(0) if len(values) else 0.0
    if math.isfinite(first) and not first.is_integer():  # mostly tells already, at the least cost
        return True
    for part in (values[:_FEW_NUMBERS], values) if len(values) > _FEW_NUMBERS else (values,):
        if np.count_nonzero(np.floor(part) < part):  # false for infinities and NaN
            return True
    return False


def are_whole(raw: Any) -> bool:
    """Whether a column has values in its first rows, and all of them are whole numbers.

    >>> are_whole([1, None, 2.0]), are_whole(np.array([1.5, 2.0])), are_whole(pa.array([3, None])), are_whole([])
    (True, False, True, False)
    """
    is_array = isinstance(raw, np.ndarray)
    if is_array or isinstance(raw, (pa.Array, pa.ChunkedArray, list)):
        raw = raw if len(raw) <= _FIRST else raw[:_FIRST]
    if not is_array and isinstance(raw, (pa.Array, pa.ChunkedArray)):
        if pa.types.is_integer(raw.type):
            return bool(raw.null_count < len(raw))
        if not pa.types.is_floating(raw.type) or pa.types.is_float16(raw.type):
            return False
        raw = to_numpy(combine_chunks(raw))
    if isinstance(raw, list) and (plain := plain_reals(raw)) is not None:
        raw = plain
    if isinstance(raw, list):
        numbers = list(itertools.filterfalse(is_missing, raw))
        if not all(is_number(value) and not isinstance(value, (bool, np.bool_)) for value in numbers):
            return False
        try:
            raw = np.array([float(value) for value in numbers])
        except OverflowError:  # no double holds it: encoding says so
            return False
    if not isinstance(raw, np.ndarray) or raw.dtype.kind not in "iuf":
        return False
    if raw.dtype.kind != "f":
        return len(raw) > 0
    if has_fraction(raw):
        return False
    there = raw[~np.isnan(raw)]
    return bool(len(there)) and bool(np.isfinite(there).all())
