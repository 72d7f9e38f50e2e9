"""Real numbers, bell-shaped within a class.

The mean and variance of a class have a normal-inverse-gamma prior centred on the pooled data of the column, with the
weight of kappa rows for the mean and nu for the variance. What is left after averaging over them is Student's t:

    kappa' = kappa + n        mu' = m + n (mean - m) / kappa'       nu' = nu + n
    nu' s'^2 = nu v + n var + kappa n / kappa' (mean - m)^2
    p(x | c) = t(x; nu', mu', s'^2 (1 + 1 / kappa'))

(Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution"). kappa = 3 and nu = 5 did best of those
tried on real tables. The plug-in is the normal density with the mean and variance of the class.

Numbers: every column is measured in a unit of its own, a power of two near its root mean square, so that 1e200 and
1e-310 neither overflow nor underflow; a mean is kept as two doubles, since at an offset of 1e15 one is off by 0.06. A
column that is constant says nothing. Under the plug-in a class whose values are all equal has a point mass of the
width of one double.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Column, Reals
from tallybayes.arrays.special import gammaln
from tallybayes.errors import ParameterError
from tallybayes.families.base import Codes32, Family, Floats, Predictive, Score, Smoothing
from tallybayes.families.place import real_arrays, refuse
from tallybayes.kernels.reference.sums import ratio_moments
from tallybayes.tally import Exact, Sums

__all__ = ["Gaussian", "GaussianPredictive", "GaussianPrior", "moments_of", "pooled_units"]

Moments = tuple[Floats, Floats, Floats]  # mean, its low part, variance

_LOG_2 = float(np.log(2.0))
_UNIT_LIMIT = 1000  # units are 2**-1000 .. 2**1000, so that their inverses are doubles too


@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """The prior's strengths, and the pooled mean (two doubles) and variance of each column, in units of 2**units.

    `share` is how far the data of a class counts: 1, or 0 for infinitely strong smoothing.
    """

    kappa: float
    nu: float
    units: np.ndarray  # (columns,)
    mean: Floats
    mean_low: Floats
    variance: Floats
    share: float = 1.0


@dataclass(frozen=True)
class Gaussian(Family):
    """A mean and a variance per class.

    >>> column, codes = Reals(np.array([1.0, 2.0, 3.0, 9.0])), np.zeros(4, np.int32)
    >>> tally = Gaussian().observe(("length",), [column], codes, 1, None)
    >>> Gaussian().derive(tally, 0).table()
    [{'column': 'length', 'class': 0, 'mean': 3.75, 'sd': 3.112474899497183, 'rows': 4.0}]
    """

    kappa: float = 3.0
    nu: float = 5.0

    def __post_init__(self) -> None:
        if not (0 < self.kappa < np.inf and 0 < self.nu < np.inf):
            raise ParameterError("finite kappa and nu above 0", came=(self.kappa, self.nu))

    name: ClassVar[str] = "gaussian"
    column: ClassVar[type[Column]] = Reals

    def observe(
        self,
        features: tuple[str, ...],
        columns: Sequence[Reals],
        codes: Codes32,
        n_classes: int,
        weights: Floats | None,
    ) -> Sums:
        """Exact sums of 1, x and x*x."""
        arrays = real_arrays(columns)
        parts = in_threads(
            lambda start, stop: kernels.active.sums(arrays, codes, n_classes, weights, 2, start, stop),
            len(codes),
        )
        refuse(min((p[3] for p in parts if p[3] >= 0), default=-1), features, arrays, "a finite number")
        total: list[Exact] = []
        for i in range(3):
            first, *rest = (Exact(*part[i]) for part in parts)
            for part in rest:
                first = first + part
            total.append(first.trimmed())
        return Sums(features, dict(zip(("n", "x", "xx"), total, strict=True)), counts=("n",))

    def prior(self, tally: Sums, smoothing: Smoothing) -> GaussianPrior:
        """Centred on the pooled data; its strengths are options of the family, not Laplace's k."""
        pooled = {name: tally[name].sum(axis=1)[:, None] for name in ("n", "x", "xx")}
        units = _units(pooled["n"], pooled["xx"])
        mean, low, variance = _moments(pooled["n"], pooled["x"], pooled["xx"], units)
        share = 0.0 if smoothing == np.inf else 1.0
        return GaussianPrior(self.kappa, self.nu, units, mean[:, 0], low[:, 0], variance[:, 0], share)

    def predictive(self, tally: Sums, prior: GaussianPrior) -> GaussianPredictive:
        """Student's t."""
        n, shift, spread, kappa, nu, moments = _posterior(tally, prior)
        mean, low = _two_sum(prior.mean[:, None], shift)
        mean, low = _two_sum(mean, low + prior.mean_low[:, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.sqrt(spread / nu * (1 + 1 / kappa))
            inverse = 1 / (scale * np.sqrt(nu))
            log_constant = (
                _log_gamma_ratio(nu / 2) - 0.5 * np.log(np.pi * nu) - np.log(scale) - prior.units[:, None] * _LOG_2
            )
        silent = (prior.variance == 0)[:, None] | np.zeros_like(n, bool)
        return GaussianPredictive(
            tally.features, tally.n_classes, prior.units, mean, low,
            np.where(silent, 0.0, inverse), np.where(silent, 0.0, (nu + 1) / 2), np.where(silent, 0.0, log_constant),
            silent, tally["n"].floats(), moments,
        )  # fmt: skip

    def plug_in(self, tally: Sums) -> GaussianPredictive:
        """The normal density at the mean and variance of each class."""
        pooled_n, pooled_xx = (tally[name].sum(axis=1)[:, None] for name in ("n", "xx"))
        units = _units(pooled_n, pooled_xx)
        mean, low, variance = moments = _class_moments(tally, units)
        n = tally["n"].floats()
        flat = (n == 0) | (variance == 0)
        with np.errstate(divide="ignore"):
            log_constant = -0.5 * np.log(2 * np.pi * variance) - units[:, None] * _LOG_2
        return GaussianPredictive(
            tally.features, tally.n_classes, units, mean, low,
            np.where(flat, 0.0, 1 / np.sqrt(np.where(flat, 1.0, variance))), None, np.where(flat, 0.0, log_constant),
            flat, n, moments,
        )  # fmt: skip

    def evidence(self, tally: Sums, prior: GaussianPrior) -> Floats:
        """Closed form of the integral over mean and variance, summed over the classes."""
        n, _, spread, kappa, nu, _ = _posterior(tally, prior)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_evidence = (
                gammaln(nu / 2) - gammaln(prior.nu / 2)
                + prior.nu / 2 * np.log(prior.nu * prior.variance)[:, None] - nu / 2 * np.log(spread)
                + 0.5 * np.log(prior.kappa / kappa) - n / 2 * np.log(np.pi) - n * prior.units[:, None] * _LOG_2
            )  # fmt: skip
        return np.asarray(np.where((n > 0) & (prior.variance > 0)[:, None], log_evidence, 0.0).sum(axis=1))


@dataclass(frozen=True, eq=False)
class GaussianPredictive(Predictive):
    """Location, inverse scale and log constant per (column, class); `half` = (nu + 1) / 2, None for the normal."""

    features: tuple[str, ...]
    n_classes: int
    units: np.ndarray
    mean: Floats
    mean_low: Floats
    inverse: Floats
    half: Floats | None
    log_constant: Floats
    flat: np.ndarray  # cells without a scale: silent under Student's t, a point mass (or no rows) under the normal
    n: Floats
    moments: Moments

    def bind(self, columns: Sequence[Column]) -> Score:
        """Get ready to score real columns."""
        return self.bind_arrays(real_arrays([column for column in columns if isinstance(column, Reals)]))

    def bind_arrays(self, arrays: list[Any] | Floats) -> Score:
        """Get ready to score a list of arrays, or a matrix (rows, columns)."""
        scale = 2.0 ** -self.units.astype(np.float64)
        tables = [self.mean, self.mean_low, self.inverse]
        tables += [self.log_constant] if self.half is None else [self.half, self.log_constant]
        kernel = kernels.active.add_normal if self.half is None else kernels.active.add_student
        points = [] if self.half is not None else np.flatnonzero((self.flat & (self.n > 0)).any(axis=1)).tolist()

        def score(out: Floats, start: int, stop: int) -> None:
            place = kernel(arrays, scale, *tables, out, start, stop)
            if place >= 0 or points:
                columns = list(arrays.T) if isinstance(arrays, np.ndarray) else arrays
                refuse(place, self.features, columns, "a finite number")
                for j in points:
                    out[start:stop] += self._point_mass(j, columns[j][start:stop].astype(np.float64))

        return score

    def _point_mass(self, j: int, x: Floats) -> Floats:
        """Log density of classes whose values are all equal: one double wide at that value, none elsewhere."""
        result = np.zeros((len(x), self.n_classes))
        for c in np.flatnonzero(self.flat[j] & (self.n[j] > 0)).tolist():
            value = np.ldexp(self.mean[j, c], int(self.units[j]))
            result[:, c] = np.where(np.isnan(x), 0.0, np.where(x == value, -np.log(np.spacing(abs(value))), -np.inf))
        return result

    def part(self, number: int) -> GaussianPredictive:
        """One column."""
        rows = slice(number, number + 1)
        return GaussianPredictive(
            self.features[rows], self.n_classes, self.units[rows], self.mean[rows], self.mean_low[rows],
            self.inverse[rows], None if self.half is None else self.half[rows], self.log_constant[rows],
            self.flat[rows], self.n[rows], tuple(m[rows] for m in self.moments),  # type: ignore[arg-type]
        )  # fmt: skip

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Draws from Student's t, or from the normal."""
        result: list[Any] = []
        for j in range(len(self.features)):
            if self.flat[j, code]:
                z = np.zeros(n)
            elif self.half is None:
                z = rng.standard_normal(n) / self.inverse[j, code]
            else:
                nu = 2 * self.half[j, code] - 1
                z = rng.standard_t(nu, n) / (self.inverse[j, code] * np.sqrt(nu))
            result.append(np.ldexp(self.mean[j, code] + (self.mean_low[j, code] + z), int(self.units[j])))
        return result

    def table(self) -> list[dict[str, Any]]:
        """Mean and standard deviation of the data, and the rows behind them."""
        mean, _, variance = self.moments
        with np.errstate(over="ignore"):
            mean, sd = (np.ldexp(m, self.units[:, None]) for m in (mean, np.sqrt(variance)))
        return [
            {
                "column": name,
                "class": c,
                "mean": float(mean[j, c]),
                "sd": float(sd[j, c]),
                "rows": float(self.n[j, c]),
            }
            for j, name in enumerate(self.features)
            for c in range(self.n_classes)
        ]


def _posterior(tally: Sums, prior: GaussianPrior) -> tuple[Floats, Floats, Floats, Floats, Floats, Moments]:
    """n, shift of the mean, nu' s'^2, kappa', nu' and the moments of every cell, in the prior's units."""
    n = tally["n"].floats() * prior.share
    mean, low, variance = moments = _class_moments(tally, prior.units)
    delta = (mean - prior.mean[:, None]) + (low - prior.mean_low[:, None])
    delta = np.where(n > 0, delta, 0.0)
    kappa, nu = prior.kappa + n, prior.nu + n
    spread = prior.nu * prior.variance[:, None] + n * variance + prior.kappa * n / kappa * delta * delta
    return n, n * delta / kappa, spread, kappa, nu, moments


def _class_moments(tally: Sums, units: np.ndarray) -> Moments:
    return _moments(tally["n"], tally["x"], tally["xx"], units)


def _moments(n: Exact, x: Exact, xx: Exact, units: np.ndarray) -> Moments:
    """Mean (two doubles) and variance, correctly rounded, in units of 2**units."""
    if n.is_whole:
        count = np.ascontiguousarray(n.digits[..., 0])
        digits = (np.ascontiguousarray(x.digits), x.low, np.ascontiguousarray(xx.digits), xx.low)
        high, low, variance = kernels.active.mean_variance(count, *digits, units)
        return high, low, variance
    return ratio_moments(n.integers(), n.low, x.integers(), x.low, xx.integers(), xx.low, units)


def _units(n: Exact, xx: Exact) -> np.ndarray:
    """The exponent of the root mean square of each column."""
    digits, rows = xx.wide().digits[:, 0], np.arange(len(xx))
    top = digits.shape[-1] - 1 - (digits[:, ::-1] != 0).argmax(axis=1)
    bits = np.frexp(digits[rows, top].astype(np.float64))[1] + 32 * (xx.low + top)
    exponent = (bits - np.frexp(n.floats()[:, 0])[1]) // 2
    return np.where(digits[rows, top] > 0, np.clip(exponent, -_UNIT_LIMIT, _UNIT_LIMIT), 0).astype(np.int64)


def moments_of(tally: Sums, units: np.ndarray) -> Moments:
    """Mean (high and low part) and variance per (column, class), in units of 2**units: for other estimators."""
    return _class_moments(tally, units)


def pooled_units(tally: Sums) -> np.ndarray:
    """The exponent of the unit of each column, which is near the root mean square of all its values."""
    pooled = tally.pooled()
    return _units(pooled["n"], pooled["xx"])


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The sum of two doubles as a double, and what that lacks (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _log_gamma_ratio(x: Floats) -> Floats:
    """Log of gamma(x + 1/2) / gamma(x); by its series where the difference of logs would lose digits."""
    series = 0.5 * np.log(x) - 1 / (8 * x) + 1 / (192 * x**3) - 1 / (640 * x**5)
    return np.where(x > 200, series, gammaln(x + 0.5) - gammaln(x))
