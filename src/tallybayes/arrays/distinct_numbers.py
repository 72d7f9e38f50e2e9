"""The distinct numbers among many small ones."""

import numpy as np

from tallybayes.arrays.array_types import Indices, Integers, Integers32

__all__ = ["distinct"]


def distinct(numbers: Indices, size: int) -> tuple[Integers, Integers32]:
    """The distinct numbers among some below a size, in order, and the position of each number among them.

    >>> [part.tolist() for part in distinct(np.array([7, 2, 7]), 9)]
    [[2, 7], [1, 0, 1]]
    """
    if size > 8 * len(numbers):  # sorting few numbers is quicker than marking them among many
        few, place = np.unique(numbers, return_inverse=True)
        return few.astype(np.int64), place.astype(np.int32)
    there = np.zeros(size, bool)
    there[numbers] = True
    if there.all():
        return np.arange(size), numbers.astype(np.int32, copy=False)
    return np.flatnonzero(there), (np.cumsum(there, dtype=np.int32) - 1)[numbers]
