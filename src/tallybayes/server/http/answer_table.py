"""Answers in the format of the request, or the one that it accepts: JSON, lines of JSON, CSV, Arrow."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

import pyarrow as pa

from tallybayes.errors import Described
from tallybayes.formatting import json_text, printable, shown
from tallybayes.server.events.event_rows import ARROW, JSON
from tallybayes.server.http.call import Call
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.request_rows import CSV, NDJSON, TABLES, TSV

__all__ = ["answer_format", "table_parts", "table_type"]

_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"  # of a stream of Arrow: a message without any bytes


def answer_format(call: Call, requested: str, formats: Sequence[str] = (JSON, *TABLES)) -> str:
    """The format of an answer: that of the request, unless the header Accept prefers another.

    A problem (406) if no format is accepted.
    """
    accept = (call.field(b"accept") or "").strip() or "*/*"
    known = [name for name in (requested, *formats) if name in formats]
    for wanted, quality in sorted(_ranges(accept), key=lambda ranged: -ranged[1]):
        matching = [name for name in known if fnmatchcase(name, wanted)]  # */* and text/* are patterns
        if matching and quality > 0:
            return matching[0]
    raise HttpError.of(406, f"a format of answers ({', '.join(formats)})", got=Described(accept))


def _ranges(accept: str) -> list[tuple[str, float]]:
    """The formats of a header Accept with their qualities."""
    ranges = []
    for part in accept.split(","):
        name, *parameters = (text.strip() for text in part.split(";"))
        quality = next((parameter[2:] for parameter in parameters if parameter.startswith("q=")), "1")
        try:
            ranges.append((name.lower(), float(quality)))
        except ValueError:
            ranges.append((name.lower(), 0.0))
    return ranges


def table_type(kind: str) -> str:
    """The content type of a table in some format."""
    return f"{kind}; charset=utf-8; header=present" if kind in (CSV, TSV) else kind


def table_parts(pieces: Iterable[dict[str, Any]], kind: str, types: dict[str, Any]) -> Iterator[bytes]:
    """A table of answers in parts, from pieces of its columns; types: of the columns, for Arrow."""
    if kind == ARROW:
        yield from _arrow_parts(pieces, pa.schema(types))
        return
    if kind != NDJSON:
        yield _csv_lines([[printable(name) for name in types]], kind)
    for columns in pieces:
        rows = zip(*columns.values(), strict=True)
        if kind == NDJSON:
            lines = [json_text(dict(zip(columns, row, strict=True))) for row in rows]
            yield "".join(f"{line}\n" for line in lines).encode()
        else:
            yield _csv_lines(
                ([repr(cell) if isinstance(cell, float) else printable(shown(cell)) for cell in row] for row in rows),
                kind,
            )


def _arrow_parts(pieces: Iterable[dict[str, Any]], schema: pa.Schema) -> Iterator[bytes]:
    yield schema.serialize().to_pybytes()
    for columns in pieces:
        arrays = [pa.array(values, kind) for values, kind in zip(columns.values(), schema.types, strict=True)]
        yield pa.record_batch(arrays, schema=schema).serialize().to_pybytes()
    yield _END


def _csv_lines(rows: Iterable[list[str]], kind: str) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter="\t" if kind == TSV else ",", lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
