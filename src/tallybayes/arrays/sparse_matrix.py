"""Sparse matrices of SciPy, checked before anything relies on their indices.

SciPy accepts indices that point outside the matrix, and its own conversions then read or write foreign memory. So the
check comes before `tocsr`, `has_canonical_format` and every kernel.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tallybayes.arrays.array_types import Indices
from tallybayes.arrays.chunks import in_threads
from tallybayes.errors import DataError, Described

__all__ = ["check_csr", "is_sparse"]

_DENSE = (np.ndarray, list)
_INDICES = (np.dtype(np.int32), np.dtype(np.int64))


def is_sparse(data: Any) -> bool:
    """Whether data is a sparse matrix or array of SciPy; SciPy is not imported for it.

    >>> is_sparse(np.zeros((2, 2)))
    False
    """
    if type(data) in _DENSE:  # mostly: the question is asked of every column
        return False
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(data))


def check_csr(matrix: Any, column: str | None = None) -> Any:
    """A sparse matrix in compressed sparse rows, or a DataError if its indices do not fit its shape.

    >>> from scipy.sparse import csr_array
    >>> check_csr(csr_array(([1.0], [5], [0, 1]), shape=(1, 3)), "x")
    Traceback (most recent call last):
        ...
    tallybayes.errors.DataError: column 'x', row 0: expected a column index from 0 to 2, got 5
    """
    if len(matrix.shape) != 2:
        raise DataError("a matrix of rows and columns", got=Described(f"an array of shape {matrix.shape}"))
    n_rows, n_columns = matrix.shape
    if matrix.format == "csr":
        _check_compressed(matrix, n_rows, n_columns, ("row", "column"), column)
        return matrix
    if matrix.format == "csc":
        _check_compressed(matrix, n_columns, n_rows, ("column", "row"), column)
    elif matrix.format == "bsr":
        height, width = matrix.blocksize
        _check_compressed(matrix, n_rows // height, n_columns // width, ("block row", "block column"), column)
    elif matrix.format == "coo":
        for axis, indices, size in (("row", matrix.row, n_rows), ("column", matrix.col, n_columns)):
            if (entry := _first_outside(indices, size)) is not None:
                raise DataError(f"a {axis} index from 0 to {size - 1}", got=int(indices[entry]), column=column)
    return matrix.tocsr()


def _check_compressed(matrix: Any, n_lines: int, size: int, axes: tuple[str, str], column: str | None) -> None:
    """Refuse compressed lines (the rows of CSR) with a wrong indptr, or with an index outside 0 .. size - 1."""
    indptr, indices, (line_name, index_name) = matrix.indptr, matrix.indices, axes
    if indptr.dtype not in _INDICES or indices.dtype not in _INDICES:
        raise DataError("int32 or int64 indices", got=Described(f"{indptr.dtype} and {indices.dtype}"), column=column)
    if indptr.shape != (n_lines + 1,) or indices.ndim != 1 or len(matrix.data) != len(indices):
        shapes = f"{indptr.shape}, {indices.shape} and {len(matrix.data)} values"
        raise DataError(f"an indptr of {n_lines + 1} and as many indices as values", got=shapes, column=column)
    n_entries = len(indices)
    if indptr[0] != 0 or indptr[-1] != n_entries:
        ends = f"{indptr[0]} to {indptr[-1]}"
        raise DataError(f"an indptr from 0 to {n_entries}, the number of values", got=ends, column=column)
    if (falls := indptr[1:] < indptr[:-1]).any():
        line = int(np.argmax(falls))
        pair = f"{indptr[line]} then {indptr[line + 1]} at {line_name} {line}"
        raise DataError("an indptr that does not decrease", got=pair, column=column)
    if (entry := _first_outside(indices, size)) is not None:
        line = int(np.searchsorted(indptr, entry, side="right")) - 1
        row = line if line_name == "row" else None
        raise DataError(f"a {index_name} index from 0 to {size - 1}", got=int(indices[entry]), column=column, row=row)


def _first_outside(indices: Indices, size: int) -> int | None:
    """The first entry that is not an index below `size`, None if all are."""
    unsigned = indices.view(f"u{indices.dtype.itemsize}")  # negative indices are the greatest then
    if max(in_threads(lambda start, stop: int(unsigned[start:stop].max(initial=0)), len(indices))) < size:
        return None
    outside = (indices < 0) | (indices >= size)
    return int(np.argmax(outside)) if outside.any() else None
