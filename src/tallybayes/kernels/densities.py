"""Formulas of the densities and tables that the reference kernels and the families share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Booleans, Floats, Integers
from tallybayes.arrays.special import gammaln

__all__ = [
    "beta_tables",
    "event_tables",
    "laplace",
    "log_events",
    "log_gamma_ratio",
    "posterior",
    "student_tables",
    "two_sum",
]


_LOG_2 = float(np.log(2.0))
_SERIES = 20.0  # from here on five terms of the series of `log_gamma_ratio` are exact to the last digit


def posterior(
    n: Floats, moments: Floats, prior: Floats, kappa: float, nu: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Shift of the mean, nu' s'^2, kappa' and nu' of every (column, class): see `tallybayes.families.numbers.gaussian`.

    `moments` are mean, its low part and variance, (3, columns, classes); `prior` the same of each column, (3, columns).
    """
    (mean, low, variance), (centre, centre_low, spread) = moments, prior[..., None]
    delta = np.where(n > 0, (mean - centre) + (low - centre_low), 0.0)
    more = kappa + n
    return n * delta / more, nu * spread + n * variance + kappa * n / more * delta * delta, more, nu + n


def student_tables(
    n: Floats, moments: Floats, units: Integers, prior: Floats, kappa: float, nu: float, *, shared: bool = False
) -> Floats:
    """The five tables of `add_student` from mean to log_constant, (5, columns, classes).

    The arguments are those of `posterior`. A column whose prior variance is 0 contributes nothing: its last three
    tables are 0. `shared`: the classes have one variance.
    """
    shift, spread, kappa_n, nu_n = posterior(n, moments, prior, kappa, nu)
    if shared:
        prior_spread = nu * prior[2][:, None]
        spread = np.broadcast_to(prior_spread + (spread - prior_spread).sum(axis=1, keepdims=True), n.shape)
        nu_n = np.broadcast_to(nu + n.sum(axis=1, keepdims=True), n.shape)
    mean, low = two_sum(prior[0][:, None], shift)
    mean, low = two_sum(mean, low + prior[1][:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.sqrt(spread / nu_n * (1 + 1 / kappa_n))
        inverse = 1 / (scale * np.sqrt(nu_n))
        log_constant = log_gamma_ratio(nu_n / 2) - 0.5 * np.log(np.pi * nu_n) - np.log(scale) - units[:, None] * _LOG_2
    silent = (prior[2] == 0)[:, None]
    return np.stack([mean, low, *(np.where(silent, 0.0, t) for t in (inverse, (nu_n + 1) / 2, log_constant))])


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
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


def beta_tables(no: NDArray[Any], yes: NDArray[Any], k: float) -> Floats:
    """Counts of no and yes as doubles, and the logs of `laplace` for them, behind each other, (4, columns, classes)."""
    counts, two = np.stack([no, yes]).astype(np.float64), np.array([[2.0]])
    return np.concatenate([counts, [laplace(part, counts[0] + counts[1], k, two) for part in counts]])


def event_tables(n: NDArray[Any], x: NDArray[Any], mean: Floats, share: float) -> Floats:
    """Rows, and shape and rate of the negative binomial, of every cell: see `tallybayes.families.numbers.poisson`.

    `n` and `x` are sums (columns, classes), `mean` is (columns,). Where it is 0 the column contributes nothing, and the
    shape is 0.
    """
    none = (mean == 0)[:, None]
    shape, rate = np.where(none, 0.0, 1 + share * x), 1 / np.where(none, 1.0, mean[:, None]) + share * n
    return np.stack([n.astype(np.float64), shape, rate])


def log_events(x: Floats, shape: Floats | None, rate: Floats, silent: Booleans) -> Floats:
    """Log P(x) of counts under the negative binomial, or the Poisson distribution without a shape; 0 if silent.

    Differences of log gammas lose all digits near 2**53, so this is Loader's saddle-point form (2000, "Fast and
    accurate computation of binomial probabilities"): with d(x, m) = x log(x / m) + m - x and the error e of Stirling's
    formula,

        Poisson             -e(x) - d(x, rate) - log(2 pi x) / 2
        negative binomial   e(n) - e(r) - e(x) - d(r, n p) - d(x, n q) + (log(r / n) - log(2 pi x)) / 2,    n = x + r
    """
    positive = np.where(x > 0, x, 1.0)
    with np.errstate(divide="ignore"):
        log_scale = np.log(2 * np.pi * positive)
        if shape is None:
            log_prob = -_stirling_error(positive) - _deviance(positive, rate) - log_scale / 2
            return np.where(silent, 0.0, np.where(x > 0, log_prob, -rate))
        r = np.where(silent, 1.0, shape)
        n = positive + r
        log_prob = _stirling_error(n) - _stirling_error(r) - _stirling_error(positive) + (np.log(r / n) - log_scale) / 2
        log_prob = log_prob - _deviance(r, n * (rate / (1 + rate))) - _deviance(positive, n / (1 + rate))
    return np.where(silent, 0.0, np.where(x > 0, log_prob, -r * np.log1p(1 / rate)))


def _stirling_error(x: Floats) -> Floats:
    """Log gamma(x + 1) minus Stirling's formula (x + 1/2) log x - x + log(2 pi) / 2, for x > 0."""
    far = np.maximum(x, 16.0) ** 2
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / far) / far) / far) / far) / np.maximum(x, 16.0)
    near = np.minimum(x, 16.0)
    formula: Floats = gammaln(near + 1) - (near + 0.5) * np.log(near) + near - np.log(2 * np.pi) / 2
    return np.where(x > 16, series, formula)


def _deviance(x: Floats, m: Floats) -> Floats:
    """The deviance x log(x / m) + m - x, for x > 0 and m >= 0; by its series where x is near m."""
    v = (x - m) / (x + m)
    near = np.abs(v) < 0.1
    small = np.where(near, v, 0.0)
    series = sum(small ** (2 * i) / (2 * i + 1) for i in range(9, 0, -1))
    with np.errstate(over="ignore", divide="ignore"):
        ratio = x / m
        log_ratio = np.where(np.isinf(ratio), np.log(x) - np.log(m), np.log(ratio))  # m may be the least of doubles
    return np.where(near, small * (x - m) + 2 * x * small * series, x * log_ratio + m - x)
