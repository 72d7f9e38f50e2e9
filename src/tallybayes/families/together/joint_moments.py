"""Means, scales and correlations of the inputs of a column: rounded once from exact sums, then shrunk by the prior.

Location and scale of an input come from all of its values, the correlations from the complete rows. If all rows are
complete, this is the exact posterior (`joint_gaussian.py`). Every function works on arrays whose first axes are the
classes, or rows and classes, so that leave-one-out scores (`joint_leave_one_out.py`) use the same formulas.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tallybayes.arrays.array_types import Booleans, Floats, Integers
from tallybayes.families.numbers.gaussian_predictive import moments_of, pool_moments
from tallybayes.families.together.joint_density import JointDensity
from tallybayes.kernels.densities import two_sum
from tallybayes.tally import Sums, VectorSums

__all__ = ["JointGaussianPrior", "JointMoments", "PooledMoments"]

_MOST_VARIANCE = np.finfo(float).max  # of a class whose weight is next to nothing: infinity times it is no number
_LEAST_VARIANCE = 2.0**-900  # in squares of the unit: the square root of less has no inverse


@dataclass(frozen=True, eq=False)
class PooledMoments:
    """Of all classes together: the unit of every input, (inputs,), mean (two doubles) and variance, (..., inputs)."""

    units: Integers
    mean: Floats
    low: Floats
    variance: Floats

    @classmethod
    def of(cls, tally: VectorSums, feature: str) -> PooledMoments:
        """Of all values of the inputs of a column."""
        units, (mean, low, variance) = pool_moments(all_values(tally, feature))
        return cls(units, mean, low, variance)

    @property
    def varies(self) -> Booleans:
        """Which inputs are not constant; rows whose weight is next to nothing do not count."""
        return np.asarray(self.variance > _LEAST_VARIANCE)

    def distance(self, mean: Floats, low: Floats, n: Floats) -> Floats:
        """From the pooled mean to that of n rows, two doubles, (..., inputs); 0 where there are no rows."""
        return np.where(n > 0, (mean - self.mean) + (low - self.low), 0.0)


@dataclass(frozen=True, eq=False)
class JointGaussianPrior:
    """The strengths of the prior, and what is pooled over the classes, of each column.

    `share` is the factor of the data of a class: 1, or 0 for infinitely strong smoothing.
    """

    kappa: float
    nu: float
    pooled: np.ndarray  # of `PooledMoments`, (columns,)
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class JointMoments:
    """The data of the classes in units of the inputs.

    Complete rows: n (...), their mean as two doubles (..., inputs), scatter (..., inputs, inputs).
    All values of each input: their number, mean as two doubles and scatter, (..., inputs).
    """

    n: Floats
    mean: Floats
    low: Floats
    scatter: Floats
    n_each: Floats
    mean_each: Floats
    low_each: Floats
    scatter_each: Floats

    @classmethod
    def of(cls, tally: VectorSums, feature: str, pooled: PooledMoments) -> JointMoments:
        """Of the sums of a column."""
        covariance = np.clip(tally.covariance(feature, pooled.units), -_MOST_VARIANCE, _MOST_VARIANCE)

        def moments(sums: Sums) -> tuple[Floats, Floats, Floats, Floats]:
            n, (mean, low, variance) = sums["n"].floats().T, moments_of(sums, pooled.units).transpose(0, 2, 1)
            return np.ascontiguousarray(n), mean, low, n * np.minimum(variance, _MOST_VARIANCE)

        n, mean, low, _ = moments(tally.only((feature,)).complete)
        return cls(n[:, 0], mean, low, n[:, :1, None] * covariance, *moments(all_values(tally, feature)))

    def times(self, share: float) -> JointMoments:
        """The same data with a share of their weight."""
        parts = {name: getattr(self, name) * share for name in ("n", "scatter", "n_each", "scatter_each")}
        return replace(self, **parts)

    def student(self, pooled: PooledMoments, kappa: float, nu: float, *, shared: bool) -> JointDensity:
        """The posterior predictive; inputs that are constant over all classes contribute nothing."""
        start, delta = nu * pooled.variance, pooled.distance(self.mean_each, self.low_each, self.n_each)
        psi = self.posterior_scatter(pooled, kappa, nu, shared=shared)
        freedom = nu + (self.n.sum(axis=-1, keepdims=True) if shared else self.n)
        more = kappa + self.n_each
        spread = self.scatter_each + kappa * self.n_each / more * delta * delta  # in this order: no square overflows
        rows = self.n_each
        if shared:
            spread, rows = (part.sum(axis=-2, keepdims=True) for part in (spread, rows))
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = 1 / np.sqrt((start + spread) / (nu + rows) * (1 + 1 / more))
        mean, low = two_sum(pooled.mean, self.n_each * delta / more)
        mean, low = two_sum(mean, low + pooled.low)
        inverse = np.where(pooled.varies, inverse, 0.0)
        freedom = np.broadcast_to(freedom, mean.shape[:-1])
        return JointDensity(pooled.units, mean, low, inverse, _correlation(psi, mean.shape), freedom)

    def posterior_scatter(self, pooled: PooledMoments, kappa: float, nu: float, *, shared: bool) -> Floats:
        """The scale matrix of the posterior, (..., inputs, inputs); with one matrix for all classes if it is shared."""
        weight = (kappa * self.n / (kappa + self.n))[..., None, None]
        delta = pooled.distance(self.mean, self.low, self.n[..., None])
        more = self.scatter + weight * delta[..., :, None] * delta[..., None, :]
        if shared:
            more = more.sum(axis=-3, keepdims=True)
        return np.asarray(more + nu * pooled.variance[..., :, None] * np.eye(delta.shape[-1]))

    def normal(self, units: Integers, *, shared: bool) -> JointDensity:
        """The density at the maximum-likelihood parameters; an input without variance in a class has no scale."""
        scatter, each, rows = self.scatter, self.scatter_each, self.n_each
        if shared:
            scatter = scatter.sum(axis=-3, keepdims=True)
            each, rows = (part.sum(axis=-2, keepdims=True) for part in (each, rows))
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = 1 / np.sqrt(each / rows)
        usable = np.isfinite(inverse) & (self.n_each > 0)
        correlation = _correlation(scatter, usable.shape) * _mask(usable)
        inverse = np.where(usable, inverse, 0.0)
        return JointDensity(units, self.mean_each, self.low_each, inverse, correlation, None)


def all_values(tally: VectorSums, feature: str) -> Sums:
    """The sums of all values of every input of a column, of complete rows and others."""
    part = tally.only((feature,))
    result = part.complete
    if part.incomplete["n"].nonzero().any():
        result.prepare(part.incomplete, 1)()
    return result


def _correlation(scatter: Floats, shape: tuple[int, ...]) -> Floats:
    """Correlations by scatter matrices, for every class; 0 of an input without variance."""
    diagonal = np.maximum(np.diagonal(scatter, axis1=-2, axis2=-1), 0.0)
    with np.errstate(divide="ignore"):
        scale = np.where(diagonal > 0, 1 / np.sqrt(diagonal), 0.0)
    result = np.clip(scatter * scale[..., :, None] * scale[..., None, :], -1.0, 1.0)
    return np.broadcast_to(result, (*shape, shape[-1]))


def _mask(usable: Booleans) -> Booleans:
    """Pairs of inputs that both have a scale."""
    return np.asarray(usable[..., :, None] & usable[..., None, :])
