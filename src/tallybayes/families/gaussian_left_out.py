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
from tallybayes.families.base import Codes32, Floats, Score
from tallybayes.families.left_out import Together, one_by_one
from tallybayes.families.place import refuse
from tallybayes.tally import Sums

if TYPE_CHECKING:
    from tallybayes.families.gaussian import Gaussian, GaussianPredictive, GaussianPrior

__all__ = ["GaussianLeftOut", "NormalLeftOut"]

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


@dataclass(frozen=True, eq=False)
class NormalLeftOut:
    """One column under maximum likelihood, each row scored without itself.

    Only the row's own class has other parameters without it (all of them where they share their variance). Rows that
    leave nothing to measure a spread by go by the definition.
    """

    family: Gaussian
    tally: Sums
    column: Reals
    x: Any  # what is bell-shaped: the values, or their logarithms
    codes: Codes32
    weights: Floats | None
    predictive: GaussianPredictive
    plain: Score

    @classmethod
    def of(
        cls, family: Gaussian, tally: Sums, column: Reals, x: Any, codes: Codes32, weights: Floats | None
    ) -> NormalLeftOut:
        """Of a tally with one column."""
        predictive = family.plug_in(tally)
        return cls(family, tally, column, x, codes, weights, predictive, predictive.bind([column]))

    def __call__(self, out: Floats, start: int, stop: int) -> None:
        """Add the scores of rows start to stop."""
        rows = np.flatnonzero(~np.isnan(self.x[start:stop])) + start
        with np.errstate(all="ignore"):  # what is no number goes by the definition
            added = self._shared(rows) if self.family.shared else self._own(rows)
        care = rows[~np.isfinite(added).reshape(len(rows), -1).all(axis=1)]
        before = out[care]
        if self.family.shared:
            out[rows] += added
        else:
            self.plain(out, start, stop)
            out[rows, self.codes[rows]] += added
        if len(care):
            weights = None if self.weights is None else self.weights[care]
            given = (self.tally, None, self.column.take(care), self.codes[care], weights)
            out[care] = before + one_by_one(self.family, *given)

    def _facts(self, rows: np.ndarray) -> tuple[Any, ...]:
        """Weight, rows of the own class and what is left of them, and the values from the mean of the own class."""
        p, code = self.predictive, self.codes[rows]
        mean, low, _ = (m[0] for m in p.moments)
        x = self.x[rows].astype(np.float64) * np.ldexp(1.0, -int(p.units[0]))
        w = 1.0 if self.weights is None else self.weights[rows]
        n = p.n[0][code]
        return w, n, n - w, (x - mean[code]) - low[code]

    def _own(self, rows: np.ndarray) -> Floats:
        """What is to be added to the score of the own class; NaN where that is no good."""
        w, n, left, z = self._facts(rows)
        variance = self.predictive.moments[2][0][self.codes[rows]]
        squares = n * variance
        rest = squares - w * (n / left) * z * z
        new = rest / left
        added = 0.5 * (np.log(variance / new) + z * z * (1 / variance - (n / left) ** 2 / new))
        return np.asarray(np.where((left > 0) & (rest >= _LITTLE * squares), added, np.nan))

    def _shared(self, rows: np.ndarray) -> Floats:
        """The whole score, (rows, classes), where the variance is one for all; NaN where that is no good."""
        p, code = self.predictive, self.codes[rows]
        mean, low, variance = (m[0] for m in p.moments)
        w, n, left, own = self._facts(rows)
        squares = float((p.n[0] * variance).sum())
        rest = squares - w * (n / left) * own * own
        spread = np.asarray(rest / (p.n[0].sum() - w))[:, None]
        z = (self.x[rows].astype(np.float64)[:, None] * np.ldexp(1.0, -int(p.units[0])) - mean) - low
        z[np.arange(len(rows)), code] = own * (n / left)
        log_p = -0.5 * np.log(2 * np.pi * spread) - 0.5 * z * z / spread - int(p.units[0]) * _LOG_2
        if self.family.log:
            log_p -= self.x[rows][:, None]
        log_p[:, p.n[0] == 0] = 0.0  # a class without values says nothing
        return np.asarray(np.where(((left > 0) & (rest >= _LITTLE * squares))[:, None], log_p, np.nan))
