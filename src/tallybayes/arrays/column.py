"""The kinds of column a family can ask for.

A column is one feature's data for a batch of rows, checked and encoded by the data layer. Families and kernels see
only these. Missing is part of each kind: NaN in `Reals`, NaN or -1 in `Flags`, a code outside the keys in `Codes`,
a row left out of `present` in `Bag`, -1 in `Cells`, NaN in `Vectors`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bag", "Cells", "Codes", "Column", "Derived", "Flags", "Key", "Reals", "Vectors"]

Key = Hashable

_FEW_KEYS = 1024  # that it is not worth looking for those in use


@dataclass(frozen=True, eq=False)
class _Values:
    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: NDArray[np.integer]) -> Self:
        """Some of the rows."""
        return type(self)(self.values[rows])


@dataclass(frozen=True, eq=False)
class Reals(_Values):
    """Real numbers: float32 or float64 with any stride, NaN where missing."""

    values: NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Flags(_Values):
    """Booleans: 0 and 1 of any numeric dtype; NaN (floats) or -1 (integers) where missing."""

    values: NDArray[np.generic]


@dataclass(frozen=True, eq=False)
class Codes:
    """One of several keys: `keys[code - origin]`, missing where the code is outside.

    For integers that stand for themselves `keys` is a range and `origin` its start, so that nothing is copied.
    """

    codes: NDArray[np.integer]
    keys: Sequence[Key]

    @property
    def origin(self) -> int:
        """The code of the first key."""
        return self.keys.start if isinstance(self.keys, range) else 0

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: NDArray[np.integer]) -> Codes:
        """Some of the rows."""
        return Codes(self.codes[rows], self.keys)

    def places(self) -> NDArray[np.int64]:
        """The place of the key of each row among the keys, -1 where it is missing."""
        place = self.codes.astype(np.int64) - self.origin
        return np.where((place < 0) | (place >= len(self.keys)), -1, place)

    def key_counts(self) -> dict[Key, int]:
        """The keys that occur, in their order, and how often each does.

        >>> Codes(np.array([2, 0, 2, -1]), ["p", "q", "r"]).key_counts()
        {'p': 1, 'r': 2}
        """
        used = self.with_keys_in_use()
        places = used.places()
        counts = np.bincount(places[places >= 0], minlength=len(used.keys))
        return {used.keys[i]: int(counts[i]) for i in np.flatnonzero(counts).tolist()}

    def with_keys_in_use(self) -> Codes:
        """The same values with only the keys that occur, if there are more keys than rows; else itself.

        >>> column = Codes(np.array([-9, 700, 300]), range(0, 2000)).with_keys_in_use()
        >>> column.codes.tolist(), column.keys
        ([-1, 1, 0], [300, 700])
        """
        if len(self.keys) <= max(len(self.codes), _FEW_KEYS):
            return self
        used, codes = np.unique(self.codes, return_inverse=True)
        keys = used.astype(np.int64) - self.origin
        n_below = int(np.count_nonzero(keys < 0))  # a code below the first key, or above the last, stays outside
        known = keys[(keys >= 0) & (keys < len(self.keys))].tolist()
        return Codes((codes - n_below).astype(np.int32), [self.keys[key] for key in known])


@dataclass(frozen=True, eq=False)
class Bag:
    """A bag of tokens per row, in compressed sparse rows: row i holds indices[indptr[i]:indptr[i + 1]].

    `keys[index]` is the token, `amounts` how often it occurs (None: once each), `present` False where the row's bag
    is missing, which is not the same as empty. No token stands twice in a row. Where few bags come again and again,
    each is held once and `rows` says which of them a row has (-1 where it is missing).
    """

    indptr: NDArray[np.integer]
    indices: NDArray[np.integer]
    amounts: NDArray[np.generic] | None
    keys: Sequence[Key]
    present: NDArray[np.bool_] | None = None
    rows: NDArray[np.integer] | None = None

    def __len__(self) -> int:
        return len(self.indptr) - 1 if self.rows is None else len(self.rows)

    def expanded(self) -> Bag:
        """The same bags, each row with its own."""
        if self.rows is None:
            return self
        n_bags = len(self.indptr) - 1
        with_empty = Bag(np.append(self.indptr, self.indptr[-1]), self.indices, self.amounts, self.keys)
        plain = with_empty.take(np.where(self.rows < 0, n_bags, self.rows))  # a missing bag is empty as well
        return Bag(plain.indptr, plain.indices, plain.amounts, plain.keys, self.present)

    def take(self, rows: NDArray[np.integer]) -> Bag:
        """Some of the rows."""
        if self.rows is not None:
            present = None if self.present is None else self.present[rows]
            return Bag(self.indptr, self.indices, self.amounts, self.keys, present, self.rows[rows])
        lengths = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[:-1][rows] - indptr[:-1], lengths)
        amounts = None if self.amounts is None else self.amounts[entries]
        present = None if self.present is None else self.present[rows]
        return Bag(indptr, self.indices[entries], amounts, self.keys, present)


@dataclass(frozen=True, eq=False)
class Cells:
    """Coarse cells of other columns, the inputs: codes (rows, inputs) from 0 on, -1 where a value is missing.

    `sizes` is the number of cells of each input. Cell a of input i has the number `offsets[i] + a` among all cells.

    >>> Cells(np.array([[0, 2], [1, -1]], np.int16), (2, 3)).offsets.tolist()
    [0, 2, 5]
    """

    codes: NDArray[np.int16]
    sizes: tuple[int, ...]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """The number of the first cell of each input, and of all cells, (inputs + 1,)."""
        return np.cumsum([0, *self.sizes])

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: NDArray[np.integer]) -> Cells:
        """Some of the rows."""
        return Cells(self.codes[rows], self.sizes)

    @property
    def n_inputs(self) -> int:
        """How many inputs there are."""
        return len(self.sizes)

    def is_missing(self) -> NDArray[np.bool_]:
        """Which rows have no input at all."""
        return np.asarray((self.codes < 0).all(axis=1))

    def with_inputs(self, kept: NDArray[np.bool_]) -> Cells:
        """The same with only some inputs, (inputs,) or (rows, inputs); the others are missing."""
        return Cells(np.where(kept, self.codes, np.int16(-1)), self.sizes)


@dataclass(frozen=True, eq=False)
class Vectors:
    """Numbers of other columns, the inputs, side by side: (rows, inputs), NaN where a value is missing.

    >>> Vectors(np.array([[1.0, np.nan]]), ("height", "weight")).with_inputs(np.array([False, True])).is_missing()
    array([ True])
    """

    values: NDArray[np.float64]
    inputs: tuple[str, ...]  # the names of the inputs

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: NDArray[np.integer]) -> Vectors:
        """Some of the rows."""
        return Vectors(self.values[rows], self.inputs)

    @property
    def n_inputs(self) -> int:
        """How many inputs there are."""
        return len(self.inputs)

    def is_missing(self) -> NDArray[np.bool_]:
        """Which rows have no input at all."""
        return np.asarray(np.isnan(self.values).all(axis=1))

    def with_inputs(self, kept: NDArray[np.bool_]) -> Vectors:
        """The same with only some inputs, (inputs,) or (rows, inputs); the others are missing."""
        return Vectors(np.where(kept, self.values, np.nan), self.inputs)


Derived = Cells | Vectors
Column = Reals | Flags | Codes | Bag | Cells | Vectors
