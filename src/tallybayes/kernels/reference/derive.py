"""From sums to the tables that scoring needs, for the families whose tables are derived anew after every change.

What a family means by these numbers is told in its own file; here is only the arithmetic, which a stream of single
rows goes through as often as there are rows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.kernels.contract import checked
from tallybayes.kernels.reference.exact_sums import integers, mean_variance, ratio_moments

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

_LOG_2 = float(np.log(2.0))
_UNIT_LIMIT = 1000  # units are 2**-1000 .. 2**1000, so that their inverses are doubles too
_SERIES = 20.0  # from here on five terms of the series below are as good as doubles can tell


@checked("n: columns, classes; x: columns, classes, width; xx: columns, classes, squares")
def pooled_moments(n: Whole, x: Whole, x_low: int, xx: Whole, xx_low: int) -> tuple[Whole, Floats] | None:
    """The unit of every column, and mean (high and low part) and variance over all classes in it, (3, columns).

    The arguments are those of `mean_variance`. A unit is a power of two near the root mean square of the column, told
    by its exponent: half the difference of the bits of the sum of squares and of n; 0 where all values are 0. None if
    a column has 2**63 rows or more.
    """
    total = n.astype(object).sum(axis=1)
    if any(rows >= 2**63 for rows in total):
        return None
    return pooled_ratio_moments(n.astype(object), 0, integers(x), x_low, integers(xx), xx_low)


def pooled_ratio_moments(
    n: NDArray[np.object_], n_low: int, x: NDArray[np.object_], x_low: int, xx: NDArray[np.object_], xx_low: int
) -> tuple[Whole, Floats]:
    """`pooled_moments` for sums given as Python integers in units of 2**(32 * low)."""
    rows, s, ss = (np.asarray(part.sum(axis=1), object)[:, None] for part in (n, x, xx))
    exponents = []
    for count, square in zip(rows.flat, ss.flat, strict=True):
        bits = int(square).bit_length() + 32 * xx_low - int(count).bit_length() - 32 * n_low
        exponents.append(max(-_UNIT_LIMIT, min(bits // 2, _UNIT_LIMIT)) if square else 0)
    units = np.array(exponents, np.int64)
    return units, ratio_moments(rows, n_low, s, x_low, ss, xx_low, units)[..., 0]


def posterior(
    n: Floats, moments: Floats, prior: Floats, kappa: float, nu: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Shift of the mean, nu' s'^2, kappa' and nu' of every (column, class): see `tallybayes.families.gaussian`.

    `moments` are mean, its low part and variance, (3, columns, classes); `prior` the same of each column, (3, columns).
    """
    (mean, low, variance), (centre, centre_low, spread) = moments, prior[..., None]
    delta = np.where(n > 0, (mean - centre) + (low - centre_low), 0.0)
    more = kappa + n
    return n * delta / more, nu * spread + n * variance + kappa * n / more * delta * delta, more, nu + n


