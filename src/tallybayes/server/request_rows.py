"""The rows of a request: JSON, lines of JSON, CSV, or a stream of Arrow, by its content type.

application/json                        {"rows": [{...}, ...]}, or {"row": {...}}, with options beside them
application/x-ndjson                    an object per line
text/csv, text/tab-separated-values     a header, then a line per row; read as `tally` reads a file
application/vnd.apache.arrow.stream     record batches
"""

from __future__ import annotations

import codecs
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tallybayes.data.batch import columns_to_read
from tallybayes.data.read import read
from tallybayes.data.source import Source
from tallybayes.errors import DataError, Described, TallyError, did_you_mean
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.server.arrow_body import read_arrow
from tallybayes.server.call import Call
from tallybayes.server.event_rows import ARROW, JSON
from tallybayes.server.http_problem import HttpError
from tallybayes.server.strict_json import parse_json

__all__ = ["CSV", "LONG", "NDJSON", "TSV", "RequestRows", "checked_rows", "media_type", "read_object"]

NDJSON, CSV, TSV = "application/x-ndjson", "text/csv", "text/tab-separated-values"
_SAME = {"application/jsonl": NDJSON, "application/x-jsonlines": NDJSON, "application/ndjson": NDJSON}
_FORMATS = (JSON, NDJSON, CSV, TSV, ARROW)
_PACKED = (b"PK\x03\x04", b"BZh")  # archives that may be valid UTF-8
LONG = 2**16  # bytes of a body that are read in about a millisecond


def media_type(call: Call) -> str:
    """The content type of a body; a problem (415) unless rows can be read from it."""
    given = (call.field(b"content-type") or "").partition(";")[0].strip().lower()
    found = _SAME.get(given, given)
    if found not in _FORMATS:
        hint = "send the header Content-Type: application/json"
        got = Described(given or "none")
        raise HttpError.of(415, f"a content type of rows ({', '.join(_FORMATS)})", got=got, hint=hint)
    return found


def read_object(call: Call, known: tuple[str, ...]) -> dict[str, Any]:
    """The body as an object of JSON with some of the known keys."""
    if (kind := media_type(call)) != JSON:
        raise HttpError.of(415, f"the content type {JSON}", got=Described(kind))
    value = parse_json(call.content)
    if not isinstance(value, dict):
        raise HttpError.of(422, f"an object of JSON with {', '.join(known)}", got=value)
    _check_keys(value, known)
    return value


def _check_keys(value: dict[str, Any], known: tuple[str, ...]) -> None:
    for name in value:
        if name not in known:
            raise HttpError.of(422, f"the keys {', '.join(known)}", got=name, hint=did_you_mean(name, known))


@dataclass(frozen=True)
class RequestRows:
    """The rows of a request in one of two forms: a list of dicts, or the bytes of a table.

    media_type: what the body was; options: what else was in a body of JSON.
    """

    media_type: str
    rows: list[dict[str, Any]] | None = None
    content: bytes = b""
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    async def read(cls, call: Call, known: tuple[str, ...] = ()) -> RequestRows:
        """The rows of a body; of a long one in a thread, so that short requests do not wait."""
        if len(call.content) <= LONG:
            return cls.of(call, known)
        return await call.service.in_thread(cls.of, call, known)

    @classmethod
    def of(cls, call: Call, known: tuple[str, ...] = ()) -> RequestRows:
        """The rows of a body; known: the options that a body of JSON may have."""
        kind, most = media_type(call), call.service.settings.max_rows
        if kind == JSON:
            value = parse_json(call.content)
            if not isinstance(value, dict):
                hint = '{"rows": [{"age": 7}, {"age": 8}]}'
                raise HttpError.of(422, "an object of JSON with rows", got=value, hint=hint)
            _check_keys(value, ("rows", "row", *known))
            if ("rows" in value) == ("row" in value):
                got = Described("both" if "rows" in value else "neither")
                raise HttpError.of(422, "either rows, a list, or row, an object", got=got)
            rows = value.pop("rows") if "rows" in value else [value.pop("row")]
            return cls(kind, checked_rows(rows, most), options=value)
        if kind == NDJSON:
            if (n_lines := call.content.count(b"\n")) > most + 1:  # before it takes many times its memory
                raise _too_many(most, n_lines)
            return cls(kind, checked_rows(list(_lines(call.content)), most))
        return cls(kind, content=call.content)

    def data(self, most: int) -> Any:
        """The rows as data for a model, except text, which `opened` reads."""
        if self.rows is not None:
            return self.rows
        table = read_arrow(self.content)
        if table.num_rows > most:
            raise _too_many(most, table.num_rows)
        return table

    @contextmanager
    def opened(self, most: int) -> Iterator[Any]:
        """The rows as data for a model: a list of dicts, an Arrow table, or a source that reads a temporary file."""
        if self.media_type not in (CSV, TSV):
            yield self.data(most)
            return
        n_lines = max(self.content.count(b"\n"), self.content.count(b"\r"))
        if n_lines > most + 1:
            raise _too_many(most, n_lines)
        if self.content.startswith(_PACKED):
            raise HttpError.of(415, "text that is not compressed", got=Described("an archive"))
        try:  # no other encoding, and nothing that is compressed: the reader would copy or unpack it
            self.content.decode()
        except UnicodeDecodeError as error:
            got = Described(f"the byte 0x{error.object[error.start]:02x} at {error.start}")
            raise HttpError.of(400, "text in UTF-8", got=got) from None
        with tempfile.NamedTemporaryFile(suffix=".csv") as file:
            file.write(self.content.removeprefix(codecs.BOM_UTF8))
            file.flush()
            try:
                yield read(file.name, format="csv" if self.media_type == CSV else "tsv")
            except TallyError as error:
                raise error.at(file=None) if error.file is not None else error from None

    def table(self, snapshot: Snapshot, most: int) -> pa.Table:
        """The rows of a body of text as an Arrow table, with the types of the model, for the log of events."""
        with self.opened(most) as source:
            return arrow_table(source, snapshot)


def arrow_table(source: Source, snapshot: Snapshot) -> pa.Table:
    """All rows of a source as an Arrow table: columns of the model in its types, others as they are."""
    schema = snapshot.state.schema
    source.missing = schema.missing if source.missing is None else source.missing
    label = snapshot.label_or_default()
    wanted = dict.fromkeys(source.head().columns)
    known = columns_to_read(schema, label, schema.weight)
    wanted |= {name: kind for name, kind in known.items() if name in wanted}
    parts = [pa.table({name: pa.array(raw) for name, raw in own.columns.items()}) for own in source.batches(wanted)]
    return pa.concat_tables(parts, promote_options="permissive") if parts else pa.table({})


def checked_rows(rows: Any, most: int) -> list[dict[str, Any]]:
    """A list of objects that is not too long."""
    if not isinstance(rows, list):
        raise HttpError.of(422, "rows: a list of objects", got=rows)
    if len(rows) > most:
        raise _too_many(most, len(rows))
    for i, row in enumerate(rows):
        if type(row) is not dict:
            raise HttpError(422, DataError("a row: an object of column names and values", got=row, row=i))
    return rows


def _lines(content: bytes) -> Iterator[Any]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            yield parse_json(line, line=number)


def _too_many(most: int, n_rows: int) -> HttpError:
    hint = "send the rows in several requests, or start the server with a larger --max-rows"
    return HttpError.of(413, f"at most {most:,} rows", got=n_rows, hint=hint)
