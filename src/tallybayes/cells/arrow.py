"""Arrow arrays as NumPy arrays and lists, and back, by their buffers.

pyarrow's own `to_numpy`, `array`, `scalar` and `fill_null` import pandas where it is installed, and so do its functions
of a value of Python, which would delay every command by a fifth of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes import kernels

__all__ = [
    "as_doubles",
    "combine_chunks",
    "doubles",
    "integers",
    "is_text_type",
    "is_true",
    "pc",
    "strings",
    "text_buffers",
    "text_scalar",
    "texts_at",
    "to_list",
    "to_numpy",
    "valid_rows",
    "wide_texts",
    "without_views",
    "word_counts",
]


class _Compute:
    """The functions of pyarrow.compute, which is imported when one is used: that takes half as long as NumPy."""

    def __getattr__(self, name: str) -> Any:
        import pyarrow.compute

        return getattr(pyarrow.compute, name)


pc: Any = _Compute()


def to_numpy(array: Any, null: float = np.nan) -> NDArray[Any]:
    """Numbers or booleans as NumPy, without a copy where there are no nulls; a null becomes NaN, or the value given.

    >>> to_numpy(pa.array([1.5, None])).tolist(), to_numpy(pa.array([True, None]), null=-1).tolist()
    ([1.5, nan], [1, -1])
    """
    data, n = array.buffers()[1], len(array)
    if pa.types.is_boolean(array.type):
        values: NDArray[Any] = _bits(data, array.offset, n).view(np.int8)
    else:
        dtype = np.dtype(array.type.to_pandas_dtype())
        empty = data is None or not n
        values = np.zeros(n, dtype) if empty else _from_buffer(data, dtype, n, array.offset)
    if not array.null_count:
        return values.view(bool) if pa.types.is_boolean(array.type) else values
    return np.where(valid_rows(array), values, null if null != null else values.dtype.type(null))


def _from_buffer(buffer: Any, dtype: np.dtype[Any], n: int, offset: int) -> NDArray[Any]:
    """Numbers in a buffer, from one of them on; copied if they are not aligned, which Arrow recommends only."""
    values = np.frombuffer(buffer, dtype, n, offset * dtype.itemsize)
    return values if values.flags.aligned else values.copy()


def to_list(array: Any) -> list[Any]:
    """The values; bytes in a text that are not UTF-8 become U+FFFD.

    >>> to_list(pa.array(["a", None]))
    ['a', None]
    """
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        values = array.cast(pa.large_binary()).to_pylist()
        return [None if value is None else value.decode("utf-8", "replace") for value in values]


def as_doubles(array: Any) -> Any:
    """An Arrow array of numbers or booleans as doubles; decimals are rounded to the nearest one.

    >>> as_doubles(pa.array(["3.30"]).cast(pa.decimal128(5, 2))).to_pylist()  # Arrow's own cast: 3.3000000000000003
    [3.3]
    """
    array = array.cast(pa.string()) if pa.types.is_decimal(array.type) else array
    return array.cast(pa.float64(), safe=False)


def combine_chunks(array: Any) -> Any:
    """A chunked array as a single one, without a copy where it is one already."""
    if not isinstance(array, pa.ChunkedArray):
        return array
    return array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()


def is_text_type(kind: Any) -> bool:
    """Whether an Arrow type is one of texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def without_views(array: Any) -> Any:
    """An array whose texts and bytes are no views, within lists and structures too: most of Arrow cannot use views.

    >>> without_views(pa.array(["a", None], pa.string_view())).type, without_views(pa.array([1])).type
    (DataType(large_string), DataType(int64))
    """
    plain = _plain_type(array.type)
    return array if plain == array.type else array.cast(plain)


def _plain_type(kind: Any) -> Any:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _plain_type(kind.value_type), kind.ordered)
    if pa.types.is_list(kind):
        return pa.list_(_plain_field(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(_plain_field(kind.value_field))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field), kind.list_size)
    if pa.types.is_struct(kind):
        return pa.struct(list(map(_plain_field, kind)))
    return kind


def _plain_field(field: Any) -> Any:
    return field.with_type(_plain_type(field.type))


def text_buffers(array: Any) -> tuple[NDArray[np.integer], NDArray[np.uint8], NDArray[np.bool_] | None]:
    """Where each text begins and ends, the bytes of all texts, and which are not null (None: all).

    >>> bounds, content, _ = text_buffers(pa.array(["a", "bc"]))
    >>> bounds.tolist(), content.tobytes()[:3]
    ([0, 1, 3], b'abc')
    """
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    dtype = np.dtype(np.int64 if wide else np.int32)
    _, offsets, data = array.buffers()
    n = len(array)
    bounds = _from_buffer(offsets, dtype, n + 1, array.offset) if n else np.zeros(1, dtype)
    content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return bounds, content, valid_rows(array) if array.null_count else None


