"""Doubles as integers in the same order: a grid of floats is these integers without their lowest bits."""

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Integers

__all__ = ["ordered"]

_SIGNLESS = np.int64(2**63 - 1)


def ordered(x: NDArray[np.floating]) -> Integers:
    """Doubles as integers in the same order; -0.0 is 0.0.

    >>> ordered(np.array([-1.0, -0.0, 0.0, 5e-324])).tolist()
    [-4607182418800017409, 0, 0, 1]
    """
    bits = (x.astype(np.float64) + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ _SIGNLESS, bits)
