"""Counts of events.

The rate of a class has a Gamma(1, 1/m) prior, the exponential distribution with the pooled mean m of the column: it
has the weight of 1/m rows. Integrating over the rate gives the negative binomial distribution:

    r = 1 + sum of x    b = 1/m + n    P(x | c) = gamma(x + r) / (gamma(r) x!) * (b / (b + 1))^r * (1 / (b + 1))^x

The plug-in is the Poisson distribution with the mean of the class. A column of zeros contributes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Weights
from tallybayes.arrays.column import Column, Reals
from tallybayes.arrays.special import gammaln
from tallybayes.families.block_arrays import ArrayPredictive, first_true, real_arrays, refuse, sum_columns
from tallybayes.families.credible import check_posterior, events_cumulants, rate_interval
from tallybayes.families.family import Add, Codes32, Family, Floats, Score, Smoothing
from tallybayes.families.leave_one_out_scores import Values, subtract_lines
from tallybayes.families.predictive import parameter_rows
from tallybayes.kernels.densities import event_tables, log_events
from tallybayes.tally import Exact, Sums

__all__ = ["Poisson", "PoissonPredictive", "PoissonPrior"]

_EXPECTED = "an integer from 0 to 2**53"


@dataclass(frozen=True, eq=False)
class PoissonPrior:
    """The pooled mean of each column; `share` is the factor of the data of a class (0: infinite smoothing)."""

    mean: Floats
    share: float = 1.0


@dataclass(frozen=True)
class Poisson(Family[Sums, PoissonPrior]):
    """One rate per class.

    >>> column, codes = Reals(np.array([0.0, 2.0, 4.0])), np.zeros(3, np.int32)
    >>> tally = Poisson().observe(("calls",), [column], codes, 1, None)
    >>> Poisson().derive(tally, 0).table()
    [{'column': 'calls', 'class': 0, 'rate': 2.0, 'rows': 3.0}]
    """

    name: ClassVar[str] = "poisson"
    column: ClassVar[type[Column]] = Reals

    def observe(
        self, features: tuple[str, ...], columns: Sequence[Reals], codes: Codes32, n_classes: int, weights: Weights
    ) -> Sums:
        """Exact sums of 1, x and the (rounded) log factorial of x."""
        arrays = [array.astype(np.float64) for array in real_arrays(columns)]
        counted = codes >= 0 if weights is None else (codes >= 0) & (weights != 0)
        for name, array in zip(features, arrays, strict=True):
            _check_counts(array, name, counted)
            array[~counted] = np.nan
        statistics: dict[str, Exact] = {}
        for name, values in (("x", arrays), ("log_factorial", [gammaln(array + 1) for array in arrays])):
            (n, total), _ = sum_columns(values, codes, n_classes, weights, 1)
            statistics |= {"n": n, name: total}  # n is the same both times
        return Sums(features, statistics, counts=("n",))

    def adder(self, tally: Sums, values: Floats) -> Add | None:
        """Into the digits of the sums, while they fit."""
        if (opened := tally.open_sums(log_factorial=2)) is None:
            return None
        n, x, logs = (opened[name] for name in ("n", "x", "log_factorial"))
        sums = (n.digits[..., 0], x.digits[..., 0], logs.digits, logs.low)

        def add(code: int, sign: int) -> bool:
            return bool(kernels.active.add_event_row(*sums, values, gammaln(values + 1), code, sign))

        return add

    def prior(self, tally: Sums, smoothing: Smoothing) -> PoissonPrior:
        """Centred on the pooled mean."""
        n, x, share = tally["n"], tally["x"], 0.0 if smoothing == np.inf else 1.0
        if n.is_whole and x.is_whole:
            return PoissonPrior(kernels.active.pooled_rate(n.digits[..., 0], x.digits[..., 0]), share)
        rows, events = n.sum(axis=1).floats(), x.sum(axis=1).floats()
        return PoissonPrior(_ratio(events, rows), share)

    def predictive(self, tally: Sums, prior: PoissonPrior) -> PoissonPredictive:
        """Negative binomial."""
        n, x, strengths = tally["n"], tally["x"], (prior.mean, prior.share)
        if n.is_whole and x.is_whole:
            rows, shape, rate = kernels.active.negative_binomial(n.digits[..., 0], x.digits[..., 0], *strengths)
        else:
            rows, shape, rate = event_tables(n.floats(), x.floats(), *strengths)
        return PoissonPredictive(tally.features, tally.n_classes, shape, rate, shape == 0, rows, prior.share == 0)

    def plug_in(self, tally: Sums) -> PoissonPredictive:
        """Poisson with the mean of the class."""
        n, x = (tally[name].floats() for name in ("n", "x"))
        return PoissonPredictive(tally.features, tally.n_classes, None, _ratio(x, n), n == 0, n)

    def example(self, rng: np.random.Generator, n: int) -> Column:
        """Counts with missing values."""
        return Reals(np.where(rng.random(n) < 0.2, np.nan, rng.poisson(3.0, n)))

    @classmethod
    def candidates(cls, values: Floats) -> list[Family]:
        """For counts."""
        are_counts = bool((values == np.floor(values)).all()) and values.min() >= 0 and values.max() < 2**31
        return [cls()] if are_counts else []

    def repooled(self, prior: PoissonPrior, tally: Sums) -> PoissonPrior:
        """The pooled mean of other sums."""
        return replace(self.prior(tally, "auto"), share=prior.share)

    def leave_one_out(
        self, tally: Sums, prior: PoissonPrior | None, columns: Sequence[Reals], codes: Codes32, weights: Any
    ) -> list[Score]:
        """Rows of the same count and class have the same score: a table for each column."""
        scores = []
        n, x = (tally[name].floats() for name in ("n", "x"))
        for j, (name, values) in enumerate(zip(tally.features, real_arrays(columns), strict=True)):
            _check_counts(values, name, np.ones(len(values), bool))
            distinct, number = np.unique(values[~np.isnan(values)].astype(np.float64), return_inverse=True)
            value = np.full(len(values), -1)
            value[~np.isnan(values)] = number
            column = Values(value, len(distinct), codes, tally.n_classes, weights)
            lines = column.lines()
            events = distinct[lines.value]
            n_left, known = subtract_lines(np.broadcast_to(n[j], (len(events), tally.n_classes)), lines)
            x_left = np.repeat(x[j : j + 1], len(events), axis=0)
            x_left[np.arange(len(events)), lines.code] -= lines.weight * events
            known &= x_left[np.arange(len(events)), lines.code] >= -1e-9 * lines.weight * events
            x_left = np.maximum(x_left, 0.0)
            if prior is None:
                shape, rate, silent = None, _ratio(x_left, n_left), n_left == 0
            else:
                mean = _ratio(x_left.sum(axis=1), n_left.sum(axis=1))
                _, shape, rate = event_tables(n_left, x_left, mean, prior.share)
                silent = shape == 0
            table = log_events(events[:, None], shape, rate, silent)
            scores.append(column.score_table(lines, table, known, name))
        return scores

    def evidence(self, tally: Sums, prior: PoissonPrior) -> Floats:
        """Closed form of the integral over the rate, summed over the classes."""
        n, x, log_factorial = (tally[name].floats() for name in ("n", "x", "log_factorial"))
        n, x, log_factorial = (prior.share * s for s in (n, x, log_factorial))
        with np.errstate(divide="ignore", invalid="ignore"):
            b = 1 / prior.mean[:, None]
            log_evidence = np.log(b) + gammaln(1 + x) - (1 + x) * np.log(b + n) - log_factorial
        return np.asarray(np.where((prior.mean > 0)[:, None], log_evidence, 0.0).sum(axis=1))


@dataclass(frozen=True, eq=False)
class PoissonPredictive(ArrayPredictive):
    """Shape and rate of the negative binomial per (column, class); without a shape, the rate of the Poisson."""

    by_column: ClassVar[tuple[str, ...]] = ("features", "shape", "rate", "silent", "n", "weights")
    expected: ClassVar[str] = _EXPECTED

    features: tuple[str, ...]
    n_classes: int
    shape: Floats | None
    rate: Floats
    silent: np.ndarray
    n: Floats
    fixed: bool = False  # whether smoothing is infinitely strong
    weights: Floats | None = None  # (columns, classes): the log probability is multiplied by them

    def kernel(self) -> tuple[Callable[..., int], tuple[Any, ...]]:
        """Of counts."""
        return kernels.active.add_events, (self.shape, self.rate, self.silent, self.weights)

    def weighted(self, weights: Floats, log_prior: Floats) -> PoissonPredictive | None:
        """With weights, if the classes share them."""
        if (weights != weights[:, :1]).any():
            return None
        return replace(self, weights=np.ascontiguousarray(weights, np.float64))

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Integers."""
        result: list[Any] = []
        for j in range(len(self.features)):
            rate = self.rate[j, code]
            if self.silent[j, code]:
                result.append(np.zeros(n, np.int64))
            elif self.shape is None:
                result.append(rng.poisson(rate, n))
            else:
                result.append(rng.negative_binomial(self.shape[j, code], rate / (1 + rate), n))
        return result

    def n_parameters(self, number: int) -> int:
        """A rate per class."""
        return self.n_classes

    def table(self) -> list[dict[str, Any]]:
        """The rate, and the rows that it is estimated from."""
        rate = np.where(self.silent, 0.0, self.rate if self.shape is None else self.shape / self.rate)
        return parameter_rows(self.features, {"rate": rate, "rows": self.n})

    def intervals(self, level: float) -> list[dict[str, Any]]:
        """Of the rate, which is a Gamma; a column of zeros has none."""
        check_posterior(self.shape is not None, self.features[0])
        assert self.shape is not None
        low, high = (end.ravel().tolist() for end in rate_interval(self.shape, self.rate, level))
        rows = zip(self.table(), low, high, self.silent.ravel().tolist(), strict=True)
        return [row | {"low": a, "high": b} for row, a, b, silent in rows if not silent]

    def log_cumulants(self, columns: Sequence[Column]) -> Floats:
        """Of the Poisson distribution, by the posterior of its rate."""
        check_posterior(self.shape is not None, self.features[0])
        assert self.shape is not None
        result = np.zeros((3, len(columns[0]), self.n_classes))
        for j, x in enumerate(real_arrays(columns)):
            there = np.flatnonzero(~np.isnan(x))
            if not self.fixed and len(there):
                cell = np.where(self.silent[j], 1.0, self.shape[j]), np.where(self.silent[j], 1.0, self.rate[j])
                cumulants = events_cumulants(x[there].astype(np.float64)[:, None], *cell)
                result[:, there] += np.where(self.silent[j], 0.0, cumulants)
        return result


def _ratio(sums: Floats, n: Floats) -> Floats:
    """Means, 0 where there are no rows. Weights may be as small as 5e-324."""
    return np.asarray(sums / np.where(n > 0, n, 1.0))


def _check_counts(x: Any, feature: str, counted: np.ndarray) -> None:
    """Raise for the first value that is not a count. From 2**53 on, x and x + 1 are one double."""
    strange = counted & ~(np.isnan(x) | ((x >= 0) & (x <= 2.0**53) & (x == np.floor(x))))
    refuse(first_true(strange), (feature,), [x], _EXPECTED)
