"""A stream of Arrow that a client has sent, as a table whose size in memory is known to be limited.

The limits of a server are on the bytes of a body and on its rows. Compressed buffers are refused, because a few
kilobytes can stand for gigabytes. So are values that are stored once and mean many (dictionaries, which columns may
share, views, lists of values that take no bytes) where they would be too long when each row has its own, and the rare
types of which that is not easily said.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tallybayes.errors import Described
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.row_source import RowLimit

__all__ = ["expanded_size", "read_arrow", "write_arrow"]

_LONGEST = 2**28  # bytes of the values that rows share, each row with its own
_POINTER = 8  # bytes of a member of a list as an object of Python, at least
_DICTIONARY = "dictionary"
_BATCH_FIELD, _COMPRESSION_FIELD = 1, 3  # of the tables DictionaryBatch and RecordBatch in Arrow's Message.fbs
_HEADER_FIELD = 2  # of the table Message
# What damaged or unusual bytes raise: pyarrow raises NotImplementedError for types that it cannot read from a stream.
_ERRORS = (pa.ArrowException, OSError, ValueError, NotImplementedError, struct.error)
_PLAIN = (pa.types.is_primitive, pa.types.is_decimal, pa.types.is_null)  # all values have the same small size
_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
_VIEW = (pa.types.is_string_view, pa.types.is_binary_view)
_LIST = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def write_arrow(table: pa.Table) -> bytes:
    """A table as a stream of Arrow."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def read_arrow(content: bytes, most: int) -> pa.Table:
    """A stream of Arrow as a table, checked: its offsets may point anywhere."""
    try:
        _check_uncompressed(content)
        with pa.ipc.open_stream(content) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except _ERRORS as error:
        got = Described(str(error).partition("\n")[0][:200])
        raise HttpError.of(400, "a stream of Arrow record batches", got=got) from None
    RowLimit(most).check(table.num_rows)
    n_bytes = 0
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not _is_readable(column.type):
            got = Described(str(column.type))
            raise HttpError.of(415, "a type of Arrow whose rows have their own values", got=got, column=name)
        n_bytes += sum(map(expanded_size, column.chunks))
        if n_bytes > _LONGEST:
            expected = f"at most {_LONGEST >> 20} MB of values"
            raise HttpError.of(413, expected, got=Described("more, by references to the same values"), column=name)
    return table


def _check_uncompressed(content: bytes) -> None:
    """Refuse a stream with compressed buffers."""
    reader = pa.ipc.MessageReader.open_stream(pa.py_buffer(content))
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return
        if message.type in (_DICTIONARY, "record batch") and _is_compressed(message):
            hint = "write it without compression: the limits are on the size of the body"
            raise HttpError.of(415, "Arrow without compression", got=Described("compressed buffers"), hint=hint)


def _is_compressed(message: Any) -> bool:
    """Whether the table RecordBatch of a message has the field `compression`."""
    data = message.metadata.to_pybytes()
    (root,) = struct.unpack_from("<I", data)
    batch = _table_of(data, root, _HEADER_FIELD)
    if message.type == _DICTIONARY:
        batch = _table_of(data, batch, _BATCH_FIELD)
    return _place_of(data, batch, _COMPRESSION_FIELD) is not None


def _place_of(data: bytes, table: int, field: int) -> int | None:
    """Where a field of a table of FlatBuffers is; None if the table does not have it."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    (n_bytes,) = struct.unpack_from("<H", data, vtable)
    entry = 4 + 2 * field
    offset = struct.unpack_from("<H", data, vtable + entry)[0] if entry + 2 <= n_bytes else 0
    return table + offset if offset else None


def _table_of(data: bytes, table: int, field: int) -> int:
    """The table that a field of a table refers to."""
    place = _place_of(data, table, field)
    if place is None:
        raise ValueError("a message of Arrow without its header")
    return int(place + struct.unpack_from("<I", data, place)[0])


def expanded_size(array: Any, *, is_member: bool = False) -> int:
    """The bytes of the values of an array if each row has its own; 0 where no two rows can share a value.

    is_member: whether the values are members of lists or structs, which become objects even where they take no bytes.
    """
    kind = array.type
    n_bytes = _POINTER * len(array) if is_member else 0
    if pa.types.is_dictionary(kind):
        if _is(_PLAIN, kind.value_type):
            return n_bytes
        lengths = pc.binary_length(array.dictionary).cast(pa.int64())
        return n_bytes + int(pc.sum(lengths.take(array.indices)).as_py() or 0)
    if _is(_VIEW, kind):
        views = np.frombuffer(array.buffers()[1] or b"", np.int32).reshape(-1, 4)  # the first number is the length
        return n_bytes + int(views[array.offset : array.offset + len(array), 0].sum(dtype=np.int64))
    if pa.types.is_struct(kind):
        return n_bytes + sum(expanded_size(part, is_member=True) for part in array.flatten())
    if pa.types.is_map(kind):
        return n_bytes + sum(expanded_size(part, is_member=True) for part in (array.keys, array.items))
    if _is(_LIST, kind):
        return n_bytes + expanded_size(array.flatten(), is_member=True)
    return n_bytes


def _is_readable(kind: Any) -> bool:
    """Whether the values of a type can be counted, and be read afterwards."""
    if pa.types.is_dictionary(kind):
        return _is((*_PLAIN, *_TEXT), kind.value_type)
    return _is(_VIEW, kind) or _has_own_values(kind)


def _is(tests: tuple[Callable[[Any], bool], ...], kind: Any) -> bool:
    return any(test(kind) for test in tests)


def _has_own_values(kind: Any) -> bool:
    """Whether each row of a type has bytes of its own, and each part of it."""
    if pa.types.is_struct(kind):
        return all(_has_own_values(kind.field(i).type) for i in range(kind.num_fields))
    if pa.types.is_map(kind):
        return _has_own_values(kind.key_type) and _has_own_values(kind.item_type)
    if _is(_LIST, kind):
        return _has_own_values(kind.value_type)
    return _is((*_PLAIN, pa.types.is_fixed_size_binary, *_TEXT), kind)
