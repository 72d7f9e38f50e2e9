"""A stream of Arrow that a client has sent, as a table whose size in memory is known to be limited.

The limits of a server are on the bytes of a body and on its rows. Compressed buffers are refused, because a few
kilobytes can stand for gigabytes. So are values that are stored once and mean many (dictionaries, views) where they
would be too long when each row has its own, and the rare types of which that is not easily said.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tallybayes.errors import Described
from tallybayes.server.http_problem import HttpError
from tallybayes.server.row_limit import too_many_rows

__all__ = ["read_arrow"]

_LONGEST = 2**28  # bytes of the values of a column, each row with its own
_DICTIONARY = "dictionary"
_BATCH_FIELD, _COMPRESSION_FIELD = 1, 3  # of the tables DictionaryBatch and RecordBatch in Arrow's Message.fbs
_HEADER_FIELD = 2  # of the table Message
# What damaged or unusual bytes raise: pyarrow raises NotImplementedError for types that it cannot read from a stream.
_ERRORS = (pa.ArrowException, OSError, ValueError, NotImplementedError, struct.error)


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
    if table.num_rows > most:
        raise too_many_rows(most, table.num_rows)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if sum(_expanded_size(part, name) for part in column.chunks) > _LONGEST:
            expected = f"at most {_LONGEST >> 20} MB of values in a column"
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


def _expanded_size(array: Any, name: str) -> int:
    """The bytes of the values of an array if each row has its own; 0 where no two rows can share a value."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        if _is_plain(kind.value_type):
            return 0
        if pa.types.is_nested(kind.value_type) or _is_view(kind.value_type):
            raise _not_plain(kind, name)
        lengths = pc.binary_length(array.dictionary).cast(pa.int64())
        return int(pc.sum(lengths.take(array.indices)).as_py() or 0)
    if _is_view(kind):
        views = np.frombuffer(array.buffers()[1] or b"", np.int32).reshape(-1, 4)  # the first number is the length
        return int(views[array.offset : array.offset + len(array), 0].sum(dtype=np.int64))
    if not _has_own_values(kind):
        raise _not_plain(kind, name)
    return 0


def _is_plain(kind: Any) -> bool:
    """Whether all values of a type have the same small size."""
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind))


def _is_view(kind: Any) -> bool:
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _has_own_values(kind: Any) -> bool:
    """Whether each row of a type has bytes of its own, and each part of it."""
    if pa.types.is_struct(kind):
        return all(_has_own_values(kind.field(i).type) for i in range(kind.num_fields))
    if pa.types.is_map(kind):
        return _has_own_values(kind.key_type) and _has_own_values(kind.item_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _has_own_values(kind.value_type)
    long = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return _is_plain(kind) or pa.types.is_fixed_size_binary(kind) or any(is_kind(kind) for is_kind in long)


def _not_plain(kind: Any, name: str) -> HttpError:
    return HttpError.of(415, "a type of Arrow whose rows have their own values", got=Described(str(kind)), column=name)
