"""A file that was dropped on the page, or a table that was pasted, as rows of plain values.

The body is read as `tally` reads files. Numbers and booleans of columns that the model knows have the types of the
model, other cells are as they are in the file. Archives, databases and files of statistics packages are refused: a
small body could grow without bound, or run queries.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import sys
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from tallybayes.arrays.chunks import split
from tallybayes.cells.arrow import to_list
from tallybayes.columns.batch import columns_to_read, with_parts
from tallybayes.columns.date_inference import check_order
from tallybayes.columns.schema import Schema
from tallybayes.doubts import collect_doubts, tell_doubts
from tallybayes.errors import DataError, Described, TallyError
from tallybayes.formatting import finite_json, json_text, shown
from tallybayes.io.files import Files
from tallybayes.io.formats.file_format import ReadOptions
from tallybayes.io.formats.input_file import temporary_copies
from tallybayes.io.formats.relation import is_arrow
from tallybayes.io.formats.statistics_file import statistics_kind
from tallybayes.server.http.arrow_body import read_arrow, write_arrow
from tallybayes.server.http.parquet_body import read_parquet
from tallybayes.server.http.request_rows import doubt_label_words, packed_kind, reading_notes
from tallybayes.server.http.service import check_stop
from tallybayes.server.live.change_request import MAX_NEW_COLUMNS
from tallybayes.tables.table import Table

__all__ = ["uploaded_rows"]

_LONGEST_NAME = 100  # bytes
_LONGEST = 2**26  # characters of the rows as JSON; names, which each row repeats, can be longer than the body
_ARROW_FILE = b"ARROW1\x00\x00"
_ROWS = 5_000  # as many as the page can work through
_PIECE = 100  # rows that become objects of Python at once
_SUFFIXES = {
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/json": ".json",
    "application/x-ndjson": ".jsonl",
    "application/jsonlines": ".jsonl",
    "message/rfc822": ".eml",
    "application/mbox": ".mbox",
    "application/vnd.apache.parquet": ".parquet",
    "application/vnd.apache.arrow.stream": ".arrow",
}
_EXPECTED = "a table as CSV, TSV, JSON, NDJSON, Parquet or Arrow, or mails"


def uploaded_rows(body: bytes, schema: Schema, *, media_type: str = "", name: str = "", limit: int = _ROWS) -> Any:
    r"""The names of the columns, and the first rows as dicts, of a body in any format of text, Parquet or Arrow.

    >>> from tallybayes.families import Gaussian
    >>> from tallybayes.columns.column_spec import ColumnSpec
    >>> schema = Schema("pet", {"kilos": ColumnSpec("kilos", Gaussian(), "numbers")})
    >>> uploaded_rows(b"name;kilos\nMimi;3,9\nRex;\n", schema)["rows"]
    [{'name': 'Mimi', 'kilos': 3.9}, {'name': 'Rex', 'kilos': None}]
    """
    if not body.strip():
        raise DataError(_EXPECTED, got=Described("an empty body"))
    kind = packed_kind(body) or ("a file of a statistics package" if statistics_kind(name, body[:64]) else None)
    if kind is not None:
        raise DataError(_EXPECTED, got=Described(kind), hint="unpack or export it first")
    with temporary_copies() as folder, collect_doubts() as doubts:
        path = Path(folder) / _file_name(name, media_type)
        path.write_bytes(_check(body, limit + 1))
        try:
            rows, is_truncated = _first_rows(_rows(path, schema), limit)
            _doubt_dates(rows, schema)
        except TallyError as error:  # the name of the temporary file would mean nothing to the reader
            raise error.at(file=name or None) from None
    columns = list(dict.fromkeys(column for row in rows[:100] for column in row))
    notes = reading_notes(doubts, str(path), name or "the rows")
    return {"columns": columns, "rows": rows, "truncated": is_truncated, "notes": list(notes)}


def _first_rows(rows: Iterator[dict[str, Any]], limit: int) -> tuple[list[dict[str, Any]], bool]:
    """As many rows as an answer may have, and whether there are more."""
    first: list[dict[str, Any]] = []
    n_characters = 0
    for row in rows:
        n_characters += len(json_text(row))
        if n_characters > _LONGEST and not first:
            expected = f"a row of at most {_LONGEST >> 20} MB as JSON, with the names of its columns"
            raise DataError(expected, got=Described(f"{n_characters >> 20:,} MB"), row=0)
        if len(first) == limit or n_characters > _LONGEST:
            return first, True
        first.append(row)
    return first, False


def _doubt_dates(rows: list[dict[str, Any]], schema: Schema) -> None:
    """Say which cells of columns of dates are no dates."""
    names = [name for name, spec in schema.columns.items() if spec.reader.dates is not None]
    with_parts(Table(len(rows), {name: [row.get(name) for row in rows] for name in names}), schema)


def _check(body: bytes, n_rows: int) -> bytes:
    """The bytes of a file; of Arrow and Parquet, in which few can stand for many, the first rows as they were checked.

    An Arrow file is a stream, then an index, which could point elsewhere.
    """
    if is_arrow(body):
        table = read_arrow(body.removeprefix(_ARROW_FILE), sys.maxsize).slice(0, n_rows)
    elif body.startswith(b"PAR1"):
        table = read_parquet(body, n_rows)
    else:
        return body
    return write_arrow(table)


def _file_name(name: str, media_type: str) -> str:
    """The last part of the name that was given, for its ending; else a name by the media type."""
    last = PurePosixPath(PureWindowsPath(name).name).name.lstrip(".")
    suffix = _SUFFIXES.get(media_type, "")
    safe = "".join(sign for sign in last if sign.isalnum() or sign in "._- ")
    safe = safe.encode("utf-8", "ignore")[-_LONGEST_NAME:].decode("utf-8", "ignore")  # file systems count bytes
    return safe if PurePosixPath(safe).suffix else f"{safe or 'rows'}{suffix}"


def _rows(path: Path, schema: Schema) -> Iterator[dict[str, Any]]:
    known = columns_to_read(schema, schema.label)
    source = Files([str(path)], ReadOptions(missing=schema.missing, used=frozenset(known)))
    source.look_for([*schema.columns, schema.label])
    if source.kind == "json":
        _check_names(path.read_bytes(), known)
    tell_doubts(source.head().doubts)
    check_order(source.head(), schema)
    doubt_label_words(source.head(), schema.label)
    for table in source.batches({name: known.get(name) for name in source.head().columns}):
        for start, stop in split(table.n_rows, _PIECE):
            check_stop()
            yield from _rows_of(table.part(start, stop))


def _check_names(body: bytes, known: Collection[str]) -> None:
    """Refuse JSON with very many names that the model does not have: rows of five thousand took a minute to plan."""
    names: set[str] = set()
    with contextlib.suppress(ValueError, RecursionError):  # the reader says what is wrong, and where
        rows = json.loads(body) if body.lstrip().startswith(b"[") else map(json.loads, body.splitlines())
        for row in rows:
            names |= row.keys() - known if isinstance(row, dict) else set()
    if len(names) > MAX_NEW_COLUMNS:
        expected = f"at most {MAX_NEW_COLUMNS:,} columns that the model does not have"
        raise DataError(expected, got=Described("more"), hint="send the columns of the model")


def _rows_of(table: Table) -> Iterator[dict[str, Any]]:
    """The rows of a batch as dicts."""
    columns = {name: to_list(raw) if hasattr(raw, "to_pylist") else list(raw) for name, raw in table.columns.items()}
    if "file" in columns and table.holds_documents:
        columns["file"] = [None if path is None else Path(path).name for path in columns["file"]]
    for cells in zip(*columns.values(), strict=True):
        yield {name: finite_json(_plain(cell)) for name, cell in zip(columns, cells, strict=True)}


def _plain(cell: Any) -> Any:
    """A cell as a value that JSON has."""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    if isinstance(cell, (datetime.date, datetime.datetime)):
        return cell.isoformat()
    if isinstance(cell, (list, tuple)):
        return [_plain(part) for part in cell]
    if isinstance(cell, dict):
        return {str(key): _plain(part) for key, part in cell.items()}
    return cell if isinstance(cell, (str, int, float, bool, type(None))) else shown(cell)
