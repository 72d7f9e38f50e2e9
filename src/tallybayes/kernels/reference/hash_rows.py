"""Hashes of the content of rows, by which samples are drawn."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Columns
from tallybayes.kernels.contract import checked
from tallybayes.kernels.reference.column_values import as_list

_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@checked("columns: columns; salts: columns")
def hash_columns(columns: Columns, salts: NDArray[np.uint64], start: int, stop: int) -> NDArray[np.uint64]:
    """For every row the sum of the hashes of its values, each scrambled with the salt of its column, (stop - start,).

    A missing value (NaN, -1) adds nothing. Unsigned numbers of 64 bits are hashes already; 0 is missing.

    >>> one, two = (np.array([x, np.nan]) for x in (1.0, 2.0))
    >>> salts = np.array([3, 5], np.uint64)
    >>> both, (first, second) = hash_columns([one, two], salts, 0, 2), [
    ...     hash_columns([x], salts[i : i + 1], 0, 2) for i, x in enumerate((one, two))
    ... ]
    >>> both.tolist() == (first + second).tolist(), int(both[1])
    (True, 0)
    """
    result = np.zeros(stop - start, np.uint64)
    for column, salt in zip(as_list(columns), salts, strict=True):
        values = column[start:stop]
        missing = _missing(values)
        bits = values if values.dtype == np.uint64 else (values.astype(np.float64) + 0.0).view(np.uint64)
        result += np.where(missing, np.uint64(0), _mixed(bits ^ salt))
    return result


def _missing(values: NDArray[Any]) -> Any:
    if values.dtype == np.uint64:
        return values == 0
    return np.isnan(values) if values.dtype.kind == "f" else values.astype(np.int64) == -1


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of splitmix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators")."""
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return np.asarray(bits ^ (bits >> np.uint64(31)))
