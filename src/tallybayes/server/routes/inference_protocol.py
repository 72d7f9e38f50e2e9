"""The Open Inference Protocol, version 2: health, metadata and inference, for clients that speak it already.

Every column is an input. A tensor belongs to the column of its name: shape [rows] or [rows, 1], one value per row;
shape [rows, n] gives each row a list of n values. Data is in the order of rows, flat or nested. The outputs are
`predict`, the answers, and `predict_proba`, the probabilities. Where the decision rule abstains, an answer is null.
Versions in paths are accepted if they are the current one. Errors are {"error": message}, as the protocol says.
"""

from __future__ import annotations

import json
import math
from functools import partial
from typing import Any

from tallybayes.arrays.column import Bag, Codes, Column, Flags
from tallybayes.errors import DataError, Described
from tallybayes.formatting import shown
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.server.events.event_rows import JSON
from tallybayes.server.http.answer import Answer, ListParts, answer_in_parts, json_parts
from tallybayes.server.http.call import Call
from tallybayes.server.http.endpoint import BodyFacts, Handler, Register, Routes
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.request_rows import RequestRows
from tallybayes.server.http.row_source import RowLimit
from tallybayes.server.http.strict_json import parse_json
from tallybayes.server.live.predicted_rows import FEW_ROWS, PredictedRows
from tallybayes.server.routes.prediction_routes import answer_predictions
from tallybayes.version import __version__

__all__ = ["routes"]

routes = Routes("Open Inference Protocol", "/v2", error="InferenceError")
_TENSOR = {"name": "weight", "shape": [1], "datatype": "FP64", "data": [4.2]}
_OUTPUTS = ("predict", "predict_proba")
_INTEGERS = ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64")
_REALS = ("FP16", "FP32", "FP64", "BF16")
_TYPES: dict[str, tuple[type, ...]] = {
    "BOOL": (bool,),
    "BYTES": (str,),
    **dict.fromkeys(_INTEGERS, (int,)),
    **dict.fromkeys(_REALS, (int, float)),
}


def _add_for_model(method: str, path: str, summary: str, **facts: Any) -> Register:
    """Decorate a handler with two routes: for a model, and for a version of it."""
    of_model, of_version = f"/models/{{model}}{path}", f"/models/{{model}}/versions/{{version}}{path}"

    def register(handler: Handler) -> Handler:
        routes.add(method, of_model, needs="predict", summary=summary, **facts)(handler)
        routes.add(method, of_version, needs="predict", summary=f"{summary}, by version", **facts)(handler)
        return handler

    return register


@routes.add("GET", "/", needs=None)
@routes.add("GET", "", needs=None, summary="Server metadata", answer="ServerMetadata")
async def oip_server(call: Call) -> Answer:
    """Name and version of the server."""
    return Answer.of({"name": "tallybayes", "version": __version__, "extensions": []})


@routes.add("GET", "/health/live", needs=None, summary="Server live", answer="ServerLive")
async def oip_live(call: Call) -> Answer:
    """Whether the server answers."""
    return Answer.of({"live": True})


@routes.add("GET", "/health/ready", needs=None, summary="Server ready", answer="ServerReady")
async def oip_ready(call: Call) -> Answer:
    """Whether all models can answer."""
    return Answer.of({"live": True, "ready": True})


@_add_for_model("GET", "/ready", "Model ready", answer="ModelReady")
async def oip_model_ready(call: Call) -> Answer:
    """Whether a model can answer."""
    _check_version(call)
    return Answer.of({"name": call.live.name, "ready": True})


