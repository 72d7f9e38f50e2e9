"""Real numbers of any shape: the average over all ways to bin them.

Values are counted on a fine grid (`tallybayes.tally.grid`). For scoring, the cells in use are gathered into at most
128 buckets of about equal count; every partition of the buckets into runs is weighed by its evidence, and
P(class | bucket) is averaged over all of them (`tallybayes.kernels.reference.average_binnings`). By Bayes' rule

    P(cell | c) = P(bucket) / cells in the bucket * P(c | bucket) / sum over buckets of P(b) P(c | b)

so probabilities are of grid cells and sum to one over the cells in use. A value in no bucket takes the nearest. The
strength a of the class shares and the rate rho of cuts are chosen from a grid by evidence, per column. The plug-in is
the frequency of each cell. Laplace's k has no meaning here but 0 (plug-in) and infinity (silence).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Column, Reals
from tallybayes.arrays.special import xlogy
from tallybayes.families.alignment import real_arrays, refuse
from tallybayes.families.credible import averaged_binnings, beta_interval, check_posterior, gamma_cumulants
from tallybayes.families.family import Codes32, Family, Floats, Predictive, Score, Smoothing
from tallybayes.families.histogram_buckets import (
    Held,
    averaged,
    buckets_of,
    cells_of,
    frequency_scores,
    held_shares,
    left_out_scores,
)
from tallybayes.families.leave_one_out_scores import added
from tallybayes.families.predictive import Steps
from tallybayes.kernels.reference.observe import ordered
from tallybayes.tally import Exact, Grid
from tallybayes.tally.grid import LIMIT, finest_shift, lowest_value

__all__ = ["Histogram", "HistogramPredictive", "HistogramPrior"]

Result = TypeVar("Result")

_COLUMNS = 256  # columns counted or derived at a time, where there are many
_DENSE_CLASSES = 256  # above, a dense table of cells x classes would be mostly empty


@dataclass(frozen=True, eq=False)
class HistogramPrior:
    """Strengths and cut rates to choose from by evidence; `share` 0 makes the column silent."""

    strengths: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0)
    rates: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1, 0.3)
    share: float = 1.0
    held: Held | None = None  # of one column, when rows are left out of it


@dataclass(frozen=True)
class Histogram(Family[Grid, HistogramPrior]):
    """Fine counts, averaged over all binnings.

    >>> column, codes = Reals(np.array([1.0, 2.0, 8.0, 9.0] * 5)), np.array([0, 0, 1, 1] * 5, np.int32)
    >>> tally = Histogram().observe(("length",), [column], codes, 2, None)
    >>> log_p = Histogram().derive(tally, "auto").log_prob([Reals(np.array([1.5, 8.5]))])
    >>> (log_p[:, 1] > log_p[:, 0]).tolist()
    [False, True]
    """

    name: ClassVar[str] = "histogram"
    column: ClassVar[type[Column]] = Reals

    def observe(
        self,
        features: tuple[str, ...],
        columns: Sequence[Reals],
        codes: Codes32,
        n_classes: int,
        weights: Floats | None,
    ) -> Grid:
        """Count cells."""
        arrays = real_arrays(columns)
        if weights is not None or n_classes > _DENSE_CLASSES:
            return _observe_sparse(features, arrays, codes, n_classes, weights)
        by_column = len(features) >= 64  # then threads share the columns, not the rows: nothing is left to merge

        def count(start: int, stop: int) -> Grid:
            part = arrays[start:stop] if by_column else arrays
            names = features[start:stop] if by_column else features
            rows = (0, len(codes)) if by_column else (start, stop)
            levels, offsets, cells, table, bad = kernels.active.cells(part, codes, n_classes, LIMIT, *rows)
            refuse(bad, names, part, "a finite number")
            return Grid.of_table(names, levels, offsets, cells, Exact.whole(table))

        if by_column:
            parts = in_threads(count, len(features), size=_COLUMNS, small=0)
            return _side_by_side(features, parts)
        first, *rest = in_threads(count, len(codes))
        for part in rest:
            first.prepare(part, 1)()
        return first

    def prior(self, tally: Grid, smoothing: Smoothing) -> HistogramPrior:
        """The grid of strengths and rates; the choice is made by evidence in `predictive`."""
        return HistogramPrior(share=0.0 if smoothing == np.inf else 1.0)

    def predictive(self, tally: Grid, prior: HistogramPrior) -> HistogramPredictive:
        """The average over all binnings."""
        if prior.held is not None:
            return _without(tally, prior.held, prior.share)
        parts = _by_columns(tally, lambda part: _average(part, prior))
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        first = np.cumsum([0, *(len(part.edges) for part in parts)])
        return HistogramPredictive(
            tally.features,
            tally.n_classes,
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([part.edges for part in parts]),
            np.concatenate([part.log_p for part in parts]),
            tally,
            np.concatenate([part.step_of_cell + start for part, start in zip(parts, first, strict=False)]),
            prior,
        )

    def left_out(
        self, tally: Grid, prior: HistogramPrior | None, columns: Sequence[Reals], codes: Codes32, weights: Any
    ) -> list[Score]:
        """A table of buckets and classes for each column, its buckets, class shares and strengths held."""
        arrays = real_arrays(columns)
        for j, array in enumerate(arrays):
            infinite = np.flatnonzero(np.isinf(array))
            refuse(int(infinite[0]) if len(infinite) else -1, tally.features[j : j + 1], [array], "a finite number")

        def one(j: int, _: int) -> Score:
            if prior is None:
                return frequency_scores(tally.between(j, j + 1), arrays[j], codes, weights)
            if prior.share == 0:
                return added(np.zeros((len(codes), tally.n_classes)))
            held = Held.of(tally.between(j, j + 1), prior.strengths, prior.rates)
            return left_out_scores(held, arrays[j], codes, weights)

        return in_threads(one, len(arrays), size=1, small=0)

    def held(self, tally: Grid, prior: HistogramPrior) -> HistogramPrior:
        """With the buckets of a column and what is chosen by evidence for it."""
        return replace(prior, held=Held.of(tally, prior.strengths, prior.rates))

    @classmethod
    def candidates(cls, values: Floats) -> list[Family]:
        """For all numbers."""
        return [cls()]

    def plug_in(self, tally: Grid) -> HistogramPredictive:
        """The frequency of each cell; nothing between cells."""
        return _frequencies(tally)

    def evidence(self, tally: Grid, prior: HistogramPrior) -> Floats:
        """Of the classes given the buckets, summed over all partitions, at the best strength and rate."""
        parts = _by_columns(tally, lambda part: averaged(buckets_of(part), prior.strengths, prior.rates)[3])
        return np.asarray(np.concatenate(parts) * prior.share)

    def independence(self, tally: Grid, prior: HistogramPrior) -> Floats:
        """Of the classes by their shares, whatever the bucket."""
        n = tally.rows_seen().floats()
        return np.asarray(xlogy(n, n / np.maximum(n.sum(axis=1, keepdims=True), 1e-300)).sum(axis=1) * prior.share)


@dataclass(frozen=True, eq=False)
class HistogramPredictive(Predictive):
    """Steps: column j has the rows offsets[j] .. offsets[j + 1] - 1 of edges (least values) and log_p."""

    features: tuple[str, ...]
    n_classes: int
    offsets: np.ndarray
    edges: Floats
    log_p: Floats  # (steps, classes): log probability of one grid cell in the step
    tally: Grid
    step_of_cell: np.ndarray  # for the cells in use, in the order of the tally
    prior: HistogramPrior | None = None  # None without a posterior

    def bind(self, columns: Sequence[Column]) -> Score:
        """Get ready to score real columns."""
        return self._bind(real_arrays([column for column in columns if isinstance(column, Reals)]))

    def bind_matrix(self, values: Floats) -> Score:
        """Get ready to score a matrix of numbers."""
        return self._bind(values)

    def _bind(self, arrays: list[Any] | Floats) -> Score:
        edges, log_p = np.ascontiguousarray(self.edges), np.ascontiguousarray(self.log_p)

        def score(out: Floats, start: int, stop: int) -> None:
            place = kernels.active.add_steps(arrays, self.offsets, edges, log_p, out, start, stop)
            refuse(place, self.features, arrays, "a finite number")

        return score

    def part(self, number: int) -> HistogramPredictive:
        """One column."""
        steps = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
        first, last = np.searchsorted(self.step_of_cell, [steps.start, steps.stop]).tolist()
        return HistogramPredictive(
            self.features[number : number + 1],
            self.n_classes,
            np.array([0, steps.stop - steps.start]),
            self.edges[steps],
            self.log_p[steps],
            self.tally.between(number, number + 1),
            self.step_of_cell[first:last] - steps.start,
            self.prior,
        )

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """A cell in use, then a value within it (at level 0 a cell is a single value)."""
        owner, cell, _ = cells_of(self.tally)
        result: list[Any] = []
        for j in range(len(self.features)):
            mine = np.flatnonzero(owner == j)
            p = np.exp(self.log_p[self.step_of_cell[mine], code])
            if not len(mine) or p.sum() == 0:
                result.append(np.full(n, np.nan))
                continue
            drawn = cell[mine[rng.choice(len(mine), size=n, p=p / p.sum())]]
            level = np.full(n, self.tally.levels[j])
            low, high = lowest_value(drawn, level), lowest_value(drawn + 1, level)
            inside = low + (high - low) * rng.random(n) * (level > 0)
            result.append(np.where(inside < high, inside, low))
        return result

    def table(self) -> list[dict[str, Any]]:
        """Runs of values and the probability of each, in at most eight steps per column and class."""
        rows = []
        owner, cell, _ = cells_of(self.tally)
        values = lowest_value(cell, self.tally.levels[owner])
        first = np.searchsorted(owner, np.arange(len(self.features) + 1))
        for j, name in enumerate(self.features):
            mine = np.arange(first[j], first[j + 1])
            p = np.exp(self.log_p[self.step_of_cell[mine]])
            for c in range(self.n_classes):
                for group in np.array_split(np.arange(len(mine)), min(8, len(mine)) or 1):
                    if len(group):
                        ends = values[mine[group[[0, -1]]]].tolist()
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

    def _posterior(self, number: int) -> tuple[Floats, Floats, Floats]:
        """Least values of the buckets of a column, and alpha and total of P(class | bucket), (buckets, classes)."""
        check_posterior(self.prior is not None, self.features[number])
        assert self.prior is not None
        held = Held.of(self.tally.between(number, number + 1), self.prior.strengths, self.prior.rates)
        return held.steps.edges, *averaged_binnings(held.steps.counts, held.strength, held.rate)

    def intervals(self, level: float) -> list[dict[str, Any]]:
        """Of P(class | value) at eight values, evenly spread over those in use; at the best strength and rate."""
        rows = []
        owner, cell, _ = cells_of(self.tally)
        for j, name in enumerate(self.features):
            edges, alpha, total = self._posterior(j)
            low, high = beta_interval(alpha, total, level)
            values = lowest_value(cell[owner == j], self.tally.levels[owner[owner == j]])
            shown = values[np.unique(np.linspace(0, len(values) - 1, 8).round().astype(np.int64))]
            at = np.searchsorted(edges[1:], shown, side="right").tolist()
            rows += [
                {
                    "column": name,
                    "class": c,
                    "value": value,
                    "P(class | value)": float(alpha[b, c] / total[b, c]),
                    "low": float(low[b, c]),
                    "high": float(high[b, c]),
                }
                for value, b in zip(shown.tolist(), at, strict=True)
                for c in range(self.n_classes)
                if alpha[b, c] > 0
            ]
        return rows

    def log_cumulants(self, columns: Sequence[Column]) -> Floats:
        """Of class shares, over the binnings and what is not known of a run; at the best strength and rate."""
        check_posterior(self.prior is not None, self.features[0])
        result = np.zeros((3, len(columns[0]), self.n_classes))
        for j, x in enumerate(real_arrays([column for column in columns if isinstance(column, Reals)])):
            there = np.flatnonzero(~np.isnan(x))
            if self.prior is not None and self.prior.share > 0 and len(there):
                edges, alpha, _ = self._posterior(j)
                result[:, there] += gamma_cumulants(alpha)[:, np.searchsorted(edges[1:], x[there], side="right")]
        return result


def _by_columns(tally: Grid, work: Callable[[Grid], Result]) -> list[Result]:
    """Work on a few columns at a time, in threads: what is made on the way stays small."""
    n = len(tally.features)
    size = max(1, min(_COLUMNS, -(-n // 8)))
    return in_threads(lambda start, stop: work(tally.between(start, stop)), n, size=size, small=1)


def _without(tally: Grid, held: Held, share: float) -> HistogramPredictive:
    """The predictive of one column that some rows were taken from, on the buckets it had before."""
    steps = held.steps
    return HistogramPredictive(
        tally.features,
        tally.n_classes,
        steps.offsets,
        steps.edges,
        held.log_mass[:, None] + share * held_shares(held, tally),
        held.tally,
        steps.bucket_of_cell,
    )


def _average(tally: Grid, prior: HistogramPrior) -> HistogramPredictive:
    """The predictive of a few columns."""
    steps = buckets_of(tally)
    share = averaged(steps, prior.strengths, prior.rates)[0]
    per_bucket = steps.counts.sum(axis=1)
    total = np.bincount(steps.owner, weights=per_bucket, minlength=len(tally.features))
    p = per_bucket / total[steps.owner]
    average = np.zeros((len(tally.features), tally.n_classes))
    np.add.at(average, steps.owner, p[:, None] * share)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(share) - np.log(average[steps.owner])
    log_ratio = np.where((average[steps.owner] > 0) & (prior.share > 0), log_ratio, 0.0)
    log_mass = np.log(p) - np.log(steps.n_cells)
    return HistogramPredictive(
        tally.features,
        tally.n_classes,
        steps.offsets,
        steps.edges,
        log_mass[:, None] + log_ratio,
        tally,
        steps.bucket_of_cell,
    )


def _frequencies(tally: Grid) -> HistogramPredictive:
    """Steps for every cell in use and every gap between them."""
    owner, cell, cell_of_entry = cells_of(tally)
    counts = np.zeros((len(owner), tally.n_classes))
    counts[cell_of_entry, tally.klass] = tally.amounts.floats()
    totals = tally.rows_seen().floats()
    with np.errstate(divide="ignore", invalid="ignore"):
        log_f = np.log(counts) - np.log(totals[owner])
    nothing = np.where(totals > 0, -np.inf, 0.0)
    log_f = np.where(totals[owner] > 0, log_f, 0.0)
    edges, log_p, offsets, step_of_cell = [], [], [0], np.zeros(len(owner), np.int64)
    for j in range(len(tally.features)):
        mine = np.flatnonzero(owner == j)
        level = tally.levels[j]
        if len(mine):
            edges.append(-np.inf)
            log_p.append(nothing[j])
        for i, c in zip(mine.tolist(), cell[mine].tolist(), strict=True):
            low, high = lowest_value(np.array([c, c + 1]), np.array([level, level])).tolist()
            if edges[-1] == low:  # the cell before was adjacent: its gap is empty
                edges.pop()
                log_p.pop()
            step_of_cell[i] = len(edges)
            edges += [low, high]
            log_p += [log_f[i], nothing[j]]
        offsets.append(len(edges))
    return HistogramPredictive(
        tally.features,
        tally.n_classes,
        np.array(offsets, np.int64),
        np.array(edges),
        np.array(log_p).reshape(len(edges), tally.n_classes),
        tally,
        step_of_cell,
    )


def _observe_sparse(
    features: tuple[str, ...], arrays: Sequence[Any], codes: Codes32, n_classes: int, weights: Floats | None
) -> Grid:
    """The general way: weighted rows, or so many classes that a table of cells x classes would be mostly empty."""
    grids = []
    for j, array in enumerate(arrays):
        counted = codes >= 0 if weights is None else (codes >= 0) & (weights != 0)
        infinite = np.flatnonzero(np.isinf(array) & counted)
        refuse(int(infinite[0]) if len(infinite) else -1, (features[j],), [array], "a finite number")
        row = np.flatnonzero(counted & ~np.isnan(array))
        keys = ordered(array[row])
        distinct = np.unique(keys)
        (level,) = finest_shift(distinct, np.zeros(len(distinct), np.int64), 1)
        distinct, position = np.unique(keys >> level, return_inverse=True)
        pair, group = np.unique(position * n_classes + codes[row], return_inverse=True)
        values = np.ones(len(row)) if weights is None else weights[row]
        amounts = Exact.summed(values, group, len(pair))
        grids.append(
            Grid(
                (features[j],),
                n_classes,
                np.array([level]),
                np.zeros(len(pair), np.int64),
                distinct[pair // n_classes],
                pair % n_classes,
                amounts,
            )
        )
    return _side_by_side(features, grids, n_classes)


def _side_by_side(features: tuple[str, ...], grids: Sequence[Grid], n_classes: int | None = None) -> Grid:
    """Grids of different columns as one."""
    if not grids:
        return Grid.empty(features, n_classes or 0)
    first = itertools.accumulate((len(grid.features) for grid in grids), initial=0)
    owners = [grid.owner + start if start else grid.owner for grid, start in zip(grids, first, strict=False)]
    join = np.concatenate
    return Grid(
        features,
        grids[0].n_classes,
        join([g.levels for g in grids]),
        join(owners),
        join([g.cell for g in grids]),
        join([g.klass for g in grids]),
        Exact.concatenate([g.amounts for g in grids]),
    )
