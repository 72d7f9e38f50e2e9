"""Real columns of the Gaussian family scored by the sums without the row itself.

A kernel has the closed form (`tallybayes.kernels.reference.without`); it is given all columns of a block at once, since
columns with equally many rows share their logarithms. Rows that hold nearly all of a sum of squares, for which the
closed form would be rounding, go by the definition, with exact sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.column import Reals
from tallybayes.families.base import Codes32, Floats
from tallybayes.families.left_out import Together, one_by_one
from tallybayes.families.place import refuse
from tallybayes.tally import Sums

if TYPE_CHECKING:
    from tallybayes.families.gaussian import Gaussian, GaussianPrior

__all__ = ["GaussianLeftOut", "normal_left_out"]

_LOG_2 = float(np.log(2.0))
_LITTLE = 1e-6  # of a sum of squares: less than this is not worked out by subtraction


@dataclass(frozen=True, eq=False)
class GaussianLeftOut(Together):
    """Some columns, each row scored without itself: in closed form, or by exact sums where that is no good."""

    family: Gaussian
    tally: Sums
    prior: GaussianPrior
    columns: Sequence[Reals]
    arrays: Sequence[Any]  # what is bell-shaped: the values, or their logarithms
    codes: Codes32
    weights: Floats | None
    moments: Floats
    numbers: tuple[int, ...]  # of the columns, in the block

    @property
    def block(self) -> Sums:
        """The sums of all columns."""
        return self.tally

    def together(self, scores: Sequence[GaussianLeftOut]) -> GaussianLeftOut:
        """Several columns at once: they share their logarithms."""
        return replace(self, numbers=tuple(number for one in scores for number in one.numbers))

    def __call__(self, out: Floats, start: int, stop: int) -> None:
        """Add the scores of rows start to stop."""
        numbers = [j for j in self.numbers if self.prior.moments[2, j] != 0]  # a constant is silent without a row too
        if not numbers:
            return
        arrays, family = [self.arrays[j] for j in numbers], self.family
        n, moments = self.tally["n"].floats()[numbers], np.ascontiguousarray(self.moments[:, numbers])
        pooled = np.ascontiguousarray(self.prior.moments[:, numbers])
        places = kernels.active.student_left_out(
            arrays, self.codes, self.weights, self.prior.units[numbers], pooled, n, moments, family.kappa, family.nu,
            family.shared, out, start, stop,
        )  # fmt: skip
        row, column = np.divmod(places, len(numbers))
        for j, (number, x) in enumerate(zip(numbers, arrays, strict=True)):
            care = row[column == j] if len(row) else row
            if family.log:  # the density of x is that of log x, over x
                log_x = np.where(np.isnan(x[start:stop]), 0.0, x[start:stop])
                log_x[care - start] = 0.0
                out[start:stop] -= log_x[:, None]
            if len(care):
                out[care] += self._exact(number, care)

    def _exact(self, number: int, rows: np.ndarray) -> Floats:
        """Some rows of a column by exact sums."""
        name, x = self.tally.features[number], self.arrays[number]
        infinite = rows[np.isinf(x[rows])]
        refuse(int(infinite[0]) if len(infinite) else -1, (name,), [x], "a finite number")
        tally, prior = self.tally.only((name,)), self.family.part_of(self.prior, number)
        weights = None if self.weights is None else self.weights[rows]
        return one_by_one(self.family, tally, prior, self.columns[number].take(rows), self.codes[rows], weights)


def normal_left_out(
    family: Gaussian, tally: Sums, column: Reals, x: Any, codes: Codes32, weights: Floats | None
) -> Floats:
    """Log densities (rows, classes) of one column under maximum likelihood, each row without itself.

    x: what is bell-shaped, the values or their logarithms. Rows that leave nothing to measure a spread by go by the
    definition.
    """
    predictive = family.plug_in(tally)
    unit, n, (mean, low, variance) = int(predictive.units[0]), predictive.n[0], (m[0] for m in predictive.moments)
    out = np.zeros((len(codes), tally.n_classes))
    rows = np.flatnonzero(~np.isnan(x))
    code, at = codes[rows], (np.arange(len(rows)), codes[rows])
    w = np.ones(len(rows)) if weights is None else weights[rows]
    with np.errstate(all="ignore"):  # what is no number goes by the definition
        z = (x[rows].astype(np.float64)[:, None] * np.ldexp(1.0, -unit) - mean) - low
        left, own = n[code] - w, z[at]
        squares = n * variance
        gone = w * (n[code] / left) * own * own
        z[at] = own * (n[code] / left)
        spread = np.repeat(squares[None] / n, len(rows), axis=0)
        spread[at] = (squares[code] - gone) / left
        care = (left <= 0) | (squares[code] - gone < _LITTLE * squares[code])
        if family.shared:
            within = (squares.sum() - gone) / (n.sum() - w)
            care = (left <= 0) | (within < _LITTLE * squares.sum() / n.sum())
            spread[:] = within[:, None]
        log_p = -0.5 * np.log(2 * np.pi * spread) - 0.5 * z * z / spread - unit * _LOG_2
        if family.log:
            log_p -= x[rows][:, None]
    log_p[:, n == 0] = 0.0  # a class without values says nothing
    care |= ~np.isfinite(log_p).all(axis=1)
    out[rows] = log_p
    if care.any():
        some = rows[care]
        weight = None if weights is None else weights[some]
        out[some] = one_by_one(family, tally, None, column.take(some), codes[some], weight)
    return out
