"""Matrices of amounts, dense or CSR: their exact sums by class, and their weighted sums by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tallybayes import kernels
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Bag
from tallybayes.arrays.sparse_matrix import is_sparse
from tallybayes.errors import DataError
from tallybayes.families.family import Codes32, Floats, Score
from tallybayes.families.tokens.bag_counts import dense_tables, fractional_sums
from tallybayes.tally import Exact

__all__ = ["feature_sums", "is_finite", "smoothed_counts", "weigh"]


def feature_sums(X: Any, codes: Codes32, n_classes: int, weights: Floats | None, *, negative: bool = False) -> Exact:
    """Exact sum of every feature (times the weight of the row) in every class, (classes, features)."""
    if is_sparse(X):
        if len(X.data) and not (np.isfinite(least := _least(X.data)) and (negative or least >= 0)):
            raise DataError("finite amounts")
        bag = Bag(X.indptr, X.indices, X.data, range(X.shape[1]))
        return _count(bag, codes, n_classes, weights)
    if not (np.isfinite(least := _least(X)) and (negative or least >= 0)):
        raise DataError("finite amounts")
    values = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if X.dtype == np.int64 and np.abs(values).max() >= 2.0**53:  # not every integer is a double
        return feature_sums(csr_array(X), codes, n_classes, weights, negative=negative)
    columns = list(values.T)
    parts = in_threads(
        lambda start, stop: kernels.active.sum_columns(columns, codes, n_classes, weights, 1, start, stop), len(codes)
    )
    if any(part[3] >= 0 for part in parts):
        raise DataError("finite amounts")
    total = Exact.added([Exact(*part[1]) for part in parts])
    return Exact(np.ascontiguousarray(np.swapaxes(total.digits, 0, 1)), total.low)


def _least(values: Any) -> float:
    """The minimum; NaN if a value is NaN, infinity if one is infinite."""

    def chunk(start: int, stop: int) -> tuple[float, float]:
        return float(values[start:stop].min()), float(values[start:stop].max())

    ends = np.array(in_threads(chunk, len(values), size=65536))
    return float(ends[:, 0].min()) if np.isfinite(ends[:, 1]).all() else float(ends[:, 1].max())


def _count(bag: Bag, codes: Codes32, n_classes: int, weights: Floats | None) -> Exact:
    """Amounts of tokens, summed as integers if they are integers."""
    if weights is None:
        tables = dense_tables(bag, codes, n_classes)
        if tables is not None:
            return Exact(np.swapaxes(Exact.added([Exact.whole(table) for table in tables]).digits, 0, 1))
    return fractional_sums(bag, codes, n_classes, weights)


def weigh(X: Any, table: Floats) -> Score:
    """A function that adds X @ table, (rows, features) @ (features, classes); 0 times an infinite weight is 0."""
    if is_sparse(X):

        def add(out: Floats, start: int, stop: int) -> None:
            kernels.active.add_bags(X.indptr, X.indices, X.data, table, out, start, stop)
            _check_scores(X.data, out[start:stop])

        return add
    impossible = np.isneginf(table) if table.min() == -np.inf else None
    finite = table if impossible is None else np.where(impossible, 0.0, table)

    def score(out: Floats, start: int, stop: int) -> None:
        part = X[start:stop].astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            out[start:stop] += part @ finite
        _check_scores(part, out[start:stop])
        if impossible is not None:
            out[start:stop][part @ impossible > 0] = -np.inf

    return score


def _check_scores(X: Any, out: Floats) -> None:
    """Raise a DataError if a matrix is not finite; it is searched only if its scores are not."""
    suspicious = not (out.max() < np.inf and out.min() > -np.inf)  # NaN is neither
    if suspicious and not np.isfinite(X).all():
        raise DataError("finite numbers")


def smoothed_counts(sums: Exact, alpha: Any) -> Floats:
    """Counts plus alpha; divided by 2**1024, which cancels in shares, if they exceed the range of doubles."""
    smoothed = sums.floats() + alpha
    if not np.isfinite(smoothed.sum()):
        smoothed = Exact(sums.wide().digits, sums.wide().low - 32).floats() + np.asarray(alpha) * 2.0**-1024
    return np.asarray(smoothed)


def is_finite(X: Any) -> bool:
    """Whether a matrix holds neither NaN nor infinity."""
    return X.dtype.kind != "f" or bool(np.isfinite(X.sum()) or np.isfinite(X).all())
