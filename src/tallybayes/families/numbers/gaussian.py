"""Real numbers, normally distributed within a class.

The mean and variance of a class have a normal-inverse-gamma prior centred on the pooled data of the column, with the
weight of kappa rows for the mean and nu for the variance. Integrating over both gives Student's t distribution:

    kappa' = kappa + n        mu' = m + n (mean - m) / kappa'       nu' = nu + n
    nu' s'^2 = nu v + n var + kappa n / kappa' (mean - m)^2
    p(x | c) = t(x; nu', mu', s'^2 (1 + 1 / kappa'))

(Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution"). kappa = 3 and nu = 5 were the best of those
evaluated on real tables. The plug-in is the normal density with the mean and variance of the class.

With `shared=True` the classes have one variance: nu' = nu + the rows of all classes, and the sums of squares are added
up over them. Between two classes the log odds of the plug-in are then linear in x, as in linear discriminant analysis.
With `log=True` the logarithm of x is normally distributed: values that are learned must be above 0, and one that is not
has density 0 in every class, so that it contributes nothing when it is scored.

With `scale` above 0 the prior is centred on `mean` and `scale` instead of the pooled data, of the logarithm if that is
what is normally distributed: a column without any row is known then.

A constant column contributes nothing. Under the plug-in a class whose values are all equal has a point mass of the
width of one double. For the numerics see `tallybayes.families.numbers.gaussian_predictive`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Booleans, Weights
from tallybayes.arrays.column import Column, Reals
from tallybayes.arrays.special import gammaln
from tallybayes.errors import ParameterError
from tallybayes.families.block_arrays import first_true, real_arrays, refuse, sum_columns
from tallybayes.families.family import Add, Codes32, Family, Floats, RowScore, Score, Smoothing
from tallybayes.families.leave_one_out_scores import as_score
from tallybayes.families.numbers.gaussian_leave_one_out import GaussianLeaveOneOut, set_own_class
from tallybayes.families.numbers.gaussian_predictive import (
    LOG_2,
    GaussianPredictive,
    GaussianPrior,
    StudentDerivation,
    digits_of,
    moments_of,
    pool_moments,
    pool_units,
)
from tallybayes.families.predictive import part_of_prior
from tallybayes.kernels.densities import posterior, student_tables
from tallybayes.tally import Sums

__all__ = ["Gaussian", "GaussianPredictive", "GaussianPrior"]

_MOST = 1e100  # strengths beyond it overflow


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
    mean: float = 0.0
    scale: float = 0.0

    def __post_init__(self) -> None:
        for option in ("shared", "log"):
            if not isinstance(value := getattr(self, option), (bool, np.bool_)):
                raise ParameterError(f"{option} of gaussian: True or False", got=value)
        if not (0 < float(self.kappa) <= _MOST and 0 < float(self.nu) <= _MOST):
            raise ParameterError("kappa and nu of gaussian: numbers above 0, up to 1e100", got=(self.kappa, self.nu))
        if not (abs(float(self.mean)) <= _MOST and 0 <= float(self.scale) <= _MOST):
            expected = "mean and scale of the prior of gaussian: numbers up to 1e100, scale 0 for those of the data"
            raise ParameterError(expected, got=(self.mean, self.scale))

    @property
    def counted(self) -> Gaussian:
        """The prior does not affect counting."""
        return replace(self, mean=0.0, scale=0.0) if self.scale or self.mean else self

    def with_prior_moments(self, mean: float, scale: float, strength: float, freedom: float) -> Gaussian:
        """With another prior."""
        return replace(self, kappa=strength, nu=freedom, mean=mean, scale=scale)

    name: ClassVar[str] = "gaussian"
    column: ClassVar[type[Column]] = Reals

    def observe(
        self, features: tuple[str, ...], columns: Sequence[Reals], codes: Codes32, n_classes: int, weights: Weights
    ) -> Sums:
        """Exact sums of 1, x and x*x."""
        counted = codes >= 0 if weights is None else (codes >= 0) & (weights != 0)
        arrays = self._arrays(features, columns, counted)
        total, place = sum_columns(arrays, codes, n_classes, weights, 2)
        refuse(place, features, arrays, "a finite number")
        return Sums(features, dict(zip(("n", "x", "xx"), total, strict=True)), counts=("n",))

    def _arrays(self, features: tuple[str, ...], columns: Sequence[Reals], counted: Booleans) -> list[Any]:
        """The values of columns, or their logarithms."""
        arrays = real_arrays(columns)
        return [_log_of(x, name, counted) for name, x in zip(features, arrays, strict=True)] if self.log else arrays

    def adder(self, tally: Sums, values: Floats) -> Add | None:
        """Into the digits of the sums, while they fit."""
        if self.log or (sums := tally.open_sums(x=2, xx=4)) is None:
            return None
        n, x, xx = (sums[name] for name in ("n", "x", "xx"))
        return partial(kernels.active.add_real_row, n.digits[..., 0], x.digits, x.low, xx.digits, xx.low, values)

    def prior(self, tally: Sums, smoothing: Smoothing) -> GaussianPrior:
        """Centred on the pooled data, or as given; its strengths are options of the family, not Laplace's k."""
        units, moments = pool_moments(tally)
        if self.scale:
            units = np.maximum(units, math.frexp(max(abs(self.mean), self.scale))[1])
            moments = np.stack([np.ldexp(self.mean, -units), np.zeros(len(units)), np.ldexp(self.scale, -units) ** 2])
        return GaussianPrior(self.kappa, self.nu, units, moments, 0.0 if smoothing == np.inf else 1.0)

    def predictive(self, tally: Sums, prior: GaussianPrior) -> GaussianPredictive:
        """Student's t."""
        strengths = (prior.units, prior.moments, prior.kappa, prior.nu)
        if tally["n"].is_whole and not self.shared:
            tables = kernels.active.student(*digits_of(tally), *strengths, prior.share)
        else:
            n, moments = tally["n"].floats(), moments_of(tally, prior.units)
            student = student_tables(n * prior.share, moments, *strengths, shared=self.shared)
            tables = np.concatenate([[n], moments, student])
        return self._student(tally, prior.units, tables, prior.share)

    def derive(self, tally: Sums, smoothing: Smoothing) -> GaussianPredictive:
        """The prior and Student's t by one kernel, where there is one."""
        derived = self._derivation(tally, smoothing)
        if derived is None or not derived.renew():
            return self.plug_in(tally) if smoothing == 0 else self.predictive(tally, self.prior(tally, smoothing))
        return self._student(tally, derived.units, derived.tables, derived.share)

    def row_score(self, tally: Sums, smoothing: Smoothing, values: Floats) -> RowScore | None:
        """Student's t in arrays that are renewed in place."""
        if self.log or (derived := self._derivation(tally, smoothing)) is None:
            return None
        return RowScore(derived.renew, partial(kernels.active.add_student, values, derived.scales, *derived.tables[4:]))

    def _derivation(self, tally: Sums, smoothing: Smoothing) -> StudentDerivation | None:
        """How Student's t is derived by one kernel; None for fractions, shared variances and given priors."""
        if smoothing == 0 or self.shared or self.scale or type(self) is not Gaussian or not tally["n"].is_whole:
            return None
        return StudentDerivation(tally, self.kappa, self.nu, 0.0 if smoothing == np.inf else 1.0)

    def _student(self, tally: Sums, units: np.ndarray, tables: Floats, share: float) -> GaussianPredictive:
        n, _, _, _, mean, low, inverse, half, log_constant = tables
        parameters = (mean, low, inverse, half, log_constant, n, tables[1:4], self.log, self.kappa, share)
        shown = bool(self.scale)
        return GaussianPredictive(
            tally.features, tally.n_classes, units, *parameters, shared=self.shared, shows_posterior=shown
        )

    def plug_in(self, tally: Sums) -> GaussianPredictive:
        """The normal density at the mean and variance of each class."""
        units, n = pool_units(tally), tally["n"].floats()
        moments = moments_of(tally, units)
        variance = moments[2]
        if self.shared:
            variance = (n * variance).sum(axis=1, keepdims=True) / np.maximum(n.sum(axis=1, keepdims=True), 1.0)
        variance = np.where(n == 0, 0.0, variance)
        return GaussianPredictive.normal(tally.features, units, moments, variance, n, self.log, self.shared)

    def repooled(self, prior: GaussianPrior, tally: Sums) -> GaussianPrior:
        """Centred on the pooled data of other sums, unless it is given."""
        return replace(self.prior(tally, "auto"), share=prior.share)

    def leave_one_out(
        self, tally: Sums, prior: GaussianPrior | None, columns: Sequence[Reals], codes: Codes32, weights: Any
    ) -> list[Score]:
        """In closed form; by exact sums for a row that holds nearly all of a sum of squares."""
        arrays = self._arrays(tally.features, columns, np.ones(len(codes), bool))
        if prior is not None and prior.share == 0:
            for name, x in zip(tally.features, arrays, strict=True):
                refuse(first_true(np.isinf(x)), (name,), [x], "a finite number")
            return [as_score(np.zeros((len(codes), tally.n_classes))) for _ in columns]
        if prior is not None and self.scale and not self.shared:
            return self._leave_one_out_of_given(tally, prior, columns, arrays, codes, weights)
        if prior is not None and self.scale:
            return super().leave_one_out(tally, prior, columns, codes, weights)
        plug_in = self.plug_in(tally) if prior is None else None
        units = pool_units(tally) if prior is None else prior.units
        moments = moments_of(tally, units) if plug_in is None else plug_in.moments
        data = (self.shared, self.log, columns, arrays, codes, weights, units, moments, plug_in)
        block = GaussianLeaveOneOut(self, tally, prior, *data)
        return [replace(block, numbers=(j,)) for j in range(len(columns))]

    def _leave_one_out_of_given(
        self,
        tally: Sums,
        prior: GaussianPrior,
        columns: Sequence[Reals],
        arrays: list[Any],
        codes: Codes32,
        weights: Any,
    ) -> list[Score]:
        """With a prior that does not depend on the data: only the class of a row scores it by other sums."""
        row_weights, scores = np.ones(len(codes)) if weights is None else weights, []
        for j, (name, x) in enumerate(zip(tally.features, arrays, strict=True)):
            refuse(first_true(np.isinf(x)), (name,), [x], "a finite number")
            part, part_prior = tally.only((name,)), part_of_prior(prior, j)
            out = self.predictive(part, part_prior).log_prob([columns[j]])
            care = set_own_class(out, part, part_prior, x.astype(np.float64), codes, row_weights, log=self.log)
            if len(care):
                weights_there = None if weights is None else weights[care]
                facts = columns[j].take(care), codes[care], weights_there
                out[care] = self.leave_one_out_by_subtraction(part, part_prior, *facts)
            scores.append(as_score(out))
        return scores

    def example(self, rng: np.random.Generator, n: int) -> Column:
        """Random numbers with missing values, above 0 for logarithms."""
        column = super().example(rng, n)
        return Reals(np.abs(column.values)) if self.log and isinstance(column, Reals) else column

    @classmethod
    def candidates(cls, values: Floats) -> list[Family]:
        """For all numbers; of the logarithm for positive ones."""
        return [cls(), *([cls(log=True)] if values.min() > 0 else [])]

    def evidence(self, tally: Sums, prior: GaussianPrior) -> Floats:
        """Closed form of the integral over mean and variance, summed over the classes."""
        n, variance = tally["n"].floats() * prior.share, prior.moments[2][:, None]
        _, spread, kappa, nu = posterior(n, moments_of(tally, prior.units), prior.moments, prior.kappa, prior.nu)
        start = prior.nu * variance
        with np.errstate(divide="ignore", invalid="ignore"):
            log_kappa = 0.5 * np.log(prior.kappa / kappa)
            if self.shared:
                n, log_kappa = (part.sum(axis=1, keepdims=True) for part in (n, log_kappa))
                spread, nu = start + (spread - start).sum(axis=1, keepdims=True), prior.nu + n
            log_evidence = (
                gammaln(nu / 2)
                - gammaln(prior.nu / 2)
                + prior.nu / 2 * np.log(start)
                - nu / 2 * np.log(spread)
                + log_kappa
                - n / 2 * np.log(np.pi)
                - n * prior.units[:, None] * LOG_2
            )
        return np.asarray(np.where((n > 0) & (variance > 0), log_evidence, 0.0).sum(axis=1))


def _log_of(x: Any, feature: str, counted: Booleans) -> Floats:
    """Logarithms of a column, NaN where it is missing or not counted; raises where it is not above 0."""
    values = np.where(counted, x, np.nan).astype(np.float64)
    refuse(first_true((values <= 0) | np.isinf(values)), (feature,), [values], "a number above 0")
    return np.asarray(np.log(values))
