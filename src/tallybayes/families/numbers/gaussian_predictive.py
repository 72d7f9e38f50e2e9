"""The predictive of the gaussian family: Student's t, or the normal density for maximum likelihood.

Means and variances are correctly rounded ratios of exact sums. Every column is measured in a unit of its own, a power
of two near its root mean square, so that 1e200 and 1e-310 neither overflow nor underflow. A mean is kept as two
doubles: at an offset of 1e15 a single one is off by 0.06.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Booleans, Columns
from tallybayes.arrays.column import Column
from tallybayes.families.block_arrays import ArrayPredictive, real_arrays
from tallybayes.families.credible import check_posterior, mean_interval, sd_interval, student_cumulants
from tallybayes.families.predictive import Floats, Score, parameter_rows
from tallybayes.kernels.digits import pooled_ratio_moments, ratio_moments
from tallybayes.tally import Sums

__all__ = [
    "GaussianPredictive",
    "GaussianPrior",
    "StudentDerivation",
    "digits_of",
    "moments_of",
    "pool_moments",
    "pool_units",
]

LOG_2 = float(np.log(2.0))
_FAR = 709.0  # the logarithm of the largest double


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


@dataclass(frozen=True, eq=False)
class GaussianPredictive(ArrayPredictive):
    """Location, inverse scale and log constant per (column, class); `half` = (nu + 1) / 2, None for the normal."""

    by_column: ClassVar[tuple[str, ...]] = (
        "features",
        "units",
        "mean",
        "mean_low",
        "inverse",
        "half",
        "log_constant",
        "n",
    )

    features: tuple[str, ...]
    n_classes: int
    units: np.ndarray
    mean: Floats
    mean_low: Floats
    inverse: Floats
    half: Floats | None
    log_constant: Floats
    n: Floats
    moments: Floats  # mean, its low part and variance of the data, (3, columns, classes)
    log: bool = False  # whether all of this describes the logarithm
    prior_kappa: float | None = None  # the weight of the prior behind the mean; None without a posterior
    share: float = 1.0  # of the rows of a class that count: 0 if smoothing is infinitely strong
    shared: bool = False  # whether all classes have one variance
    shows_posterior: bool = False  # whether tables show posterior means, because a prior was given

    @classmethod
    def normal(
        cls,
        features: tuple[str, ...],
        units: np.ndarray,
        moments: Floats,
        variance: Floats,
        n: Floats,
        log: bool = False,
        shared: bool = False,
    ) -> GaussianPredictive:
        """The normal density with the means of the moments and these variances; without a scale where one is 0."""
        flat = ~((variance > 0) & (variance < np.inf))
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            inverse = np.where(flat, 0.0, 1 / np.sqrt(variance))
            log_constant = np.where(flat, 0.0, -0.5 * np.log(2 * np.pi * variance) - units[:, None] * LOG_2)
        mean, low, _ = moments
        tables = (mean, low, inverse, None, log_constant, n, moments, log)
        return cls(features, n.shape[1], units, *tables, shared=shared)

    @cached_property
    def flat(self) -> Booleans:
        """Cells without a scale: nothing under Student's t, a point mass (or no rows) under the normal."""
        return np.asarray(self.inverse == 0)

    @cached_property
    def point_columns(self) -> list[int]:
        """The columns in which a class has a point mass."""
        return [] if self.half is not None else np.flatnonzero((self.flat & (self.n > 0)).any(axis=1)).tolist()

    def bind(self, columns: Sequence[Column]) -> Score:
        """Prepare to score real columns."""
        arrays = real_arrays(columns)
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
        """Prepare to score a matrix of numbers."""
        return None if self.log else self.bind_arrays(values)

    def kernel(self) -> tuple[Callable[..., int], tuple[Any, ...]]:
        """Of real numbers."""
        tables = np.ldexp(1.0, -self.units), self.mean, self.mean_low, self.inverse
        if self.half is None:
            return kernels.active.add_normal, (*tables, self.log_constant)
        return kernels.active.add_student, (*tables, self.half, self.log_constant)

    def bind_arrays(self, arrays: Columns) -> Score:
        """Prepare to score a list of arrays, or a matrix (rows, columns)."""
        score = super().bind_arrays(arrays)
        if self.half is not None or not self.point_columns:
            return score
        columns = list(arrays.T) if isinstance(arrays, np.ndarray) else arrays

        def with_point_masses(out: Floats, start: int, stop: int) -> None:
            score(out, start, stop)
            for j in self.point_columns:
                out[start:stop] += self.point_masses(j, columns[j][start:stop].astype(np.float64))

        return with_point_masses

    def point_masses(self, j: int, x: Floats) -> Floats:
        """Log density of classes whose values are all equal: one double wide at that value, none elsewhere."""
        result = np.zeros((len(x), self.n_classes))
        for c in np.flatnonzero(self.flat[j] & (self.n[j] > 0)).tolist():
            value = np.ldexp(self.mean[j, c], int(self.units[j]))
            result[:, c] = np.where(np.isnan(x), 0.0, np.where(x == value, -math.log(math.ulp(value)), -np.inf))
        return result

    def weighted(self, weights: Floats, log_prior: Floats) -> GaussianPredictive | None:
        """With weights in the constants of Student's t, if the classes share them."""
        if self.half is None or self.log or (weights != weights[:, :1]).any():
            return None
        return replace(self, half=self.half * weights, log_constant=self.log_constant * weights)

    def part(self, number: int) -> GaussianPredictive:
        """One column."""
        return replace(super().part(number), moments=self.moments[:, number : number + 1])

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

    def n_parameters(self, number: int) -> int:
        """A mean per class, and a variance per class or one for all."""
        return self.n_classes + (1 if self.shared else self.n_classes)

    def note(self, number: int) -> str:
        """Whether the parameters are those of the logarithm."""
        return "of the logarithm" if self.log else ""

    def table(self) -> list[dict[str, Any]]:
        """Mean and standard deviation of the data, or with a given prior their posterior means, and the rows."""
        mean, _, variance = self.moments
        if self.shows_posterior:
            _, nu, spread = self._posterior()
            mean, variance = self.mean + self.mean_low, spread / nu
        with np.errstate(over="ignore"):
            mean, sd = (np.ldexp(m, self.units[:, None]) for m in (mean, np.sqrt(variance)))
        return parameter_rows(self.features, {"mean": mean, "sd": sd, "rows": self.n})

    def _posterior(self) -> tuple[Floats, Floats, Floats]:
        """Kappa', nu' and nu' s'^2 in the units of the columns; of cells without a scale, of 1."""
        check_posterior(self.half is not None and self.prior_kappa is not None, self.features[0])
        assert self.half is not None
        assert self.prior_kappa is not None
        kappa, nu = self.prior_kappa + self.n * self.share, np.where(self.flat, 1.0, 2 * self.half - 1)
        return kappa, nu, np.where(self.flat, 1.0, self.inverse**2 * (1 + 1 / kappa)) ** -1

    def intervals(self, level: float) -> list[dict[str, Any]]:
        """Of the mean, by Student's t, and of the standard deviation; a constant column has none."""
        kappa, nu, spread = self._posterior()
        scale = np.ldexp(1.0, self.units)[:, None]
        mean, sd = (self.mean + self.mean_low) * scale, np.sqrt(spread / nu) * scale
        parameters = {
            "mean": (mean, *mean_interval(mean, sd / np.sqrt(kappa), nu, level)),
            "sd": (sd, *(end * scale for end in sd_interval(spread, nu, level))),
        }
        return [
            {
                "column": name,
                "class": c,
                "parameter": what,
                "estimate": float(estimates[j, c]),
                "low": float(low[j, c]),
                "high": float(high[j, c]),
                "rows": float(self.n[j, c]),
            }
            for j, name in enumerate(self.features)
            for what, (estimates, low, high) in parameters.items()
            for c in range(self.n_classes)
            if not self.flat[j, c]
        ]

    def log_cumulants(self, columns: Sequence[Column]) -> Floats:
        """Of the normal density, by the posterior of mean and variance."""
        kappa, nu, spread = self._posterior()
        result = np.zeros((3, len(columns[0]), self.n_classes))
        for j, x in enumerate(real_arrays(columns)):
            values = x.astype(np.float64)
            if self.log:
                values = np.log(np.where(values > 0, values, np.nan))
            there = np.flatnonzero(~np.isnan(values))
            if self.share == 0 or not len(there):
                continue
            far = (np.ldexp(values[there], -int(self.units[j]))[:, None] - self.mean[j]) - self.mean_low[j]
            result[:, there] += np.where(self.flat[j], 0.0, student_cumulants(far * far / spread[j], kappa[j], nu[j]))
        return result
