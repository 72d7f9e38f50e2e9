"""A file that was dropped on the page, or a table that was pasted, as rows of plain values.

The body is read as `tally` reads files. Numbers and booleans of columns that the model knows have the types of the
model, other cells are as they are in the file. Archives and databases are refused: a small body could grow without
bound, or run queries.
"""

from __future__ import annotations

import datetime
import itertools
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from tallybayes.data.arrow import to_list
from tallybayes.data.batch import columns_to_read
from tallybayes.data.read import read
from tallybayes.data.schema import Schema
from tallybayes.data.table import Table
from tallybayes.errors import DataError, DataWarning, Described, TallyError
from tallybayes.formatting import finite_json, shown

__all__ = ["uploaded_rows"]

_ROWS = 5_000  # as many as the page can work through
_REFUSED = {  # by the first bytes of a file
    b"PK\x03\x04": "a zip archive or a workbook",
    b"\x1f\x8b": "a compressed file",
    b"BZh": "a compressed file",
    b"\xfd7zXZ": "a compressed file",
    b"\x28\xb5\x2f\xfd": "a compressed file",
    b"SQLite format 3\x00": "a database",
    b"\xd0\xcf\x11\xe0": "a workbook",
}
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
    >>> from tallybayes.data.schema import Field
    >>> schema = Schema("pet", {"kilos": Field("kilos", Gaussian(), "numbers")})
    >>> uploaded_rows(b"name;kilos\nMimi;3,9\nRex;\n", schema)["rows"]
    [{'name': 'Mimi', 'kilos': 3.9}, {'name': 'Rex', 'kilos': None}]
    """
    if not body.strip():
        raise DataError(_EXPECTED, got=Described("an empty body"))
    kind = next((kind for start, kind in _REFUSED.items() if body.startswith(start)), None)
    if kind is not None or body[8:12] == b"DUCK":
        raise DataError(_EXPECTED, got=Described(kind or "a database"), hint="unpack or export it first")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", DataWarning)
        path = Path(folder) / _file_name(name, media_type)
        path.write_bytes(body)
        try:
            rows = list(itertools.islice(_rows(path, schema), limit + 1))
        except TallyError as error:  # the name of the temporary file would mean nothing to the reader
            raise error.at(file=name or None) from None
    columns = list(dict.fromkeys(column for row in rows[:100] for column in row))
    notes = [str(one.message).replace(str(path), name or "the rows") for one in raised]
    return {"columns": columns, "rows": rows[:limit], "truncated": len(rows) > limit, "notes": notes}


def _file_name(name: str, media_type: str) -> str:
    """The last part of the name that was given, for its ending; else a name by the media type."""
    last = PurePosixPath(PureWindowsPath(name).name).name.lstrip(".")
    suffix = _SUFFIXES.get(media_type.partition(";")[0].strip().lower(), "")
    safe = "".join(sign for sign in last if sign.isalnum() or sign in "._- ")[-100:]
    return safe if PurePosixPath(safe).suffix else f"{safe or 'rows'}{suffix}"


def _rows(path: Path, schema: Schema) -> Iterator[dict[str, Any]]:
    source = read(path)
    source.missing = schema.missing
    known = columns_to_read(schema, schema.label)
    for table in source.batches({name: known.get(name) for name in source.head().columns}):
        yield from _rows_of(table)


def _rows_of(table: Table) -> Iterator[dict[str, Any]]:
    """The rows of a batch as dicts."""
    columns = {name: to_list(raw) if hasattr(raw, "to_pylist") else list(raw) for name, raw in table.columns.items()}
    if "file" in columns and table.holds_documents:
        columns["file"] = [None if one is None else Path(one).name for one in columns["file"]]
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
