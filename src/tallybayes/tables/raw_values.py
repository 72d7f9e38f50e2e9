"""Single values of raw columns: whether they are missing, or numbers."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_masked", "is_missing", "is_number", "plain_reals"]

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
