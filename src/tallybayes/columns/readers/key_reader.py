"""Columns of categories: codes, and the distinct values (keys) that they stand for.

Codes are not sorted, and a code outside the keys is a missing value. Integers within a small span stand for themselves.
Keys are written in the form of the column and get the type of those that the model knows (`cells/key_form.py`).
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes import kernels
from tallybayes.arrays.axis import rough_kind
from tallybayes.arrays.column import Codes, Key
from tallybayes.cells.arrow import combine_chunks, text_buffers, texts_at, to_list, to_numpy
from tallybayes.cells.key_form import KeyForm, to_key_type
from tallybayes.columns.readers.reader import Fact, ReadContext, Reader, check_column, unwrap
from tallybayes.errors import DataError
from tallybayes.tables.raw_values import has_fraction, is_missing
from tallybayes.tables.table import Raw
from tallybayes.tally import Tally

__all__ = ["INTEGERS", "SPAN", "KeyReader", "as_codes", "as_codes_like", "check_key", "text_codes"]

_TIMES = (datetime.date, datetime.time, datetime.timedelta)
_KEYS = (str, bytes, bool, int, float, decimal.Decimal, uuid.UUID, np.generic, *_TIMES)
_ONE_TYPE = {str, bytes, bool, int, float, np.str_, np.bool_, np.int64, np.int32, np.float64}  # equal means the same
_KEY_TYPES: dict[str, tuple[type, ...]] = {"text": (str,), "number": (int, float), "boolean": (bool,)}
_SHORT = 256  # texts in a list that is too short to be worth a call of the kernel
SPAN = 65536  # integers within a span of this many stand for themselves; others get a dictionary
INTEGERS = (np.int64, np.int32, np.int16, np.int8, np.uint8)


@dataclass(frozen=True)
class KeyReader(Reader):
    """Categories.

    >>> reader, context = KeyReader(KeyForm(("no", "yes"))), ReadContext("smokes", 3, known_key="no")
    >>> column = reader.encode({"smokes": [True, None, False]}, context)
    >>> column.keys, column.codes.tolist()
    (['yes', 'no'], [0, -1, 1])
    """

    kind = "key"
    column = Codes
    facts = (Fact("form", "form", lambda form: list(form.words), KeyForm.from_list),)

    form: KeyForm | None = None

    def encode(self, inputs: Mapping[Any, Any], context: ReadContext) -> Codes:
        """Check and encode categories; those of another type than the known ones are converted, or refused."""
        if (raw := inputs.get(context.name)) is None:
            return Codes(np.full(context.n_rows, -1, np.int32), [])
        return as_codes_like(context.name, as_codes(context.name, raw), context.known_key, self.form)

    def kernel_entry(self, place: int, name: str, tally: Tally | None) -> Any:
        """The place, the slots of the keys in a tally, and the types of values that may be such keys."""
        if tally is None or not tally.has_keys:
            return place
        return place, tally.key_slots(name), _KEY_TYPES.get(rough_kind(tally.any_key(name)), ())


def as_codes(name: str, raw: Raw) -> Codes:
    """Categories, or a DataError."""
    return check_column(lambda n, r: _to_codes(n, unwrap(r, n, "a category")), name, raw, "categories")


def as_codes_like(name: str, column: Codes, like: Any, form: KeyForm | None) -> Codes:
    """Categories in the type of a known one (None: there is none yet) and in their form; others are refused."""
    if not len(column.keys):
        return column
    first = column.keys[0]
    like = first if like is None else like
    is_same = rough_kind(like) == rough_kind(first)
    if is_same and (form is None or not isinstance(like, str)):
        return column
    keys = [to_key_type(key, like, form) for key in column.keys]
    if is_same and keys == list(column.keys):
        return column
    for code, (key, new) in enumerate(zip(column.keys, keys, strict=True)):
        if rough_kind(new) != rough_kind(like):
            rows = np.flatnonzero(column.codes == code + column.origin)
            if len(rows):
                raise DataError(f"{rough_kind(like)}, as learned before", got=key, column=name, row=int(rows[0]))
    number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    places = np.array([*(number[key] for key in keys), -1], np.int32)
    return Codes(places[column.places()], list(number))


def _to_codes(name: str, raw: Raw) -> Codes:
    """Categories; missing becomes a code outside the keys."""
    if isinstance(raw, np.ndarray):
        if raw.dtype.kind == "U" and raw.nbytes < 2**31:
            return _fixed_width_codes(raw)
        if raw.dtype.kind in "iub":
            return _integer_codes(raw)
        if raw.dtype.kind == "f":
            return _real_codes(raw)
        raw = raw.tolist()
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        if pa.types.is_integer(raw.type) and raw.null_count == 0:
            return _integer_codes(to_numpy(combine_chunks(raw)))
        return _without_missing(*text_codes(combine_chunks(raw)))
    types = set(map(type, raw)) if len(raw) > _SHORT else set()
    if types == {str}:
        packed = kernels.active.pack_texts(raw)
        if packed is not None and len(packed[1]) < 2**31:  # None for half of a surrogate pair
            codes, first = kernels.active.number_words(packed[0].astype(np.int32), packed[1], None)
            return Codes(codes, [raw[i] for i in first.tolist()])
    if len(types - {type(None)}) == 1 and types <= {*_ONE_TYPE, type(None)}:
        place = {value: i for i, value in enumerate(dict.fromkeys(raw))}  # a NaN may have several
        once = _list_codes(name, list(place))
        return Codes(once.codes[np.fromiter(map(place.__getitem__, raw), np.int64, len(raw))], once.keys)
    return _list_codes(name, raw)


def check_key(key: Any, expected: str, name: str, row: int) -> None:
    """Refuse a key that could not be sorted or saved."""
    if not _is_key(key):
        hint = "text, numbers, booleans, bytes, dates, times and tuples can be counted; of an Enum use the values"
        raise DataError(expected, got=key, column=name, row=row, hint=hint)


def _is_key(key: Any) -> bool:
    return all(map(_is_key, key)) if isinstance(key, tuple) else isinstance(key, _KEYS)


def text_codes(raw: Any) -> tuple[np.ndarray, list[Any]]:
    """An Arrow array, mostly of text, as the codes of its rows (-1 where it is null) and the distinct values."""
    if pa.types.is_string(raw.type) or pa.types.is_large_string(raw.type):
        bounds, content, valid = text_buffers(raw)
        if bounds[-1] < 2**31:
            codes, first = kernels.active.number_words(bounds.astype(np.int32, copy=False), content, valid)
            return codes, list(texts_at(raw, first))
    encoded = raw if pa.types.is_dictionary(raw.type) else raw.dictionary_encode()
    indices = encoded.indices if encoded.indices.type == pa.int32() else encoded.indices.cast(pa.int32())
    return to_numpy(indices, null=-1), to_list(encoded.dictionary)


def _fixed_width_codes(raw: np.ndarray) -> Codes:
    """An array of texts of fixed width: equal texts have equal bytes."""
    content = np.ascontiguousarray(raw).view(np.uint8).reshape(-1)
    bounds = np.arange(0, raw.nbytes + 1, max(raw.dtype.itemsize, 1), dtype=np.int32)
    codes, first = kernels.active.number_words(bounds[: len(raw) + 1], content, None)
    return Codes(codes, raw[first].tolist())


def _real_codes(values: np.ndarray) -> Codes:
    if (whole := _whole_codes(values)) is not None:
        return whole
    keys, codes = np.unique(values, return_inverse=True)
    n_keys = len(keys) - int(np.isnan(keys).any())
    return Codes(codes.astype(np.int32), [_integral_as_int(key) for key in keys[:n_keys].tolist()])


def _whole_codes(values: np.ndarray) -> Codes | None:
    """Reals that are whole numbers within a small span, without sorting them; None for others."""
    if has_fraction(values) or np.isinf(values).any() or not (there := ~np.isnan(values)).any():
        return None
    low, high = np.min(values, where=there, initial=np.inf), np.max(values, where=there, initial=-np.inf)
    if not (low >= -(2**53) and high <= 2**53 and high - low < SPAN):
        return None
    place = np.where(there, values - low, high - low + 1).astype(np.int32)  # those that are missing behind the others
    used = np.flatnonzero(np.bincount(place[there]))
    lookup = np.full(int(high - low) + 2, -1, np.int32)
    lookup[used] = np.arange(len(used))
    return Codes(lookup[place], (used + int(low)).tolist())


def _integer_codes(values: np.ndarray) -> Codes:
    if values.dtype == np.bool_:
        return Codes(values.view(np.int8), [False, True])
    if values.dtype in (np.int8, np.uint8, np.int16):
        info = np.iinfo(values.dtype)
        return Codes(values, range(info.min, info.max + 1))
    if values.dtype not in INTEGERS and not (values.dtype == np.uint64 and values.max(initial=0) >= 2**63):
        values = values.astype(np.int64)
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if values.dtype != np.uint64 and high - low < SPAN:
        return Codes(values, range(low, high + 1))
    keys, codes = np.unique(values, return_inverse=True)
    return Codes(codes.astype(np.int32), keys.tolist())


def _list_codes(name: str, raw: list[Any]) -> Codes:
    index: dict[Key, int] = {}
    codes = np.full(len(raw), -1, np.int32)
    kind: str | None = None
    for row, value in enumerate(raw):
        if is_missing(value):
            continue
        check_key(value, "a category", name, row)
        if isinstance(value, np.generic):
            value = value.astype("M8[us]").item() if isinstance(value, np.datetime64) else value.item()
        value_kind = rough_kind(value)
        kind = kind or value_kind
        if value_kind != kind:
            raise DataError(f"one type of value ({kind})", got=value, column=name, row=row)
        codes[row] = index.setdefault(_integral_as_int(value), len(index))
    return Codes(codes, list(index))


def _without_missing(codes: np.ndarray, keys: list[Any]) -> Codes:
    """Each key once, missing ones (NaN) without a code, integral reals as integers."""
    index: dict[Key, int] = {}
    code = [-1 if is_missing(key) else index.setdefault(_integral_as_int(key), len(index)) for key in keys]
    if code == list(range(len(code))):
        return Codes(codes, list(index))
    return Codes(np.array([*code, -1], np.int32)[codes], list(index))


def _integral_as_int(value: Any) -> Any:
    """An integral real as an integer, so that 1.0 in one batch and 1 in another are one key."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
