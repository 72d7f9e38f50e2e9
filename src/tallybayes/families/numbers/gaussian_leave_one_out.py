"""Leave-one-out scores of the gaussian family.

The kernels compute closed forms (`kernels/reference/leave_one_out_tables.py`) for all columns of a block at once, since
columns share their logarithms. For a row that holds nearly all of a sum of squares the closed form would be dominated
by rounding: it is scored by the definition, with exact sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Integers, Weights
from tallybayes.arrays.column import Reals
from tallybayes.families.block_arrays import refuse
from tallybayes.families.family import Codes32, Family, Floats
from tallybayes.families.leave_one_out_scores import BlockScore, never_learned
from tallybayes.families.numbers.gaussian_predictive import GaussianPredictive, GaussianPrior, moments_of
from tallybayes.families.predictive import part_of_prior
from tallybayes.kernels.densities import student_tables, two_sum
from tallybayes.tally import Sums

__all__ = ["GaussianLeaveOneOut", "set_own_class"]

_LITTLE = 1e-4  # share of a sum of squares below which what is left of it is rounding


def set_own_class(
    scores: Floats, tally: Sums, prior: GaussianPrior, x: Floats, codes: Codes32, weights: Floats, *, log: bool
) -> Integers:
    """Replace the score of the class of each row by that without the row, in `scores`; returns the inaccurate rows.

    Of one column, under a prior that does not depend on the data. x: the values, or their logarithms.
    """
    (n,), (mean, low, variance) = tally["n"].floats(), moments_of(tally, prior.units)[:, 0]
    rows = np.flatnonzero(~np.isnan(x))
    code, w, unit = codes[rows], weights[rows], int(prior.units[0])
    value = np.ldexp(x[rows], -unit)
    if (lost := np.flatnonzero(n[code] - w < -1e-9 * w)).size:
        raise never_learned(tally.features[0], int(rows[lost[0]]))
    rest, step = np.maximum(n[code] - w, 0.0), (value - mean[code]) - low[code]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(rest > 0, w / rest, 0.0)
        new_mean, new_low = two_sum(mean[code], low[code] - ratio * step)
        squares = np.where(rest > 0, n[code] * (variance[code] - ratio * step * step), 0.0)
        left = np.where(rest > 0, np.maximum(squares, 0.0) / rest, 0.0)
    facts = rest[None], np.stack([new_mean, new_low, left])[:, None], prior.units, prior.moments
    place, place_low, inverse, half, constant = student_tables(*facts, prior.kappa, prior.nu)[:, 0]
    distance = np.abs((value - place) - place_low) * inverse
    far = distance > 1e100
    log_term = np.where(far, 2 * np.log(np.where(far, distance, 1.0)), np.log1p(np.where(far, 0.0, distance) ** 2))
    scores[rows, code] = (
        constant - half * log_term - (x[rows] if log else 0.0)
    )  # the density of x is that of log x, over x
    whole = n[code] * variance[code]
    inaccurate: Integers = rows[prior.nu * prior.moments[2, 0] + squares < _LITTLE * whole]
    return inaccurate


@dataclass(frozen=True, eq=False)
class GaussianLeaveOneOut(BlockScore):
    """Leave-one-out scores of some columns: in closed form, or by exact sums where that is inaccurate.

    Without a prior: maximum likelihood, which is the normal density, and point masses where all values of a class are
    equal.
    """

    family: Family[Sums, GaussianPrior]
    tally: Sums
    prior: GaussianPrior | None
    shared: bool
    log: bool
    columns: Sequence[Reals]
    arrays: Sequence[Any]  # the values, or their logarithms
    codes: Codes32
    weights: Weights
    units: np.ndarray
    moments: Floats
    plug_in: GaussianPredictive | None  # without a prior
    numbers: tuple[int, ...] = ()  # of the columns, in the block

    def combine(self, scores: Sequence[Self]) -> Self:
        """Several columns at once, since they share their logarithms."""
        return replace(self, numbers=tuple(number for score in scores for number in score.numbers))

    def __call__(self, out: Floats, start: int, stop: int) -> None:
        """Add the scores of rows start to stop; a constant column contributes nothing, with or without any row."""
        prior, masses = self.prior, () if self.plug_in is None else self.plug_in.point_columns
        numbers = [j for j in self.numbers if prior is None or prior.moments[2, j] != 0]
        if not numbers:
            return
        row, column = np.divmod(self._closed(numbers, out, start, stop), len(numbers))
        odd = set(column.tolist())
        for j, number in enumerate(numbers):
            care = row[column == j] if j in odd else row[:0]
            if self.log or number in masses:
                more = self._besides(number, start, stop)
                more[care - start] = 0.0
                out[start:stop] += more
            if len(care):
                out[care] += self._exact(number, care)

    def _closed(self, numbers: list[int], out: Floats, start: int, stop: int) -> Integers:
        """Add the closed form of some columns; returns the places `row * n_columns + column` where it is inaccurate."""
        places: Integers
        rows = [self.arrays[j] for j in numbers], self.codes, self.weights, self.units[numbers]
        n, moments = self.tally["n"].floats()[numbers], np.ascontiguousarray(self.moments[:, numbers])
        if (prior := self.prior) is None:
            places = kernels.active.add_normal_leave_one_out(*rows, n, moments, self.shared, out, start, stop)
        else:
            sums = np.ascontiguousarray(prior.moments[:, numbers]), n, moments
            strengths = prior.kappa, prior.nu, self.shared
            places = kernels.active.add_student_leave_one_out(*rows, *sums, *strengths, out, start, stop)
        return places

    def _besides(self, number: int, start: int, stop: int) -> Floats:
        """The terms of a column besides the closed form, (rows, classes)."""
        more, x = np.zeros((stop - start, self.tally.n_classes)), self.arrays[number][start:stop]
        if self.log:  # the density of x is that of log x, over x
            more -= np.where(np.isnan(x), 0.0, x)[:, None]
        if self.plug_in is not None:  # a point mass is the same without one row
            more += self.plug_in.point_masses(number, x.astype(np.float64))
        return more

    def _exact(self, number: int, rows: Integers) -> Floats:
        """Some rows of a column by exact sums."""
        name, x = self.tally.features[number], self.arrays[number]
        infinite = rows[np.isinf(x[rows])]
        refuse(int(infinite[0]) if len(infinite) else -1, (name,), [x], "a finite number")
        prior = None if self.prior is None else part_of_prior(self.prior, number)
        weights, column = None if self.weights is None else self.weights[rows], self.columns[number].take(rows)
        part = self.tally.only((name,))
        return self.family.leave_one_out_by_subtraction(part, prior, column, self.codes[rows], weights)
