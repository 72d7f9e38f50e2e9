"""Small matrices, dense or sparse: a few rows read at once, into the same vectors as single rows (`rows.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.column import Bag
from tallybayes.arrays.sparse_matrix import check_csr
from tallybayes.families.family import Floats
from tallybayes.scoring.scorer import Scorer
from tallybayes.tables.table import Table

__all__ = ["MatrixReader", "score_sparse_matrix"]

_NUMBERS = tuple(np.dtype(kind) for kind in ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"))
_FEW_CELLS = 64  # of keys, that are looked up one by one
_SLOTS, _FAR = 2**16, 2**40  # entries of a table of slots, and the size of its keys, at most
_Places = tuple[NDArray[np.int64], NDArray[np.int64]]  # of the columns of numbers and of keys, in a matrix
_AMOUNTS = tuple(np.dtype(kind) for kind in ("f8", "f4", "i8", "i4"))


class MatrixReader:
    """Reads the rows of a matrix into vectors, as `RowLayout.read` does with dicts.

    index: what to do with each column, as in `read_row`; width: of the vectors; keyed: the places of keys; ignores_new:
    whether columns that the index does not have are ignored, instead of being left to the general path.

    >>> index = {"x0": (1, {7: 0, 9: 1}, (int, float)), "x1": 0}
    >>> reader, values = MatrixReader(index, 2, [1], ignores_new=True), np.empty((2, 2))
    >>> reader.read(np.array([[7, 1.5], [8, 2.5]]), values), values.tolist()
    (True, [[1.5, 0.0], [2.5, -1.0]])
    """

    def __init__(self, index: Mapping[str, Any], width: int, keyed: Sequence[int], *, ignores_new: bool) -> None:
        self._index, self._width, self._ignores_new = index, width, ignores_new
        entries = {entry[0]: entry for entry in index.values() if isinstance(entry, tuple)}
        self._keyed, self._plain = np.array(keyed, np.int64), np.setdiff1d(np.arange(width), keyed)
        are_numbers = all(place in entries and entries[place][2] == (int, float) for place in keyed)
        self._codes = [entries[place][1] for place in keyed] if are_numbers else None
        self._slots: tuple[list[int], _Slots | None] = ([], None)  # for so many keys: they are added, never changed
        self._last: tuple[Any, _Places | None] = (None, None)  # names and columns: the next matrix is often alike

    def read(self, data: Any, values: Floats) -> bool:
        """Fill `values`, (rows, width), a key without a slot being -1; False if the general path is needed.

        That is, if a column is lacking or has no values yet, or if keys are not numbers. data: a matrix, whose columns
        are x0, x1, ..., or a table that is one.
        """
        is_table = type(data) is Table
        matrix, names = data.matrix if is_table else data, tuple(data.columns) if is_table else None
        if self._codes is None or matrix.dtype not in _NUMBERS:
            return False
        form, (last, columns) = matrix.shape[1] if names is None else names, self._last
        if form != last:
            columns = self._find_columns([f"x{j}" for j in range(matrix.shape[1])] if names is None else names)
            self._last = form, columns
        if columns is None:
            return False
        numbers, keyed = columns
        if not self._codes:
            values[:] = matrix.take(numbers, axis=1)
            return True
        if len(numbers):
            values[:, self._plain] = matrix.take(numbers, axis=1)
        keys = matrix.take(keyed, axis=1)
        if keys.size > _FEW_CELLS and (table := self._find_slots(self._codes)) is not None:
            slots = table.look_up(keys)
        else:
            slots = np.array(
                [[codes.get(key, -1) for codes, key in zip(self._codes, row, strict=True)] for row in keys.tolist()]
            )
        values[:, self._keyed] = slots if keys.dtype.kind != "f" else np.where(np.isnan(keys), np.nan, slots)
        return True

    def _find_slots(self, codes: Sequence[Mapping[Any, int]]) -> _Slots | None:
        """The slots of all keys; None if keys are far apart."""
        sizes, (last, slots) = [len(of_column) for of_column in codes], self._slots
        if sizes != last:
            slots = _Slots.of(codes)
            self._slots = sizes, slots
        return slots

    def _find_columns(self, names: Sequence[str]) -> _Places | None:
        """Which columns of a matrix with these names are numbers and keys; None if the general path is needed."""
        source = np.full(self._width, -1)
        for number, name in enumerate(names):
            entry = self._index.get(name)
            place = entry[0] if isinstance(entry, tuple) else entry
            if place == -1 or (place is None and not self._ignores_new):
                return None
            if place is not None and place >= 0:
                source[place] = number
        if not self._width or source.min() < 0:
            return None
        return source[self._plain], source[self._keyed]


class _Slots(NamedTuple):
    """The slots of whole numbers that are keys, in one array for all columns, so that a matrix is looked up at once.

    The array has for each column the slots from its first key, of as many keys as its width; and -1 at the end.
    """

    table: Floats
    first: NDArray[np.int64]
    widths: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, columns: Sequence[Mapping[Any, int]]) -> _Slots | None:
        """The slots of all columns; None if keys are far apart."""
        whole = [{int(key): slot for key, slot in codes.items() if key == int(key)} for codes in columns]
        least, most = ([pick(codes, default=0) for codes in whole] for pick in (min, max))
        if min(least, default=0) < -_FAR or max(most, default=0) > _FAR:
            return None
        first, widths = np.array(least), np.array(most) - np.array(least) + 1
        if widths.sum() > _SLOTS:
            return None
        starts = np.cumsum(widths) - widths
        table = np.full(widths.sum() + 1, -1.0)
        for codes, key, start in zip(whole, least, starts.tolist(), strict=True):
            table[start - key + np.fromiter(codes, np.int64)] = list(codes.values())
        return cls(table, first, widths, starts)

    def look_up(self, keys: NDArray[Any]) -> NDArray[Any]:
        """The slot of every key of a matrix, -1 for one that has none."""
        if keys.dtype.kind == "f":
            keys = np.where(keys == np.floor(keys), keys, np.inf)
            keys = np.where(np.abs(keys) < 2.0**53, keys, -(2.0**53))
        place = keys.astype(np.int64) - self.first
        return self.table[np.where((place < 0) | (place >= self.widths), -1, place + self.starts)]


def score_sparse_matrix(data: Any, scorer: Scorer) -> Floats | None:
    """Log P(c, x) of the rows of a sparse matrix (CSR), which is one bag named x; None for the general path."""
    if len(scorer.predictives) != 1 or data.dtype not in _AMOUNTS:
        return None
    predictive = scorer.predictives[0]
    if not predictive.takes_sparse_matrix or predictive.features != ("x",):
        return None
    least = check_csr(data, "x").data.min(initial=0)
    if not (least >= 0 and data.data.max(initial=0) < np.inf and data.has_canonical_format):
        return None
    out: Floats = np.repeat(scorer.start[None], data.shape[0], axis=0)
    predictive.bind([Bag(data.indptr, data.indices, data.data, range(data.shape[1]))])(out, 0, len(out))
    return out
