"""The rows of a request: JSON, lines of JSON, CSV, or a stream of Arrow, by its content type.

application/json                        {"rows": [{...}, ...]}, or {"row": {...}}, with options beside them
application/x-ndjson                    an object per line
text/csv, text/tab-separated-values     a header, then a line per row; read as `tally` reads a file
application/vnd.apache.arrow.stream     record batches
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from tallybayes.columns.batch import columns_to_read
from tallybayes.columns.column_doubts import words_for_no_label
from tallybayes.columns.schema import Schema
from tallybayes.doubts import Doubt, collect_doubts, doubt
from tallybayes.errors import DataError, Described, TallyError, did_you_mean, is_real_number
from tallybayes.io.files import Files
from tallybayes.io.formats.file_format import ReadOptions
from tallybayes.io.formats.input_file import temporary_copies
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.server.events.event_rows import ARROW, JSON
from tallybayes.server.http.arrow_body import read_arrow, write_arrow
from tallybayes.server.http.call import Call
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.row_source import LimitedSource, RowLimit, RowPieces
from tallybayes.server.http.strict_json import parse_json
from tallybayes.tables.source import Source
from tallybayes.tables.table import Table

__all__ = [
    "CSV",
    "NDJSON",
    "TABLES",
    "TSV",
    "RequestRows",
    "check_rows",
    "doubt_label_words",
    "media_type",
    "packed_kind",
    "read_object",
    "reading_notes",
]

NDJSON, CSV, TSV = "application/x-ndjson", "text/csv", "text/tab-separated-values"
_SAME = {"application/jsonl": NDJSON, "application/x-jsonlines": NDJSON, "application/ndjson": NDJSON}
TABLES = (NDJSON, CSV, TSV, ARROW)
_FORMATS = (JSON, *TABLES)
_FILE = "rows.csv"  # in a temporary folder
_OPTIONS: dict[str, tuple[str, Callable[[Any], bool]]] = {  # beside rows: what they may be
    "probabilities": ("true or false", lambda value: isinstance(value, bool)),
    "interval": (
        "a level between 0 and 1, such as 0.95",
        lambda value: value is None or (is_real_number(value) and 0 < value < 1),
    ),
    "leave_one_out": ("true or false", lambda value: value is None or isinstance(value, bool)),
    "method": ("temperature, isotonic or none", lambda value: value in ("temperature", "isotonic", "none")),
    "new": ("true or false", lambda value: isinstance(value, bool)),
    "maximise": ("f1", lambda value: value in (None, "f1")),
    "costs": ("an object of objects, by true class and answer", lambda value: isinstance(value, (dict, type(None)))),
}
_STARTS = {  # the first bytes of files that cannot be read as they are
    b"PK\x03\x04": "a zip archive or a workbook",
    b"\x1f\x8b": "a compressed file",
    b"BZh": "a compressed file",
    b"\xfd7zXZ": "a compressed file",
    b"\x28\xb5\x2f\xfd": "a compressed file",
    b"SQLite format 3\x00": "a database",
    b"\xd0\xcf\x11\xe0": "a workbook",
}


def media_type(call: Call) -> str:
    """The content type of a body; a problem (415) unless rows can be read from it."""
    sent = call.media_type
    known = _SAME.get(sent, sent)
    if known not in _FORMATS:
        hint = "send the header Content-Type: application/json"
        got = Described(sent or "none")
        raise HttpError.of(415, f"a content type of rows ({', '.join(_FORMATS)})", got=got, hint=hint)
    return known


async def read_object(call: Call, known: tuple[str, ...]) -> dict[str, Any]:
    """The body as an object of JSON with some of the known keys; a long one is read in a thread."""
    if (kind := media_type(call)) != JSON:
        raise HttpError.of(415, f"the content type {JSON}", got=Described(kind))
    return await call.service.for_body(call.content, _parse_object, call.content, known, ", ".join(known))


def _parse_object(content: bytes, known: tuple[str, ...], meaning: str, hint: str | None = None) -> dict[str, Any]:
    """An object of JSON with some of the known keys, whose values are checked as far as they need no model."""
    options = parse_json(content)
    if not isinstance(options, dict):
        raise HttpError.of(422, f"an object of JSON with {meaning}", got=options, hint=hint)
    for name, value in options.items():
        if name not in known:
            raise HttpError.of(422, f"the keys {', '.join(known)}", got=name, hint=did_you_mean(name, known))
        expected, is_valid = _OPTIONS.get(name, ("", lambda value: True))
        if not is_valid(value):
            raise HttpError.of(422, f"{name}: {expected}", got=value)
    return options


@dataclass(frozen=True)
class RequestRows:
    """The rows of a request: a list of dicts, the bytes of a table, or columns, with the rows if they are few; or none.

    media_type: what the body was; options: what else was in a body of JSON.
    """

    media_type: str
    rows: list[dict[str, Any]] | None = None
    content: bytes = b""
    options: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, list[Any]] | None = None

    @classmethod
    async def read(cls, call: Call, known: tuple[str, ...] = (), *, needs_rows: bool = True) -> RequestRows:
        """The rows of a body; of a long one in a thread, so that short requests do not wait."""
        return await call.service.for_body(call.content, cls.of, call, known, needs_rows)

    @classmethod
    def of(cls, call: Call, known: tuple[str, ...], needs_rows: bool) -> RequestRows:
        """The rows of a body; known: the options that a body of JSON may have; needs_rows: it must have rows, too."""
        kind, most = media_type(call), call.service.settings.max_rows
        if kind == JSON:
            hint = '{"rows": [{"age": 7}, {"age": 8}]}'
            options = _parse_object(call.content, ("rows", "row", *known), "rows", hint)
            rows = [options.pop("rows")] if "rows" in options else []
            rows += [[options.pop("row")]] if "row" in options else []
            if len(rows) > 1 or (needs_rows and not rows):
                got = Described("both" if rows else "neither")
                raise HttpError.of(422, "either rows, a list, or row, an object", got=got)
            return cls(kind, check_rows(rows[0], most) if rows else None, options=options)
        if kind == NDJSON:
            if (n_lines := call.content.count(b"\n")) > most + 1:  # before it takes many times its memory
                RowLimit(most).check(n_lines)
            return cls(kind, check_rows(list(_lines(call.content)), most))
        return cls(kind, content=call.content)

    @contextmanager
    def opened(self, limit: RowLimit, schema: Schema | None = None) -> Iterator[Source]:
        """The rows as a source for a model, in pieces; schema: of the model, if only its columns are needed."""
        if self.columns is not None:
            yield RowPieces.of_columns(self.columns, limit)
            return
        if self.rows is not None:
            yield RowPieces.of_rows(self.rows, limit)
            return
        if self.media_type not in (CSV, TSV):
            yield RowPieces.of_arrow(read_arrow(self.content, limit.most), limit)
            return
        if (kind := packed_kind(self.content)) is not None:
            raise HttpError.of(415, "text that is not compressed", got=Described(kind))
        with temporary_copies() as folder:
            path = Path(folder) / _FILE
            path.write_bytes(self.content)
            used = None if schema is None else frozenset(columns_to_read(schema, schema.label, schema.weight))
            options = ReadOptions(format="csv" if self.media_type == CSV else "tsv", used=used)
            try:
                yield LimitedSource(Files([str(path)], options), limit)
            except TallyError as error:
                raise error.at(file=None) if error.file is not None else error from None

    def as_arrow(self, snapshot: Snapshot, most: int) -> tuple[bytes | None, tuple[str, ...]]:
        """The rows of a table as a stream of Arrow, for the log of events, None if there are none; and notes."""
        if self.media_type == ARROW:
            return (self.content if read_arrow(self.content, most).num_rows else None), ()
        with collect_doubts() as found, self.opened(RowLimit(most)) as source:
            table = _arrow_table(source, snapshot)
        return (write_arrow(table) if table.num_rows else None), reading_notes(found)


def reading_notes(doubts: Iterable[Doubt], file: str | None = None, name: str = "the rows") -> tuple[str, ...]:
    """Doubts as texts for an answer; file: the temporary one that was read, which has another name for the sender."""
    pattern = rf"\S*{_FILE}" if file is None else re.escape(file)
    return tuple(re.sub(pattern, lambda _: name, str(one)) for one in doubts)


def doubt_label_words(head: Table, label: Any) -> None:
    """Say which words of the first rows were read as a missing label."""
    if words := words_for_no_label(head, label):
        shown = ", ".join(f"{word!r} ({n:,})" for word, n in words.items())
        hint = "rows in JSON have their labels as they are"
        doubt("labels", f"words that were read as a missing label: {shown}", column=str(label), hint=hint)


def _arrow_table(source: Source, snapshot: Snapshot) -> pa.Table:
    """All rows of a source as an Arrow table: columns of the model in its types, others as they are."""
    schema = snapshot.state.schema
    source.use_words(schema.missing)
    label = snapshot.label_or_default()
    doubt_label_words(source.head(), label)
    wanted = dict.fromkeys(source.head().columns)
    known = columns_to_read(schema, label, schema.weight)
    wanted |= {name: kind for name, kind in known.items() if name in wanted}
    parts = [pa.table({name: pa.array(raw) for name, raw in table.columns.items()}) for table in source.batches(wanted)]
    return pa.concat_tables(parts, promote_options="permissive") if parts else pa.table({})


def check_rows(rows: Any, most: int) -> list[dict[str, Any]]:
    """A list of objects that is not too long."""
    if not isinstance(rows, list):
        raise HttpError.of(422, "rows: a list of objects", got=rows)
    RowLimit(most).check(len(rows))
    for i, row in enumerate(rows):
        if type(row) is not dict:
            raise HttpError(422, DataError("a row: an object of column names and values", got=row, row=i))
    return rows


def _lines(content: bytes) -> Iterator[Any]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            yield parse_json(line, line=number)


def packed_kind(body: bytes) -> str | None:
    r"""What a body is, if it is compressed, an archive or a database: a small one could grow without bound.

    The limits of a server are on the bytes of a body and on its rows. What can be unpacked has other sizes.

    >>> packed_kind(b"PK\x03\x04...")
    'a zip archive or a workbook'
    >>> packed_kind(b"age,pet\n7,cat\n")
    """
    if body[8:12] == b"DUCK":
        return "a database"
    return next((kind for start, kind in _STARTS.items() if body.startswith(start)), None)
