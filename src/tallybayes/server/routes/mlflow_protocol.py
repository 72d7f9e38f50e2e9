"""The scoring protocol of MLflow: /invocations, /ping, /health and /version, for clients that speak it already.

    {"dataframe_split": {"columns": [...], "data": [[...], ...]}}     {"dataframe_records": [{...}, ...]}
    {"instances": [{...}, ...]}                                       {"inputs": {"column": [...], ...}}

or CSV with a header. Rows without names ({"instances": [[1, 2]]}) have the columns of the schema in their order. The
answer is {"predictions": [...]}. The server must have one model, or "params": {"model": NAME} must name one; with
"params": {"proba": true} the predictions are objects of probabilities by class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tallybayes.errors import DataError, Described
from tallybayes.formatting import shown
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.server.events.event_rows import JSON
from tallybayes.server.http.answer import Answer, ListParts, answer_in_parts, json_parts
from tallybayes.server.http.call import Call
from tallybayes.server.http.endpoint import BodyFacts, Routes
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.request_rows import CSV, RequestRows, check_rows
from tallybayes.server.http.row_source import RowLimit
from tallybayes.server.http.strict_json import parse_json
from tallybayes.server.live.predicted_rows import PredictedRows
from tallybayes.server.routes.prediction_routes import answer_predictions
from tallybayes.version import __version__

__all__ = ["routes"]

routes = Routes("MLflow")

_KEYS = ("dataframe_split", "dataframe_records", "instances", "inputs")
_PARAMS = ("model", "proba")
_CHARSET = re.compile(r"charset=\"?utf-?8\"?", re.IGNORECASE)


@routes.add(
    "POST",
    "/invocations",
    needs="predict",
    summary="Predict",
    body=BodyFacts("InvocationsRequest", {"dataframe_split": {"columns": ["weight"], "data": [[4.2]]}}, [CSV]),
    answer="InvocationsResponse",
    statuses=[404, 415],
    error="InvocationsError",
)
async def invocations(call: Call) -> Answer:
    """As MLflow's scoring server; with several models, `params` names one."""
    kind, content_type = call.media_type, call.field(b"content-type") or ""
    parameters = content_type.partition(";")[2]
    if kind not in (JSON, CSV):
        raise HttpError.of(415, f"the content type {JSON} or {CSV}", got=Described(content_type or "none"))
    if "charset" in parameters.lower() and not _CHARSET.search(parameters):
        raise HttpError.of(415, "the character set UTF-8", got=Described(parameters.strip()))
    body = await call.service.for_body(call.content, parse_json, call.content) if kind == JSON else None
    params = _params(body) if kind == JSON else {}
    _find_model(call, params)
    most, snapshot, with_proba = call.service.settings.max_rows, call.published.snapshot, bool(params.get("proba"))
    snapshot.require_classes()
    rows = await call.service.for_body(call.content, _rows, body, snapshot, most) if kind == JSON else None

    def answer(scored: PredictedRows) -> Answer:
        """Answer with predictions as MLflow words them."""
        facts = {"predictions": ListParts(_predictions(scored, with_proba=with_proba))}
        return answer_in_parts(call.service, json_parts(facts), headers=call.version_headers)

    limit = RowLimit(most, len(snapshot.classes), int(with_proba))
    request = RequestRows(kind, rows, call.content)
    return await answer_predictions(call, request, limit, answer, keeps_proba=with_proba)


def _params(body: Any) -> dict[str, Any]:
    """The parameters beside the rows, checked; and that there is one of the keys with rows."""
    if not isinstance(body, dict) or sum(key in body for key in _KEYS) != 1:
        got = body if not isinstance(body, dict) else list(body)
        raise HttpError.of(400, f"an object of JSON with one of {', '.join(_KEYS)}", got=got)
    params = body.get("params") or {}
    if not isinstance(params, dict) or not params.keys() <= {*_PARAMS}:
        raise HttpError.of(400, f"params: an object with {' or '.join(_PARAMS)}", got=params)
    if not isinstance(params.get("proba", False), bool):
        raise HttpError.of(400, "params.proba: true or false", got=params["proba"])
    return params


def _find_model(call: Call, params: dict[str, Any]) -> None:
    """Let the call be about the model that is named, or the only one."""
    models = [known for known in call.service.folder if call.may_see(known)]
    name = params.get("model")
    if name is None:
        if len(models) != 1:
            hint = f'name one: {{"params": {{"model": NAME}}}}; the models are {", ".join(sorted(models))}'
            raise HttpError.of(400, "a server with one model", got=len(models), hint=hint)
        name = next(iter(models))
    if not isinstance(name, str):
        raise HttpError.of(400, "params.model: a name", got=name)
    call.path_params["model"] = name
    call.authorise("predict")  # once more, for this model


def _rows(body: dict[str, Any], snapshot: Snapshot, most: int) -> list[dict[str, Any]]:
    """The rows of a body, as dicts."""
    key = next(key for key in _KEYS if key in body)
    value = body[key]
    if key == "dataframe_split":
        if not isinstance(value, dict) or not isinstance(value.get("data"), list):
            raise HttpError.of(400, "dataframe_split: an object with columns and data", got=value)
        return _name_values(value["data"], value.get("columns"), snapshot, most)
    if key == "dataframe_records" or (isinstance(value, list) and all(isinstance(row, dict) for row in value)):
        return check_rows(value, most)
    if isinstance(value, dict):
        lengths = {len(column) if isinstance(column, list) else 1 for column in value.values()}
        if len(lengths) > 1:
            raise DataError("columns of the same length", got=sorted(lengths))
        columns = {name: column if isinstance(column, list) else [column] for name, column in value.items()}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return check_rows(rows, most)
    return _name_values(value, None, snapshot, most)


def _name_values(data: Any, columns: Any, snapshot: Snapshot, most: int) -> list[dict[str, Any]]:
    """Rows that are lists, with the names of their columns."""
    names = list(snapshot.state.schema.columns) if columns is None else columns
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise HttpError.of(400, "columns: a list of names", got=names)
    if not isinstance(data, list):
        raise HttpError.of(400, "a list of rows", got=data)
    if columns is None:
        names = [name for name in names if name in snapshot.state.schema.columns_in_use]
    for i, row in enumerate(data):
        if not isinstance(row, list) or len(row) != len(names):
            raise DataError(f"a row of {len(names)} values", got=row, row=i)
    return check_rows([dict(zip(names, row, strict=True)) for row in data], most)


def _predictions(scored: PredictedRows, *, with_proba: bool) -> Iterator[list[Any]]:
    """The predictions in pieces."""
    classes = scored.snapshot.classes
    if not with_proba:
        yield from scored.answers(classes)
        return
    names = list(map(shown, classes))
    for proba in scored.proba:
        yield [dict(zip(names, row, strict=True)) for row in proba.tolist()]


@routes.add("GET", "/health", needs=None, summary="Health", formats=["text/plain"])
@routes.add("GET", "/ping", needs=None, summary="Health", formats=["text/plain"])
async def ping(call: Call) -> Answer:
    """Empty: the server answers."""
    return Answer(b"\n", "text/plain; charset=utf-8")


@routes.add("GET", "/version", needs=None, summary="Version", formats=["text/plain"])
async def version(call: Call) -> Answer:
    """Of tallybayes."""
    return Answer(__version__.encode(), "text/plain; charset=utf-8")