@_add_for_model("GET", "", "Model metadata", answer="ModelMetadata")
async def oip_model(call: Call) -> Answer:
    """The inputs and outputs of a model."""
    _check_version(call)
    snapshot = call.published.snapshot
    facts = {
        "name": call.live.name,
        "versions": [str(call.published.version)],
        "platform": "tallybayes_naive_bayes",
        "inputs": [
            {"name": name, "datatype": _input_type(snapshot, name), "shape": [-1]}
            for name in snapshot.state.schema.columns_in_use
        ],
        "outputs": [
            {"name": "predict", "datatype": _datatype(snapshot.classes), "shape": [-1]},
            {"name": "predict_proba", "datatype": "FP64", "shape": [-1, len(snapshot.classes)]},
        ],
    }
    return Answer.of(facts, headers=call.version_headers)


@_add_for_model(
    "POST",
    "/infer",
    "Inference",
    body=BodyFacts("InferenceRequest", {"id": "1", "inputs": [_TENSOR]}),
    answer="InferenceResponse",
)
async def oip_infer(call: Call) -> Answer:
    """The answers and probabilities of rows, given as tensors."""
    _check_version(call)
    snapshot = call.published.snapshot
    request, wanted, identifier = await call.service.for_body(call.content, _read, call)
    snapshot.require_classes()
    cost = int("predict_proba" in wanted)
    limit = RowLimit(call.service.settings.max_rows, len(snapshot.classes), cost)
    answer = partial(_answer, call, wanted, identifier)
    return await answer_predictions(call, request, limit, answer, keeps_proba=bool(cost))


def _read(call: Call) -> tuple[RequestRows, list[str], str | None]:
    """The rows of a request, the outputs that it asks for, and its id."""
    body = parse_json(call.content)
    if not isinstance(body, dict):
        raise DataError("an object of JSON with inputs", got=body)
    wanted = _output_names(body.get("outputs"))
    identifier = body.get("id")
    if identifier is not None and not isinstance(identifier, str):
        raise DataError("id: text", got=identifier)
    columns = columns_of_tensors(body.get("inputs"), call.service.settings.max_rows)
    is_short = len(next(iter(columns.values()))) <= FEW_ROWS
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)] if is_short else None
    return RequestRows(JSON, rows, columns=columns), wanted, identifier


def _answer(call: Call, wanted: list[str], identifier: str | None, scored: PredictedRows) -> Answer:
    classes, n_rows = scored.snapshot.classes, scored.n_rows
    datatype = _datatype(classes)
    labels = [shown(label) if datatype == "BYTES" else label for label in classes]
    outputs: dict[str, dict[str, Any]] = {
        "predict": {"shape": [n_rows], "datatype": datatype, "data": ListParts(scored.answers(labels))},
        "predict_proba": {
            "shape": [n_rows, len(classes)],
            "datatype": "FP64",
            "parameters": {"classes": ", ".join(map(shown, classes))},
            "data": ListParts((proba.ravel().tolist() for proba in scored.proba), json.dumps),
        },
    }
    facts = {
        "model_name": call.live.name,
        "model_version": str(call.published.version),
        "outputs": [{"name": name, **outputs[name]} for name in wanted],
    }
    if identifier is not None:
        facts["id"] = identifier
    return answer_in_parts(call.service, json_parts(facts), headers=call.version_headers)


def _output_names(outputs: Any) -> list[str]:
    """The names of the outputs that are asked for."""
    if not outputs and outputs in (None, []):
        return list(_OUTPUTS)
    if not isinstance(outputs, list) or not all(isinstance(output, dict) for output in outputs):
        raise DataError("outputs: a list of objects with names", got=outputs)
    names = [output.get("name") for output in outputs]
    for name in names:
        if name not in _OUTPUTS:
            raise DataError(f"an output of the model ({', '.join(_OUTPUTS)})", got=name)
    return list(dict.fromkeys(names))


def _check_version(call: Call) -> None:
    """Refuse a version in the path that is not the current one."""
    version, current = call.path_params.get("version"), call.published.version
    if version is not None and version != str(current):
        raise HttpError.of(404, f"the current version of the model, {current}", got=Described(f"version {version}"))


