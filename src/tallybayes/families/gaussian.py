"""Real numbers, bell-shaped within a class.

The mean and variance of a class have a normal-inverse-gamma prior centred on the pooled data of the column, with the
weight of kappa rows for the mean and nu for the variance. What is left after averaging over them is Student's t:

    kappa' = kappa + n        mu' = m + n (mean - m) / kappa'       nu' = nu + n
    nu' s'^2 = nu v + n var + kappa n / kappa' (mean - m)^2
    p(x | c) = t(x; nu', mu', s'^2 (1 + 1 / kappa'))

(Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution"). kappa = 3 and nu = 5 did best of those
tried on real tables. The plug-in is the normal density with the mean and variance of the class.

With `shared=True` the classes have one variance: nu' = nu + the rows of all classes, and the sums of squares are added
up over them. Between two classes the log odds of the plug-in are then linear in x, as those of linear discriminant
analysis are. With `log=True` the logarithm of x is bell-shaped: values that are learned must be above 0, and one that
is not has the density 0 in every class, so that it says nothing when it is scored.

Numbers: every column is measured in a unit of its own, a power of two near its root mean square, so that 1e200 and
1e-310 neither overflow nor underflow; a mean is kept as two doubles, since at an offset of 1e15 one is off by 0.06. A
column that is constant says nothing. Under the plug-in a class whose values are all equal has a point mass of the
width of one double.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Column, Reals
from tallybayes.arrays.special import gammaln
from tallybayes.errors import ParameterError
from tallybayes.families.alignment import real_arrays, refuse
from tallybayes.families.credible import check_posterior, mean_interval, sd_interval, student_cumulants
from tallybayes.families.family import Add, Codes32, Family, Floats, Predictive, Score, Smoothing
from tallybayes.families.gaussian_leave_one_out import GaussianLeftOut, NormalLeftOut
from tallybayes.families.leave_one_out_scores import added
from tallybayes.kernels.reference.derive import pooled_ratio_moments, posterior, student_tables
from tallybayes.kernels.reference.exact_sums import ratio_moments
from tallybayes.tally import Exact, Sums

__all__ = ["Gaussian", "GaussianPredictive", "GaussianPrior", "moments_of", "pooled_units"]

Moments = Floats | tuple[Floats, Floats, Floats]  # mean, its low part and variance, (3, columns, classes)

_LOG_2 = float(np.log(2.0))
_FAR = 709.0  # the logarithm of the largest double


@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """The prior's strengths, and the pooled mean (two doubles) and variance of each column, in units of 2**units.

    `share` is how far the data of a class counts: 1, or 0 for infinitely strong smoothing.
    """

    kappa: float
    nu: float
    units: np.ndarray  # (columns,)
    moments: Floats  # mean, its low part and variance, (3, columns)
    share: float = 1.0


@dataclass(frozen=True)
class Gaussian(Family[Sums, GaussianPrior]):
    """A mean and a variance per class.

    >>> column, codes = Reals(np.array([1.0, 2.0, 3.0, 9.0])), np.zeros(4, np.int32)
    >>> tally = Gaussian().observe(("length",), [column], codes, 1, None)
    >>> Gaussian().derive(tally, 0).table()
    [{'column': 'length', 'class': 0, 'mean': 3.75, 'sd': 3.112474899497183, 'rows': 4.0}]
    """

    kappa: float = 3.0
    nu: float = 5.0
    shared: bool = False
    log: bool = False

    def __post_init__(self) -> None:
        for option in ("shared", "log"):
            if not isinstance(given := getattr(self, option), (bool, np.bool_)):
                raise ParameterError(f"{option} of gaussian: True or False", got=given)
        if not (0 < self.kappa < np.inf and 0 < self.nu < np.inf):
            raise ParameterError("finite kappa and nu above 0", got=(self.kappa, self.nu))

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
        if self.log:
            counted = codes >= 0 if weights is None else (codes >= 0) & (weights != 0)
            arrays = [log_of(array, features, j, counted) for j, array in enumerate(arrays)]
        parts = in_threads(
            lambda start, stop: kernels.active.sums(arrays, codes, n_classes, weights, 2, start, stop), len(codes)
        )
        refuse(min((p[3] for p in parts if p[3] >= 0), default=-1), features, arrays, "a finite number")
        total = [Exact.added([Exact(*part[i]) for part in parts]) for i in range(3)]
        return Sums(features, dict(zip(("n", "x", "xx"), total, strict=True)), counts=("n",))

    def adder(self, tally: Sums, values: Floats) -> Add | None:
        """Into the digits of the sums, while they fit."""
        if self.log or (own := tally.opened(x=2, xx=4)) is None:
            return None
        n, x, xx = (own[name] for name in ("n", "x", "xx"))
        return partial(kernels.active.add_row, n.digits[..., 0], x.digits, x.low, xx.digits, xx.low, values)

    def prior(self, tally: Sums, smoothing: Smoothing) -> GaussianPrior:
        """Centred on the pooled data; its strengths are options of the family, not Laplace's k."""
        return GaussianPrior(self.kappa, self.nu, *_pooled(tally), 0.0 if smoothing == np.inf else 1.0)

    def predictive(self, tally: Sums, prior: GaussianPrior) -> GaussianPredictive:
        """Student's t."""
        strengths = (prior.units, prior.moments, prior.kappa, prior.nu)
        if tally["n"].is_whole and not self.shared:
            tables = kernels.active.student(*_digits(tally), *strengths, prior.share)
        else:
            n, moments = tally["n"].floats(), moments_of(tally, prior.units)
            own = student_tables(n * prior.share, moments, *strengths, shared=self.shared)
            tables = np.concatenate([[n], moments, own])
        half = tables[7]
        return GaussianPredictive(
            tally.features,
            tally.n_classes,
            prior.units,
            tables[4],
            tables[5],
            tables[6],
            half,
            tables[8],
            half == 0,
            tables[0],
            tables[1:4],
            self.log,
            prior.kappa + tables[0] * prior.share,
            prior.share == 0,
        )

    def plug_in(self, tally: Sums) -> GaussianPredictive:
        """The normal density at the mean and variance of each class."""
        units = pooled_units(tally)
        mean, low, variance = moments = moments_of(tally, units)
        n = tally["n"].floats()
        if self.shared:
            within = (n * variance).sum(axis=1, keepdims=True) / np.maximum(n.sum(axis=1, keepdims=True), 1.0)
            variance = np.broadcast_to(within, n.shape)
        flat = (n == 0) | (variance == 0)
        with np.errstate(divide="ignore"):
            log_constant = -0.5 * np.log(2 * np.pi * variance) - units[:, None] * _LOG_2
        return GaussianPredictive(
            tally.features,
            tally.n_classes,
            units,
            mean,
            low,
            np.where(flat, 0.0, 1 / np.sqrt(np.where(flat, 1.0, variance))),
            None,
            np.where(flat, 0.0, log_constant),
            flat,
            n,
            moments,
            self.log,
        )

    def repooled(self, prior: GaussianPrior, tally: Sums) -> GaussianPrior:
        """Centred on the pooled data of other sums."""
        return replace(self.prior(tally, "auto"), share=prior.share)

    def left_out(
        self, tally: Sums, prior: GaussianPrior | None, columns: Sequence[Reals], codes: Codes32, weights: Any
    ) -> list[Score]:
        """Sums without the row in closed form; rows that hold nearly all of a sum of squares by exact sums."""
        arrays = real_arrays(columns)
        if self.log:
            everything = np.ones(len(codes), bool)
            arrays = [log_of(x, tally.features, j, everything) for j, x in enumerate(arrays)]
        if prior is not None and prior.share == 0:
            for j, x in enumerate(arrays):
                refuse(_infinite(x), tally.features[j : j + 1], [x], "a finite number")
            return [added(np.zeros((len(codes), tally.n_classes))) for _ in columns]
        given = (columns, arrays, codes, weights, ())
        facts: GaussianLeftOut | NormalLeftOut
        if prior is None:
            facts = NormalLeftOut(self, tally, None, *given, self.plug_in(tally))
        else:
            facts = GaussianLeftOut(self, tally, prior, *given, moments_of(tally, prior.units))
        return [replace(facts, numbers=(j,)) for j in range(len(columns))]

    def example(self, rng: np.random.Generator, n: int) -> Column:
        """Random numbers with gaps, above 0 for logarithms."""
        column = super().example(rng, n)
        return Reals(np.abs(column.values)) if self.log and isinstance(column, Reals) else column

    @classmethod
    def candidates(cls, values: Floats) -> list[Family]:
        """For all numbers; of the logarithm for positive ones."""
        return [cls(), *([cls(log=True)] if values.min() > 0 else [])]

    def evidence(self, tally: Sums, prior: GaussianPrior) -> Floats:
        """Closed form of the integral over mean and variance, summed over the classes."""
        n, variance = tally["n"].floats() * prior.share, prior.moments[2]
        _, spread, kappa, nu = posterior(n, moments_of(tally, prior.units), prior.moments, prior.kappa, prior.nu)
        if self.shared:
            own = prior.nu * variance[:, None]
            spread = own + (spread - own).sum(axis=1, keepdims=True)
            every = n.sum(axis=1, keepdims=True)
            with np.errstate(divide="ignore", invalid="ignore"):
                log_evidence = (
                    gammaln((prior.nu + every) / 2)
                    - gammaln(prior.nu / 2)
                    + prior.nu / 2 * np.log(own)
                    - (prior.nu + every) / 2 * np.log(spread)
                    + 0.5 * np.log(prior.kappa / kappa).sum(axis=1)[:, None]
                    - every / 2 * np.log(np.pi)
                    - every * prior.units[:, None] * _LOG_2
                )
            return np.asarray(np.where((every > 0) & (variance > 0)[:, None], log_evidence, 0.0)[:, 0])
        with np.errstate(divide="ignore", invalid="ignore"):
            log_evidence = (
                gammaln(nu / 2)
                - gammaln(prior.nu / 2)
                + prior.nu / 2 * np.log(prior.nu * variance)[:, None]
                - nu / 2 * np.log(spread)
                + 0.5 * np.log(prior.kappa / kappa)
                - n / 2 * np.log(np.pi)
                - n * prior.units[:, None] * _LOG_2
            )
        return np.asarray(np.where((n > 0) & (variance > 0)[:, None], log_evidence, 0.0).sum(axis=1))


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
    moments: Moments  # of the data
    log: bool = False  # everything is about logarithms
    kappa: Floats | None = None  # (columns, classes): the weight behind the mean; None without a posterior
    fixed: bool = False  # whether the data of a class counts for nothing

    def bind(self, columns: Sequence[Column]) -> Score:
        """Get ready to score real columns."""
        arrays = real_arrays([column for column in columns if isinstance(column, Reals)])
        if not self.log:
            return self.bind_arrays(arrays)
        above = [np.where((array > 0) | np.isinf(array), array, np.nan) for array in arrays]
        with np.errstate(invalid="ignore"):
            logs = [np.log(np.abs(array, dtype=np.float64)) for array in above]
        score = self.bind_arrays(logs)

        def with_density(out: Floats, start: int, stop: int) -> None:
            score(out, start, stop)
            for x in logs:  # the density of x is that of log x, over x
                out[start:stop] -= np.where(np.isnan(x[start:stop]), 0.0, x[start:stop])[:, None]

        return with_density

    def bind_matrix(self, values: Floats) -> Score | None:
        """Get ready to score a matrix of numbers."""
        return None if self.log else self.bind_arrays(values)

    def bind_arrays(self, arrays: list[Any] | Floats) -> Score:
        """Get ready to score a list of arrays, or a matrix (rows, columns)."""
        scale = np.ldexp(1.0, -self.units)
        tables = [self.mean, self.mean_low, self.inverse]
        tables += [self.log_constant] if self.half is None else [self.half, self.log_constant]
        kernel = kernels.active.add_normal if self.half is None else kernels.active.add_student
        points = [] if self.half is not None else np.flatnonzero((self.flat & (self.n > 0)).any(axis=1)).tolist()

        def score(out: Floats, start: int, stop: int) -> None:
            place = kernel(arrays, scale, *tables, out, start, stop)
            refuse(place, self.features, arrays, "a finite number")
            if points:
                columns = list(arrays.T) if isinstance(arrays, np.ndarray) else arrays
                for j in points:
                    out[start:stop] += self.point_masses(j, columns[j][start:stop].astype(np.float64))

        return score

    def point_masses(self, j: int, x: Floats) -> Floats:
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
            self.features[rows],
            self.n_classes,
            self.units[rows],
            self.mean[rows],
            self.mean_low[rows],
            self.inverse[rows],
            None if self.half is None else self.half[rows],
            self.log_constant[rows],
            self.flat[rows],
            self.n[rows],
            np.stack([m[rows] for m in self.moments]),
            self.log,
            None if self.kappa is None else self.kappa[rows],
            self.fixed,
        )

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
            value = np.ldexp(self.mean[j, code] + (self.mean_low[j, code] + z), int(self.units[j]))
            result.append(np.exp(np.clip(value, -_FAR, _FAR)) if self.log else value)
        return result

    def note(self, number: int) -> str:
        """That it is about logarithms."""
        return "of the logarithm" if self.log else ""

    def table(self) -> list[dict[str, Any]]:
        """Mean and standard deviation of the data, and the rows behind them."""
        mean, _, variance = self.moments
        with np.errstate(over="ignore"):
            mean, sd = (np.ldexp(m, self.units[:, None]) for m in (mean, np.sqrt(variance)))
        return [
            {"column": name, "class": c, "mean": float(mean[j, c]), "sd": float(sd[j, c]), "rows": float(self.n[j, c])}
            for j, name in enumerate(self.features)
            for c in range(self.n_classes)
        ]

    def _posterior(self) -> tuple[Floats, Floats, Floats]:
        """Kappa', nu' and nu' s'^2 in the units of the columns; of cells without a scale, of 1."""
        check_posterior(self.half is not None and self.kappa is not None, self.features[0])
        assert self.half is not None
        assert self.kappa is not None
        nu = np.where(self.flat, 1.0, 2 * self.half - 1)
        return self.kappa, nu, np.where(self.flat, 1.0, self.inverse**2 * (1 + 1 / self.kappa)) ** -1

    def intervals(self, level: float) -> list[dict[str, Any]]:
        """Of the mean, by Student's t, and of the standard deviation; a constant column has none."""
        kappa, nu, spread = self._posterior()
        scale = np.ldexp(1.0, self.units)[:, None]
        mean, sd = (self.mean + self.mean_low) * scale, np.sqrt(spread / nu) * scale
        told = {
            "mean": (mean, *mean_interval(mean, sd / np.sqrt(kappa), nu, level)),
            "sd": (sd, *(end * scale for end in sd_interval(spread, nu, level))),
        }
        return [
            {
                "column": name,
                "class": c,
                "parameter": what,
                "estimate": float(own[j, c]),
                "low": float(low[j, c]),
                "high": float(high[j, c]),
                "rows": float(self.n[j, c]),
            }
            for j, name in enumerate(self.features)
            for what, (own, low, high) in told.items()
            for c in range(self.n_classes)
            if not self.flat[j, c]
        ]

    def log_cumulants(self, columns: Sequence[Column]) -> Floats:
        """Of the normal density, by the posterior of mean and variance."""
        kappa, nu, spread = self._posterior()
        result = np.zeros((3, len(columns[0]), self.n_classes))
        for j, x in enumerate(real_arrays([column for column in columns if isinstance(column, Reals)])):
            values = x.astype(np.float64)
            if self.log:
                values = np.log(np.where(values > 0, values, np.nan))
            there = np.flatnonzero(~np.isnan(values))
            if self.fixed or not len(there):
                continue
            far = (np.ldexp(values[there], -int(self.units[j]))[:, None] - self.mean[j]) - self.mean_low[j]
            result[:, there] += np.where(self.flat[j], 0.0, student_cumulants(far * far / spread[j], kappa[j], nu[j]))
        return result


