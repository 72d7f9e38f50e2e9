"""What the page shows beyond the API for programs.

Columns, nomogram and importance depend on the model only: they are kept until it changes.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tallybayes import plot
from tallybayes.arrays.axis import positions
from tallybayes.arrays.chunks import split
from tallybayes.cells.arrow import to_list
from tallybayes.errors import TallyError, did_you_mean
from tallybayes.formatting import finite_json, json_text
from tallybayes.model import Model
from tallybayes.reporting.chart_style import altair
from tallybayes.reporting.held_out_importance import HeldOutImportance
from tallybayes.reporting.nomogram import nomogram
from tallybayes.server.http.answer import Answer, ListParts, answer_in_parts, json_parts
from tallybayes.server.http.call import Call
from tallybayes.server.http.endpoint import BodyFacts, Routes
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.service import Service
from tallybayes.server.http.uploaded_rows import uploaded_rows
from tallybayes.server.live.live_model import LiveModel, Published
from tallybayes.server.routes.api_schemas import object_schema, query_parameter
from tallybayes.server.routes.form_fields import form_fields
from tallybayes.server.routes.page_files import has_charts

__all__ = ["column_chart_spec", "expected_importance", "read_columns", "read_nomogram", "routes"]

routes = Routes("Page", "/v1/models/{model}")
_PIECE = 100  # rows that are written as JSON at once
_DRAWN = 1_000  # rows for the importance of columns: the standard error is about 0.03 nats
_HEIGHT = 320  # pixels of a chart

Compute = Callable[[Model], dict[str, Any]]


class _Kept:
    """The latest answers by model; computed once for each version, in one thread however many pages ask for it."""

    def __init__(self, compute: Compute) -> None:
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


def _add_kept(path: str, summary: str, properties: str) -> Callable[[Compute], Compute]:
    """Decorate what is computed of a model alone with the route that answers it."""
    schema = object_schema(f"model:text version:integer {properties}")

    def register(compute: Compute) -> Compute:
        kept = _Kept(compute)

        @functools.wraps(compute)
        async def answer(call: Call) -> Answer:
            return Answer(await kept.answer(call.service, call.live, call.published))

        routes.add("GET", path, needs="predict", summary=summary, answer=schema, by_version=True)(answer)
        return compute

    return register


@_add_kept("/columns", "Columns as fields of a form", "columns:object[] excluded:object[] intervals:flag charts:flag")
def read_columns(model: Model) -> dict[str, Any]:
    """For each column how a value is entered, the range or the most frequent values, and its distribution by class."""
    return {**form_fields(model), "charts": has_charts()}


@_add_kept("/nomogram", "Nomogram", "classes:text[] rulers:object[]")
def read_nomogram(model: Model) -> dict[str, Any]:
    """What each value of each column adds to the log score, and the log of the prior."""
    order = [column["column"] for column in expected_importance(model)["columns"]]  # the most important ones first
    known = model.predictives()  # a column that has no values yet has none
    names = [name for name in (*order, *model.schema.families) if name in known]
    return nomogram(model, list(dict.fromkeys(names)), [], model.describe().columns)


@_add_kept("/importance", "Importance of columns", "rows:integer columns:object[]")
def read_importance(model: Model) -> dict[str, Any]:
    """From the model alone: information and gain in nats, on rows drawn from it; `reason` if it cannot be sampled."""
    return expected_importance(model)


def expected_importance(model: Model, n_rows: int = _DRAWN) -> dict[str, Any]:
    """The importance of columns from a model alone, without data: on rows that are drawn from the model.

        information   the mean over drawn rows of log P(class | column alone) / P(class)
        gain          the mean over drawn rows of log P(class | row) / P(class | row without the column)

    in nats per row, in descending order of information. If the model were true, these would be the values on new rows;
    where it is too certain, they are too large. `tallybayes.importance` measures the same on data.

    A model whose scores are not likelihoods cannot be sampled: then there are no columns, and `reason` says why.

    >>> import tallybayes as tb
    >>> table = {"fever": [1, 1, 1, 0, 0, 0] * 20, "coin": [0, 1] * 60, "ill": [*["yes"] * 2, *["no"] * 4] * 20}
    >>> [one["column"] for one in expected_importance(tb.fit(table, label="ill"))["columns"]]
    ['fever', 'coin']
    """
    if len(model.classes) < 2:
        return {"rows": 0, "columns": [], "reason": "a model of one class"}
    importance = HeldOutImportance()
    try:
        drawn = model.sample(n_rows, seed=0)
        labels = to_list(drawn.column(drawn.num_columns - 1))
        codes, first = positions(labels, model.classes), 0
        for table, evidence in model.snapshot().evidence_batches(drawn):
            importance.add(model, evidence, np.asarray(codes[first : first + table.n_rows], np.int64))
            first += table.n_rows
    except TallyError as error:
        return {"rows": 0, "columns": [], "reason": str(error)}
    columns = [
        {"column": column.column, "family": column.family, "information": column.information, "gain": column.gain}
        for column in sorted(importance.columns(model), key=lambda column: -column.information)
    ]
    p = np.exp(model.log_prior())
    entropy = float(-(p * np.where(p > 0, model.log_prior(), 0.0)).sum())
    return {"rows": n_rows, "entropy": entropy, "columns": finite_json(columns), "reason": None}


@routes.add(
    "GET",
    "/chart",
    needs="predict",
    summary="Chart of a column",
    parameters=[query_parameter("column", "The name of the column.", "text")],
    answer=object_schema("height:any"),
    statuses=[422],
)
async def read_chart(call: Call) -> Answer:
    """Its distribution in each class, as a specification of Vega-Lite. Needs the extra `report`."""
    model, column = call.published.model, call.query_params.get("column", "")
    if column not in model.schema.families:
        hint = did_you_mean(column, model.schema.families, "columns")
        raise HttpError.of(404, "column: a column of the model", got=column, hint=hint)
    spec = await call.service.in_thread(column_chart_spec, model, column)
    return Answer.of(spec, headers=call.version_headers)


def column_chart_spec(model: Model, column: str) -> dict[str, Any]:
    """The distribution of a column in each class as a specification of Vega-Lite, as wide as its container."""
    altair()
    chart = plot.densities(model, column)
    spec: dict[str, Any] = chart.properties(width="container").to_dict()
    spec["height"] = _height(spec)
    for part in ("config", "$schema"):
        spec.pop(part, None)
    return spec | {"$schema": "https://vega.github.io/schema/vega-lite/v6.json"}


def _height(spec: dict[str, Any]) -> int:
    """The height of a chart in pixels; by its rows if it has one for each value."""
    step = spec["height"].get("step") if isinstance(spec.get("height"), dict) else None
    if step is None:
        return _HEIGHT
    field, rows = spec["encoding"]["y"]["field"], spec["datasets"][spec["data"]["name"]]
    return int(step) * max(len({row[field] for row in rows}), 2)


@routes.add("GET", "/examples", needs="predict", summary="Rows to try", answer=object_schema("rows:row[]"))
async def list_examples(call: Call) -> Answer:
    """Rows without a label that the server was started with; none, unless it is a demo."""
    return Answer.of({"rows": list(call.service.settings.examples.get(call.live.name, ()))})


@routes.add(
    "POST",
    "/read",
    needs="predict",
    summary="Read a file as rows",
    parameters=[query_parameter("file", "The name of the file; its ending may tell the format.", "text")],
    body=BodyFacts(None, formats=["application/octet-stream"]),
    answer=object_schema("columns:list rows:row[]"),
)
async def read_rows(call: Call) -> Answer:
    """CSV, TSV, JSON, lines of JSON, mails, Parquet or Arrow, as `tally` reads them; at most 5,000 rows.

    Nothing is stored.
    """
    schema, name = call.published.snapshot.state.schema, call.query_params.get("file", "")

    def work() -> Answer:
        """Read the rows and begin the answer."""
        upload = uploaded_rows(call.content, schema, media_type=call.media_type, name=name)
        rows = upload["rows"]
        upload["rows"] = ListParts(rows[start:stop] for start, stop in split(len(rows), _PIECE))
        return answer_in_parts(call.service, json_parts(upload))

    return await call.service.in_thread(work)
