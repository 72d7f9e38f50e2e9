"""Raw columns of any kind, made plain before they are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.cells.arrow import combine_chunks, is_text_type, strings, to_list, valid_rows
from tallybayes.errors import DataError
from tallybayes.tables.raw_values import is_masked, is_missing, is_number
from tallybayes.tables.table import Raw

__all__ = ["is_array", "is_plain_number", "text_of", "unwrap", "wrong_type"]


def unwrap(raw: Raw, name: str, expected: str) -> Raw:
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
            raw = combine_chunks(raw).storage
        if pa.types.is_nested(raw.type):
            raise wrong_type(name, raw, expected)
        if pa.types.is_dictionary(raw.type) and pa.types.is_primitive(raw.type.value_type):
            return combine_chunks(raw).dictionary_decode()
    return raw


def wrong_type(name: str, raw: Any, expected: str) -> DataError:
    """The error for an Arrow column of the wrong type, with its first value."""
    valid = np.flatnonzero(valid_rows(combine_chunks(raw)))
    row = int(valid[0]) if len(valid) else None
    got = to_list(raw[row : row + 1])[0] if row is not None else str(raw.type)
    return DataError(expected, got=got, column=name, row=row)


def text_of(raw: Raw, most: int | None = None) -> Any:
    """The first rows of a column of text, or of numbers and text, as an Arrow array of text; None of any other column.

    most: so many rows, or all.
    """
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        if pa.types.is_dictionary(raw.type) and is_text_type(raw.type.value_type):
            return strings(to_list(raw[:most]))
        if not is_text_type(raw.type):
            return None
        raw = combine_chunks(raw[:most])
        return raw.cast(pa.large_string()) if pa.types.is_string_view(raw.type) else raw
    if isinstance(raw, np.ndarray):
        if is_array(raw):
            return None
        raw = raw.tolist()
    if not isinstance(raw, list):
        return None
    types = set(map(type, raw))
    if not any(issubclass(kind, str) for kind in types):
        return None
    if types <= {str, type(None)}:
        return strings(raw[:most])
    values = [None if is_missing(value) else value for value in raw]
    if not all(value is None or isinstance(value, str) or is_plain_number(value) for value in values):
        return None
    return strings([value if value is None or isinstance(value, str) else repr(value) for value in values[:most]])


def is_array(raw: Raw) -> bool:
    """Whether a column is an array of numbers, booleans or dates: it has no text to be read."""
    return isinstance(raw, np.ndarray) and raw.dtype.kind not in "UO"


def is_plain_number(value: Any) -> bool:
    """Whether a value is a number, and no boolean."""
    return is_number(value) and not isinstance(value, (bool, np.bool_))
