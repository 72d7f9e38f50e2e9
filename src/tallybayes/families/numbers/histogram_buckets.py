"""The cells of a histogram gathered into buckets, and P(class | bucket) averaged over all ways to cut them into runs.

A run is a sequence of neighbouring buckets without an edge between them. For leave-one-out, the buckets of a column,
their class shares, the strength and the prior probability of an edge between buckets are fixed (`FixedBinning`); only
the counts change, and with them the weight of every run that contains the row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Weights
from tallybayes.arrays.float_order import ordered
from tallybayes.families.family import Codes32, Floats, Score
from tallybayes.families.leave_one_out_scores import Lines, Values, never_learned, score_discrete, with_marks
from tallybayes.kernels.binning_runs import shares_at
from tallybayes.tally import Grid
from tallybayes.tally.histogram_grid import lowest_value

__all__ = [
    "FixedBinning",
    "GridBuckets",
    "HistogramPrior",
    "average_shares",
    "binning_scores",
    "buckets_of",
    "cells_of",
    "frequency_scores",
    "held_shares",
]

BUCKETS = 128  # at most; the work grows with its square
_MOST_WORK = 2**20  # runs x classes per column; with more than 64 classes there are fewer buckets
_LARGEST_TOTAL = 2.0**40  # counts are scaled down to it: beyond, log gammas are too coarse to compare partitions


@dataclass(frozen=True, eq=False)
class HistogramPrior:
    """Strengths and cut rates to choose from by evidence; with `share` 0 the column contributes nothing."""

    strengths: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0)
    rates: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1, 0.3)
    share: float = 1.0
    held: FixedBinning | None = None  # of one column, for leave-one-out


@dataclass(frozen=True, eq=False)
class GridBuckets:
    """The cells in use gathered into buckets, all columns one below the other."""

    owner: np.ndarray
    offsets: np.ndarray
    edges: Floats
    counts: Floats  # (buckets, classes)
    n_cells: Floats
    bucket_of_cell: np.ndarray


def cells_of(tally: Grid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Column and cell of every cell in use, and the cell that each entry belongs to."""
    first = tally.first_of_cells()
    return tally.owner[first], tally.cell[first], np.cumsum(first) - 1


def buckets_of(tally: Grid) -> GridBuckets:
    """Buckets of about equal count; the cells themselves where they are few."""
    owner, cell, cell_of_entry = cells_of(tally)
    amount = tally.amounts.floats()
    per_cell = np.bincount(cell_of_entry, weights=amount, minlength=len(owner))
    limit = BUCKETS
    while limit > 8 and limit * limit * tally.n_classes > _MOST_WORK:
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
    place = bucket_of_cell[cell_of_entry] * tally.n_classes + tally.klass
    sums = np.bincount(place, weights=amount, minlength=int(new.sum()) * tally.n_classes)
    counts = np.asarray(sums, np.float64).reshape(int(new.sum()), tally.n_classes)
    low, high = lowest_value(cell, tally.levels[owner]), lowest_value(cell + 1, tally.levels[owner])
    high = np.where(tally.levels[owner] == 0, low, high)
    gap = np.clip(high[:-1] / 2 + low[1:] / 2, high[:-1], low[1:]) if len(low) > 1 else low[:0]
    edge = np.concatenate([low[:1], np.where(new[1:] & (owner[1:] == owner[:-1]), gap, low[1:])])
    edge[1:] = np.where((owner[1:] == owner[:-1]) & (edge[1:] <= low[:-1]), low[1:], edge[1:])
    bucket_owner = owner[new]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(bucket_owner, minlength=len(tally.features)))])
    return GridBuckets(
        bucket_owner,
        offsets.astype(np.int64),
        edge[new],
        counts,
        np.bincount(bucket_of_cell, minlength=len(counts)).astype(np.float64),
        bucket_of_cell,
    )


def average_shares(steps: GridBuckets, prior: HistogramPrior) -> tuple[Floats, Floats, Floats, Floats]:
    """P(class | bucket), and strength, rate and log evidence per column."""
    total = np.add.reduceat(np.append(steps.counts.sum(axis=1), 0.0), steps.offsets[:-1]) if len(steps.owner) else 0.0
    scale = np.minimum(1.0, _LARGEST_TOTAL / np.maximum(total, 1.0))
    counts = steps.counts * scale[steps.owner, None] if np.any(scale < 1) else steps.counts
    result: tuple[Floats, Floats, Floats, Floats] = kernels.active.average_binnings(
        counts, steps.offsets, np.array(prior.strengths), np.array(prior.rates)
    )
    return result


