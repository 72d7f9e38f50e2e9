"""Entries of tallies: those of a table that are not zero, and the order of entries by three keys."""

import numpy as np

from tallybayes.arrays.array_types import Integers
from tallybayes.kernels.contract import checked


@checked("owner, cell: lines; table: lines, classes")
def list_entries(owner: Integers, cell: Integers, table: Integers) -> tuple[Integers, Integers, Integers, Integers]:
    """Owner, cell, class and amount of every entry of a table (lines, classes) that is not zero, line by line.

    >>> list_entries(np.array([0, 0]), np.array([7, 9]), np.array([[2, 0], [1, 3]]))
    (array([0, 0, 0]), array([7, 9, 9]), array([0, 0, 1]), array([2, 1, 3]))
    """
    line, klass = np.nonzero(table)
    return owner[line], cell[line], klass, table[line, klass]


@checked("first, second, third: entries")
def sort_entries(first: Integers, second: Integers, third: Integers) -> Integers:
    """The places of the entries in the order of the first key, then the second, then the third; equal ones in turn.

    >>> sort_entries(np.array([0, 0, 0, 1]), np.array([5, 3, 3, 1]), np.array([1, 2, 0, 0])).tolist()
    [2, 1, 0, 3]
    """
    return np.asarray(np.lexsort((third, second, first)), np.int64)
