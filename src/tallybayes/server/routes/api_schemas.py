"""The schemas of the OpenAPI document: what requests and answers contain.

Objects are written as in TypeScript, in one line: the name and the type of each property, with a question mark after
the name of one that may be absent. The description of a property, or its limits, follow by its name.
"""

from __future__ import annotations

from functools import partial
from typing import Any

__all__ = ["PARAMETERS", "SCHEMAS", "object_schema", "query_parameter", "schema_of"]

_ROW: dict[str, Any] = {"type": "object", "description": "Values by column.", "additionalProperties": True}
_ROWS_MEANING = "Rows: values by column. A column that is not there is missing."
_TYPES: dict[str, dict[str, Any]] = {
    "any": {},
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "object": {"type": "object"},
    "list": {"type": "array"},
    "null": {"type": "null"},
    "label": {"description": "A class: text, a number or a boolean."},
    "answer": {"description": "A class; null where the decision rule abstains."},
    "row": _ROW,
    "rows": {"type": "array", "items": _ROW, "description": _ROWS_MEANING},
}


def schema_of(kind: str) -> dict[str, Any]:
    """The schema of a type: one of those above, the name of a schema, a list, or either of two types.

    >>> schema_of("(integer|null)[]")
    {'type': 'array', 'items': {'anyOf': [{'type': 'integer'}, {'type': 'null'}]}}
    >>> schema_of("Event")
    {'$ref': '#/components/schemas/Event'}
    """
    if kind.endswith("[]"):
        return {"type": "array", "items": schema_of(kind.removesuffix("[]").strip("()"))}
    if "|" in kind:
        return {"anyOf": [schema_of(part) for part in kind.split("|")]}
    return _TYPES.get(kind, {"$ref": f"#/components/schemas/{kind}"})


def object_schema(properties: str, **more: str | dict[str, Any]) -> dict[str, Any]:
    """The schema of an object; more: the meaning of properties, or further parts of their schemas.

    >>> object_schema("name:text rows?:integer", rows="The number of rows.")["properties"]["rows"]
    {'type': 'integer', 'description': 'The number of rows.'}
    >>> object_schema("name:text rows?:integer")["required"]
    ['name']
    """
    kinds = dict(part.split(":") for part in properties.split())
    required = [name for name in kinds if not name.endswith("?")]
    schemas = {name.removesuffix("?"): schema_of(kind) for name, kind in kinds.items()}
    for name, facts in more.items():
        schemas[name] = schemas[name] | ({"description": facts} if isinstance(facts, str) else facts)
    return {"type": "object", "properties": schemas} | ({"required": required} if required else {})


def _closed(properties: str, **more: Any) -> dict[str, Any]:
    """An object without further properties."""
    return {**object_schema(properties, **more), "additionalProperties": False}


def _rows_request(options: str = "", **more: Any) -> dict[str, Any]:
    """Either rows or a row, with options."""
    return {"oneOf": [_closed(f"rows:rows {options}", **more), _closed(f"row:row {options}", **more)]}


_LEVEL = {"exclusiveMinimum": 0, "exclusiveMaximum": 1, "description": "The level of credible intervals, such as 0.95."}
_SHARE, _AMOUNT = {"minimum": 0, "maximum": 1}, {"minimum": 0}
_FACTS = (
    "name:text label:text|null classes:label[] rows:number class_counts:number[] version:integer columns:integer "
    "stale:text[] read_only:flag"
)
_FACT_MEANINGS = {
    "label": "The column of the label.",
    "rows": "Rows (or their weight) that the model has learned.",
    "class_counts": "Rows per class, in the order of classes.",
    "version": "The last event that changed the model; 0 is the file it began with.",
    "columns": "The number of columns in use.",
    "stale": "What was fitted before the last changes.",
}
_ANSWERED = "model:text version:integer"

