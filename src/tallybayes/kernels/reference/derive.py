"""From sums to the tables that scoring needs, for the families whose tables are derived again after every change.

The formulas are in `kernels/densities.py`; their meaning is explained in the module of each family.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Floats, Integers
from tallybayes.kernels.contract import checked
from tallybayes.kernels.densities import beta_tables, event_tables, student_tables
from tallybayes.kernels.digits import integers, pooled_ratio_moments
from tallybayes.kernels.reference.exact_sums import mean_variance


@checked(
    "n: columns, classes; x: columns, classes, width; xx: columns, classes, squares; n: columns, classes | at_least 0"
)
def pooled_moments(n: Integers, x: Integers, x_low: int, xx: Integers, xx_low: int) -> tuple[Integers, Floats] | None:
    """The unit of every column, and mean (high and low part) and variance over all classes in it, (3, columns).

    The arguments are those of `mean_variance`. A unit is a power of two near the root mean square of the column, given
    by its exponent: half the difference of the bits of the sum of squares and of n; 0 where all values are 0. None if
    a column has 2**63 rows or more.
    """
    total = n.astype(object).sum(axis=1)
    if any(rows >= 2**63 for rows in total):
        return None
    return pooled_ratio_moments(n.astype(object), 0, integers(x), x_low, integers(xx), xx_low)


@checked(
    "n: columns, classes; x: columns, classes, width; xx: columns, classes, squares; units: columns | units; "
    "prior: 3, columns; n: columns, classes | at_least 0; kappa: | positive; nu: | positive; share: | part"
)
def student(
    n: Integers,
    x: Integers,
    x_low: int,
    xx: Integers,
    xx_low: int,
    units: Integers,
    prior: Floats,
    kappa: float,
    nu: float,
    share: float,
) -> Floats:
    """Student's t of every cell: n, the moments of `mean_variance`, the tables of `student_tables`.

    Behind each other, (9, columns, classes).

    `share` is how far the rows of a class count: 1, or 0 for infinitely strong smoothing.
    """
    moments = mean_variance(n, x, x_low, xx, xx_low, units)
    rows = n.astype(np.float64)
    return np.concatenate([[rows], moments, student_tables(rows * share, moments, units, prior, kappa, nu)])


@checked(
    "n: columns, classes; x: columns, classes, width; xx: columns, classes, squares; units, scales: columns; "
    "tables: 9, columns, classes; n: columns, classes | at_least 0; kappa: | positive; nu: | positive; share: | part"
)
def pooled_student(
    n: Integers,
    x: Integers,
    x_low: int,
    xx: Integers,
    xx_low: int,
    kappa: float,
    nu: float,
    share: float,
    units: Integers,
    scales: Floats,
    tables: Floats,
) -> bool:
    """Write the units of `pooled_moments`, 2**-units, and the tables of `student` with these moments as its prior.

    False, with nothing to rely on, if `pooled_moments` is None.
    """
    pooled = pooled_moments(n, x, x_low, xx, xx_low)
    if pooled is None:
        return False
    units[:], scales[:] = pooled[0], np.ldexp(1.0, -pooled[0])
    tables[:] = student(n, x, x_low, xx, xx_low, *pooled, kappa, nu, share)
    return True


def log_shares(counts: Floats, k: float) -> Floats:
    """Log of the shares that counts (classes,) have, each k more than it is.

    >>> np.exp(log_shares(np.array([3.0, 1.0]), 0.0)).round(3).tolist()
    [0.75, 0.25]
    """
    smoothed = counts + k
    return np.asarray(np.log(smoothed) - np.log(smoothed.sum()))


@checked("no, yes: columns, classes")
def beta(no: NDArray[Any], yes: NDArray[Any], k: float) -> Floats:
    """Tables of boolean columns: see `beta_tables`."""
    return beta_tables(no, yes, k)


@checked("n, x: columns, classes; mean: columns")
def negative_binomial(n: NDArray[Any], x: NDArray[Any], mean: Floats, share: float) -> Floats:
    """Tables of columns of counts: see `event_tables`."""
    return event_tables(n, x, mean, share)


@checked("n, x: columns, classes")
def pooled_rate(n: Integers, x: Integers) -> Floats:
    """The mean of every column over all classes, (columns,), from integer sums (columns, classes); 0 without rows."""
    totals = zip(n.astype(object).sum(axis=1), x.astype(object).sum(axis=1), strict=True)
    return np.array([float(events) / float(rows) if rows else 0.0 for rows, events in totals], np.float64)
