"""Where columns are cut into coarse cells: at the values where the classes change.

Numbers are divided into at most 64 buckets of about equal numbers of rows, and these into cells, step by step: the cell
with the most rows is divided as long as it has much over a fifth of them, then the cell whose division says most about
the class. A division that says less than it costs is made only for large cells, and then into halves. Few distinct
values, and few categories, are a cell each.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np

from tallybayes.arrays.array_types import Codes32, Floats, Integers
from tallybayes.arrays.axis import sort_keys
from tallybayes.arrays.column import Codes, Column, Flags, Reals
from tallybayes.data.coarse_cells import CellInput

__all__ = ["coarse_inputs"]

_BUCKETS = 64  # of numbers, from which cells are made
_LARGE = 0.25  # share of the rows above which a cell is divided, whatever the classes are: much over a fifth
_LEAST_ROWS = 20  # of a cell, or a tenth of all rows if that is less: as many as a parent needs (`one_dependence`)
_FEW_KEYS = 12  # categories that are not selected: grouping them destroys pairs (a study of 52 tables)
_MOST_KEYS = 32  # of more categories, the most frequent
_KEYS = (str, int, float, bool)


def coarse_inputs(
    columns: Mapping[str, Column], codes: Codes32, *, n_cells: int = 8, missing: bool = False
) -> dict[str, CellInput]:
    """The coarse cells of encoded columns, given the classes of their rows (-1: none); columns of bags have none.

    n_cells: of a column of numbers, at most. missing: whether missing values, and categories that are not listed, have
    a cell of their own. A column with fewer than two cells is left out.

    >>> x, codes = np.arange(100.0), np.repeat([0, 1], 50).astype(np.int32)
    >>> coarse_inputs({"x": Reals(x)}, codes, n_cells=4)["x"].edges
    (25.0, 50.0, 75.0)
    """
    found = {}
    for name in sorted(columns):
        column, own = columns[name], None
        if isinstance(column, Reals):
            own = CellInput(name, edges=_edges(column.values, codes, n_cells), missing=missing)
        elif isinstance(column, Flags):
            own = CellInput(name, missing=missing)
        elif isinstance(column, Codes):
            keys = _frequent_keys(column, codes)
            own = CellInput(name, keys=keys, missing=missing) if keys else None
        if own is not None and own.n_cells - missing > 1:
            found[name] = own
    return found


def _edges(values: np.ndarray, codes: Codes32, n_cells: int) -> tuple[float, ...]:
    """The least value of each cell but the first."""
    there = np.isfinite(values) & (codes >= 0)
    distinct, place = np.unique(values[there].astype(np.float64), return_inverse=True)
    if len(distinct) <= n_cells:
        return tuple((distinct[1:] + 0.0).tolist())
    n_classes = int(codes.max(initial=-1)) + 1
    counts = np.bincount(place * n_classes + codes[there], minlength=len(distinct) * n_classes)
    starts = _bucket_starts(counts.reshape(-1, n_classes).sum(axis=1))
    buckets = np.add.reduceat(counts.reshape(-1, n_classes), starts, axis=0)
    return tuple((distinct[starts[_cuts(buckets, n_cells)]] + 0.0).tolist())  # no negative zero


def _bucket_starts(rows: Integers) -> Integers:
    """The first value of each bucket, so that buckets have about equal numbers of rows."""
    before = np.cumsum(rows) - rows
    bucket = before * _BUCKETS // max(int(rows.sum()), 1)
    return np.flatnonzero(np.diff(bucket, prepend=-1))


def _cuts(buckets: Integers, n_cells: int) -> list[int]:
    """The first bucket of each cell but the first; buckets are (buckets, classes)."""
    sums = np.concatenate([np.zeros((1, buckets.shape[1]), np.int64), np.cumsum(buckets, axis=0)])
    n_rows = int(sums[-1].sum())
    least = min(_LEAST_ROWS, n_rows / 10)
    # What a cut costs: a place among the buckets, and a share for every class, by the usual approximation.
    cost = np.log(max(len(buckets) - 1, 1)) + (np.count_nonzero(sums[-1]) - 1) / 2 * np.log(max(n_rows, 1))
    best_cut = functools.cache(lambda start, stop: _best_cut(sums, start, stop, least, cost))
    cells = [(0, len(buckets))]
    while len(cells) < n_cells:
        found = {cell: best for cell in cells if (best := best_cut(*cell)) is not None}
        if not found:
            break
        rows = {cell: int(sums[cell[1]].sum() - sums[cell[0]].sum()) for cell in found}
        cell = max(found, key=lambda own: (rows[own], -own[0]))
        if rows[cell] <= _LARGE * n_rows:
            cell = max(found, key=lambda own: (found[own][0], -own[0]))
            if not found[cell][0]:
                break
        cut = found[cell][1]
        cells = sorted([*(own for own in cells if own != cell), (cell[0], cut), (cut, cell[1])])
    return [start for start, _ in cells[1:]]


def _best_cut(sums: Integers, start: int, stop: int, least: float, cost: float) -> tuple[float, int] | None:
    """The cut of a cell that says most about the class, and how much, in nats over all its rows.

    Where that is not more than the cost, the cut into halves, which counts as 0. None if no cut leaves enough rows.
    """
    cuts = np.arange(start + 1, stop)
    left, right = sums[cuts] - sums[start], sums[stop] - sums[cuts]
    n_left, n_right = left.sum(axis=1), right.sum(axis=1)
    possible = np.flatnonzero((n_left >= least) & (n_right >= least))
    if not len(possible):
        return None
    gain = (_nats(sums[stop] - sums[start]) - _nats(left) - _nats(right))[possible]
    best = int(np.argmax(gain))
    if gain[best] > cost:
        return float(gain[best]), int(cuts[possible[best]])
    return 0.0, int(cuts[possible[np.argmin(np.abs(n_left - n_right)[possible])]])


def _nats(counts: Integers) -> Floats:
    """Rows times the entropy of the class, for counts (..., classes)."""
    n = counts.sum(axis=-1)
    return np.asarray(n * np.log(np.maximum(n, 1)) - (counts * np.log(np.maximum(counts, 1))).sum(axis=-1))


def _frequent_keys(column: Codes, codes: Codes32) -> tuple[object, ...]:
    """All categories if they are few, otherwise the most frequent that have enough rows; sorted."""
    own = column.with_keys_in_use()
    place = own.codes.astype(np.int64) - own.origin
    there = (place >= 0) & (place < len(own.keys)) & (codes >= 0)
    rows = np.bincount(place[there], minlength=len(own.keys))
    keys = {own.keys[i]: int(rows[i]) for i in np.flatnonzero(rows).tolist()}
    if any(type(key) not in _KEYS for key in keys):
        return ()
    ordered = sort_keys(keys)
    if len(ordered) > _FEW_KEYS:
        least = min(_LEAST_ROWS, rows.sum() / 10)
        frequent = sorted(ordered, key=lambda key: -keys[key])[:_MOST_KEYS]
        ordered = sort_keys(key for key in frequent if keys[key] >= least)
    return tuple(ordered)
