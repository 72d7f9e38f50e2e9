"""Several columns of numbers, jointly normally distributed within a class: Gaussian discriminant analysis.

The mean and the covariance of a class have a normal-inverse-Wishart prior. It is centred on the pooled mean m of the
inputs, with the weight of kappa rows, and on their pooled variances v without correlations, with the weight of nu rows.
Integrating over both gives a multivariate Student t distribution; with n rows of mean x and scatter matrix S,

    kappa' = kappa + n        mu' = m + n (x - m) / kappa'       nu' = nu + n
    Psi'   = nu diag(v) + S + kappa n / kappa' (x - m)(x - m)^T
    p(x | c) = t(x; nu', mu', Psi' / nu' (1 + 1 / kappa'))

(Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution", section 9; its degrees of freedom of the
inverse Wishart are nu + d - 1 here). So the marginal distribution of a single input is the one of the family
`gaussian`, and kappa = 3 and nu = 5 are the same. The plug-in is the normal density with the mean and the covariance
(divided by n) of the class.

`covariance="class"`: every class has its own, and the boundaries between classes are quadratic. `"shared"`: all have
one, Psi' is added up over the classes and nu' = nu + all rows; the log odds of the plug-in are then linear.

A value that is missing when a row is scored is marginalised: the row is scored by its other values. Rows that lack
values when they are learned are counted by column only: they add to the location and the scale of the inputs that they
have, and the correlations come from the complete rows,

    p(x | c) = t(x; nu', mu'', D R D)     R: the correlations of Psi';  mu'', D: location and scales of `gaussian`

which is the formula above if all rows are complete.

An input that is constant over all classes contributes nothing. Under the plug-in an input that is constant in a class
has a point mass there, as in `gaussian`; where inputs determine another one (a singular covariance, few rows), that
keeps 1e-12 of its variance (`joint_density.py`). There is no closed form of credible intervals here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tallybayes.arrays.array_types import Booleans, Codes32, Floats, Weights
from tallybayes.arrays.column import Column, Vectors
from tallybayes.arrays.special import gammaln
from tallybayes.errors import DataError, ParameterError
from tallybayes.families.block_arrays import first_true, refuse, sum_columns
from tallybayes.families.family import Family, Score, Smoothing
from tallybayes.families.numbers.gaussian import Gaussian
from tallybayes.families.numbers.gaussian_predictive import GaussianPrior
from tallybayes.families.together.joint_density import LOG_2
from tallybayes.families.together.joint_leave_one_out import JointLeaveOneOut
from tallybayes.families.together.joint_moments import JointGaussianPrior, JointMoments, PooledMoments
from tallybayes.families.together.joint_predictive import JointPredictive
from tallybayes.tally import Exact, Sums, VectorSums
from tallybayes.tally.vector_sums import sum_products

__all__ = ["JointGaussian", "JointGaussianPrior"]

MOST_INPUTS = 200  # products of all pairs are counted one after the other
_MOST = 1e100  # strengths beyond it overflow


@dataclass(frozen=True)
class JointGaussian(Family[VectorSums, JointGaussianPrior]):
    """A mean and a covariance matrix per class, or one covariance matrix for all classes.

    >>> people = Vectors(np.array([[1.6, 55.0], [1.7, 68.0], [1.8, 75.0], [1.9, 90.0]]), ("height", "weight"))
    >>> tally = JointGaussian().observe(("both",), [people], np.zeros(4, np.int32), 1, None)
    >>> height, weight = JointGaussian().derive(tally, 0).table()
    >>> height["mean"], round(height["sd"], 3), round(height["r(weight)"], 3)
    (1.75, 0.112, 0.991)
    """

    covariance: str = "class"
    kappa: float = 3.0
    nu: float = 5.0

    def __post_init__(self) -> None:
        if self.covariance not in ("class", "shared"):
            raise ParameterError("covariance of joint_gaussian: 'class' or 'shared'", got=self.covariance)
        if not (0 < float(self.kappa) <= _MOST and 0 < float(self.nu) <= _MOST):
            expected = "kappa and nu of joint_gaussian: numbers above 0, up to 1e100"
            raise ParameterError(expected, got=(self.kappa, self.nu))

    name: ClassVar[str] = "joint_gaussian"
    column: ClassVar[type[Column]] = Vectors
    is_divided: ClassVar[bool] = False

    @property
    def is_shared(self) -> bool:
        """Whether all classes have one covariance matrix."""
        return self.covariance == "shared"

    @property
    def counted(self) -> JointGaussian:
        """Its options do not affect counting."""
        return JointGaussian()

    def alternatives(self, given: Family | None) -> list[JointGaussian]:
        """The other kind of covariance."""
        return [] if given is not None else [replace(self, covariance="class" if self.is_shared else "shared")]

    def observe(
        self, features: tuple[str, ...], columns: Sequence[Vectors], codes: Codes32, n_classes: int, weights: Weights
    ) -> VectorSums:
        """Exact sums of 1, x and all products of two inputs."""
        inputs = {name: column.inputs for name, column in zip(features, columns, strict=True)}
        blocks: dict[str, list[Sums]] = {"rows": [], "complete": [], "pairs": [], "incomplete": []}
        for name, column in zip(features, columns, strict=True):
            if not 1 <= column.n_inputs <= MOST_INPUTS:
                raise DataError(f"from 1 to {MOST_INPUTS} inputs of a joint Gaussian", got=column.n_inputs, column=name)
            refuse_infinite(column)
            for block, sums in zip(blocks, _count(name, column, codes, n_classes, weights), strict=True):
                blocks[block].append(sums)
        return VectorSums(features, inputs, {block: _join(parts, n_classes) for block, parts in blocks.items()})

    def prior(self, tally: VectorSums, smoothing: Smoothing) -> JointGaussianPrior:
        """Centred on the pooled data; its strengths are options of the family, not Laplace's k."""
        pooled = np.empty(len(tally.features), object)
        for number, name in enumerate(tally.features):
            pooled[number] = PooledMoments.of(tally, name)
        return JointGaussianPrior(self.kappa, self.nu, pooled, 0.0 if smoothing == np.inf else 1.0)

    def predictive(self, tally: VectorSums, prior: JointGaussianPrior) -> JointPredictive:
        """Multivariate Student t."""
        moments = [
            JointMoments.of(tally, name, pooled) for name, pooled in zip(tally.features, prior.pooled, strict=True)
        ]
        densities = [
            data.times(prior.share).student(pooled, prior.kappa, prior.nu, shared=self.is_shared)
            for data, pooled in zip(moments, prior.pooled, strict=True)
        ]
        return JointPredictive.of(tally, list(prior.pooled), moments, densities, shared=self.is_shared)

    def plug_in(self, tally: VectorSums) -> JointPredictive:
        """The normal density at the mean and covariance of each class."""
        pooled = [PooledMoments.of(tally, name) for name in tally.features]
        moments = [JointMoments.of(tally, *pair) for pair in zip(tally.features, pooled, strict=True)]
        pairs = zip(moments, pooled, strict=True)
        densities = [data.normal(its_pooled.units, shared=self.is_shared) for data, its_pooled in pairs]
        return JointPredictive.of(tally, pooled, moments, densities, shared=self.is_shared)

    def repooled(self, prior: JointGaussianPrior, tally: VectorSums) -> JointGaussianPrior:
        """Centred on the pooled data of other sums."""
        return replace(self.prior(tally, "auto"), share=prior.share)

    def leave_one_out(
        self,
        tally: VectorSums,
        prior: JointGaussianPrior | None,
        columns: Sequence[Vectors],
        codes: Codes32,
        weights: Weights,
    ) -> list[Score]:
        """From the moments without the row; by exact sums for a row that holds nearly all of a sum of squares."""
        for column in columns:
            refuse_infinite(column)
        return [
            JointLeaveOneOut(self, tally.only((name,)), _cut(prior, number), self.is_shared, column, codes, weights)
            for number, (name, column) in enumerate(zip(tally.features, columns, strict=True))
        ]

    def evidence(self, tally: VectorSums, prior: JointGaussianPrior) -> Floats:
        """Closed form of the integral over mean and covariance of the complete rows; of other rows by column."""
        result = np.zeros(len(tally.features))
        for number, (name, pooled) in enumerate(zip(tally.features, prior.pooled, strict=True)):
            data = JointMoments.of(tally, name, pooled).times(prior.share)
            used = np.flatnonzero(pooled.varies)
            result[number] = self._evidence(data, pooled, used, prior) if len(used) else 0.0
            if (rest := tally.only((name,)).incomplete)["n"].nonzero().any():
                moments = np.stack([pooled.mean, pooled.low, pooled.variance])
                by_column = GaussianPrior(prior.kappa, prior.nu, pooled.units, moments, prior.share)
                result[number] += Gaussian(shared=self.is_shared).evidence(rest, by_column).sum()
        return result

    def _evidence(self, data: JointMoments, pooled: PooledMoments, used: Any, prior: JointGaussianPrior) -> float:
        """Of the complete rows of one column, with the inputs that are not constant."""
        kappa, nu, size = prior.kappa, prior.nu, len(used)
        psi = data.posterior_scatter(pooled, kappa, nu, shared=self.is_shared)[..., used[:, None], used]
        n = data.n.sum(keepdims=True) if self.is_shared else data.n
        start = np.log(nu * pooled.variance[used]).sum()
        before, after = nu + size - 1, nu + size - 1 + n
        gammas = sum(gammaln((after - k) / 2) - gammaln((before - k) / 2) for k in range(size))
        terms = gammas + before / 2 * start - after / 2 * np.linalg.slogdet(psi)[1] - n * size / 2 * np.log(np.pi)
        means = size / 2 * np.log(kappa / (kappa + data.n)).sum()
        return float(terms.sum() + means - n.sum() * pooled.units[used].sum() * LOG_2)

    def example(self, rng: np.random.Generator, n: int) -> Column:
        """Three inputs that depend on each other, with missing values."""
        base = rng.normal(size=(n, 3)) * [1.0, 100.0, 1e-3] + rng.normal(size=(n, 1)) * [2.0, -50.0, 0.0] + [0, 1e4, 0]
        return Vectors(np.where(rng.random((n, 3)) < 0.1, np.nan, base), ("a", "b", "c"))


