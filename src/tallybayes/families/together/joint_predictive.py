"""The predictive of joint Gaussians: scores, samples and tables of parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tallybayes.arrays.array_types import Floats
from tallybayes.arrays.chunks import split
from tallybayes.arrays.column import Column, Vectors
from tallybayes.families.block_arrays import first_true, refuse
from tallybayes.families.family import Predictive, Score
from tallybayes.families.together.joint_density import JointDensity, factor
from tallybayes.families.together.joint_moments import JointMoments, PooledMoments
from tallybayes.tally import VectorSums

__all__ = ["JointPredictive", "point_masses"]

_ROWS = 4096  # that are scored at a time, so that they stay in the cache
_SHOWN = 8  # inputs up to which their correlations are shown


@dataclass(frozen=True, eq=False)
class JointPredictive(Predictive):
    """Densities of every column, the data behind them, and the names of the inputs."""

    by_column: ClassVar[tuple[str, ...]] = ("features", "inputs", "pooled", "moments", "densities")

    features: tuple[str, ...]
    n_classes: int
    inputs: tuple[tuple[str, ...], ...]
    pooled: tuple[PooledMoments, ...]
    moments: tuple[JointMoments, ...]
    densities: tuple[JointDensity, ...]
    shared: bool  # whether all classes have one covariance matrix

    @classmethod
    def of(
        cls,
        tally: VectorSums,
        pooled: Sequence[PooledMoments],
        moments: Sequence[JointMoments],
        densities: Sequence[JointDensity],
        *,
        shared: bool,
    ) -> JointPredictive:
        """Of the columns of a tally."""
        inputs = tuple(tally.inputs[name] for name in tally.features)
        return cls(tally.features, tally.n_classes, inputs, tuple(pooled), tuple(moments), tuple(densities), shared)

    def bind(self, columns: Sequence[Column]) -> Score:
        """Prepare to score vectors."""
        vectors = [column for column in columns if isinstance(column, Vectors)]

        def score(out: Floats, start: int, stop: int) -> None:
            for number, column in enumerate(vectors):
                for first, last in split(stop - start, _ROWS):
                    rows = slice(start + first, start + last)
                    out[rows] += self._log_density(number, column.values[rows], column.inputs)

        return score

    def _log_density(self, number: int, values: Floats, inputs: tuple[str, ...]) -> Floats:
        if (place := first_true(np.isinf(values).reshape(-1))) >= 0:
            refuse(place, inputs, values, "a finite number")
        density = self.densities[number]
        result = density.log_density(values)
        return result if density.freedom is not None else result + point_masses(density, self.moments[number], values)

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Vectors of every column, (rows, inputs)."""
        result: list[Any] = []
        for density in self.densities:
            lower, inverse = factor(density.correlation[code]), density.inverse[code]
            z = rng.standard_normal((n, len(inverse))) @ lower.T
            if density.freedom is not None:
                freedom = density.freedom[code]
                z *= np.sqrt(freedom / rng.chisquare(freedom, (n, 1)))
            scale = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse != 0)
            result.append(np.ldexp(density.mean[code] + (density.low[code] + z * scale), density.units))
        return result

    def n_parameters(self, number: int) -> int:
        """A mean of each input per class; variances and covariances per class, or one matrix for all."""
        size = len(self.inputs[number])
        return self.n_classes * size + (1 if self.shared else self.n_classes) * (size * (size + 1) // 2)

    def table(self) -> list[dict[str, Any]]:
        """Mean and standard deviation of the data by input, the rows behind them, and the correlations of few inputs.

        The correlations are those of the predictive, with the prior.
        """
        rows = []
        for name, inputs, pooled, data, density in zip(
            self.features, self.inputs, self.pooled, self.moments, self.densities, strict=True
        ):
            with np.errstate(over="ignore"):
                mean = np.ldexp(data.mean_each, pooled.units)
                sd = np.ldexp(np.sqrt(data.scatter_each / np.maximum(data.n_each, 1e-300)), pooled.units)
            for c in range(self.n_classes):
                for i, own in enumerate(inputs):
                    others = [(j, other) for j, other in enumerate(inputs) if j != i and len(inputs) <= _SHOWN]
                    n = float(data.n_each[c, i])
                    facts = {
                        "mean": float(mean[c, i]) if n else 0.0,
                        "sd": float(sd[c, i]),
                        "rows": n,
                        "complete": float(data.n[c]),
                    }
                    correlations = {f"r({other})": float(density.correlation[c, i, j]) for j, other in others}
                    rows.append({"column": name, "class": c, "input": own} | facts | correlations)
        return rows


def point_masses(density: JointDensity, data: JointMoments, values: Floats) -> Floats:
    """Log density of inputs that are constant in a class: one double wide at that value, none elsewhere."""
    result = np.zeros((len(values), len(data.n)))
    for c, i in np.argwhere((density.inverse == 0) & (data.n_each > 0)).tolist():
        value, x = np.ldexp(density.mean[c, i], int(density.units[i])), values[:, i]
        result[:, c] += np.where(np.isnan(x), 0.0, np.where(x == value, -math.log(math.ulp(value)), -np.inf))
    return result