@dataclass(frozen=True, eq=False)
class FixedBinning:
    """One column with all its rows: its buckets, their class shares, and what was chosen by evidence."""

    tally: Grid
    steps: GridBuckets
    p: Floats  # (classes,)
    strength: float
    rate: float

    @classmethod
    def of(cls, tally: Grid, prior: HistogramPrior) -> FixedBinning:
        """Of a tally with one column."""
        steps = buckets_of(tally)
        _, strength, rate, _ = average_shares(steps, prior)
        total = steps.counts.sum(axis=0)
        return cls(tally, steps, total / (total.sum() or 1.0), float(strength[0]), float(rate[0]))

    @property
    def log_mass(self) -> Floats:
        """Log P(cell) of the cells of every bucket, over all classes."""
        per_bucket = self.steps.counts.sum(axis=1)
        return np.asarray(np.log(per_bucket) - np.log(per_bucket.sum()) - np.log(self.steps.n_cells))


def held_shares(held: FixedBinning, tally: Grid) -> Floats:
    """Log of P(class | bucket) over its average, (buckets, classes), for the remaining sums: the definition."""
    _, cells, _ = cells_of(held.tally)
    counts, here = np.zeros_like(held.steps.counts), held.p > 0
    bucket = held.steps.bucket_of_cell[np.searchsorted(cells, tally.cell)]
    np.add.at(counts, (bucket, tally.klass), tally.amounts.floats())
    result = np.zeros_like(counts)
    if counts.any():
        share = shares_at(counts[:, here], held.p[here], held.strength, held.rate)
        average = (counts.sum(axis=1) / counts.sum()) @ share
        result[:, here] = np.log(share) - np.log(average)
    return result


def binning_scores(held: FixedBinning, values: Any, codes: Codes32, weights: Weights) -> Score:
    """The leave-one-out score of a column, by a table of (bucket, class)."""
    steps, name = held.steps, held.tally.features[0]
    column = Values(np.zeros(0, np.int64), len(steps.counts), codes, len(held.p), weights)
    if not column.is_dense:
        bucket = np.full(len(values), -1)
        there = np.flatnonzero(~np.isnan(values) & (len(steps.edges) > 0))
        bucket[there] = np.searchsorted(steps.edges[1:], values[there], side="right")
        column = replace(column, value=bucket)
    lines = column.lines()
    known = np.asarray(steps.counts[lines.value, lines.code] >= lines.weight * (1 - 1e-9))
    table = held.log_mass[lines.value][:, None] + _log_ratios(held, lines)
    if not column.is_dense:
        return column.score_table(lines, table, known, name)
    table, edges = with_marks(table, known), np.ascontiguousarray(steps.edges)

    def score(out: Floats, start: int, stop: int) -> None:
        row = kernels.active.add_step_pairs(values, edges, codes, table, out, start, stop)
        if row >= 0:
            raise never_learned(name, row)

    return score


def _log_ratios(held: FixedBinning, lines: Lines) -> Floats:
    """Log of P(class | bucket) over its average for the bucket of every line without it, (lines, classes)."""
    here, counts = np.flatnonzero(held.p > 0), held.steps.counts
    result = np.zeros((len(lines.value), len(held.p)))
    possible = np.flatnonzero(held.p[lines.code] > 0)
    pairs, number = np.unique(
        np.stack([lines.code[possible], lines.weight[possible]], axis=1), axis=0, return_inverse=True
    )
    if len(pairs):
        positions = np.searchsorted(here, pairs[:, 0].astype(np.int64))
        tables = kernels.active.binnings_leave_one_out(
            np.ascontiguousarray(counts[:, here]),
            held.p[here],
            held.strength,
            held.rate,
            positions,
            np.ascontiguousarray(pairs[:, 1]),
        )
        result[np.ix_(possible, here)] = tables[number.reshape(-1), lines.value[possible]]
    return result


def frequency_scores(tally: Grid, values: Any, codes: Codes32, weights: Weights) -> Score:
    """The leave-one-out score of a column, by the frequency of its cells."""
    _, cells, cell_of_entry = cells_of(tally)
    counts = np.zeros((len(cells), tally.n_classes))
    counts[cell_of_entry, tally.klass] = tally.amounts.floats()
    rows, number = np.flatnonzero(~np.isnan(values)), np.full(len(values), -1)
    keys = ordered(values[rows].astype(np.float64)) >> tally.levels[0]
    at = np.searchsorted(cells, keys)
    number[rows] = at
    strange = np.flatnonzero((at == len(cells)) | (cells[np.minimum(at, len(cells) - 1)] != keys)) if len(cells) else at
    if len(strange):
        raise never_learned(tally.features[0], int(rows[strange[0]]))
    column = Values(number, len(cells), codes, tally.n_classes, weights)
    return score_discrete(
        column, counts, counts.sum(axis=0), 0.0, float(len(cells)), column=tally.features[0], fixed=False
    )