@checked(
    "n: columns, classes; x: columns, classes, width; xx: columns, classes, squares; "
    "units: columns | units; prior: 3, columns"
)
def student(
    n: Whole,
    x: Whole,
    x_low: int,
    xx: Whole,
    xx_low: int,
    units: Whole,
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


def student_tables(
    n: Floats, moments: Floats, units: Whole, prior: Floats, kappa: float, nu: float, *, shared: bool = False
) -> Floats:
    """The five tables of `add_student` from mean to log_constant, (5, columns, classes).

    The arguments are those of `posterior`. A column whose prior variance is 0 is silent: its last three tables are 0.
    `shared`: the classes have one variance.
    """
    shift, spread, kappa_n, nu_n = posterior(n, moments, prior, kappa, nu)
    if shared:
        own = nu * prior[2][:, None]
        spread = np.broadcast_to(own + (spread - own).sum(axis=1, keepdims=True), n.shape)
        nu_n = np.broadcast_to(nu + n.sum(axis=1, keepdims=True), n.shape)
    mean, low = _two_sum(prior[0][:, None], shift)
    mean, low = _two_sum(mean, low + prior[1][:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.sqrt(spread / nu_n * (1 + 1 / kappa_n))
        inverse = 1 / (scale * np.sqrt(nu_n))
        log_constant = log_gamma_ratio(nu_n / 2) - 0.5 * np.log(np.pi * nu_n) - np.log(scale) - units[:, None] * _LOG_2
    silent = (prior[2] == 0)[:, None]
    return np.stack([mean, low, *(np.where(silent, 0.0, t) for t in (inverse, (nu_n + 1) / 2, log_constant))])


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The sum of two doubles as a double, and what that lacks (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def log_gamma_ratio(x: Floats) -> Floats:
    """Log of gamma(x + 1/2) / gamma(x): its series, to which gamma(x + 1) = x gamma(x) leads from a small x.

    >>> round(float(np.exp(log_gamma_ratio(np.array(0.5)))) ** 2 * np.pi, 15)  # gamma(1) / gamma(1/2), squared
    1.0
    """
    factor, x = np.ones_like(x), x.copy()
    while (small := x < _SERIES).any():
        factor = np.where(small, factor * (x / (x + 0.5)), factor)
        x = x + small
    y = 1 / (x * x)
    series = (-1 / 8 + y * (1 / 192 + y * (-1 / 640 + y * (17 / 14336 + y * (-31 / 18432))))) / x
    return np.asarray(0.5 * np.log(x) + np.log(factor) + series)


def laplace(counts: Floats, totals: Floats, k: float, n_values: Floats | int) -> Floats:
    """Log of (n + k) / (N + k V); 0/0 is silence (0), k infinite is uniform.

    `counts` is (values, classes); `totals` and `n_values` have as many rows and columns, or one for all of them.

    >>> np.exp(laplace(np.array([[2.0]]), np.array([[3.0]]), 1.0, np.array([[2.0]]))).round(3).tolist()
    [[0.6]]
    """
    values = np.broadcast_to(np.asarray(n_values, np.float64), counts.shape)
    if np.isinf(k):
        return np.asarray(-np.log(values))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = np.log(counts + k) - np.log(totals + k * values)
    return np.where(np.isnan(log_p), 0.0, log_p)


def log_shares(counts: Floats, k: float) -> Floats:
    """Log of the shares that counts (classes,) have, each k more than it is.

    >>> np.exp(log_shares(np.array([3.0, 1.0]), 0.0)).round(3).tolist()
    [0.75, 0.25]
    """
    smoothed = counts + k
    return np.asarray(np.log(smoothed) - np.log(smoothed.sum()))


@checked("no: columns, classes; yes: columns, classes")
def beta(no: NDArray[Any], yes: NDArray[Any], k: float) -> Floats:
    """Counts of no and yes as doubles, and the logs of `laplace` for them, behind each other, (4, columns, classes)."""
    counts, two = np.stack([no, yes]).astype(np.float64), np.array([[2.0]])
    return np.concatenate([counts, [laplace(part, counts[0] + counts[1], k, two) for part in counts]])


@checked("n: columns, classes; x: columns, classes; mean: columns")
def negative_binomial(n: NDArray[Any], x: NDArray[Any], mean: Floats, share: float) -> Floats:
    """Rows, and shape and rate of the negative binomial, of every cell: see `tallybayes.families.poisson`.

    `n` and `x` are sums (columns, classes), `mean` is (columns,). Where it is 0 the column is silent, and the shape 0.
    """
    none = (mean == 0)[:, None]
    shape, rate = np.where(none, 0.0, 1 + share * x), 1 / np.where(none, 1.0, mean[:, None]) + share * n
    return np.stack([n.astype(np.float64), shape, rate])


@checked("n: columns, classes; x: columns, classes")
def pooled_rate(n: Whole, x: Whole) -> Floats:
    """The mean of every column over all classes, (columns,), from whole sums (columns, classes); 0 without rows."""
    totals = zip(n.astype(object).sum(axis=1), x.astype(object).sum(axis=1), strict=True)
    return np.array([float(events) / float(rows) if rows else 0.0 for rows, events in totals], np.float64)
