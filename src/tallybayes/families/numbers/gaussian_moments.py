"""Means and variances from exact sums, correctly rounded, and the prior that is centred on the pooled ones.

Every column is measured in a unit of its own, a power of two near its root mean square, so that 1e200 and 1e-310
neither overflow nor underflow. A mean is kept as two doubles: at an offset of 1e15 a single one is off by 0.06.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tallybayes import kernels
from tallybayes.families.predictive import Floats
from tallybayes.kernels.digits import pooled_ratio_moments, ratio_moments
from tallybayes.tally import Sums

__all__ = ["GaussianPrior", "StudentDerivation", "digits_of", "moments_of", "pool_moments", "pool_units"]


@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """The strengths of the prior, and the pooled mean (two doubles) and variance of each column, in units of 2**units.

    `share` is the factor of the data of a class: 1, or 0 for infinitely strong smoothing.
    """

    kappa: float
    nu: float
    units: np.ndarray  # (columns,)
    moments: Floats  # mean, its low part and variance, (3, columns)
    share: float = 1.0


def pool_moments(tally: Sums) -> tuple[np.ndarray, Floats]:
    """The unit of every column, and mean (two doubles) and variance over all classes in it, correctly rounded."""
    if tally["n"].is_whole and (pooled := kernels.active.pooled_moments(*digits_of(tally))) is not None:
        units, moments = pooled
        return units, moments
    n, x, xx = tally["n"], tally["x"], tally["xx"]
    return pooled_ratio_moments(n.integers(), n.low, x.integers(), x.low, xx.integers(), xx.low)


def pool_units(tally: Sums) -> np.ndarray:
    """The exponent of the unit of each column, which is near the root mean square of all its values."""
    return pool_moments(tally)[0]


def moments_of(tally: Sums, units: np.ndarray) -> Floats:
    """Mean (two doubles) and variance of every cell, correctly rounded, in units of 2**units, (3, columns, classes)."""
    if tally["n"].is_whole:
        moments: Floats = kernels.active.mean_variance(*digits_of(tally), units)
        return moments
    n, x, xx = tally["n"], tally["x"], tally["xx"]
    return ratio_moments(n.integers(), n.low, x.integers(), x.low, xx.integers(), xx.low, units)


class StudentDerivation:
    """The tables of Student's t of integer counts, in arrays that `renew` fills from the sums as they are then.

    renew: False if there are more rows than the kernel can count.
    """

    def __init__(self, tally: Sums, kappa: float, nu: float, share: float) -> None:
        n_columns, n_classes = tally["n"].shape
        self.units, self.scales = np.empty(n_columns, np.int64), np.empty(n_columns)
        self.tables, self.share = np.empty((9, n_columns, n_classes)), share
        arrays = (self.units, self.scales, self.tables)
        self.renew = partial(kernels.active.pooled_student, *digits_of(tally), kappa, nu, share, *arrays)


def digits_of(tally: Sums) -> tuple[Any, ...]:
    """Integer counts, and digits and places of the sums, as the kernels expect them."""
    n, x, xx = tally["n"], tally["x"], tally["xx"]
    return n.digits[..., 0], np.ascontiguousarray(x.digits), x.low, np.ascontiguousarray(xx.digits), xx.low
