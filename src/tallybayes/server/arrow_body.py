"""Streams of Arrow in request bodies, read with care: they come from strangers.

Compressed batches are refused, because a few kilobytes can become gigabytes; whether a batch is compressed is read from
its header (a FlatBuffers table, see https://arrow.apache.org/docs/format/Columnar.html) before anything is unpacked.
Offsets are checked, which a forged stream could let point anywhere.
"""

from __future__ import annotations

import struct

import pyarrow as pa

from tallybayes.errors import Described
from tallybayes.server.http_problem import HttpError

__all__ = ["read_arrow"]

_DICTIONARY, _BATCH = 2, 3  # kinds of headers of messages
_KIND, _HEADER = 1, 2  # fields of a message
_DATA = 1  # field of a dictionary: its batch
_COMPRESSION = 3  # field of a batch


def read_arrow(content: bytes) -> pa.Table:
    """A stream of Arrow as a table; a problem (400, 415) if it is damaged or compressed."""
    try:
        if any(_is_compressed(message.metadata.to_pybytes()) for message in pa.ipc.MessageReader.open_stream(content)):
            hint = "write the stream without compression"
            got = Described("compressed batches")
            raise HttpError.of(415, "a stream of Arrow that is not compressed", got=got, hint=hint)
        with pa.ipc.open_stream(content) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, NotImplementedError, struct.error, IndexError) as error:
        got = Described(str(error).partition("\n")[0][:200])
        raise HttpError.of(400, "a stream of Arrow record batches", got=got) from None
    return table


def _is_compressed(metadata: bytes) -> bool:
    """Whether the message with this header is a compressed batch.

    >>> import io
    >>> def first_batch(**options):
    ...     sink, table = io.BytesIO(), pa.table({"a": [1] * 1000})
    ...     with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
    ...         writer.write_table(table)
    ...     return list(pa.ipc.MessageReader.open_stream(sink.getvalue()))[1].metadata.to_pybytes()
    >>> _is_compressed(first_batch()), _is_compressed(first_batch(compression="lz4"))
    (False, True)
    """
    message = struct.unpack_from("<I", metadata)[0]
    kind = _field(metadata, message, _KIND)
    header = _field(metadata, message, _HEADER)
    if kind is None or header is None or metadata[kind] not in (_DICTIONARY, _BATCH):
        return False
    table = _target(metadata, header)
    if metadata[kind] == _DICTIONARY:
        data = _field(metadata, table, _DATA)
        if data is None:
            return False
        table = _target(metadata, data)
    return _field(metadata, table, _COMPRESSION) is not None


def _field(metadata: bytes, table: int, number: int) -> int | None:
    """Where a field of a table is; None if it is absent."""
    fields = table - struct.unpack_from("<i", metadata, table)[0]
    place = 4 + 2 * number
    if place >= struct.unpack_from("<H", metadata, fields)[0]:
        return None
    offset: int = struct.unpack_from("<H", metadata, fields + place)[0]
    return table + offset if offset else None


def _target(metadata: bytes, place: int) -> int:
    """Where the table is that a field refers to."""
    return place + int(struct.unpack_from("<I", metadata, place)[0])
