"""Densities of vectors: multivariate Student t and normal, of all inputs or of those that a row has.

Location, scales and correlations of a class describe the density of all inputs; that of some of them is given by their
part of the location, the scales and the correlations. With L the Cholesky factor of the correlations R, y the distances
in scales and z = L^-1 y, the squared distance is q = z . z and

    log t      = log gamma((f + d) / 2) - log gamma(f / 2) - d/2 log(f pi) - log |S| - (f + d) / 2 log(1 + q / f)
    log normal = -d/2 log(2 pi) - log |S| - q / 2                               log |S| = sum of log scale_i + log L_ii

(Kotz and Nadarajah 2004, "Multivariate t distributions"). Inputs are measured in units of their own, powers of two, and
values far outside are scaled down before they are squared, so that 1e200 and 1e-310 neither overflow nor underflow. All
steps work on each row by itself, so a row alone has the bits that it has in a batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tallybayes.arrays.array_types import Floats, Integers
from tallybayes.kernels.densities import log_gamma_ratio

__all__ = ["JointDensity", "factor"]

LOG_2 = float(np.log(2.0))
LEAST_PIVOT = 2.0**-40  # of a correlation matrix: less is the rounding of sums, or an input that others determine
_FAR = 2.0**200  # scales from where distances are scaled down before they are squared
_MOST = 2.0**500  # of a distance in one direction, so that squares do not overflow
_PATTERNS = 256  # sets of inputs whose factors are kept


def factor(correlation: Floats) -> Floats:
    """The Cholesky factors of correlation matrices, (..., i, j); a pivot is at least 2**-40.

    So a matrix that is singular has a factor too: an input that the ones before it determine keeps 1e-12 of its
    variance.

    >>> factor(np.array([[1.0, 0.6], [0.6, 1.0]])).tolist()
    [[1.0, 0.0], [0.6, 0.8]]
    """
    result, size = np.zeros_like(correlation), correlation.shape[-1]
    for j in range(size):
        row = result[..., j, :j]
        pivot = np.sqrt(np.maximum(1.0 - (row * row).sum(axis=-1), LEAST_PIVOT))
        result[..., j, j] = pivot
        below = (result[..., j + 1 :, :j] * row[..., None, :]).sum(axis=-1)
        result[..., j + 1 :, j] = (correlation[..., j + 1 :, j] - below) / pivot[..., None]
    return result


@dataclass(frozen=True, eq=False)
class JointDensity:
    """The densities of one column for every class, or for every row and class: the axes "..." below.

    units: the exponents of the units, (inputs,). mean (two doubles), inverse (of the scale; at 0 the input contributes
    nothing): (..., inputs). correlation: (..., inputs, inputs). freedom: (...), None for the normal density.
    """

    units: Integers
    mean: Floats
    low: Floats
    inverse: Floats
    correlation: Floats
    freedom: Floats | None
    _factors: dict[bytes, Floats] = field(default_factory=dict)

    def log_density(self, values: Floats) -> Floats:
        """Log densities of rows (rows, inputs), NaN where a value is missing, (rows, classes)."""
        result = np.zeros((len(values), self.mean.shape[-2]))
        says_something = (self.inverse != 0).reshape(-1, values.shape[1]).any(axis=0)
        there = ~np.isnan(values) & says_something
        if values.size and there.all():
            return self._log_density(values, np.arange(values.shape[1]))
        patterns, number = np.unique(there, axis=0, return_inverse=True)
        order = np.argsort(number.reshape(-1), kind="stable")
        ends = np.cumsum(np.bincount(number.reshape(-1), minlength=len(patterns)))
        for pattern, rows in zip(patterns, np.split(order, ends[:-1]), strict=True):
            if pattern.any():
                chosen = np.flatnonzero(pattern)
                result[rows] = self._take(rows)._log_density(values[np.ix_(rows, chosen)], chosen)
        return result

    def _take(self, rows: Integers) -> JointDensity:
        """The densities of some rows; those of all rows where they are the same."""
        if self.mean.ndim == 2:
            return self
        parts = {name: getattr(self, name)[rows] for name in ("mean", "low", "inverse", "correlation")}
        freedom = None if self.freedom is None else self.freedom[rows]
        return replace(self, freedom=freedom, _factors={}, **parts)

    def _log_density(self, x: Floats, chosen: Integers) -> Floats:
        """Of rows that have these inputs and no others."""
        inverse, lower = self.inverse[..., chosen], self._factor(chosen)
        units = self.units[chosen]
        is_flat = inverse == 0
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            log_volume = np.where(is_flat, 0.0, np.log(inverse) - units * LOG_2)
            pivots = np.where(is_flat, 1.0, np.diagonal(lower, axis1=-2, axis2=-1))
            constant = _add(log_volume) - _add(np.log(pivots))
            scaled = np.ldexp(x, -units)
            far = np.zeros(len(x), bool)
            y = []
            for i, j in enumerate(chosen.tolist()):
                y.append(((scaled[:, i, None] - self.mean[..., j]) - self.low[..., j]) * inverse[..., i])
                far |= ~(np.abs(y[-1]) < _FAR).all(axis=-1)
            square = _squared_distance(y, lower)
            log_square, shift = np.log(square), np.zeros((len(x), 1))
            if far.any():
                rows = np.flatnonzero(far)
                log_square[rows], shift[rows] = self._take(rows)._far_distance(x[rows], chosen)
                square[rows] = np.inf
        if self.freedom is None:
            return constant - _add(np.where(is_flat, 0.0, 0.5 * np.log(2 * np.pi))) - _half(square, log_square, shift)
        freedom, size = self.freedom, len(chosen)
        for k in range(size):
            constant = constant + log_gamma_ratio((freedom + k) / 2)
        near = np.log1p(square / freedom)
        log_term = np.where(far[:, None], log_square + 2 * LOG_2 * shift - np.log(freedom), near)
        return np.asarray(constant - 0.5 * size * np.log(np.pi * freedom) - (freedom + size) / 2 * log_term)

    def _factor(self, chosen: Integers) -> Floats:
        """The Cholesky factors of the correlations of some inputs."""
        key = chosen.tobytes()
        if (known := self._factors.get(key)) is None:
            known = factor(self.correlation[..., chosen[:, None], chosen])
            if len(self._factors) < _PATTERNS:
                self._factors[key] = known
        return known

    def _far_distance(self, x: Floats, chosen: Integers) -> tuple[Floats, Floats]:
        """Log of the squared distance of rows that are far outside, in units of 4**shift; and that shift."""
        units = self.units[chosen]
        exponents = np.where(x == 0, 0, np.frexp(x)[1] - units).max(axis=1)
        shift = np.maximum(exponents, np.frexp(self.mean[..., chosen])[1].max(axis=(-2, -1))).astype(np.int64)
        scaled = np.ldexp(x, (-units - shift[:, None]).astype(np.int32))
        back = -shift[:, None].astype(np.int32)
        y = [
            ((scaled[:, i, None] - np.ldexp(self.mean[..., j], back)) - np.ldexp(self.low[..., j], back))
            * self.inverse[..., j]
            for i, j in enumerate(chosen.tolist())
        ]
        log_square = np.log(np.maximum(_squared_distance(y, self._factor(chosen)), np.finfo(float).tiny))
        return log_square, shift[:, None].astype(np.float64)


def _squared_distance(y: list[Floats], lower: Floats) -> Floats:
    """The squared length of L^-1 y, (rows, classes); y: (rows, classes) of each input."""
    z: list[Floats] = []
    square = np.zeros_like(y[0])
    for i, rest in enumerate(y):
        for j, known in enumerate(z):
            rest = rest - lower[..., i, j] * known
        z.append(np.clip(rest / lower[..., i, i], -_MOST, _MOST))
        square = square + z[-1] * z[-1]
    return square


def _half(square: Floats, log_square: Floats, shift: Floats) -> Floats:
    """Half of a squared distance; beyond 2**1000 it grows like its logarithm, as that of one column does."""
    log_distance = log_square / (2 * LOG_2) + shift  # to base 2
    return np.asarray(np.where(square < 2.0**1000, 0.5 * square, 2.0**999 / 500 * np.maximum(log_distance, 1.0)))


def _add(parts: Floats) -> Floats:
    """The sum over the inputs, in their order."""
    return np.asarray(sum(np.moveaxis(parts, -1, 0)[1:], parts[..., 0]))
