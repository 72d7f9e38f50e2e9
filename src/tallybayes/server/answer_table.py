"""Answers in the format of the request, or the one that it accepts: JSON, lines of JSON, CSV, Arrow."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tallybayes.errors import Described
from tallybayes.formatting import json_text, printable, shown
from tallybayes.server.answer import Answer, Headers
from tallybayes.server.call import Call
from tallybayes.server.event_rows import ARROW, JSON
from tallybayes.server.http_problem import HttpError
from tallybayes.server.request_rows import CSV, NDJSON, TSV

__all__ = ["answer_format", "table_answer"]

_FORMATS = (JSON, NDJSON, CSV, TSV, ARROW)


def answer_format(call: Call, own: str, formats: Sequence[str] = _FORMATS) -> str:
    """The format of an answer: that of the request, unless the header Accept prefers another.

    A problem (406) if no format is accepted.
    """
    given = call.field(b"accept")
    if given is None or given.strip() in ("", "*/*"):
        return own if own in formats else formats[0]
    ranked = sorted(_ranges(given), key=lambda one: -one[1])
    for wanted, quality in ranked:
        if quality <= 0:
            continue
        if wanted == "*/*":
            return own if own in formats else formats[0]
        if wanted in formats:
            return wanted
        if wanted.endswith("/*"):
            matching = [one for one in formats if one.startswith(wanted[:-1])]
            if matching:
                return own if own in matching else matching[0]
    raise HttpError.of(406, f"a format of answers ({', '.join(formats)})", got=Described(given))


def _ranges(accept: str) -> list[tuple[str, float]]:
    """The formats of a header Accept with their qualities."""
    found = []
    for part in accept.split(","):
        name, *parameters = (one.strip() for one in part.split(";"))
        quality = next((one[2:] for one in parameters if one.startswith("q=")), "1")
        try:
            found.append((name.lower(), float(quality)))
        except ValueError:
            found.append((name.lower(), 0.0))
    return found


def table_answer(columns: dict[str, Any], kind: str, headers: Headers) -> Answer:
    """A table of answers, row by row."""
    if kind == ARROW:
        table = pa.table({name: pa.array(values) for name, values in columns.items()})
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return Answer(sink.getvalue(), ARROW, headers=headers)
    names, rows = list(columns), zip(*columns.values(), strict=True)
    if kind == NDJSON:
        lines = [json_text(dict(zip(names, row, strict=True))) for row in rows]
        return Answer("".join(f"{line}\n" for line in lines).encode(), NDJSON, headers=headers)
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t" if kind == TSV else ",", lineterminator="\n")
    writer.writerow([printable(name) for name in names])
    for row in rows:
        writer.writerow([repr(cell) if isinstance(cell, float) else printable(shown(cell)) for cell in row])
    return Answer(text.getvalue().encode(), f"{kind}; charset=utf-8; header=present", headers=headers)
