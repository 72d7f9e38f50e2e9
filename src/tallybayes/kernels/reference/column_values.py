"""Blocks of columns as lists, and the first value of a block that a kernel does not accept."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Booleans, Columns

__all__ = ["as_list", "earlier_place"]


def as_list(columns: Columns) -> list[NDArray[Any]]:
    """The columns of a list or of a matrix (rows, columns)."""
    return list(columns.T) if isinstance(columns, np.ndarray) else columns


def earlier_place(place: int, invalid: Booleans, start: int, column: int, n_columns: int) -> int:
    """The lesser of a place (-1: none) and that of a column's first invalid value, `row * n_columns + column`.

    >>> earlier_place(-1, np.array([False, True]), 10, 0, 3), earlier_place(5, np.array([False, True]), 10, 0, 3)
    (33, 5)
    """
    if not invalid.any():
        return place
    first = (int(np.argmax(invalid)) + start) * n_columns + column
    return first if place < 0 else min(place, first)
