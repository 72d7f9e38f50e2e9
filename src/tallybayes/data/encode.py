"""Raw columns checked and encoded as the kind of column a family counts.

This is the door: whatever is wrong with a value is said here, with its column and row; behind it, columns are
trusted. One function per kind of column, each for NumPy arrays, Arrow arrays and Python lists.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from tallybayes import kernels
from tallybayes.arrays.axis import rough_kind, sort_keys
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Bag, Codes, Column, Flags, Key, Reals
from tallybayes.data.arrow import integers, to_numpy, valid_rows
from tallybayes.data.table import Raw, is_missing
from tallybayes.data.tokenise import to_documents
from tallybayes.errors import DataError
from tallybayes.families.family import Family

__all__ = ["NUMBERS", "as_codes", "as_reals", "coded", "empty_column", "encode", "is_missing"]

Kind = TypeVar("Kind", bound=Column)

NUMBERS = (int, float, np.integer, np.floating, np.bool_, decimal.Decimal)

_SHORT = 256  # texts in a list that it is not worth making an Arrow array of
_SPAN = 65536  # integers within a span of this many are counted as they are; others get a dictionary
_WIDE = (np.int64, np.int32, np.int16, np.int8, np.uint8)


def encode(name: str, raw: Raw, family: Family, known: Any = None) -> Column:
    """A raw column as the kind that a family counts; `known` is the lexicon of a column of text, if it has one."""
    if (tokeniser := family.tokeniser) is not None:
        return _at_the_door(lambda n, r: to_documents(n, r, tokeniser, known), name, raw, "texts")
    if family.column is Reals:
        return as_reals(name, raw)
    if family.column is Flags:
        return _at_the_door(to_flags, name, raw, "a boolean (0, 1, true, false)")
    if family.column is Codes:
        return as_codes(name, raw)
    return _at_the_door(lambda n, r: to_bag(n, r, family.separator), name, raw, "bags of tokens")


def as_reals(name: str, raw: Raw) -> Reals:
    """Numbers, or an error that says what is wrong."""
    return _at_the_door(to_reals, name, raw, "numbers")


def as_codes(name: str, raw: Raw) -> Codes:
    """Categories, or an error that says what is wrong."""
    return _at_the_door(to_codes, name, raw, "categories")


def _at_the_door(work: Callable[[str, Raw], Kind], name: str, raw: Raw, wanted: str) -> Kind:
    """Whatever a library below cannot make of a column is told as an error of this one."""
    if hasattr(raw, "tocsr") and wanted != "bags of tokens":
        raise DataError(wanted, got=f"a sparse matrix of shape {raw.shape}", column=name)
    try:
        return work(name, raw)
    except DataError:
        raise
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        kind = str(getattr(raw, "type", getattr(raw, "dtype", type(raw).__name__)))
        raise DataError(f"a column that can be read as {wanted}", got=kind, column=name, hint=str(error)) from error


def empty_column(family: Family, n_rows: int) -> Column:
    """A column that is missing in every row."""
    if family.column is Reals:
        return Reals(np.full(n_rows, np.nan))
    if family.column is Flags:
        return Flags(np.full(n_rows, np.nan))
    if family.column is Codes:
        return Codes(np.full(n_rows, -1, np.int32), [])
    none = np.zeros(0, np.int64)
    return Bag(np.zeros(n_rows + 1, np.int64), none, None, [], np.zeros(n_rows, bool))


def to_reals(name: str, raw: Raw) -> Reals:
    """Numbers; missing becomes NaN."""
    raw = _plain(raw)
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "fiub":
        if raw.dtype in (np.float32, np.float64) and raw.dtype.isnative:
            return Reals(raw)
        return Reals(raw.astype(np.float32 if raw.dtype == np.float16 else np.float64))
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        kind = raw.type
        if pa.types.is_null(kind):
            return Reals(np.full(len(raw), np.nan))
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            if not pa.types.is_decimal(kind):
                raise _wrong(name, raw, "a number")
            raw = raw.cast(pa.float64())
        if kind not in (pa.float32(), pa.float64()):
            raw = raw.cast(pa.float64(), safe=False)
        return Reals(to_numpy(_combined(raw)))
    values = np.full(len(raw), np.nan)
    for row, value in enumerate(raw):
        if isinstance(value, NUMBERS):
            try:
                values[row] = value
            except OverflowError:
                raise DataError("a number that a double can hold", got=value, column=name, row=row) from None
        elif not is_missing(value):
            raise DataError("a number", got=value, column=name, row=row)
    return Reals(values)


def to_flags(name: str, raw: Raw) -> Flags:
    """Yes or no; missing becomes -1 or NaN."""
    raw = _plain(raw)
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "fiub":
        if raw.dtype.kind == "i" and (raw < 0).any():
            row = int(np.argmax(raw < 0))
            raise DataError("a boolean (0, 1, true, false)", got=raw[row], column=name, row=row)
        if raw.dtype in (np.float64, np.float32, np.int8, np.uint8, np.int64, np.bool_):
            return Flags(raw)
        return Flags(raw.astype(np.float64 if raw.dtype.kind in "fu" else np.int64))
    if isinstance(raw, (pa.Array, pa.ChunkedArray)) and pa.types.is_boolean(raw.type):
        return Flags(to_numpy(_combined(raw), null=-1))
    try:
        return Flags(to_reals(name, raw).values)
    except DataError as error:
        wanted = "a boolean (0, 1, true, false)"
        raise DataError(wanted, got=error.got, column=name, row=error.row) from None


def to_codes(name: str, raw: Raw) -> Codes:
    """Categories; missing becomes a code outside the keys."""
    if type(raw) is np.ndarray and raw.dtype.kind == "U" and raw.nbytes < 2**31:
        return _text_codes(raw)
    raw = _plain(raw)
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "iub":
        return _integer_codes(raw)
    if isinstance(raw, np.ndarray) and raw.dtype.kind == "f":
        keys, codes = np.unique(raw, return_inverse=True)
        n_keys = len(keys) - int(np.isnan(keys).any())
        return Codes(codes.astype(np.int32), [_number(key) for key in keys[:n_keys].tolist()])
    if isinstance(raw, np.ndarray):
        raw = raw.tolist()
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        if pa.types.is_integer(raw.type) and raw.null_count == 0:
            return _integer_codes(to_numpy(_combined(raw)))
        if pa.types.is_nested(raw.type):
            raise _wrong(name, raw, "a category")
        return _without_missing(*coded(_combined(raw)))
    if len(raw) > _SHORT and all(type(value) is str for value in raw):
        found = kernels.active.texts(raw)
        if found is not None and len(found[1]) < 2**31:  # or half of a surrogate pair
            codes, first = kernels.active.words(found[0].astype(np.int32), found[1], None)
            return Codes(codes, [raw[i] for i in first.tolist()])
    return _list_codes(name, raw)


def coded(raw: Any) -> tuple[np.ndarray, list[Any]]:
    """An Arrow array as the codes of its rows (-1 where it is null) and the different values."""
    if pa.types.is_string(raw.type):
        _, offsets, data = raw.buffers()
        bounds = np.frombuffer(offsets, np.int32, len(raw) + 1, raw.offset * 4) if len(raw) else np.zeros(1, np.int32)
        content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        valid = valid_rows(raw) if raw.null_count else None
        codes, first = kernels.active.words(bounds, content, valid)
        return codes, raw.take(integers(first)).to_pylist()
    encoded = raw if pa.types.is_dictionary(raw.type) else raw.dictionary_encode()
    indices = encoded.indices if encoded.indices.type == pa.int32() else encoded.indices.cast(pa.int32())
    return to_numpy(indices, null=-1), encoded.dictionary.to_pylist()


def _text_codes(raw: np.ndarray) -> Codes:
    """An array of texts of fixed width: equal texts have equal bytes."""
    content = np.ascontiguousarray(raw).view(np.uint8).reshape(-1)
    bounds = np.arange(0, raw.nbytes + 1, max(raw.dtype.itemsize, 1), dtype=np.int32)
    codes, first = kernels.active.words(bounds[: len(raw) + 1], content, None)
    return Codes(codes, raw[first].tolist())


def _list_codes(name: str, raw: list[Any]) -> Codes:
    index: dict[Key, int] = {}
    codes = np.full(len(raw), -1, np.int32)
    kind: str | None = None
    for row, value in enumerate(raw):
        if is_missing(value):
            continue
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, (list, dict, set, tuple)):
            raise DataError("a category", got=value, column=name, row=row)
        own = rough_kind(value)
        kind = kind or own
        if own != kind:
            raise DataError(f"one type of value ({kind})", got=value, column=name, row=row)
        codes[row] = index.setdefault(_number(value), len(index))
    return Codes(codes, list(index))


def _integer_codes(values: np.ndarray) -> Codes:
    if values.dtype == np.bool_:
        return Codes(values.view(np.int8), [False, True])
    if values.dtype in (np.int8, np.uint8, np.int16):
        info = np.iinfo(values.dtype)
        return Codes(values, range(info.min, info.max + 1))
    if values.dtype == np.uint64 and len(values) and values.max() >= 2**63:
        keys, codes = np.unique(values, return_inverse=True)
        return Codes(codes.astype(np.int32), keys.tolist())
    if values.dtype not in _WIDE:
        values = values.astype(np.int64)
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if high - low < _SPAN:
        return Codes(values, range(low, high + 1))
    keys, codes = np.unique(values, return_inverse=True)
    return Codes(codes.astype(np.int32), keys.tolist())


def to_bag(name: str, raw: Raw, separator: str | None) -> Bag:
    """Bags of tokens: sparse rows, lists, maps, or text split at a separator."""
    if hasattr(raw, "tocsr"):
        return _sparse_bag(name, raw.tocsr())
    if isinstance(raw, np.ndarray):
        raw = raw.tolist()
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        if pa.types.is_string(raw.type) or pa.types.is_large_string(raw.type):
            return _text_bag(name, _combined(raw), separator)
        raw = _combined(raw).to_pylist() if not pa.types.is_map(raw.type) else _maps(_combined(raw))
    index: dict[Key, int] = {}
    indptr = [0]
    indices: list[int] = []
    amounts: list[float] = []
    present = np.ones(len(raw), bool)
    for row, value in enumerate(raw):
        if not isinstance(value, (list, tuple, set, frozenset, Mapping, np.ndarray)) and is_missing(value):
            present[row] = False
            indptr.append(len(indices))
            continue
        for token, amount in _tokens(name, row, value, separator).items():
            indices.append(index.setdefault(token, len(index)))
            amounts.append(amount)
        indptr.append(len(indices))
    return Bag(
        np.array(indptr, np.int64),
        np.array(indices, np.int64),
        np.array(amounts, np.float64),
        list(index),
        None if present.all() else present,
    )


def _text_bag(name: str, raw: Any, separator: str | None) -> Bag:
    """Bags of text: each different text is split once."""
    codes, values = coded(raw)
    try:
        once = to_bag(name, values, separator)
    except DataError as error:
        raise error.at(row=int(np.argmax(codes == error.row))) from None
    amounts = None if separator is not None else once.amounts
    return Bag(once.indptr, once.indices, amounts, once.keys, None if raw.null_count == 0 else codes >= 0, codes)


def _tokens(name: str, row: int, value: Any, separator: str | None) -> dict[Key, float]:
    """The tokens of one bag and their amounts."""
    if isinstance(value, str) and separator is not None:
        return dict.fromkeys((part.strip() for part in value.split(separator) if part.strip()), 1.0)
    bag: dict[Key, float] = {}
    if isinstance(value, Mapping):
        for token, amount in value.items():
            if is_missing(amount):
                continue
            number = isinstance(amount, (int, float, np.number))
            if not number or not 0 <= amount < np.inf:
                raise DataError("an amount (a number that is not negative)", got=amount, column=name, row=row)
            if amount:
                bag[token] = float(amount)
        return bag
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple, set, frozenset)):
        for token in sort_keys(value) if isinstance(value, (set, frozenset)) else value:
            if not is_missing(token):
                bag[token] = bag.get(token, 0.0) + 1.0
        return dict.fromkeys(bag, 1.0) if separator is not None else bag
    wanted = "a list of tags or text with tags" if separator is not None else "a list of tokens or a map of amounts"
    raise DataError(wanted, got=value, column=name, row=row)


def _sparse_bag(name: str, matrix: Any) -> Bag:
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    data = matrix.data
    if data.dtype.kind not in "fiub":
        raise DataError("amounts (numbers that are not negative)", got=str(data.dtype), column=name)
    if data.dtype not in (np.float64, np.float32, np.int64, np.int32):
        data = data.astype(np.float64)
    # one pass: read as unsigned, the bits of negative numbers, infinities and NaN are the greatest
    bits = data.view(f"u{data.dtype.itemsize}")
    limit = np.array(np.inf, data.dtype).view(bits.dtype) if data.dtype.kind == "f" else np.iinfo(data.dtype).max + 1
    tops = in_threads(lambda start, stop: bits[start:stop].max(initial=0), len(data))
    if max(tops) >= limit and not np.all((data >= 0) & (data < np.inf)):  # -0.0 is no reason to refuse
        place = int(np.argmax(~((data >= 0) & (data < np.inf))))
        row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
        came = f"{data[place]} at column {matrix.indices[place]}"
        raise DataError("an amount (a number that is not negative)", got=came, column=name, row=row)
    return Bag(matrix.indptr, matrix.indices, data, range(matrix.shape[1]))


def _maps(raw: Any) -> list[dict[Any, Any] | None]:
    return [None if row is None else dict(row) for row in raw.to_pylist()]


def _plain(raw: Raw) -> Raw:
    """Lists of numbers stay lists; arrays of other types than numbers become lists; dictionaries of numbers open."""
    if isinstance(raw, np.ma.MaskedArray):
        return raw.tolist() if raw.mask.any() else raw.data
    if isinstance(raw, np.ndarray) and raw.dtype.kind not in "fiub":
        return raw.tolist()
    if isinstance(raw, np.ndarray) and not raw.dtype.isnative:
        return raw.astype(raw.dtype.newbyteorder("="))
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        if isinstance(raw.type, pa.BaseExtensionType):
            raw = _combined(raw).storage
        if pa.types.is_dictionary(raw.type) and pa.types.is_primitive(raw.type.value_type):
            return _combined(raw).dictionary_decode()
    return raw


def _combined(raw: Any) -> Any:
    return raw.combine_chunks() if isinstance(raw, pa.ChunkedArray) else raw


def _number(value: Any) -> Any:
    """A whole real as an integer, so that 1.0 in one batch and 1 in another are one key."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _without_missing(codes: np.ndarray, keys: list[Any]) -> Codes:
    """Each key once, those that mean missing (NaN) taken out, whole reals as integers."""
    index: dict[Key, int] = {}
    code = [-1 if is_missing(key) else index.setdefault(_number(key), len(index)) for key in keys]
    if code == list(range(len(code))):
        return Codes(codes, list(index))
    return Codes(np.array([*code, -1], np.int32)[codes], list(index))


def _wrong(name: str, raw: Any, wanted: str) -> DataError:
    """The error for an Arrow column of the wrong type, with its first value."""
    valid = np.flatnonzero(valid_rows(_combined(raw)))
    row = int(valid[0]) if len(valid) else None
    came = raw[row].as_py() if row is not None else str(raw.type)
    return DataError(wanted, got=came, column=name, row=row)
