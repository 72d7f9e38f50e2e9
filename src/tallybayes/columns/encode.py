"""Raw columns checked and encoded as the kind of column that a family counts.

All input is validated here: an error names the column, the row and the value; code that counts or scores relies on it.
Each kind of column accepts NumPy arrays, Arrow arrays and lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from tallybayes.arrays.column import Bag, Cells, Codes, Column, Flags, Reals
from tallybayes.arrays.sparse_matrix import is_sparse
from tallybayes.cells.arrow import as_doubles, combined, is_text_type, to_list, to_numpy, valid_rows
from tallybayes.cells.key_form import as_boolean
from tallybayes.columns.encode_bag import to_bag
from tallybayes.columns.encode_categories import to_codes
from tallybayes.columns.tokenise import to_documents
from tallybayes.errors import DataError, Described
from tallybayes.families.family import Family
from tallybayes.tables.table import Raw, is_masked, is_missing, is_number, plain_reals

__all__ = ["as_codes", "as_flags", "as_reals", "empty_column", "encode"]

ColumnT = TypeVar("ColumnT", bound=Column)

_REALS = (np.dtype(np.float64), np.dtype(np.float32))
_BOOLEAN = "a boolean (0, 1, true, false)"


def encode(name: str, raw: Raw, family: Family, known: Any = None, *, scored: bool = False) -> Column:
    """A raw column as the kind that a family counts.

    known: the lexicon of a column of text, if it has one; scored: without tokens that are counted but not scored.
    """
    if (tokeniser := family.scoring_tokeniser if scored else family.tokeniser) is not None:
        return _checked(lambda n, r: to_documents(n, r, tokeniser, known), name, raw, "texts")
    if family.column is Reals:
        return as_reals(name, raw)
    if family.column is Flags:
        return as_flags(name, raw)
    if family.column is Codes:
        return as_codes(name, raw)
    return _checked(lambda n, r: to_bag(n, r, family.separator), name, raw, "bags of tokens")


def as_reals(name: str, raw: Raw) -> Reals:
    """Numbers, or a DataError."""
    if type(raw) is np.ndarray and raw.dtype in _REALS:
        return Reals(raw)
    return _checked(to_reals, name, raw, "numbers")


def as_flags(name: str, raw: Raw) -> Flags:
    """Booleans, or a DataError."""
    return _checked(to_flags, name, raw, "booleans")


def as_codes(name: str, raw: Raw) -> Codes:
    """Categories, or a DataError."""
    return _checked(lambda n, r: to_codes(n, _unwrapped(r, n, "a category")), name, raw, "categories")


def _checked(work: Callable[[str, Raw], ColumnT], name: str, raw: Raw, expected: str) -> ColumnT:
    """The encoded column; errors of other libraries become a DataError."""
    if is_sparse(raw) and expected != "bags of tokens":
        raise DataError(expected, got=Described(f"a sparse matrix of shape {raw.shape}"), column=name)
    try:
        return work(name, raw)
    except DataError:
        raise
    except (TypeError, ValueError, ArithmeticError, pa.ArrowException) as error:
        kind = str(
            raw.type if isinstance(raw, (pa.Array, pa.ChunkedArray)) else getattr(raw, "dtype", type(raw).__name__)
        )
        raise DataError(f"a column that can be read as {expected}", got=kind, column=name, hint=str(error)) from error


def empty_column(kind: type[Column], n_rows: int, sizes: tuple[int, ...] = ()) -> Column:
    """A column that is missing in every row; `sizes` are the cells of the inputs of a derived one."""
    if kind is Reals:
        return Reals(np.full(n_rows, np.nan))
    if kind is Flags:
        return Flags(np.full(n_rows, np.nan))
    if kind is Codes:
        return Codes(np.full(n_rows, -1, np.int32), [])
    if kind is Cells:
        return Cells(np.full((n_rows, len(sizes)), -1, np.int16), sizes)
    none = np.zeros(0, np.int64)
    return Bag(np.zeros(n_rows + 1, np.int64), none, None, [], np.zeros(n_rows, bool))


def to_reals(name: str, raw: Raw, expected: str = "a number") -> Reals:
    """Numbers; missing becomes NaN."""
    raw = _unwrapped(raw, name, expected)
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "fiub":
        if raw.dtype in _REALS:
            return Reals(raw)
        return Reals(raw.astype(np.float32 if raw.dtype == np.float16 else np.float64))
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        kind = raw.type
        if pa.types.is_null(kind):
            return Reals(np.full(len(raw), np.nan))
        numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
        if not any(is_kind(kind) for is_kind in numeric):
            raise _wrong_type(name, raw, expected)
        return Reals(to_numpy(combined(raw if kind in (pa.float32(), pa.float64()) else as_doubles(raw))))
    if isinstance(raw, list) and (plain := plain_reals(raw)) is not None:
        return Reals(plain)
    values = np.full(len(raw), np.nan)
    for row, value in enumerate(raw):
        if type(value) is not float and type(value) is not int:
            if is_missing(value):
                continue
            if not is_number(value):
                raise DataError(expected, got=value, column=name, row=row)
        try:
            values[row] = value
        except OverflowError:
            raise DataError("a number that a double can hold", got=value, column=name, row=row) from None
    return Reals(values)


def to_flags(name: str, raw: Raw) -> Flags:
    """Booleans; missing becomes -1 or NaN."""
    raw = _unwrapped(raw, name, _BOOLEAN)
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "fiub":
        if raw.dtype.kind == "i" and (raw < 0).any():
            row = int(np.argmax(raw < 0))
            raise DataError(_BOOLEAN, got=raw[row], column=name, row=row)
        if raw.dtype in (np.float64, np.float32, np.int8, np.uint8, np.int64, np.bool_):
            return Flags(raw)
        return Flags(raw.astype(np.float64 if raw.dtype.kind in "fu" else np.int64))
    if isinstance(raw, (pa.Array, pa.ChunkedArray)) and pa.types.is_boolean(raw.type):
        return Flags(to_numpy(combined(raw), null=-1))
    if isinstance(raw, (pa.Array, pa.ChunkedArray)) and is_text_type(raw.type):
        return _flags_of_words(name, as_codes(name, raw))
    if not isinstance(raw, (pa.Array, pa.ChunkedArray)) and any(isinstance(value, str) for value in raw):
        return _flags_of_words(name, as_codes(name, raw))
    return Flags(to_reals(name, raw, _BOOLEAN).values)


def _flags_of_words(name: str, column: Codes) -> Flags:
    """Texts that mean true and false as booleans; others are refused."""
    meanings = [as_boolean(key) for key in column.keys]
    for code, meaning in enumerate(meanings):
        if meaning is None and len(rows := np.flatnonzero(column.codes == code)):
            raise DataError(_BOOLEAN, got=column.keys[code], column=name, row=int(rows[0]))
    return Flags(np.array([*(meaning is True for meaning in meanings), -1], np.int8)[column.codes])


def _unwrapped(raw: Raw, name: str, expected: str) -> Raw:
    """Numbers in native byte order, masks and dictionaries of numbers resolved, other NumPy arrays as lists."""
    if is_masked(raw):
        return raw.tolist() if raw.mask.any() else raw.data
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "fiub":
        return raw if raw.dtype.isnative else raw.astype(raw.dtype.newbyteorder("="))
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "mM":
        return raw.astype(f"{raw.dtype.kind}8[us]").tolist()  # nanoseconds would become integers
    if isinstance(raw, np.ndarray) and raw.dtype.kind != "U":
        return raw.tolist()
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        if isinstance(raw.type, pa.BaseExtensionType):
            raw = combined(raw).storage
        if pa.types.is_nested(raw.type):
            raise _wrong_type(name, raw, expected)
        if pa.types.is_dictionary(raw.type) and pa.types.is_primitive(raw.type.value_type):
            return combined(raw).dictionary_decode()
    return raw


def _wrong_type(name: str, raw: Any, expected: str) -> DataError:
    """The error for an Arrow column of the wrong type, with its first value."""
    valid = np.flatnonzero(valid_rows(combined(raw)))
    row = int(valid[0]) if len(valid) else None
    got = to_list(raw[row : row + 1])[0] if row is not None else str(raw.type)
    return DataError(expected, got=got, column=name, row=row)
