"""The order of entries by three keys."""

import numpy as np

from tallybayes.arrays.array_types import Integers
from tallybayes.kernels.contract import checked


@checked("first, second, third: entries")
def sort_entries(first: Integers, second: Integers, third: Integers) -> Integers:
    """The places of the entries in the order of the first key, then the second, then the third; equal ones in turn.

    >>> sort_entries(np.array([0, 0, 0, 1]), np.array([5, 3, 3, 1]), np.array([1, 2, 0, 0])).tolist()
    [2, 1, 0, 3]
    """
    return np.asarray(np.lexsort((third, second, first)), np.int64)
