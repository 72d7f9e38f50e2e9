"""Leave-one-out scores of joint Gaussians.

The moments without a row follow from those with it: n' = n - w, mean' = mean - w (x - mean) / n' and
S' = S - w n / n' (x - mean)(x - mean)^T, of its class, and of all classes for the prior. A row that holds nearly all
of a sum of squares would be dominated by rounding: it is scored by the definition, with exact sums.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from tallybayes.arrays.array_types import Booleans, Codes32, Floats, Integers, Weights
from tallybayes.arrays.chunks import split
from tallybayes.arrays.column import Vectors
from tallybayes.families.family import Family
from tallybayes.families.leave_one_out_scores import never_learned, subtract_weights
from tallybayes.families.together.joint_density import factor
from tallybayes.families.together.joint_moments import JointGaussianPrior, JointMoments, PooledMoments
from tallybayes.kernels.densities import two_sum
from tallybayes.tally import VectorSums

__all__ = ["JointLeaveOneOut"]

_NUMBERS = 2**20  # in the matrices of the rows that are scored at a time
_LOST = 1e-4  # share of a sum of squares below which what is left of it is rounding
_NEARLY_SINGULAR = 1e-2  # pivot of a correlation matrix below which its rounding shows


@dataclass(frozen=True, eq=False)
class JointLeaveOneOut:
    """The score of one column; without a prior by the plug-in."""

    family: Family[VectorSums, JointGaussianPrior]
    tally: VectorSums
    prior: JointGaussianPrior | None
    shared: bool
    column: Vectors
    codes: Codes32
    weights: Weights

    def __call__(self, out: Floats, start: int, stop: int) -> None:
        """Add the scores of rows start to stop."""
        if self.prior is not None and self.prior.share == 0:
            return  # all classes are equal: the level does not matter
        (name,), (pooled, data) = self.tally.features, self._moments
        size = max(_NUMBERS // (max(self.tally.n_classes, 1) * len(pooled.units) ** 2), 1)
        for first, last in split(stop - start, size):
            rows = np.arange(start + first, start + last)
            scores, care = self._scores(rows, data, pooled, name)
            if care.any():
                at = rows[care]
                weights = None if self.weights is None else self.weights[at]
                exact = (self.tally, self.prior, self.column.take(at), self.codes[at], weights)
                scores[care] = self.family.leave_one_out_by_subtraction(*exact)
            out[rows] += scores

    @cached_property
    def _moments(self) -> tuple[PooledMoments, JointMoments]:
        """Of all rows."""
        (name,) = self.tally.features
        pooled = PooledMoments.of(self.tally, name)
        return pooled, JointMoments.of(self.tally, name, pooled)

    def _scores(self, rows: Integers, data: JointMoments, pooled: PooledMoments, name: str) -> tuple[Floats, Booleans]:
        """The scores of some rows by the closed form, and for which it is inaccurate."""
        values, codes = self.column.values[rows], self.codes[rows]
        weights = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        there = ~np.isnan(values)
        x, at = np.ldexp(np.where(there, values, 0.0), -pooled.units), np.arange(len(rows))
        each = np.where(there, weights[:, None], 0.0)
        whole = np.where(there.all(axis=1), weights, 0.0)[:, None]
        moved = JointMoments(
            *(np.repeat(getattr(data, part.name)[None], len(rows), axis=0) for part in fields(JointMoments))
        )
        own = JointMoments(*(getattr(moved, part.name)[at, codes] for part in fields(JointMoments)))

        rest, mean, low, step, share = _remove(x, whole, own.n[:, None], own.mean, own.low)
        moved.n[at, codes], moved.mean[at, codes], moved.low[at, codes] = rest[:, 0], mean, low
        left = own.scatter - share[:, :, None] * step[:, :, None] * step[:, None, :]
        moved.scatter[at, codes] = np.where(rest[:, :, None] > 0, left, 0.0)
        rest, mean, low, step, share = _remove(x, each, own.n_each, own.mean_each, own.low_each)
        moved.n_each[at, codes], moved.mean_each[at, codes], moved.low_each[at, codes] = rest, mean, low
        moved.scatter_each[at, codes] = scatter = np.where(rest > 0, own.scatter_each - share * step * step, 0.0)
        if (lost := np.flatnonzero((rest < 0).any(axis=1) | (moved.n < 0).any(axis=1))).size:
            raise never_learned(name, int(rows[lost[0]]))

        total = np.broadcast_to(data.n_each.sum(axis=0), x.shape)
        rest, mean, low, step, share = _remove(x, each, total, pooled.mean, pooled.low)
        variance = np.maximum(_ratio(total * pooled.variance - share * step * step, rest), 0.0)
        centre = PooledMoments(pooled.units, mean[:, None], low[:, None], variance[:, None])
        care = ((variance < _LOST * pooled.variance) | (scatter < _LOST * own.scatter_each)).any(axis=1)
        of_complete, before = (np.diagonal(part, axis1=-2, axis2=-1) for part in (left, own.scatter))
        care |= (of_complete < _LOST * before).any(axis=1)
        if self.prior is None:
            density = moved.normal(pooled.units, shared=self.shared)
            pivots = np.diagonal(factor(density.correlation), axis1=-2, axis2=-1)
            care |= (pivots < _NEARLY_SINGULAR).any(axis=(1, 2)) | (density.inverse == 0).any(axis=(1, 2))
        else:
            density = moved.student(centre, self.prior.kappa, self.prior.nu, shared=self.shared)
        return density.log_density(values), np.asarray(care)


def _ratio(a: Floats, b: Floats) -> Floats:
    """Quotients, 0 where the divisor is not above 0."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def _remove(
    x: Floats, weights: Floats, n: Floats, mean: Floats, low: Floats
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """What is left without a row: number, mean (two doubles); its distance to the mean, and its share of the scatter.

    All arrays are (rows, inputs), or (rows, 1).
    """
    rest, step = subtract_weights(n, weights), (x - mean) - low
    new, low = two_sum(mean, low - _ratio(weights, rest) * step)
    share = _ratio(weights * n, rest)
    is_left = rest > 0
    return rest, np.where(is_left, new, 0.0), np.where(is_left, low, 0.0), step, share
