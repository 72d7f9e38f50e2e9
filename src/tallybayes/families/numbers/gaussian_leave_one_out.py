"""Leave-one-out scores of the gaussian family.

The kernels compute closed forms (`kernels/reference/leave_one_out_tables.py`) for all columns of a block at once, since
columns share their logarithms. For a row that holds nearly all of a sum of squares the closed form would be dominated
by rounding: it is scored by the definition, with exact sums.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Integers, Weights
from tallybayes.arrays.column import Reals
from tallybayes.families.block_arrays import refuse
from tallybayes.families.family import Codes32, Family, Floats
from tallybayes.families.leave_one_out_scores import BlockScore
from tallybayes.families.numbers.gaussian_predictive import GaussianPredictive, GaussianPrior
from tallybayes.tally import Sums

__all__ = ["NormalLeaveOneOut", "StudentLeaveOneOut"]


@dataclass(frozen=True, eq=False)
class _GaussianLeaveOneOut(BlockScore):
    """Leave-one-out scores of some columns: in closed form, or by exact sums where that is inaccurate."""

    family: Family[Sums, GaussianPrior]
    tally: Sums
    prior: GaussianPrior | None
    shared: bool
    log: bool
    columns: Sequence[Reals]
    arrays: Sequence[Any]  # the values, or their logarithms
    codes: Codes32
    weights: Weights
    numbers: tuple[int, ...]  # of the columns, in the block

    def combine(self, scores: Sequence[Self]) -> Self:
        """Several columns at once, since they share their logarithms."""
        return replace(self, numbers=tuple(number for score in scores for number in score.numbers))

    @abstractmethod
    def closed(self, numbers: list[int], out: Floats, start: int, stop: int) -> Integers:
        """Add the closed form of some columns; returns the places `row * n_columns + column` where it is inaccurate."""

    def rows_of(self, numbers: list[int]) -> tuple[list[Any], Codes32, Floats | None]:
        """The values of some columns, and class codes and weights of the rows, as the kernels expect them."""
        return [self.arrays[j] for j in numbers], self.codes, self.weights

    def is_constant(self, number: int) -> bool:
        """Whether a column contributes nothing, with or without any row."""
        return False

    @cached_property
    def adding(self) -> frozenset[int]:
        """The columns whose scores have more terms than the closed form."""
        return frozenset(self.numbers if self.log else ())

    def besides(self, number: int, start: int, stop: int) -> Floats:
        """The other terms of such a column, (rows, classes)."""
        more, x = np.zeros((stop - start, self.tally.n_classes)), self.arrays[number][start:stop]
        if self.log:  # the density of x is that of log x, over x
            more -= np.where(np.isnan(x), 0.0, x)[:, None]
        return more

    def __call__(self, out: Floats, start: int, stop: int) -> None:
        """Add the scores of rows start to stop."""
        numbers = [j for j in self.numbers if not self.is_constant(j)]
        if not numbers:
            return
        row, column = np.divmod(self.closed(numbers, out, start, stop), len(numbers))
        odd = set(column.tolist())
        for j, number in enumerate(numbers):
            care = row[column == j] if j in odd else row[:0]
            if number in self.adding:
                more = self.besides(number, start, stop)
                more[care - start] = 0.0
                out[start:stop] += more
            if len(care):
                out[care] += self._exact(number, care)

    def _exact(self, number: int, rows: Integers) -> Floats:
        """Some rows of a column by exact sums."""
        name, x = self.tally.features[number], self.arrays[number]
        infinite = rows[np.isinf(x[rows])]
        refuse(int(infinite[0]) if len(infinite) else -1, (name,), [x], "a finite number")
        prior = None if self.prior is None else self.family.part_of(self.prior, number)
        weights, column = None if self.weights is None else self.weights[rows], self.columns[number].take(rows)
        part = self.tally.only((name,))
        return self.family.leave_one_out_by_subtraction(part, prior, column, self.codes[rows], weights)


@dataclass(frozen=True, eq=False)
class StudentLeaveOneOut(_GaussianLeaveOneOut):
    """Student's t."""

    prior: GaussianPrior
    moments: Floats

    def is_constant(self, number: int) -> bool:
        """Whether the pooled variance is 0."""
        return bool(self.prior.moments[2, number] == 0)

    def closed(self, numbers: list[int], out: Floats, start: int, stop: int) -> Integers:
        """The kernel."""
        prior = self.prior
        n = self.tally["n"].floats()[numbers]
        pooled, moments = (np.ascontiguousarray(part[:, numbers]) for part in (prior.moments, self.moments))
        strengths = (prior.kappa, prior.nu, self.shared)
        places: Integers = kernels.active.add_student_leave_one_out(
            *self.rows_of(numbers), prior.units[numbers], pooled, n, moments, *strengths, out, start, stop
        )
        return places


@dataclass(frozen=True, eq=False)
class NormalLeaveOneOut(_GaussianLeaveOneOut):
    """Maximum likelihood: the normal density, and point masses where all values of a class are equal."""

    prior: None
    predictive: GaussianPredictive

    def closed(self, numbers: list[int], out: Floats, start: int, stop: int) -> Integers:
        """The kernel."""
        units, n = self.predictive.units[numbers], self.predictive.n[numbers]
        moments = np.stack([part[numbers] for part in self.predictive.moments])
        places: Integers = kernels.active.add_normal_leave_one_out(
            *self.rows_of(numbers), units, n, moments, self.shared, out, start, stop
        )
        return places

    @cached_property
    def adding(self) -> frozenset[int]:
        """Also those with a point mass, which is the same without one row."""
        masses = (self.predictive.flat & (self.predictive.n > 0)).any(axis=1)
        return frozenset(self.numbers if self.log else np.flatnonzero(masses).tolist())

    def besides(self, number: int, start: int, stop: int) -> Floats:
        """Also point masses."""
        masses = self.predictive.point_masses(number, self.arrays[number][start:stop].astype(np.float64))
        return super().besides(number, start, stop) + masses