def log_of(x: Any, features: tuple[str, ...], number: int, counted: np.ndarray) -> Floats:
    """Logarithms of a column, NaN where it is missing or not counted; raises where it is not above 0."""
    values = np.where(counted, x, np.nan).astype(np.float64)
    odd = (values <= 0) | np.isinf(values)
    refuse(int(np.argmax(odd)) if odd.any() else -1, features[number : number + 1], [values], "a number above 0")
    return np.asarray(np.log(values))


def _infinite(x: NDArray[np.floating]) -> int:
    """The first row that is infinite, or -1."""
    infinite = np.isinf(x)
    return int(np.argmax(infinite)) if infinite.any() else -1


def _pooled(tally: Sums) -> tuple[np.ndarray, Floats]:
    """The unit of every column, and mean (two doubles) and variance over all classes in it, correctly rounded."""
    if tally["n"].is_whole and (found := kernels.active.pooled_moments(*_digits(tally))) is not None:
        units, moments = found
        return units, moments
    n, x, xx = tally["n"], tally["x"], tally["xx"]
    return pooled_ratio_moments(n.integers(), n.low, x.integers(), x.low, xx.integers(), xx.low)


def pooled_units(tally: Sums) -> np.ndarray:
    """The exponent of the unit of each column, which is near the root mean square of all its values."""
    return _pooled(tally)[0]


def moments_of(tally: Sums, units: np.ndarray) -> Floats:
    """Mean (two doubles) and variance of every cell, correctly rounded, in units of 2**units, (3, columns, classes)."""
    if tally["n"].is_whole:
        found: Floats = kernels.active.mean_variance(*_digits(tally), units)
        return found
    n, x, xx = tally["n"], tally["x"], tally["xx"]
    return ratio_moments(n.integers(), n.low, x.integers(), x.low, xx.integers(), xx.low, units)


def _digits(tally: Sums) -> tuple[Any, ...]:
    """Whole counts, and digits and places of the sums, as the kernels take them."""
    n, x, xx = tally["n"], tally["x"], tally["xx"]
    return n.digits[..., 0], np.ascontiguousarray(x.digits), x.low, np.ascontiguousarray(xx.digits), xx.low
