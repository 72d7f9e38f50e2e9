"""What the page shows beyond the API for programs.

Columns, nomogram and importance depend on the model only: they are kept until it changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from tallybayes.arrays.chunks import split
from tallybayes.errors import did_you_mean
from tallybayes.formatting import json_text
from tallybayes.model import Model
from tallybayes.reporting.nomogram import nomogram
from tallybayes.server.events.event_rows import JSON
from tallybayes.server.http.answer import Answer, Headers
from tallybayes.server.http.answer_parts import ListParts, answer_in_parts, json_parts
from tallybayes.server.http.call import Call
from tallybayes.server.http.endpoint import Register, Routes, unless_current
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.model_tag import version_headers
from tallybayes.server.http.service import Service
from tallybayes.server.http.uploaded_rows import uploaded_rows
from tallybayes.server.live.live_model import LiveModel, Published
from tallybayes.server.routes.api_document import IF_NONE_MATCH, query, text_answer
from tallybayes.server.routes.column_chart import column_chart_spec, has_charts
from tallybayes.server.routes.expected_importance import expected_importance
from tallybayes.server.routes.form_fields import form_fields

__all__ = ["routes"]

routes = Routes("Page", "/v1/models/{model}")
_PIECE = 100  # rows that are written as JSON at once
_ROWS = {"type": "array", "items": {"type": "object", "additionalProperties": True}}
_OBJECTS = {"type": "array", "items": {"type": "object"}}


def _json_answers(properties: dict[str, Any], *statuses: int) -> dict[str, Any]:
    """The answers of a route that are objects with these properties."""
    result = text_answer(JSON, *statuses)
    schema = {"type": "object", "required": list(properties), "properties": properties}
    result["200"]["content"] = {JSON: {"schema": schema}}
    return result


def _add_kept(path: str, summary: str, **properties: Any) -> Register:
    """Decorate a handler whose answer depends on the model only."""
    known = {"model": {"type": "string"}, "version": {"type": "integer"}} | properties
    responses = _json_answers(known, 304, 404)
    return routes.add("GET", path, needs="predict", summary=summary, parameters=[IF_NONE_MATCH], responses=responses)


def _nomogram(model: Model) -> dict[str, Any]:
    """The rulers of a model, the most important columns first; without example rows."""
    order = [column["column"] for column in expected_importance(model)["columns"]]
    known = model.predictives()  # a column that has no values yet has none
    names = [name for name in (*order, *model.schema.families) if name in known]
    return nomogram(model, list(dict.fromkeys(names)), [], model.describe().columns)


class _Kept:
    """The latest answers by model; computed once for each version, in one thread however many pages ask for it."""

    def __init__(self, compute: Callable[[Model], dict[str, Any]]) -> None:
        self._compute = compute
        self._found: WeakKeyDictionary[LiveModel, tuple[Published, asyncio.Future[bytes]]] = WeakKeyDictionary()

    async def answer(self, service: Service, live: LiveModel, published: Published) -> bytes:
        """The answer as JSON."""
        known, body = self._found.get(live, (None, None))
        if body is None or known is not published or (body.done() and (body.cancelled() or body.exception())):
            body = asyncio.ensure_future(service.in_thread(self._body, live.name, published))
            self._found[live] = published, body
        return await asyncio.shield(body)  # the others still wait for it if this request is cut off

    def _body(self, name: str, published: Published) -> bytes:
        return json_text({"model": name, "version": published.version, **self._compute(published.model)}).encode()


def _columns(model: Model) -> dict[str, Any]:
    """The fields of the form; charts: whether there are larger charts of columns."""
    return {**form_fields(model), "charts": has_charts()}


_COLUMNS, _NOMOGRAM, _IMPORTANCE = _Kept(_columns), _Kept(_nomogram), _Kept(expected_importance)


@_add_kept(
    "/columns",
    "Columns as fields of a form",
    columns=_OBJECTS,
    excluded=_OBJECTS,
    intervals={"type": "boolean"},
    charts={"type": "boolean"},
)
@unless_current
async def read_columns(call: Call, live: LiveModel, published: Published, headers: Headers) -> Answer:
    """For each column how a value is entered, the range or the most frequent values, and its distribution by class."""
    return Answer(await _COLUMNS.answer(call.service, live, published), headers=headers)


@_add_kept("/nomogram", "Nomogram", classes={"type": "array", "items": {"type": "string"}}, rulers=_OBJECTS)
@unless_current
async def read_nomogram(call: Call, live: LiveModel, published: Published, headers: Headers) -> Answer:
    """What each value of each column adds to the log score, and the log of the prior."""
    return Answer(await _NOMOGRAM.answer(call.service, live, published), headers=headers)


@_add_kept("/importance", "Importance of columns", rows={"type": "integer"}, columns=_OBJECTS)
@unless_current
async def read_importance(call: Call, live: LiveModel, published: Published, headers: Headers) -> Answer:
    """From the model alone: information and gain in nats, on rows drawn from it; `reason` if it cannot be sampled."""
    return Answer(await _IMPORTANCE.answer(call.service, live, published), headers=headers)


@routes.add(
    "GET",
    "/chart",
    needs="predict",
    summary="Chart of a column",
    parameters=[query("column", "The name of the column.", {"type": "string"})],
    responses=_json_answers({"height": {}}, 404, 422),
)
async def read_chart(call: Call) -> Answer:
    """Its distribution in each class, as a specification of Vega-Lite. Needs the extra `report`."""
    live = call.live
    published, column = live.current, call.query_params.get("column", "")
    if column not in published.model.schema.families:
        hint = did_you_mean(column, published.model.schema.families, "columns")
        raise HttpError.of(404, "column: a column of the model", got=column, hint=hint)
    spec = await call.service.in_thread(column_chart_spec, published.model, column)
    return Answer.of(spec, headers=version_headers(live, published))


@routes.add("GET", "/examples", needs="predict", summary="Rows to try", responses=_json_answers({"rows": _ROWS}, 404))
async def list_examples(call: Call) -> Answer:
    """Rows without a label that the server was started with; none, unless it is a demo."""
    return Answer.of({"rows": list(call.service.settings.examples.get(call.live.name, ()))})


@routes.add(
    "POST",
    "/read",
    needs="predict",
    summary="Read a file as rows",
    parameters=[query("file", "The name of the file; its ending may tell the format.", {"type": "string"})],
    requestBody={
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    },
    responses=_json_answers({"columns": {"type": "array"}, "rows": _ROWS}, 404, 413, 422),
)
async def read_rows(call: Call) -> Answer:
    """CSV, TSV, JSON, lines of JSON, mails, Parquet or Arrow, as `tally` reads them; at most 5,000 rows.

    Nothing is stored.
    """
    schema = call.live.current.snapshot.state.schema
    kind, name = call.field(b"content-type") or "", call.query_params.get("file", "")

    def work() -> Answer:
        """Read the rows and begin the answer."""
        upload = uploaded_rows(call.content, schema, media_type=kind, name=name)
        rows = upload["rows"]
        upload["rows"] = ListParts(rows[start:stop] for start, stop in split(len(rows), _PIECE))
        return answer_in_parts(call.service, json_parts(upload))

    return await call.service.in_thread(work)
