"""The schemas of the OpenAPI document: what requests and answers contain."""

from __future__ import annotations

from typing import Any

__all__ = ["PARAMETERS", "SCHEMAS"]

_TEXT: dict[str, Any] = {"type": "string"}
_INTEGER: dict[str, Any] = {"type": "integer"}
_NUMBER: dict[str, Any] = {"type": "number"}
_FLAG: dict[str, Any] = {"type": "boolean"}
_LABEL: dict[str, Any] = {"description": "A class: text, a number or a boolean."}
_LABEL_OR_NULL: dict[str, Any] = {"description": "A class; null where the decision rule abstains."}
_LEVEL: dict[str, Any] = {
    "type": "number",
    "exclusiveMinimum": 0,
    "exclusiveMaximum": 1,
    "description": "The level of credible intervals, such as 0.95.",
}


def _list(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def _object(required: str, **properties: Any) -> dict[str, Any]:
    names = required.split()
    return {"type": "object", "properties": properties} | ({"required": names} if names else {})


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


_ROW: dict[str, Any] = {"type": "object", "description": "Values by column.", "additionalProperties": True}
_ROWS = _list(_ROW, description="Rows: values by column. A column that is not there is missing.")


def _rows_request(**options: Any) -> dict[str, Any]:
    """Either rows or a row, with options."""
    return {
        "oneOf": [
            {**_object("rows", rows=_ROWS, **options), "additionalProperties": False},
            {**_object("row", row=_ROW, **options), "additionalProperties": False},
        ]
    }


_FACTS: dict[str, Any] = {
    "name": _TEXT,
    "label": {"description": "The column of the label.", **_or_null(_TEXT)},
    "classes": _list(_LABEL),
    "rows": {**_NUMBER, "description": "Rows (or their weight) that the model has learned."},
    "class_counts": _list(_NUMBER, description="Rows per class, in the order of classes."),
    "version": {**_INTEGER, "description": "The last event that changed the model; 0 is the file it began with."},
    "columns": {**_INTEGER, "description": "The number of columns in use."},
    "stale": _list(_TEXT, description="What was fitted before the last changes."),
    "read_only": _FLAG,
}
_FACT_NAMES = " ".join(_FACTS)

SCHEMAS: dict[str, Any] = {
    "Problem": _object(
        "type title status detail request_id",
        type={**_TEXT, "description": "urn:tallybayes:error: and the class of the error."},
        title=_TEXT,
        status=_INTEGER,
        detail={**_TEXT, "description": "The whole message."},
        expected=_TEXT,
        got=_TEXT,
        hint=_TEXT,
        column=_TEXT,
        row=_INTEGER,
        line=_INTEGER,
        request_id=_TEXT,
    ),
    "PredictRequest": _rows_request(
        probabilities={**_FLAG, "default": True, "description": "Whether the answer has probabilities."},
        interval=_LEVEL,
    ),
    "ExplainRequest": _rows_request(interval=_LEVEL),
    "EvaluateRequest": _rows_request(
        leave_one_out={
            **_FLAG,
            "description": "Score each without itself; by default, if these are the rows it learned.",
        }
    ),
    "RowsRequest": _rows_request(),
    "CalibrateRequest": {
        "anyOf": [
            _rows_request(
                method={"enum": ["temperature", "isotonic"]},
                new={**_FLAG, "description": "The model has not learned these rows."},
            ),
            {**_object("method", method={"const": "none"}), "additionalProperties": False},
        ]
    },
    "DecideRequest": {
        **_object(
            "",
            positive={**_LABEL, "description": "The class of the threshold."},
            threshold={**_NUMBER, "minimum": 0, "maximum": 1},
            costs={
                "type": "object",
                "description": "The cost of an answer by true class and answer.",
                "additionalProperties": {"type": "object", "additionalProperties": {**_NUMBER, "minimum": 0}},
            },
            abstain={**_NUMBER, "minimum": 0, "maximum": 1, "description": "No answer below this probability."},
            false_negatives={**_NUMBER, "minimum": 0},
            false_positives={**_NUMBER, "minimum": 0},
            maximise={"const": "f1"},
            budget={**_NUMBER, "minimum": 0},
            rows=_ROWS,
            new=_FLAG,
        ),
        "additionalProperties": False,
    },
    "UndoRequest": {
        **_object("event", event={**_INTEGER, "minimum": 1, "maximum": 2**63 - 1}),
        "additionalProperties": False,
    },
    "Predictions": _object(
        "model version classes predictions",
        model=_TEXT,
        version=_INTEGER,
        classes=_list(_LABEL),
        predictions=_list(_LABEL_OR_NULL),
        probabilities=_list(_list(_NUMBER), description="P(class | row), the classes as in classes."),
        intervals=_list(_list(_list(_NUMBER)), description="Low and high end of each probability."),
    ),
    "Explanations": _object(
        "model version explanations",
        model=_TEXT,
        version=_INTEGER,
        explanations=_list(
            _object(
                "predicted classes log_prior log_evidence log_score probabilities",
                predicted=_LABEL_OR_NULL,
                classes=_list(_LABEL),
                values={"type": "object"},
                log_prior=_list(_or_null(_NUMBER)),
                log_evidence={"type": "object", "additionalProperties": _list(_or_null(_NUMBER))},
                words={"type": "object"},
                log_score=_list(_or_null(_NUMBER)),
                probabilities=_list(_NUMBER),
                decision=_or_null(_TEXT),
                flip=_or_null({"type": "object"}),
                interval=_list(_list(_NUMBER)),
            )
        ),
    ),
    "Evaluation": _object("model version", model=_TEXT, version=_INTEGER),
    "Sample": _object("model version rows", model=_TEXT, version=_INTEGER, rows=_ROWS),
    "Change": _object(
        "event version kind rows skipped notes repeated",
        event={**_INTEGER, "description": "The number of the event, for undo."},
        version=_INTEGER,
        kind=_TEXT,
        rows=_INTEGER,
        skipped={**_INTEGER, "description": "Rows without a label."},
        notes=_list(_TEXT),
        repeated={**_FLAG, "description": "The key of idempotency was seen before: this is the first answer."},
    ),
    "ModelFacts": _object(_FACT_NAMES, **_FACTS),
    "ModelList": _object("models", models=_list({"$ref": "#/components/schemas/ModelFacts"})),
    "ModelDetails": _object(
        _FACT_NAMES + " decision calibration column_weights created events",
        **_FACTS,
        decision=_or_null(_TEXT),
        calibration=_or_null(_TEXT),
        column_weights=_object("fitted_on", fitted_on=_NUMBER),
        created=_or_null(_TEXT),
        events={**_INTEGER, "description": "Events in the log."},
    ),
    "Schema": {"type": "object", "description": "As `tally inspect --schema` prints it."},
    "Event": _object(
        "event kind time who rows",
        event=_INTEGER,
        kind=_TEXT,
        time={**_TEXT, "description": "UTC."},
        who=_TEXT,
        rows=_INTEGER,
        key=_or_null(_TEXT),
        undone_by=_or_null(_INTEGER),
        undoes=_or_null(_INTEGER),
        summary=_TEXT,
    ),
    "EventList": _object(
        "events next",
        events=_list({"$ref": "#/components/schemas/Event"}),
        next=_or_null({**_INTEGER, "description": "The value of after (or before) for the next events."}),
    ),
    "EventDetails": {
        "allOf": [
            {"$ref": "#/components/schemas/Event"},
            _object("", data=_or_null(_ROWS), settings=_or_null({"type": "object"})),
        ]
    },
    "Stream": _object(
        "version windows series",
        version=_INTEGER,
        events=_INTEGER,
        rows=_NUMBER,
        windows=_list({"type": "object"}),
        series=_list({"type": "object"}),
        class_shares={"type": "object"},
        drift=_list({"type": "object"}),
        rate={"type": "object"},
    ),
    "Document": {"type": "object", "description": "An OpenAPI document."},
    "Health": _object("status", status=_TEXT),
    "ServerMetadata": _object("name version extensions", name=_TEXT, version=_TEXT, extensions=_list(_TEXT)),
    "ServerLive": _object("live", live=_FLAG),
    "ServerReady": _object("live ready", live=_FLAG, ready=_FLAG),
    "ModelReady": _object("name ready", name=_TEXT, ready=_FLAG),
    "TensorMetadata": _object("name datatype shape", name=_TEXT, datatype=_TEXT, shape=_list(_INTEGER)),
    "ModelMetadata": _object(
        "name platform",
        name=_TEXT,
        versions=_list(_TEXT),
        platform=_TEXT,
        inputs=_list({"$ref": "#/components/schemas/TensorMetadata"}),
        outputs=_list({"$ref": "#/components/schemas/TensorMetadata"}),
    ),
    "RequestTensor": _object(
        "name shape datatype data",
        name=_TEXT,
        shape=_list({**_INTEGER, "minimum": 0}),
        datatype=_TEXT,
        parameters={"type": "object"},
        data=_list({}),
    ),
    "InferenceRequest": _object(
        "inputs",
        id=_TEXT,
        parameters={"type": "object"},
        inputs=_list({"$ref": "#/components/schemas/RequestTensor"}),
        outputs=_list(_object("name", name=_TEXT, parameters={"type": "object"})),
    ),
    "InferenceResponse": _object(
        "model_name outputs",
        model_name=_TEXT,
        model_version=_TEXT,
        id=_TEXT,
        parameters={"type": "object"},
        outputs=_list({"$ref": "#/components/schemas/RequestTensor"}),
    ),
    "InferenceError": _object("error", error=_TEXT),
    "InvocationsRequest": {
        "type": "object",
        "description": "One of dataframe_split, dataframe_records, instances, inputs.",
        "properties": {
            "dataframe_split": _object("data", columns=_list({}), index=_list({}), data=_list(_list({}))),
            "dataframe_records": _ROWS,
            "instances": _list({}),
            "inputs": {"description": "Values by column, or rows."},
            "params": _or_null({"type": "object"}),
        },
    },
    "InvocationsResponse": _object("predictions", predictions=_list(_LABEL_OR_NULL)),
    "InvocationsError": _object("error_code message", error_code=_TEXT, message=_TEXT),
}

PARAMETERS: dict[str, Any] = {
    "Model": {
        "name": "model",
        "in": "path",
        "required": True,
        "description": "The name of the model: that of its file, without .tally.",
        "schema": {"type": "string", "minLength": 1},
    },
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "A text that no other change has. Repeated with the same rows, the first answer is given again.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    },
    "IfMatch": {
        "name": "If-Match",
        "in": "header",
        "required": False,
        "description": 'The ETag that the model must have, such as "pets-17".',
        "schema": {"type": "string"},
    },
    "IfNoneMatch": {
        "name": "If-None-Match",
        "in": "header",
        "required": False,
        "description": "The ETag that the sender has: the answer is 304 if it is the current one.",
        "schema": {"type": "string"},
    },
}