SCHEMAS: dict[str, Any] = {
    "Problem": object_schema(
        "type:text title:text status:integer detail:text expected?:text got?:text hint?:text column?:text row?:integer "
        "line?:integer request_id:text",
        type="urn:tallybayes:error: and the class of the error.",
        detail="The whole message.",
    ),
    "PredictRequest": _rows_request(
        "probabilities?:flag interval?:number",
        probabilities={"default": True, "description": "Whether the answer has probabilities."},
        interval=_LEVEL,
    ),
    "ExplainRequest": _rows_request("interval?:number", interval=_LEVEL),
    "EvaluateRequest": _rows_request(
        "leave_one_out?:flag", leave_one_out="Score each without itself; by default, if these are the rows it learned."
    ),
    "RowsRequest": _rows_request(),
    "CalibrateRequest": {
        "anyOf": [
            _rows_request(
                "method?:any new?:flag",
                method={"enum": ["temperature", "isotonic"]},
                new="The model has not learned these rows.",
            ),
            _closed("method:any", method={"const": "none"}),
        ]
    },
    "DecideRequest": _closed(
        "positive?:label threshold?:number costs?:object abstain?:number false_negatives?:number "
        "false_positives?:number maximise?:any budget?:number rows?:rows new?:flag",
        positive="The class of the threshold.",
        threshold=_SHARE,
        costs={
            "description": "The cost of an answer by true class and answer.",
            "additionalProperties": {"type": "object", "additionalProperties": {"type": "number", **_AMOUNT}},
        },
        abstain={**_SHARE, "description": "No answer below this probability."},
        false_negatives=_AMOUNT,
        false_positives=_AMOUNT,
        maximise={"const": "f1"},
        budget=_AMOUNT,
    ),
    "UndoRequest": _closed("event:integer", event={"minimum": 1, "maximum": 2**63 - 1}),
    "Predictions": object_schema(
        f"{_ANSWERED} classes:label[] predictions:answer[] probabilities?:number[][] intervals?:number[][][] "
        "notes?:text[]",
        probabilities="P(class | row), the classes as in classes.",
        intervals="Low and high end of each probability.",
        notes="What was doubtful about the rows, such as cells that are no dates.",
    ),
    "Explanations": object_schema(f"{_ANSWERED} explanations:Explanation[]"),
    "Explanation": object_schema(
        "predicted:answer classes:label[] values?:object log_prior:(number|null)[] log_evidence:object words?:object "
        "log_score:(number|null)[] probabilities:number[] decision?:text|null flip?:object|null interval?:number[][]",
        log_evidence={"additionalProperties": schema_of("(number|null)[]")},
    ),
    "Evaluation": object_schema(_ANSWERED),
    "Sample": object_schema(f"{_ANSWERED} rows:rows"),
    "Change": object_schema(
        "event:integer version:integer kind:text rows:integer skipped:integer notes:text[] repeated:flag",
        event="The number of the event, for undo.",
        skipped="Rows without a label.",
        notes="New classes, and what was doubtful about the rows.",
        repeated="The key of idempotency was seen before: this is the first answer.",
    ),
    "ModelFacts": object_schema(_FACTS, **_FACT_MEANINGS),
    "ModelList": object_schema("models:ModelFacts[]"),
    "ModelDetails": object_schema(
        f"{_FACTS} decision:text|null calibration:text|null class_prior:text|null priors:object base:object|null "
        "column_weights:object created:text|null events:integer",
        **_FACT_MEANINGS,
        column_weights=object_schema("fitted_on:number"),
        events="Events in the log.",
    ),
    "Schema": {"type": "object", "description": "As `tally inspect --schema` prints it."},
    "Event": object_schema(
        "event:integer kind:text time:text who:text rows:integer key?:text|null undone_by?:integer|null "
        "undoes?:integer|null summary?:text",
        time="UTC.",
    ),
    "EventList": object_schema(
        "events:Event[] next:integer|null", next="The value of after (or before) for the next events."
    ),
    "EventDetails": {"allOf": [schema_of("Event"), object_schema("data?:rows|null settings?:object|null")]},
    "Stream": object_schema(
        "version:integer events?:integer rows?:number windows:object[] series:object[] class_shares?:object "
        "drift?:object[] rate?:object"
    ),
    "Document": {"type": "object", "description": "An OpenAPI document."},
    "Health": object_schema("status:text"),
    "ServerMetadata": object_schema("name:text version:text extensions:text[]"),
    "ServerLive": object_schema("live:flag"),
    "ServerReady": object_schema("live:flag ready:flag"),
    "ModelReady": object_schema("name:text ready:flag"),
    "TensorMetadata": object_schema("name:text datatype:text shape:integer[]"),
    "ModelMetadata": object_schema(
        "name:text versions?:text[] platform:text inputs?:TensorMetadata[] outputs?:TensorMetadata[]"
    ),
    "RequestTensor": object_schema(
        "name:text shape:list datatype:text parameters?:object data:any[]",
        shape={"items": {"type": "integer", **_AMOUNT}},
    ),
    "InferenceRequest": object_schema("id?:text parameters?:object inputs:RequestTensor[] outputs?:RequestedOutput[]"),
    "RequestedOutput": object_schema("name:text parameters?:object"),
    "InferenceResponse": object_schema(
        "model_name:text model_version?:text id?:text parameters?:object outputs:RequestTensor[]"
    ),
    "InferenceError": object_schema("error:text"),
    "InvocationsRequest": {
        **object_schema(
            "dataframe_split?:object dataframe_records?:rows instances?:any[] inputs?:any params?:object|null",
            dataframe_split=object_schema("columns?:any[] index?:any[] data:any[][]"),
            inputs="Values by column, or rows.",
        ),
        "description": "One of dataframe_split, dataframe_records, instances, inputs.",
    },
    "InvocationsResponse": object_schema("predictions:answer[]"),
    "InvocationsError": object_schema("error_code:text message:text"),
}


def _parameter(place: str, name: str, description: str, kind: str = "text", **limits: Any) -> dict[str, Any]:
    """A parameter of a request; place: path, query or header."""
    facts = {"name": name, "in": place, "required": place == "path", "description": description}
    return {**facts, "schema": {**schema_of(kind), **limits}}


query_parameter = partial(_parameter, "query")
_KEY_MEANING = "A text that no other change has. Repeated with the same rows, the first answer is given again."
_MATCH_MEANING = "The ETag that the sender has: the answer is 304 if it is the current one."
PARAMETERS: dict[str, Any] = {  # those of paths are named as between the braces
    "Model": _parameter("path", "model", "The name of the model: that of its file, without .tally.", minLength=1),
    "Version": _parameter("path", "version", "The version of the model; only the current one is there."),
    "Event": _parameter("path", "event", "The number of the event.", "integer", minimum=0),
    "IdempotencyKey": _parameter(
        "header", "Idempotency-Key", _KEY_MEANING, minLength=1, maxLength=255, pattern="^[!-~]+$"
    ),
    "IfMatch": _parameter("header", "If-Match", 'The ETag that the model must have, such as "pets-17".'),
    "IfNoneMatch": _parameter("header", "If-None-Match", _MATCH_MEANING),
}
