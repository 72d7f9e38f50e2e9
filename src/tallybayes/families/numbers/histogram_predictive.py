"""The predictive of the histogram family: a step function of the value for each class.

`average_predictive` averages over all binnings, `frequency_predictive` is the plug-in, and `predictive_at` serves
leave-one-out: it keeps the buckets and what was chosen by evidence (`FixedBinning`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Integers
from tallybayes.arrays.column import Column
from tallybayes.families.block_arrays import ArrayPredictive, real_arrays
from tallybayes.families.credible import beta_of_binnings, check_posterior, gamma_cumulants, interval_rows
from tallybayes.families.numbers.histogram_buckets import (
    FixedBinning,
    HistogramPrior,
    average_shares,
    buckets_of,
    cells_of,
    held_shares,
)
from tallybayes.families.predictive import Correction, Floats, Steps, weight_lines
from tallybayes.tally import Grid
from tallybayes.tally.histogram_grid import lowest_value

__all__ = ["HistogramPredictive", "average_predictive", "frequency_predictive", "predictive_at"]


@dataclass(frozen=True, eq=False)
class HistogramPredictive(ArrayPredictive):
    """Steps: column j has the rows offsets[j] .. offsets[j + 1] - 1 of edges (least values) and log_p."""

    offsets: np.ndarray
    edges: Floats
    log_p: Floats  # (steps, classes): log probability of one grid cell in the step
    tally: Grid
    step_of_cell: np.ndarray  # for the cells in use, in the order of the tally
    prior: HistogramPrior | None = None  # None without a posterior

    @property
    def features(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the columns."""
        return self.tally.features

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """How many classes there are."""
        return self.tally.n_classes

    def kernel(self) -> tuple[Callable[..., int], tuple[Any, ...]]:
        """Of real numbers."""
        tables = self.offsets, np.ascontiguousarray(self.edges), np.ascontiguousarray(self.log_p)
        return kernels.active.add_steps, tables

    def weighted(self, weights: Floats, log_prior: Floats) -> HistogramPredictive:
        """With weights in the table."""
        line_weights = np.repeat(weights, np.diff(self.offsets), axis=0)
        return replace(self, log_p=weight_lines(self.log_p, line_weights, log_prior))

    def corrected(self, corrections: Sequence[Correction | None]) -> HistogramPredictive:
        """With the correction of the middle of each step in the table."""
        middle, log_p = self._middles(), self.log_p.copy()
        for j, correction in enumerate(corrections):
            if correction is not None:
                steps = slice(int(self.offsets[j]), int(self.offsets[j + 1]))
                log_p[steps] += correction.of_numbers(middle[steps])
        return replace(self, log_p=log_p)

    def _middles(self) -> Floats:
        """The middle of the values counted in each step; its least value if there are none."""
        owner, cell, _ = cells_of(self.tally)
        value = lowest_value(cell, self.tally.levels[owner])
        result = np.where(np.isfinite(self.edges), self.edges, 0.0)
        if len(value):
            new = np.diff(self.step_of_cell) != 0
            first, last = np.append(True, new), np.append(new, True)
            result[self.step_of_cell[first]] = value[first] / 2 + value[last] / 2
        return result

    @property
    def _cells(self) -> list[tuple[Integers, Floats, Integers]]:
        """The cells in use of every column: their numbers, least values and steps."""
        owner, cell, _ = cells_of(self.tally)
        values = lowest_value(cell, self.tally.levels[owner])
        ends = np.searchsorted(owner, np.arange(len(self.features) + 1)).tolist()
        return [(cell[a:b], values[a:b], self.step_of_cell[a:b]) for a, b in itertools.pairwise(ends)]

    def part(self, number: int) -> HistogramPredictive:
        """One column."""
        steps = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
        first, last = np.searchsorted(self.step_of_cell, [steps.start, steps.stop]).tolist()
        return HistogramPredictive(
            np.array([0, steps.stop - steps.start]),
            self.edges[steps],
            self.log_p[steps],
            self.tally.between(number, number + 1),
            self.step_of_cell[first:last] - steps.start,
            self.prior,
        )

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """A cell in use, then a value within it (at level 0 a cell is a single value)."""
        result: list[Any] = []
        for j, (cell, _, step) in enumerate(self._cells):
            p = np.exp(self.log_p[step, code])
            if not len(cell) or p.sum() == 0:
                result.append(np.full(n, np.nan))
                continue
            drawn = cell[rng.choice(len(cell), size=n, p=p / p.sum())]
            level = np.full(n, self.tally.levels[j])
            low, high = lowest_value(drawn, level), lowest_value(drawn + 1, level)
            inside = low + (high - low) * rng.random(n) * (level > 0)
            result.append(np.where(inside < high, inside, low))
        return result

    def outcomes(self, number: int) -> Floats:
        """Steps with cells in use."""
        first, last = np.searchsorted(self.step_of_cell, self.offsets[number : number + 2]).tolist()
        used, n_cells = np.unique(self.step_of_cell[first:last], return_counts=True)
        return np.asarray(self.log_p[used] + np.log(n_cells)[:, None])

    def samples_are_counted(self, number: int) -> bool:
        """As long as every value has a cell of its own."""
        return bool(self.tally.levels[number] == 0)

    def table(self) -> list[dict[str, Any]]:
        """Runs of values and the probability of each, in at most eight steps per column and class."""
        rows = []
        for name, (_, values, step) in zip(self.features, self._cells, strict=True):
            p = np.exp(self.log_p[step])
            for c in range(self.n_classes):
                for group in np.array_split(np.arange(len(step)), min(8, len(step)) or 1):
                    if len(group):
                        ends = values[group[[0, -1]]].tolist()
                        share = float(p[group, c].sum())
                        rows.append({"column": name, "class": c, "from": ends[0], "to": ends[1], "P": share})
        return rows

    def steps(self) -> Steps:
        """Runs of grid cells."""
        inside = np.where(np.isfinite(self.edges), self.edges, self.edges[1] - 1 if len(self.edges) > 1 else 0.0)
        cell = np.unique(self.tally.cell)
        values = lowest_value(cell, np.broadcast_to(self.tally.levels[0], cell.shape))
        step, first = np.unique(self.step_of_cell, return_index=True)
        inside[step] = np.maximum(inside[step], values[first])
        p = np.exp(self.log_p[self.step_of_cell])
        return Steps(self.edges, inside, values, p, float(self.tally.amounts.floats().sum()))

    def posterior(self, number: int) -> tuple[Floats, Floats, Floats]:
        """Least values of the buckets of a column, and alpha and total of P(class | bucket), (buckets, classes)."""
        check_posterior(self.prior is not None, self.features[number])
        assert self.prior is not None
        held = FixedBinning.of(self.tally.between(number, number + 1), self.prior)
        return held.steps.edges, *beta_of_binnings(held.steps.counts, held.strength, held.rate)

    def intervals(self, level: float) -> list[dict[str, Any]]:
        """Of P(class | value) at eight values, evenly spread over those in use; at the best strength and rate."""
        rows = []
        for j, (name, (_, values, _)) in enumerate(zip(self.features, self._cells, strict=True)):
            edges, alpha, total = self.posterior(j)
            shown = values[np.unique(np.linspace(0, len(values) - 1, 8).round().astype(np.int64))]
            at = np.searchsorted(edges[1:], shown, side="right")
            rows += interval_rows(name, shown.tolist(), alpha[at], total[at], level)
        return rows

    def log_cumulants(self, columns: Sequence[Column]) -> Floats:
        """Of class shares, over the binnings and the posterior of each run; at the best strength and rate."""
        check_posterior(self.prior is not None, self.features[0])
        result = np.zeros((3, len(columns[0]), self.n_classes))
        for j, x in enumerate(real_arrays(columns)):
            there = np.flatnonzero(~np.isnan(x))
            if self.prior is not None and self.prior.share > 0 and len(there):
                edges, alpha, _ = self.posterior(j)
                result[:, there] += gamma_cumulants(alpha)[:, np.searchsorted(edges[1:], x[there], side="right")]
        return result


