"""Where columns are cut into coarse cells: at the values where the classes change.

Numbers are divided into at most 64 buckets of about equal numbers of rows, and these into cells, step by step: the cell
with the most rows is divided as long as it has much over a fifth of them, then the cell whose division says most about
the class. A division that says less than it costs is made only for large cells, and then into halves. Few distinct
values, and few categories, are a cell each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tallybayes.arrays.array_types import Codes32, Floats, Integers
from tallybayes.arrays.axis import sort_keys
from tallybayes.arrays.column import Codes, Column, Flags, Reals
from tallybayes.data.coarse_cells import CellInput

__all__ = ["coarse_inputs", "inputs_of_sizes"]

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
    return inputs_of_sizes(columns, codes, (n_cells,), missing=missing)[0]


def inputs_of_sizes(
    columns: Mapping[str, Column], codes: Codes32, sizes: Sequence[int], *, missing: bool = False
) -> list[dict[str, CellInput]]:
    """The same for several numbers of cells at once: fewer cells come from the first divisions."""
    found: list[dict[str, CellInput]] = [{} for _ in sizes]
    for name in sorted(columns):
        for own, result in zip(_inputs(name, columns[name], codes, sizes, missing), found, strict=False):
            if own.n_cells - missing > 1:
                result[name] = own
    return found


def _inputs(name: str, column: Column, codes: Codes32, sizes: Sequence[int], missing: bool) -> list[CellInput]:
    """The coarse cells of a column for each number of cells; none if it has no cells."""
    if isinstance(column, Reals):
        return [CellInput(name, edges=edges, missing=missing) for edges in _edges(column.values, codes, sizes)]
    if isinstance(column, Flags):
        return [CellInput(name, missing=missing)] * len(sizes)
    keys = _frequent_keys(column, codes) if isinstance(column, Codes) else ()
    return [CellInput(name, keys=keys, missing=missing)] * len(sizes) if keys else []


def _edges(values: np.ndarray, codes: Codes32, sizes: Sequence[int]) -> list[tuple[float, ...]]:
    """The least value of each cell but the first, for each number of cells."""
    there = np.flatnonzero(np.isfinite(values) & (codes >= 0))
    own, own_codes = values[there].astype(np.float64), codes[there]
    ordered, n_classes = np.sort(own), int(own_codes.max(initial=-1)) + 1
    first = np.append(np.zeros(min(len(own), 1), np.int64), np.flatnonzero(ordered[1:] > ordered[:-1]) + 1)
    distinct = ordered[first] + 0.0  # no negative zero
    if len(distinct) <= min(sizes):
        return [tuple(distinct[1:].tolist())] * len(sizes)
    starts = distinct[_bucket_starts(first, len(own))]
    bucket = np.searchsorted(starts, own, side="right") - 1
    buckets = np.bincount(bucket * n_classes + own_codes, minlength=len(starts) * n_classes)
    cuts = _cuts(buckets.reshape(-1, n_classes), max(sizes))
    few = tuple(distinct[1:].tolist()) if len(distinct) <= max(sizes) else ()
    return [few if len(distinct) <= n else tuple(starts[sorted(cuts[: n - 1])].tolist()) for n in sizes]


def _bucket_starts(before: Integers, n_rows: int) -> Integers:
    """The first value of each bucket, so that buckets have about equal numbers of rows; before: rows of less value."""
    return np.flatnonzero(np.diff(before * _BUCKETS // max(n_rows, 1), prepend=-1))


def _cuts(buckets: Integers, n_cells: int) -> list[int]:
    """The first bucket of each cell but the first, in the order of the divisions; buckets are (buckets, classes)."""
    runs, cuts = _Runs(buckets), list[int]()
    best = {(0, len(buckets)): runs.best_cut(0, len(buckets))}  # of each cell
    while len(cuts) + 1 < n_cells:
        found = {cell: own for cell, own in best.items() if own is not None}
        if not found:
            break
        cell = max(found, key=lambda own: (runs.rows(*own), -own[0]))
        if runs.rows(*cell) <= _LARGE * runs.n_rows:
            cell = max(found, key=lambda own: (found[own][0], -own[0]))
            if not found[cell][0]:
                break
        cut = found[cell][1]
        del best[cell]
        best |= {part: runs.best_cut(*part) for part in ((cell[0], cut), (cut, cell[1]))}
        cuts.append(cut)
    return cuts


class _Runs:
    """Runs of buckets from one to before another: their rows, and the rows times the entropy of the class, in nats."""

    def __init__(self, buckets: Integers) -> None:
        sums = np.zeros((buckets.shape[1], len(buckets) + 1), np.int64)
        np.cumsum(buckets.T, axis=1, out=sums[:, 1:])
        before = sums.sum(axis=0)
        self._before: list[int] = before.tolist()
        self._rows_before, self.n_rows = before, self._before[-1]
        self._least = min(_LEAST_ROWS, self.n_rows / 10)
        self._nats = _nats(np.maximum(sums[:, None] - sums[:, :, None], 0))  # (from, to)
        # What a cut costs: a place among the buckets, and a share for every class, by the usual approximation.
        n_classes = np.count_nonzero(sums[:, -1])
        self._cost = np.log(max(len(buckets) - 1, 1)) + (n_classes - 1) / 2 * np.log(max(self.n_rows, 1))

    def rows(self, start: int, stop: int) -> int:
        """The rows of a run."""
        return self._before[stop] - self._before[start]

    def best_cut(self, start: int, stop: int) -> tuple[float, int] | None:
        """The cut of a run that says most about the class, and how much, in nats over all its rows.

        Where that is not more than the cost, the cut into halves, which counts as 0. None if no cut leaves enough rows.
        """
        inner = self._rows_before[start + 1 : stop]
        left, right = inner - self._before[start], self._before[stop] - inner
        possible = np.flatnonzero((left >= self._least) & (right >= self._least))
        if not len(possible):
            return None
        cuts = possible + (start + 1)
        gain = self._nats[start, stop] - self._nats[start, cuts] - self._nats[cuts, stop]
        best = int(np.argmax(gain))
        if gain[best] > self._cost:
            return float(gain[best]), int(cuts[best])
        return 0.0, int(cuts[np.argmin(np.abs(left - right)[possible])])


def _nats(counts: Integers) -> Floats:
    """Rows times the entropy of the class, for counts (classes, ...); the logarithms of numbers are looked up."""
    total = counts.sum(axis=0)
    number = np.arange(int(total.max(initial=0)) + 1)
    terms = number * np.log(np.maximum(number, 1))
    return np.asarray(terms[total] - sum(terms[own] for own in counts))


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
