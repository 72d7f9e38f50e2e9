"""The Open Inference Protocol, version 2: health, metadata and inference, for clients that speak it already.

Every column is an input of shape [-1]; the outputs are `predict`, the answers, and `predict_proba`, the probabilities.
Where the decision rule abstains, an answer is null. Versions in paths are accepted if they are the current one. Errors
are {"error": message}, as the protocol says.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from tallybayes.arrays.column import Bag, Codes, Column, Flags
from tallybayes.errors import DataError, Described
from tallybayes.formatting import shown
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.server.http.answer import Answer
from tallybayes.server.http.answer_parts import ListParts, answer_in_parts, json_parts
from tallybayes.server.http.call import Call
from tallybayes.server.http.endpoint import BodyFacts, Handler, Register, Routes
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.prediction_answer import answer_predictions
from tallybayes.server.http.row_limit import RowLimit
from tallybayes.server.http.row_pieces import RowPieces
from tallybayes.server.http.strict_json import parse_json
from tallybayes.server.http.tensor_rows import columns_of_tensors, datatype_of
from tallybayes.server.live.predicted_rows import FEW_ROWS, PredictedRows
from tallybayes.version import __version__

__all__ = ["routes"]

routes = Routes("Open Inference Protocol", "/v2", error="InferenceError")
_TENSOR = {"name": "weight", "shape": [1], "datatype": "FP64", "data": [4.2]}


def _add_for_model(method: str, path: str, summary: str, **facts: Any) -> Register:
    """Decorate a handler with two routes: for a model, and for a version of it."""
    of_model, of_version = f"/models/{{model}}{path}", f"/models/{{model}}/versions/{{version}}{path}"

    def register(handler: Handler) -> Handler:
        routes.add(method, of_model, needs="predict", summary=summary, **facts)(handler)
        routes.add(method, of_version, needs="predict", summary=f"{summary}, by version", **facts)(handler)
        return handler

    return register


_OUTPUTS = ("predict", "predict_proba")
_PLATFORM = "tallybayes_naive_bayes"


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
        "platform": _PLATFORM,
        "inputs": [
            {"name": name, "datatype": _input_type(snapshot, name), "shape": [-1]}
            for name in snapshot.state.schema.columns_in_use
        ],
        "outputs": [
            {"name": "predict", "datatype": datatype_of(snapshot.classes), "shape": [-1]},
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
    inference = await call.service.for_body(call.content, _Inference.of, call)
    snapshot.require_classes()
    cost = int("predict_proba" in inference.wanted)
    limit = RowLimit(call.service.settings.max_rows, len(snapshot.classes), cost)
    return await answer_predictions(
        call.service,
        snapshot,
        inference.rows() if inference.n_rows <= FEW_ROWS else None,
        lambda: nullcontext(RowPieces.of_columns(inference.columns, inference.n_rows, limit)),
        lambda scored: _response(call, scored, inference),
        keeps_proba=bool(cost),
    )


@dataclass(frozen=True)
class _Inference:
    """What a request asks for."""

    columns: dict[str, list[Any]]
    n_rows: int
    wanted: list[str]
    identifier: str | None

    @classmethod
    def of(cls, call: Call) -> _Inference:
        """The body of a request, checked."""
        body = parse_json(call.content)
        if not isinstance(body, dict):
            raise DataError("an object of JSON with inputs", got=body)
        wanted = _output_names(body.get("outputs"))
        identifier = body.get("id")
        if identifier is not None and not isinstance(identifier, str):
            raise DataError("id: text", got=identifier)
        columns, n_rows = columns_of_tensors(body.get("inputs"), call.service.settings.max_rows)
        return cls(columns, n_rows, wanted, identifier)

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        return [{name: values[i] for name, values in self.columns.items()} for i in range(self.n_rows)]


def _response(call: Call, scored: PredictedRows, inference: _Inference) -> Answer:
    classes, n_rows = scored.snapshot.classes, scored.n_rows
    datatype = datatype_of(classes)
    labels = [shown(label) if datatype == "BYTES" else label for label in classes]
    outputs = {
        "predict": {
            "name": "predict",
            "shape": [n_rows],
            "datatype": datatype,
            "data": ListParts(scored.answers(labels)),
        },
        "predict_proba": {
            "name": "predict_proba",
            "shape": [n_rows, len(classes)],
            "datatype": "FP64",
            "parameters": {"classes": ", ".join(map(shown, classes))},
            "data": ListParts((proba.ravel().tolist() for proba in scored.proba), json.dumps),
        },
    }
    facts = {
        "model_name": call.live.name,
        "model_version": str(call.published.version),
        "outputs": [outputs[name] for name in inference.wanted],
    }
    if inference.identifier is not None:
        facts["id"] = inference.identifier
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
        return "BYTES" if key is None else datatype_of([key])
    return "FP64"