def texts_at(array: Any, rows: NDArray[np.integer]) -> list[str]:
    """The texts in some rows that are not null; bytes that are not UTF-8 become U+FFFD.

    >>> texts_at(pa.array(["a", "bc", "d"]), np.array([1, 0]))
    ['bc', 'a']
    """
    bounds, content, _ = text_buffers(array)
    data = content.data
    places = zip(bounds[rows].tolist(), bounds[rows + 1].tolist(), strict=True)
    return [str(data[start:stop], "utf-8", "replace") for start, stop in places]


def wide_texts(array: Any) -> Any:
    """Texts whose places are numbers of 64 bits, so that they may have more than 2 GB together.

    >>> wide_texts(pa.array(["a", None, "bc"])[1:]).to_pylist()
    [None, 'bc']
    """
    if not pa.types.is_string(array.type):
        return array if pa.types.is_large_string(array.type) else array.cast(pa.large_string())
    valid, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int32, array.offset + len(array) + 1) if len(array) else np.zeros(1, np.int32)
    buffers = [valid, pa.py_buffer(bounds.astype(np.int64)), data]
    return pa.Array.from_buffers(pa.large_string(), len(array), buffers, offset=array.offset if len(array) else 0)


def valid_rows(array: Any) -> NDArray[np.bool_]:
    """Where an array is not null."""
    bits = array.buffers()[0]
    if bits is None or array.null_count == 0:
        return np.ones(len(array), bool)
    return _bits(bits, array.offset, len(array))


def integers(values: NDArray[np.integer], valid: NDArray[np.bool_] | None = None) -> Any:
    """Integers as an Arrow array, null where they are not valid.

    >>> integers(np.array([3, 4])).to_pylist(), integers(np.array([3, 4]), np.array([True, False])).to_pylist()
    ([3, 4], [3, None])
    """
    return _numbers(pa.int64(), np.ascontiguousarray(values, np.int64), valid)


def doubles(values: NDArray[np.floating], valid: NDArray[np.bool_] | None = None) -> Any:
    """Real numbers as an Arrow array, null where they are not valid.

    >>> doubles(np.array([0.5, 1.0]), np.array([True, False])).to_pylist()
    [0.5, None]
    """
    return _numbers(pa.float64(), np.ascontiguousarray(values, np.float64), valid)


def _numbers(kind: Any, values: NDArray[Any], valid: NDArray[np.bool_] | None) -> Any:
    bits = None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(values)])


def strings(values: Sequence[str | None]) -> Any:
    """Texts as an Arrow array; half of a surrogate pair becomes a question mark.

    >>> strings(["a", None, "bc"]).to_pylist()
    ['a', None, 'bc']
    """
    packed = kernels.active.pack_texts(list(values))
    if packed is None:  # half of a surrogate pair
        encoded = [None if value is None else value.encode("utf-8", "replace") for value in values]
        packed = kernels.active.pack_texts([None if value is None else value.decode() for value in encoded])
    bounds, content, valid = packed
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [bits, pa.py_buffer(bounds), pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.large_string(), len(values), buffers)


def text_scalar(text: str, kind: Any) -> Any:
    """A text as a scalar of an Arrow type.

    >>> text_scalar("a", pa.string())
    <pyarrow.StringScalar: 'a'>
    """
    return strings([text]).cast(kind)[0]


def is_true(flags: Any) -> Any:
    """Booleans, false where they are null.

    >>> is_true(pa.array([True, None, False])).to_pylist()
    [True, False, False]
    """
    return pc.and_kleene(flags, pc.is_valid(flags))


def _bits(data: Any, start: int, n: int) -> NDArray[np.bool_]:
    if data is None or not n:
        return np.zeros(n, bool)
    packed = np.frombuffer(data, np.uint8, (start + n + 7) // 8 - start // 8, start // 8)
    return np.unpackbits(packed, count=start % 8 + n, bitorder="little")[start % 8 :].view(bool)


def word_counts(cells: Any) -> dict[str, int]:
    """How often each text occurs, most frequent first.

    >>> word_counts(pa.array(["b", "a", "b", None]))
    {'b': 2, 'a': 1}
    """
    counted = combine_chunks(cells.drop_null()).value_counts()
    values, counts = to_list(counted.field(0)), to_numpy(counted.field(1)).tolist()
    return dict(sorted(zip(values, counts, strict=True), key=lambda item: (-item[1], item[0])))