def predictive_at(tally: Grid, held: FixedBinning, share: float) -> HistogramPredictive:
    """The predictive of one column after some rows were subtracted, on the buckets it had before."""
    steps = held.steps
    log_p = held.log_mass[:, None] + share * held_shares(held, tally)
    return HistogramPredictive(steps.offsets, steps.edges, log_p, held.tally, steps.bucket_of_cell)


def average_predictive(tally: Grid, prior: HistogramPrior) -> HistogramPredictive:
    """The average over all binnings of a few columns."""
    steps = buckets_of(tally)
    share = average_shares(steps, prior)[0]
    per_bucket = steps.counts.sum(axis=1)
    total = np.bincount(steps.owner, weights=per_bucket, minlength=len(tally.features))
    p = per_bucket / total[steps.owner]
    average = np.zeros((len(tally.features), tally.n_classes))
    np.add.at(average, steps.owner, p[:, None] * share)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(share) - np.log(average[steps.owner])
    log_ratio = np.where((average[steps.owner] > 0) & (prior.share > 0), log_ratio, 0.0)
    log_mass = np.log(per_bucket) - np.log(total[steps.owner]) - np.log(steps.n_cells)
    return HistogramPredictive(steps.offsets, steps.edges, log_mass[:, None] + log_ratio, tally, steps.bucket_of_cell)


def frequency_predictive(tally: Grid) -> HistogramPredictive:
    """The frequency of each cell: steps for every cell in use and every gap between them."""
    owner, cell, cell_of_entry = cells_of(tally)
    counts = np.zeros((len(owner), tally.n_classes))
    counts[cell_of_entry, tally.klass] = tally.amounts.floats()
    totals = tally.rows_seen().floats()
    with np.errstate(divide="ignore", invalid="ignore"):
        log_f = np.log(counts) - np.log(totals[owner])
    nothing = np.where(totals > 0, -np.inf, 0.0)
    log_f = np.where(totals[owner] > 0, log_f, 0.0)
    low, high = lowest_value(cell, tally.levels[owner]), lowest_value(cell + 1, tally.levels[owner])
    edges, log_p, offsets, step_of_cell = [np.zeros(0)], [np.zeros((0, tally.n_classes))], [0], np.zeros_like(owner)
    ends = np.searchsorted(owner, np.arange(len(tally.features) + 1)).tolist()
    for j, (first, last) in enumerate(itertools.pairwise(ends)):
        if first == last:
            offsets.append(offsets[-1])
            continue
        column_edges = np.append(-np.inf, np.stack([low[first:last], high[first:last]], axis=1))
        column_log_p = np.tile(nothing[j], (len(column_edges), 1))
        column_log_p[1::2] = log_f[first:last]
        kept = np.ones(len(column_edges), bool)
        kept[2:-1:2] = high[first : last - 1] != low[first + 1 : last]  # no gap between adjacent cells
        step_of_cell[first:last] = offsets[-1] + (np.cumsum(kept) - 1)[1::2]
        edges.append(column_edges[kept])
        log_p.append(column_log_p[kept])
        offsets.append(offsets[-1] + len(edges[-1]))
    arrays = np.array(offsets, np.int64), np.concatenate(edges), np.concatenate(log_p)
    return HistogramPredictive(*arrays, tally, step_of_cell)