def _input_type(snapshot: Snapshot, name: str) -> str:
    """The datatype of a column."""
    schema = snapshot.state.schema
    family = schema.family_of(name)
    kind: type[Column] | None = None if family is None else family.column
    if kind is None or kind is Bag or schema.columns[name].is_text:
        return "BYTES"
    if kind is Flags:
        return "BOOL"
    if kind is Codes:
        key = snapshot.state.statistics.any_key(family, name)
        return "BYTES" if key is None else _datatype([key])
    return "FP64"


def columns_of_tensors(inputs: Any, most: int) -> dict[str, list[Any]]:
    """The columns of a request by name, at least one, and all of the same length.

    >>> columns_of_tensors([{"name": "age", "shape": [2, 1], "datatype": "INT64", "data": [7, 8]}], 10)
    {'age': [7, 8]}
    """
    if not isinstance(inputs, list) or not inputs:
        raise DataError("inputs: a list of at least one tensor", got=inputs)
    columns: dict[str, list[Any]] = {}
    n_rows: int | None = None
    for tensor in inputs:
        name, values = _column(tensor, most)
        if name in columns:
            raise DataError("inputs with different names", got=name)
        if n_rows is not None and len(values) != n_rows:
            raise DataError(f"{n_rows} rows, as in the inputs before", got=len(values), column=name)
        columns[name], n_rows = values, len(values)
    return columns


def _column(tensor: Any, most: int) -> tuple[str, list[Any]]:
    """The name and the values of one tensor, one per row."""
    if not isinstance(tensor, dict) or not {"name", "shape", "datatype", "data"} <= tensor.keys():
        raise DataError("a tensor with name, shape, datatype and data", got=tensor)
    name, shape, datatype, data = (tensor[key] for key in ("name", "shape", "datatype", "data"))
    if not isinstance(name, str):
        raise DataError("the name of a column", got=name)
    kinds = _TYPES.get(datatype) if isinstance(datatype, str) else None
    if kinds is None:
        raise DataError(f"a datatype ({', '.join(_TYPES)})", got=datatype, column=name)
    if not isinstance(shape, list) or not 1 <= len(shape) <= 2 or not all(type(n) is int and n >= 0 for n in shape):
        raise DataError("a shape of one or two sizes: rows, or rows and values", got=shape, column=name)
    if shape[0] > most:
        raise DataError(f"at most {most:,} rows", got=shape[0], column=name)
    if shape[0] and shape[-1] == 0:  # rows that have no values would cost memory, and nothing to send
        raise DataError("a shape with at least one value per row", got=shape, column=name)
    flat = _flat(data, name)
    if len(flat) != math.prod(shape):
        raise DataError(f"{math.prod(shape)} values for the shape {shape}", got=len(flat), column=name)
    for row, value in enumerate(flat):
        if value is not None and type(value) not in kinds:
            raise DataError(f"values of the type {datatype}, or null", got=value, column=name, row=row)
    width = shape[1] if len(shape) == 2 else 1
    return name, flat if width == 1 else [flat[i * width : (i + 1) * width] for i in range(shape[0])]


def _flat(data: Any, name: str) -> list[Any]:
    """The values in the order of rows."""
    if not isinstance(data, list):
        raise DataError("data: a list of values", got=data, column=name)
    if not any(isinstance(part, list) for part in data):
        if any(isinstance(part, dict) for part in data):
            raise DataError("values of a tensor", got=Described("an object"), column=name)
        return data
    return [value for part in data for value in _flat(part if isinstance(part, list) else [part], name)]


def _datatype(values: list[Any]) -> str:
    """The datatype of labels.

    >>> _datatype(["cat", "dog"]), _datatype([0, 1]), _datatype([False, True])
    ('BYTES', 'INT64', 'BOOL')
    """
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return "BOOL"
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values):
        return "INT64"
    return "FP64" if kinds and kinds <= {int, float} else "BYTES"
