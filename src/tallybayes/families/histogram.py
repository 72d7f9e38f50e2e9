"""Real numbers of any shape: the average over all ways to bin them.

Values are counted on a fine grid (`tallybayes.tally.grid`). For scoring, the cells in use are gathered into at most
128 buckets of about equal count; every partition of the buckets into runs is weighed by its evidence, and
P(class | bucket) is averaged over all of them (`tallybayes.kernels.reference.binnings`). By Bayes' rule

    P(cell | c) = P(bucket) / cells in the bucket * P(c | bucket) / sum over buckets of P(b) P(c | b)

so probabilities are of grid cells and sum to one over the cells in use. A value in no bucket takes the nearest. The
strength a of the class shares and the rate rho of cuts are chosen from a grid by evidence, per column. The plug-in is
the frequency of each cell. Laplace's k has no meaning here but 0 (plug-in) and infinity (silence).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Column, Reals
from tallybayes.families.base import Codes32, Family, Floats, Predictive, Score, Smoothing
from tallybayes.families.place import real_arrays, refuse
from tallybayes.kernels.reference.observe import ordered
from tallybayes.tally import Exact, Grid
from tallybayes.tally.grid import LIMIT, lowest_value

__all__ = ["Histogram", "HistogramPredictive", "HistogramPrior"]

Result = TypeVar("Result")

BUCKETS = 128  # at most; the work grows with its square
_WORK = 2**20  # runs x classes per column; with more than 64 classes there are fewer buckets
_ROWS = 2.0**40  # more rows count as so many: beyond, log gammas have no digits left to compare partitions with
_COLUMNS = 256  # columns counted or derived at a time, where there are many
_DENSE_CLASSES = 256  # above, a dense table of cells x classes would be mostly empty


@dataclass(frozen=True, eq=False)
class HistogramPrior:
    """Strengths and cut rates to choose from by evidence; `share` 0 makes the column silent."""

    strengths: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0)
    rates: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1, 0.3)
    share: float = 1.0


@dataclass(frozen=True)
class Histogram(Family):
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
        parts = _by_columns(tally, lambda part: _average(part, prior))
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        first = np.cumsum([0, *(len(part.edges) for part in parts)])
        return HistogramPredictive(
            tally.features, tally.n_classes, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([part.edges for part in parts]), np.concatenate([part.log_p for part in parts]), tally,
            np.concatenate([part.step_of_cell + start for part, start in zip(parts, first, strict=False)]),
        )  # fmt: skip

    def plug_in(self, tally: Grid) -> HistogramPredictive:
        """The frequency of each cell; nothing between cells."""
        return _frequencies(tally)

    def evidence(self, tally: Grid, prior: HistogramPrior) -> Floats:
        """Of the classes given the buckets, summed over all partitions, at the best strength and rate."""
        parts = _by_columns(tally, lambda part: _averaged(_buckets(part), prior)[3])
        return np.asarray(np.concatenate(parts) * prior.share)


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
            self.features[number : number + 1], self.n_classes, np.array([0, steps.stop - steps.start]),
            self.edges[steps], self.log_p[steps], self.tally.between(number, number + 1),
            self.step_of_cell[first:last] - steps.start,
        )  # fmt: skip

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """A cell in use, then a value within it (at level 0 a cell is a single value)."""
        owner, cell, _ = _cells(self.tally)
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
        owner, cell, _ = _cells(self.tally)
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


@dataclass(frozen=True, eq=False)
class _Buckets:
    """The cells in use gathered into buckets, all columns one below the other."""

    owner: np.ndarray
    offsets: np.ndarray
    edges: Floats
    counts: Floats  # (buckets, classes)
    n_cells: Floats
    bucket_of_cell: np.ndarray


def _cells(tally: Grid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Column and cell of every cell in use, and the cell that each entry belongs to."""
    first = np.ones(len(tally.cell), bool)
    first[1:] = (tally.owner[1:] != tally.owner[:-1]) | (tally.cell[1:] != tally.cell[:-1])
    return tally.owner[first], tally.cell[first], np.cumsum(first) - 1


