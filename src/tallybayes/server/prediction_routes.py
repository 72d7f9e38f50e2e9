"""Predictions, explanations, evaluation and samples: what is answered from the published snapshot alone."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tallybayes.errors import ParameterError, check_integer, is_real_number
from tallybayes.evaluation.evaluate import evaluate as evaluate_model
from tallybayes.families.family import Floats
from tallybayes.formatting import finite_json, shown
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.server.answer import Answer
from tallybayes.server.answer_table import answer_format, table_answer
from tallybayes.server.api_document import answers, query, rows_body, rows_or_table
from tallybayes.server.call import Call
from tallybayes.server.direct_route import Endpoint
from tallybayes.server.event_rows import JSON
from tallybayes.server.http_problem import HttpError
from tallybayes.server.live_model import LiveModel, Published
from tallybayes.server.model_tag import version_headers
from tallybayes.server.request_rows import NDJSON, RequestRows
from tallybayes.server.row_scoring import proba_of_few, require_classes

__all__ = ["ENDPOINTS"]

_MOST_EXPLAINED = 1000  # rows; an explanation is some hundred times as long as a row
_MOST_SAMPLED = 10_000
_PART = 2000  # rows that are written as JSON at once


async def predict(call: Call) -> Answer:
    """Predict the label of every row, with the probabilities of all classes."""
    live = call.live
    call.require_version(live)
    published = live.current
    given = await RequestRows.read(call, ("probabilities", "interval"))
    snapshot = published.snapshot
    require_classes(snapshot)
    if not isinstance(given.options.get("probabilities", True), bool):
        raise HttpError.of(422, "probabilities: true or false", got=given.options["probabilities"])
    kind, level = answer_format(call, given.media_type), _level(given.options)
    few = proba_of_few(snapshot, given.rows) if given.rows is not None and level is None else None
    if few is not None:
        return _answer(live, published, few, None, kind, given.options)
    most = call.service.settings.max_rows

    def work() -> Answer:
        """Score many rows and write the answer."""
        proba, ends = _scored(snapshot, given, level, most)
        return _answer(live, published, proba, ends, kind, given.options)

    return await call.service.in_thread(work)


def _answer(
    live: LiveModel, published: Published, proba: Floats, ends: Floats | None, kind: str, options: dict[str, Any]
) -> Answer:
    if kind == JSON:
        return _json_answer(live, published, proba, ends, options)
    return _table(live, published, proba, ends, kind)


def _scored(snapshot: Snapshot, given: RequestRows, level: float | None, most: int) -> tuple[Floats, Floats | None]:
    """P(class | row), and its intervals if there is a level."""
    with given.opened(most) as data:
        if data == []:
            proba = np.zeros((0, len(snapshot.classes)))
            return proba, None if level is None else np.zeros((*proba.shape, 2))
        if level is None:
            return snapshot.proba(data), None
        parts = [part for _, part in snapshot.interval_batches(data, level)]
    log_joint = snapshot.joined(own for own, _ in parts)
    snapshot.posterior.write_proba(log_joint, 0, len(log_joint))
    return log_joint, snapshot.joined((ends for _, ends in parts), 2)


def _level(options: dict[str, Any]) -> float | None:
    level = options.get("interval")
    if level is not None and not (is_real_number(level) and 0 < level < 1):
        raise ParameterError("interval: a level between 0 and 1, such as 0.95", got=level)
    return level


def _json_answer(
    live: LiveModel, published: Published, proba: Floats, ends: Floats | None, options: dict[str, Any]
) -> Answer:
    snapshot = published.snapshot
    classes = snapshot.classes
    predictions = [None if code < 0 else classes[code] for code in snapshot.posterior.answer_codes(proba).tolist()]
    found: dict[str, Any] = {
        "model": live.name,
        "version": published.version,
        "classes": classes,
        "predictions": predictions,
    }
    if options.get("probabilities", True):
        found["probabilities"] = proba.tolist()
    if ends is not None:
        found["intervals"] = ends.tolist()
    if len(predictions) <= _PART:
        return Answer(json.dumps(found, ensure_ascii=False).encode(), headers=version_headers(live, published))
    parts = [f"{json.dumps(name)}: {_long_json(value)}" for name, value in found.items()]
    return Answer(f"{{{', '.join(parts)}}}".encode(), headers=version_headers(live, published))


def _long_json(value: Any) -> str:
    """A value as JSON; of a long list some members at a time: other threads wait while one is written."""
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    parts = (json.dumps(value[i : i + _PART], ensure_ascii=False)[1:-1] for i in range(0, len(value), _PART))
    return f"[{', '.join(parts)}]"


def _table(live: LiveModel, published: Published, proba: Floats, ends: Floats | None, kind: str) -> Answer:
    """Predictions as a table: the prediction, its probability, its interval, then the probability of every class."""
    snapshot = published.snapshot
    classes = snapshot.classes
    codes = snapshot.posterior.answer_codes(proba).tolist()
    rows = range(len(codes))
    columns: dict[str, list[Any]] = {
        "prediction": [None if code < 0 else classes[code] for code in codes],
        "probability": [None if codes[i] < 0 else float(proba[i, codes[i]]) for i in rows],
    }
    if ends is not None:
        for place, name in enumerate(("low", "high")):
            columns[name] = [None if codes[i] < 0 else float(ends[i, codes[i], place]) for i in rows]
    if kind == NDJSON:
        columns = {
            **columns,
            "probabilities": [dict(zip(map(shown, classes), own, strict=True)) for own in proba.tolist()],
        }
    else:
        columns |= {f"P({shown(label)})": proba[:, i].tolist() for i, label in enumerate(classes)}
    return table_answer(columns, kind, version_headers(live, published))


async def explain(call: Call) -> Answer:
    """Explain predictions: the prior and the contribution of every column, which add up to the score."""
    live = call.live
    call.require_version(live)
    published = live.current
    given = await RequestRows.read(call, ("interval",))
    require_classes(published.snapshot)
    level = _level(given.options)

    def explained() -> list[dict[str, Any]]:
        """Explain the rows, as plain values."""
        with given.opened(_MOST_EXPLAINED) as data:
            if data == []:
                return []
            if isinstance(data, list) and len(data) > _MOST_EXPLAINED:
                raise HttpError.of(413, f"at most {_MOST_EXPLAINED:,} rows to explain", got=len(data))
            found = [one.to_dict() for one in published.model.explain(data)]
        if level is not None:
            with given.opened(_MOST_EXPLAINED) as data:
                ends = published.model.predict_interval(data, level).tolist()
            found = [one | {"interval": own} for one, own in zip(found, ends, strict=True)]
        return found

    def work() -> Answer:
        """Explain the rows and write the answer."""
        found = {"model": live.name, "version": published.version, "explanations": explained()}
        return Answer.of(found, headers=version_headers(live, published))

    return await call.service.in_thread(work)


async def evaluate(call: Call) -> Answer:
    """Evaluate the model on labelled rows."""
    live = call.live
    call.require_version(live)
    published = live.current
    given = await RequestRows.read(call, ("leave_one_out",))
    leave_one_out = given.options.get("leave_one_out")
    if not (leave_one_out is None or isinstance(leave_one_out, bool)):
        raise HttpError.of(422, "leave_one_out: true or false", got=leave_one_out)

    def work() -> Answer:
        """Evaluate the rows and write the answer."""
        with given.opened(call.service.settings.max_rows) as data:
            if data == []:
                raise HttpError.of(422, "at least one row", got=[])
            found = evaluate_model(published.model, data, leave_one_out=leave_one_out).to_dict()
        facts = {"model": live.name, "version": published.version, **found}
        return Answer.of(facts, headers=version_headers(live, published))

    return await call.service.in_thread(work)


async def sample(call: Call) -> Answer:
    """Draw rows from the model."""
    live = call.live
    published = live.current
    n, seed = _integer(call, "n", 10), _integer(call, "seed", None)
    if n > _MOST_SAMPLED:
        raise HttpError.of(413, f"at most {_MOST_SAMPLED:,} rows", got=n)

    def work() -> Answer:
        """Draw the rows and write the answer."""
        rows = finite_json(published.model.sample(n, seed=seed).to_pylist())
        found = {"model": live.name, "version": published.version, "rows": rows}
        return Answer.of(found, headers=version_headers(live, published))

    return await call.service.in_thread(work)


def _integer(call: Call, name: str, default: Any) -> Any:
    """An integer of the query."""
    text = call.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise HttpError.of(422, f"{name}: an integer of at least 0", got=text)
    return check_integer(name, int(text), at_least=0)


_MODEL = "Predictions"
ENDPOINTS = [
    Endpoint(
        "POST",
        "/v1/models/{model}/predict",
        predict,
        "predict",
        {
            "tags": [_MODEL],
            "summary": "Predict",
            "description": "The label of every row and the probabilities of all classes. The answer has the format of"
            " the request, unless the header Accept names another.",
            "parameters": [{"$ref": "#/components/parameters/IfMatch"}],
            "requestBody": rows_or_table(
                "PredictRequest", {"rows": [{"weight": 4.2, "likes": "fish|sun"}], "interval": 0.95}
            ),
            "responses": answers("Predictions", 400, 404, 406, 412, 413, 415, 422, tables=True),
        },
    ),
    Endpoint(
        "POST",
        "/v1/models/{model}/explain",
        explain,
        "predict",
        {
            "tags": [_MODEL],
            "summary": "Explain predictions",
            "description": "For every row the prior and the contribution of each column, as natural logarithms, which"
            " add up to log P(class, row); the words of a text; the smallest change that would flip the answer.",
            "parameters": [{"$ref": "#/components/parameters/IfMatch"}],
            "requestBody": rows_body("ExplainRequest", {"row": {"weight": 4.2, "likes": "fish|sun"}}),
            "responses": answers("Explanations", 400, 404, 412, 413, 415, 422),
        },
    ),
    Endpoint(
        "POST",
        "/v1/models/{model}/evaluate",
        evaluate,
        "predict",
        {
            "tags": [_MODEL],
            "summary": "Evaluate on labelled rows",
            "description": "Accuracy, log loss, Brier score, AUC, calibration error and the confusion matrix, as"
            " `tally evaluate --json` prints them.",
            "parameters": [{"$ref": "#/components/parameters/IfMatch"}],
            "requestBody": rows_or_table("EvaluateRequest", {"rows": [{"weight": 4.2, "pet": "cat"}]}),
            "responses": answers("Evaluation", 400, 404, 409, 412, 413, 415, 422),
        },
    ),
    Endpoint(
        "GET",
        "/v1/models/{model}/sample",
        sample,
        "predict",
        {
            "tags": [_MODEL],
            "summary": "Draw rows from the model",
            "description": "A class from the class prior, then every column given the class.",
            "parameters": [
                query(
                    "n",
                    "The number of rows.",
                    {"type": "integer", "minimum": 0, "maximum": _MOST_SAMPLED, "default": 10},
                ),
                query("seed", "The seed, to draw the same rows again.", {"type": "integer", "minimum": 0}),
            ],
            "responses": answers("Sample", 404, 413, 422),
        },
    ),
]
