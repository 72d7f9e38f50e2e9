"""The hash of integers, which the reference kernels and the hashes of keys share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Hashes", "hash_integers"]

Hashes = NDArray[np.uint64]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: spreads integers over all bits


def hash_integers(numbers: NDArray[Any]) -> Hashes:
    """A hash of each integer, no two of which are equal.

    >>> hash_integers(np.array([-1, 0])).tolist()
    [0, 11400714836765684190]
    """
    bits = (np.asarray(numbers).astype(np.int64).view(np.uint64) + np.uint64(1)) * _SPREAD
    return np.asarray(bits ^ (bits >> np.uint64(29)))