def _buckets(tally: Grid) -> _Buckets:
    owner, cell, cell_of_entry = _cells(tally)
    amount = tally.amounts.floats()
    per_cell = np.bincount(cell_of_entry, weights=amount, minlength=len(owner))
    limit = BUCKETS
    while limit > 8 and limit * limit * tally.n_classes > _WORK:
        limit //= 2
    n_cells = np.bincount(owner, minlength=len(tally.features))
    first_cell = np.concatenate([[0], np.cumsum(n_cells)])[:-1]
    total = np.bincount(owner, weights=per_cell, minlength=len(tally.features))
    before = np.concatenate([[0.0], np.cumsum(per_cell)])[:-1]
    before = before - before[np.minimum(first_cell, max(len(before) - 1, 0))][owner] if len(owner) else before
    rank = (before + per_cell / 2) / total[owner] * limit
    few = n_cells[owner] <= limit
    raw = np.where(few, np.arange(len(owner)), np.minimum(np.floor(rank), limit - 1))
    new = np.ones(len(owner), bool)
    new[1:] = (owner[1:] != owner[:-1]) | (raw[1:] != raw[:-1])
    bucket_of_cell = np.cumsum(new) - 1
    counts = np.zeros((int(new.sum()), tally.n_classes))
    np.add.at(counts, (bucket_of_cell[cell_of_entry], tally.klass), amount)
    low, high = lowest_value(cell, tally.levels[owner]), lowest_value(cell + 1, tally.levels[owner])
    high = np.where(tally.levels[owner] == 0, low, high)
    gap = np.clip(high[:-1] / 2 + low[1:] / 2, high[:-1], low[1:]) if len(low) > 1 else low[:0]
    edge = np.concatenate([low[:1], np.where(new[1:] & (owner[1:] == owner[:-1]), gap, low[1:])])
    edge[1:] = np.where((owner[1:] == owner[:-1]) & (edge[1:] <= low[:-1]), low[1:], edge[1:])
    bucket_owner = owner[new]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(bucket_owner, minlength=len(tally.features)))])
    return _Buckets(
        bucket_owner, offsets.astype(np.int64), edge[new], counts,
        np.bincount(bucket_of_cell, minlength=len(counts)).astype(np.float64), bucket_of_cell,
    )  # fmt: skip


def _by_columns(tally: Grid, work: Callable[[Grid], Result]) -> list[Result]:
    """Work on a few columns at a time, in threads: what is made on the way stays small."""
    n = len(tally.features)
    size = max(1, min(_COLUMNS, -(-n // 8)))
    return in_threads(lambda start, stop: work(tally.between(start, stop)), n, size=size, small=1)


def _averaged(steps: _Buckets, prior: HistogramPrior) -> tuple[Floats, Floats, Floats, Floats]:
    """P(class | bucket), and strength, rate and log evidence per column."""
    strengths, rates = np.array(prior.strengths), np.array(prior.rates)
    total = np.add.reduceat(np.append(steps.counts.sum(axis=1), 0.0), steps.offsets[:-1]) if len(steps.owner) else 0.0
    scale = np.minimum(1.0, _ROWS / np.maximum(total, 1.0))
    counts = steps.counts * scale[steps.owner, None] if np.any(scale < 1) else steps.counts
    result: tuple[Floats, Floats, Floats, Floats] = kernels.active.average_binnings(
        counts, steps.offsets, strengths, rates
    )
    return result


def _average(tally: Grid, prior: HistogramPrior) -> HistogramPredictive:
    """The predictive of a few columns."""
    steps = _buckets(tally)
    share = _averaged(steps, prior)[0]
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
        tally.features, tally.n_classes, steps.offsets, steps.edges, log_mass[:, None] + log_ratio, tally,
        steps.bucket_of_cell,
    )  # fmt: skip


def _frequencies(tally: Grid) -> HistogramPredictive:
    """Steps for every cell in use and every gap between them."""
    owner, cell, cell_of_entry = _cells(tally)
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
        tally.features, tally.n_classes, np.array(offsets, np.int64), np.array(edges),
        np.array(log_p).reshape(len(edges), tally.n_classes), tally, step_of_cell,
    )  # fmt: skip


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
        keys, level = ordered(array[row]), 0
        distinct, position = np.unique(keys, return_inverse=True)
        while len(distinct) > LIMIT:
            level += 1
            distinct, again = np.unique(distinct >> 1, return_inverse=True)
            position = again[position]
        pair, group = np.unique(position * n_classes + codes[row], return_inverse=True)
        values = np.ones(len(row)) if weights is None else weights[row]
        amounts = Exact.summed(values, group, len(pair))
        grids.append(
            Grid((features[j],), n_classes, np.array([level]), np.zeros(len(pair), np.int64),
                 distinct[pair // n_classes], pair % n_classes, amounts)
        )  # fmt: skip
    return _side_by_side(features, grids, n_classes)


def _side_by_side(features: tuple[str, ...], grids: Sequence[Grid], n_classes: int | None = None) -> Grid:
    """Grids of different columns as one."""
    if not grids:
        return Grid.empty(features, n_classes or 0)
    first = itertools.accumulate((len(grid.features) for grid in grids), initial=0)
    owners = [grid.owner + start if start else grid.owner for grid, start in zip(grids, first, strict=False)]
    join = np.concatenate
    return Grid(
        features, grids[0].n_classes, join([g.levels for g in grids]), join(owners),
        join([g.cell for g in grids]), join([g.klass for g in grids]), Exact.concatenate([g.amounts for g in grids]),
    )  # fmt: skip
