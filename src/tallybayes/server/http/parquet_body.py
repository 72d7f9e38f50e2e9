"""The first rows of a Parquet file that a client has sent, whose size in memory is limited while they are decoded.

A few bytes of Parquet can stand for gigabytes: pages are compressed, a dictionary has a value once that all rows name,
runs repeat a value or a null, and texts repeat the beginning of the text before. What the file says about the sizes of
its columns is not believed. First the headers of its pages are read, which the decoder itself goes by: they bound what
one page, one value and one list can become. They and the footer are read here (Thrift, see parquet.thrift): pyarrow
has no function for the headers, and ends the process at some damage of the footer (seen with 26.0). Then rows are
decoded a few at a time, texts as dictionaries, and the bytes of their values are counted before any row gets its own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tallybayes.errors import DataError, Described
from tallybayes.server.http.arrow_body import expanded_size

__all__ = ["read_parquet"]

_LARGEST = 2**27  # bytes of the values of the rows, and of the pages that are decoded at the same time
_BATCH_BYTES, _BATCH_ROWS = 2**24, 1000  # of the rows that are decoded at once
_FOOTER = 2**21  # bytes; the objects that describe its columns take many times as much
_PAGES = 100_000  # whose headers are read, in about a second
_DELTA_BYTE_ARRAY = 7  # an encoding of Parquet: each text may repeat the one before
_DELTAS = (6, _DELTA_BYTE_ARRAY)  # in 6, texts have bytes of their own
_POINTER = 8  # bytes, of a value or of its place
_ERRORS = (pa.ArrowException, OSError, ValueError, NotImplementedError, IndexError, struct.error, RecursionError)


def read_parquet(body: bytes, n_rows: int) -> pa.Table:
    """The first rows of a Parquet file; a DataError if they are too large, or if the file is damaged."""
    try:
        return _decode(body, n_rows)
    except DataError:
        raise
    except _ERRORS as error:
        raise DataError("a complete Parquet file", got=Described(str(error).partition("\n")[0][:200])) from None


def _decode(body: bytes, n_rows: int) -> pa.Table:
    (n_footer,) = struct.unpack_from("<I", body, len(body) - 8)
    if n_footer > _FOOTER:
        raise _too_large(f"a Parquet file with a footer of at most {_FOOTER >> 20} MB", n_footer)
    facts = pq.read_metadata(pa.BufferReader(body))
    leaves = [facts.schema.column(i) for i in range(len(facts.schema))]
    schema = facts.schema.to_arrow_schema()
    batches: list[Any] = []
    n_bytes, n_pages, n_left = 0, 0, n_rows
    for i, group in enumerate(_list_of(_thrift_struct(body, len(body) - 8 - n_footer)[0], 4)):
        columns = zip(_list_of(group, 1), leaves, strict=True)
        chunks = [_chunk_facts(body, column.get(3), leaf, n_pages) for column, leaf in columns]
        n_pages += sum(chunk.n_pages for chunk in chunks)
        needed = sum(chunk.n_bytes for chunk in chunks)
        if needed > _LARGEST:
            raise _too_large(f"a Parquet file with at most {_LARGEST >> 20} MB of values in its pages", needed)
        row_bytes = sum(chunk.row_bytes for chunk in chunks)
        size = max(1, min(_BATCH_ROWS, n_left, _BATCH_BYTES // max(row_bytes, 1)))
        texts = [leaf.path for leaf, chunk in zip(leaves, chunks, strict=True) if chunk.is_dictionary]
        file = pq.ParquetFile(pa.BufferReader(body), read_dictionary=texts)
        for batch in file.iter_batches(size, row_groups=[i], use_threads=False):
            batch.validate(full=True)
            part = batch.slice(0, n_left)
            n_bytes += _POINTER * part.num_rows * part.num_columns + sum(map(expanded_size, part.columns))
            if n_bytes <= _LARGEST:
                batches.append(part.cast(schema))
                n_bytes += batches[-1].nbytes
            if n_bytes > _LARGEST:
                raise _too_large(f"a Parquet file with at most {_LARGEST >> 20} MB of values in {n_rows:,} rows")
            n_left -= part.num_rows
            if not n_left:
                return pa.Table.from_batches(batches, schema)
    return pa.Table.from_batches(batches, schema)


class _ChunkFacts(NamedTuple):
    """A column of a row group: bytes that are in memory at once, bytes of a row, number of pages.

    is_dictionary: whether it has texts that can be decoded as a dictionary; then they are not in the bytes of a row.
    """

    n_bytes: int
    row_bytes: int
    n_pages: int
    is_dictionary: bool


def _chunk_facts(body: bytes, chunk: Any, leaf: Any, n_before: int) -> _ChunkFacts:
    """What one column of a row group can become, by the headers of its pages; chunk: what the footer says of it."""
    width = max(leaf.length or 0, _POINTER)
    dictionary, largest, n_values, n_pages = 0, 0, 0, 0
    is_dictionary = leaf.physical_type == "BYTE_ARRAY"
    for page in _pages(body, chunk):
        n_pages += 1
        if n_before + n_pages > _PAGES:
            raise _too_large(f"a Parquet file with at most {_PAGES:,} pages")
        size, data = _integer_of(page, 2), page.get(5, page.get(8))
        if not isinstance(data, dict):
            dictionary = max(dictionary, size)
            continue
        largest, n_values = max(largest, size), n_values + _integer_of(data, 1)
        encoding = _integer_of(data, 2 if 5 in page else 4)
        is_dictionary = is_dictionary and encoding not in _DELTAS  # pyarrow has no dictionaries of these
        if encoding == _DELTA_BYTE_ARRAY:
            width = max(width, size)
    is_repeated = leaf.max_repetition_level > 0  # one row may have all of them
    return _ChunkFacts(dictionary + largest + (n_values * width if is_repeated else 0), width, n_pages, is_dictionary)


def _pages(body: bytes, chunk: Any) -> Iterator[dict[int, Any]]:
    """The headers of the pages of a column, as the decoder finds them."""
    place = _integer_of(chunk, 9)
    if chunk.get(11):
        place = min(place, _integer_of(chunk, 11))  # the dictionary is before the rows
    end = place + _integer_of(chunk, 7)
    while place < end:
        header, place = _thrift_struct(body, place)
        place += _integer_of(header, 3)
        yield header


def _integer_of(fields: Any, number: int) -> int:
    """A field of a struct that must be an integer of at least 0."""
    value = fields.get(number) if isinstance(fields, dict) else None
    if type(value) is not int or value < 0:
        raise ValueError("a description of columns or pages that cannot be read")
    return value


def _list_of(fields: dict[int, Any], number: int) -> list[dict[int, Any]]:
    """A field of a struct that must be a list of structs."""
    value = fields.get(number)
    if not isinstance(value, list):
        raise ValueError("a footer that cannot be read")
    return value


def _thrift_struct(data: bytes, place: int) -> tuple[dict[int, Any], int]:
    """A struct in the compact protocol of Thrift: integers, structs and lists of them by number; and its end."""
    members: dict[int, Any] = {}
    number = 0
    while head := data[place]:
        kind, step, place = head & 15, head >> 4, place + 1
        if step:
            number += step
        else:
            number, place = _thrift_integer(data, place)
        members[number], place = (kind == 1, place) if kind in (1, 2) else _thrift_value(data, place, kind)
    return members, place + 1


def _thrift_value(data: bytes, place: int, kind: int) -> tuple[Any, int]:
    """A value of the compact protocol; those that are not needed are skipped."""
    if kind in (4, 5, 6):
        return _thrift_integer(data, place)
    if kind == 12:
        return _thrift_struct(data, place)
    if kind == 8:  # bytes
        n_bytes, place = _thrift_number(data, place)
        return None, place + n_bytes
    if kind in (9, 10):  # a list or a set
        n_values, inner, place = data[place] >> 4, data[place] & 15, place + 1
        if n_values == 15:
            n_values, place = _thrift_number(data, place)
        if n_values > len(data):
            raise ValueError("a list that is longer than the file")
        structs = []
        for _ in range(n_values):
            value, place = _thrift_value(data, place, 3 if inner in (1, 2) else inner)
            if inner == 12:
                structs.append(value)
        return structs if inner == 12 else None, place
    if kind in (1, 2, 3, 7):
        return None, place + (8 if kind == 7 else 1)
    raise ValueError("a page whose header cannot be read")


def _thrift_number(data: bytes, place: int) -> tuple[int, int]:
    """A number of variable length, and its end."""
    value = shift = 0
    while shift < 64:
        part, place = data[place], place + 1
        value |= (part & 127) << shift
        if part < 128:
            return value, place
        shift += 7
    raise ValueError("a number without an end")


def _thrift_integer(data: bytes, place: int) -> tuple[int, int]:
    """A number with a sign."""
    value, place = _thrift_number(data, place)
    return (value >> 1) ^ -(value & 1), place


def _too_large(expected: str, n_bytes: int | None = None) -> DataError:
    got = Described("more" if n_bytes is None else f"{n_bytes >> 20:,} MB")
    return DataError(expected, got=got, hint="send some of its rows")