def refuse_infinite(column: Vectors) -> None:
    """Raise for the first infinite value."""
    if (place := first_true(np.isinf(column.values).reshape(-1))) >= 0:
        refuse(place, column.inputs, column.values, "a finite number")


def _cut(prior: JointGaussianPrior | None, number: int) -> JointGaussianPrior | None:
    return None if prior is None else replace(prior, pooled=prior.pooled[number : number + 1])


def _count(
    name: str, column: Vectors, codes: Codes32, n_classes: int, weights: Weights
) -> tuple[Sums, Sums, Sums, Sums]:
    """The blocks of sums of one column: rows, complete, pairs, incomplete."""
    there = ~np.isnan(column.values)
    is_complete: Booleans = np.asarray(there.all(axis=1))
    inputs = {name: column.inputs}

    def sums_of(block: str, kept: Booleans) -> Sums:
        arrays = [np.where(kept, values, np.nan) for values in column.values.T]
        (n, x, xx), _ = sum_columns(arrays, codes, n_classes, weights, 2)
        return Sums(VectorSums.names(block, inputs), {"n": n, "x": x, "xx": xx}, counts=("n",))

    (n_rows, _), _ = sum_columns([np.where(there.any(axis=1), 0.0, np.nan)], codes, n_classes, weights, 1)
    complete = sums_of("complete", is_complete)
    kept = np.flatnonzero(is_complete & (codes >= 0) & (weights != 0 if weights is not None else True))
    groups, amounts = codes[kept].astype(np.int64), None if weights is None else weights[kept]
    values = np.ascontiguousarray(column.values[kept].T)
    pairs = [
        sum_products(values[i], values[j], amounts, groups, n_classes)
        for i, j in itertools.combinations(range(column.n_inputs), 2)
    ]
    products = Exact.concatenate(pairs).reshaped(len(pairs), n_classes) if pairs else Exact.zeros((0, n_classes))
    counts = complete["n"][np.zeros(math.comb(column.n_inputs, 2), np.int64)]
    return (
        Sums((name,), {"n": n_rows}, counts=("n",)),
        complete,
        Sums(VectorSums.names("pairs", inputs), {"n": counts, "xy": products}, counts=("n",)),
        sums_of("incomplete", ~is_complete),
    )


def _join(parts: list[Sums], n_classes: int) -> Sums:
    """The sums of several columns."""
    if not parts:
        return Sums((), {"n": Exact.zeros((0, n_classes))}, counts=("n",))
    features = tuple(name for part in parts for name in part.features)
    names = parts[0].statistics
    return Sums(features, {name: Exact.concatenate([part[name] for part in parts]) for name in names}, counts=("n",))
