"""Where columns are cut into coarse cells: at the values where the classes change.

Numbers are divided into at most 64 buckets of about equal numbers of rows, and these into cells, step by step: the cell
with the most rows is divided as long as it has much over a fifth of them, then the cell whose division says most about
the class. A division that says less than it costs is made only for large cells, and then into halves. Few distinct
values, and few categories, are a cell each.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Codes32, Floats, Integers
from tallybayes.arrays.axis import sort_keys
from tallybayes.arrays.column import Codes, Column, Flags, Reals
from tallybayes.columns.readers.cell_input import CellInput

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
    results: list[dict[str, CellInput]] = [{} for _ in sizes]
    for name in sorted(columns):
        for cell_input, result in zip(_inputs(name, columns[name], codes, sizes, missing), results, strict=False):
            if cell_input.n_cells - missing > 1:
                result[name] = cell_input
    return results


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
    known, known_codes = values[there].astype(np.float64), codes[there]
    ordered, n_classes = np.sort(known), int(known_codes.max(initial=-1)) + 1
    first = np.append(np.zeros(min(len(known), 1), np.int64), np.flatnonzero(ordered[1:] > ordered[:-1]) + 1)
    distinct = ordered[first] + 0.0  # no negative zero
    if len(distinct) <= min(sizes):
        return [tuple(distinct[1:].tolist())] * len(sizes)
    starts = distinct[_bucket_starts(first, len(known))]
    bucket = kernels.active.find_steps(known, starts) - 1
    buckets = np.bincount(bucket * n_classes + known_codes, minlength=len(starts) * n_classes)
    cuts = _cuts(buckets.reshape(-1, n_classes), max(sizes))
    few = tuple(distinct[1:].tolist()) if len(distinct) <= max(sizes) else ()
    return [few if len(distinct) <= n else tuple(starts[sorted(cuts[: n - 1])].tolist()) for n in sizes]


def _bucket_starts(before: Integers, n_rows: int) -> Integers:
    """The first value of each bucket, so that buckets have about equal numbers of rows; before: rows of less value."""
    return np.flatnonzero(np.diff(before * _BUCKETS // max(n_rows, 1), prepend=-1))


def _cuts(buckets: Integers, n_cells: int) -> list[int]:
    """The first bucket of each cell but the first, in the order of the divisions; buckets are (buckets, classes)."""
    n_rows, n_classes = int(buckets.sum()), np.count_nonzero(buckets.any(axis=0))
    # What a cut costs: a place among the buckets, and a share for every class, by the usual approximation.
    cost = np.log(max(len(buckets) - 1, 1)) + (n_classes - 1) / 2 * np.log(max(n_rows, 1))
    least = min(_LEAST_ROWS, n_rows / 10)
    cuts = kernels.active.cut_buckets(buckets, _terms(n_rows), n_cells, _LARGE * n_rows, least, float(cost))
    return [int(cut) for cut in cuts]


@functools.lru_cache(maxsize=8)
def _terms(n: int) -> Floats:
    """The terms k log k of entropies, for k from 0 to n."""
    number = np.arange(n + 1)
    return np.asarray(number * np.log(np.maximum(number, 1)))


def _frequent_keys(column: Codes, codes: Codes32) -> tuple[object, ...]:
    """All categories if they are few, otherwise the most frequent that have enough rows; sorted."""
    keys = column.take(np.flatnonzero(codes >= 0)).key_counts()
    if any(type(key) not in _KEYS for key in keys):
        return ()
    ordered = sort_keys(keys)
    if len(ordered) > _FEW_KEYS:
        least = min(_LEAST_ROWS, sum(keys.values()) / 10)
        frequent = sorted(ordered, key=lambda key: -keys[key])[:_MOST_KEYS]
        ordered = sort_keys(key for key in frequent if keys[key] >= least)
    return tuple(ordered)
