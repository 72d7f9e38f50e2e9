"""Predictions, explanations, evaluation and samples: what is answered from the published snapshot alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.doubts import collect_doubts
from tallybayes.errors import Described
from tallybayes.evaluation.evaluate import evaluate as evaluate_model
from tallybayes.explaining.explain_rows import explain as explain_rows
from tallybayes.explaining.explanation import Explanation
from tallybayes.formatting import finite_json, json_text, shown
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.server.events.event_rows import ARROW, JSON
from tallybayes.server.http.answer import Answer, ListParts, answer_in_parts, json_parts
from tallybayes.server.http.answer_table import answer_format, table_parts, table_type
from tallybayes.server.http.arrow_body import write_arrow
from tallybayes.server.http.call import Call
from tallybayes.server.http.endpoint import BodyFacts, Routes
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.request_rows import NDJSON, TABLES, RequestRows, reading_notes
from tallybayes.server.http.row_source import INTERVAL_COST, MAX_ANSWER_NUMBERS, RowLimit
from tallybayes.server.http.service import check_stop
from tallybayes.server.live.predicted_rows import PredictedRows
from tallybayes.server.routes.api_schemas import query_parameter
from tallybayes.tables.source import Source

__all__ = ["answer_predictions", "routes"]

routes = Routes("Predictions", "/v1/models/{model}")

_MOST_EXPLAINED = 1000  # rows; an explanation is some hundred times as long as a row
_MOST_EXPLAINED_CELLS = 3_000_000  # contributions of columns and words to classes, about 100 MB of JSON
_MOST_SAMPLED = 10_000
_ROW = {"weight": 4.2, "likes": "fish|sun"}
_add_for_rows = partial(routes.add, "POST", needs="predict", parameters=["IfMatch"])


@_add_for_rows(
    "/predict",
    summary="Predict",
    body=BodyFacts("PredictRequest", {"rows": [_ROW], "interval": 0.95}, TABLES),
    answer="Predictions",
    formats=TABLES,
    statuses=[415],
)
async def predict(call: Call) -> Answer:
    """The label of every row and the probabilities of all classes.

    The answer has the format of the request, unless the header Accept names another.
    """
    call.require_version()
    snapshot = call.published.snapshot
    request = await RequestRows.read(call, ("probabilities", "interval"))
    snapshot.require_classes()
    kind, level = answer_format(call, request.media_type), request.options.get("interval")
    keeps_proba = kind != JSON or request.options.get("probabilities", True)
    cost = int(keeps_proba) if level is None else INTERVAL_COST
    hint = 'or ask for the answers alone: JSON with "probabilities": false' if level is None else ""
    limit = RowLimit(call.service.settings.max_rows, len(snapshot.classes), cost, hint)
    answer = partial(_answer, call, kind, request.options)
    return await answer_predictions(call, request, limit, answer, level=level, keeps_proba=keeps_proba)


async def answer_predictions(
    call: Call,
    request: RequestRows,
    limit: RowLimit,
    answer: Callable[[PredictedRows], Answer],
    *,
    level: float | None = None,
    keeps_proba: bool,
) -> Answer:
    """Score rows, a few at once, many in a thread; answer when all are scored, so that an error is answered as one."""
    snapshot = call.published.snapshot
    with collect_doubts() as found:
        few = None if request.rows is None or level is not None else PredictedRows.of_few(snapshot, request.rows)
    if few is not None:
        return answer(replace(few, notes=reading_notes(found)) if found else few)

    def work() -> Answer:
        """Score many rows and begin the answer."""
        with collect_doubts() as found, request.opened(limit, snapshot.state.schema) as source:
            predicted = PredictedRows.of(snapshot, source, level, keeps_proba=keeps_proba)
            return answer(replace(predicted, notes=reading_notes(found)))

    return await call.service.in_thread(work)


def _answer(call: Call, kind: str, options: dict[str, Any], scored: PredictedRows) -> Answer:
    """The answer in some format, in parts."""
    headers, classes = call.version_headers, scored.snapshot.classes
    if kind != JSON:
        types = _table_types(scored, kind, with_ends=options.get("interval") is not None)
        return answer_in_parts(call.service, table_parts(_table(scored, kind), kind, types), table_type(kind), headers)
    facts = {**call.model_version, "classes": classes, "predictions": ListParts(scored.answers(classes), _plain_json)}
    if scored.notes:
        facts["notes"] = list(scored.notes)
    if options.get("probabilities", True):
        facts["probabilities"] = ListParts((piece.tolist() for piece in scored.proba), _plain_json)
    if options.get("interval") is not None:
        facts["intervals"] = ListParts((piece.tolist() for piece in scored.ends), _plain_json)
    return answer_in_parts(call.service, json_parts(facts), headers=headers)


_plain_json = partial(json.dumps, ensure_ascii=False)  # of numbers that are finite, and of labels


def _table(scored: PredictedRows, kind: str) -> Iterator[dict[str, Any]]:
    """Predictions as a table: the prediction, its probability, its interval, then the probability of every class."""
    classes = scored.snapshot.classes
    names = list(map(shown, classes))
    intervals: list[Any] = scored.ends or [None] * len(scored.codes)
    labels = scored.answers(classes)
    for own_labels, codes, proba, ends in zip(labels, scored.codes, scored.proba, intervals, strict=True):
        rows, abstains = np.arange(len(codes)), codes < 0
        numbers = {"probability": proba[rows, codes]}
        if ends is not None:
            numbers |= {"low": ends[rows, codes, 0], "high": ends[rows, codes, 1]}
        columns: dict[str, Any] = {"prediction": own_labels}
        columns |= {name: np.ma.array(values, mask=abstains).tolist() for name, values in numbers.items()}
        if kind == NDJSON:
            columns["probabilities"] = [dict(zip(names, row, strict=True)) for row in proba.tolist()]
        else:
            columns |= {f"P({name})": proba[:, i].tolist() for i, name in enumerate(names)}
        yield columns


def _table_types(scored: PredictedRows, kind: str, *, with_ends: bool) -> dict[str, Any]:
    """The columns of such a table with their types."""
    classes = scored.snapshot.classes
    label = pa.array(classes).type if kind == ARROW else pa.string()
    names = ["probability", *(("low", "high") if with_ends else ()), *(f"P({shown(category)})" for category in classes)]
    return {"prediction": label, **dict.fromkeys(names, pa.float64())}


@_add_for_rows(
    "/explain",
    summary="Explain predictions",
    body=BodyFacts("ExplainRequest", {"row": _ROW}, [NDJSON]),
    answer="Explanations",
    statuses=[415],
)
async def explain(call: Call) -> Answer:
    """For every row the prior and the contribution of each column, which add up to log P(class, row).

    They are natural logarithms. Also the words of a text or tags, and the smallest change that would flip the answer.
    """
    call.require_version()
    snapshot = call.published.snapshot
    request = await RequestRows.read(call, ("interval",))
    snapshot.require_classes()
    level = request.options.get("interval")
    classes, limit = snapshot.classes, RowLimit(_MOST_EXPLAINED, len(snapshot.classes), INTERVAL_COST if level else 0)

    def work() -> Answer:
        """Explain the rows and begin the answer."""
        texts: list[str] = []
        n_cells = 0
        with request.opened(limit, snapshot.state.schema) as source:
            scored = None if level is None else PredictedRows.of(snapshot, source, level)
            ends = [] if scored is None else [row_ends for piece in scored.ends for row_ends in piece.tolist()]
            for explanation in _explanations(snapshot, source):
                n_cells += len(classes) * (len(explanation.log_evidence) + sum(map(len, explanation.words.values())))
                if n_cells > _MOST_EXPLAINED_CELLS:
                    expected = f"explanations of at most {_MOST_EXPLAINED_CELLS:,} contributions"
                    hint = f"ask for fewer rows: each column and each word has one for each of {len(classes):,} classes"
                    raise HttpError.of(413, expected, got=Described("more"), hint=hint)
                row_facts = explanation.to_dict()
                texts.append(json_text(row_facts if level is None else row_facts | {"interval": ends[len(texts)]}))
        parts = ListParts(([text] for text in texts), lambda part: f"[{part[0]}]")
        facts = {**call.model_version, "explanations": parts}
        return answer_in_parts(call.service, json_parts(facts), headers=call.version_headers)

    return await call.service.in_thread(work)


def _explanations(snapshot: Snapshot, source: Source) -> Iterator[Explanation]:
    """The explanations of rows, one at a time: that of a long text has tens of thousands of words for every class."""
    for _, table in snapshot.batches(source):
        for row in range(table.n_rows):
            check_stop()
            yield from explain_rows(snapshot, table.part(row, row + 1))


@_add_for_rows(
    "/evaluate",
    summary="Evaluate on labelled rows",
    body=BodyFacts("EvaluateRequest", {"rows": [{"weight": 4.2, "pet": "cat"}]}, TABLES),
    answer="Evaluation",
    statuses=[409, 415],
)
async def evaluate(call: Call) -> Answer:
    """Accuracy, log loss, Brier score, AUC, calibration error and the confusion matrix.

    As `tally evaluate --json` prints them.
    """
    call.require_version()
    published = call.published
    request = await RequestRows.read(call, ("leave_one_out",))
    leave_one_out = request.options.get("leave_one_out")
    limit = RowLimit(call.service.settings.max_rows, max(len(published.snapshot.classes), 1), cost=1)

    def work() -> Answer:
        """Evaluate the rows and write the answer."""
        if request.rows == []:
            raise HttpError.of(422, "at least one row", got=[])
        with request.opened(limit, published.snapshot.state.schema) as source:
            evaluation = evaluate_model(published.model, source, leave_one_out=leave_one_out).to_dict()
        return Answer.of({**call.model_version, **evaluation}, headers=call.version_headers)

    return await call.service.in_thread(work)


@routes.add(
    "GET",
    "/sample",
    needs="predict",
    summary="Draw rows from the model",
    parameters=[
        query_parameter("n", "The number of rows.", "integer", minimum=0, maximum=_MOST_SAMPLED, default=10),
        query_parameter("seed", "The seed, to draw the same rows again.", "integer", minimum=0),
    ],
    answer="Sample",
    formats=[ARROW],
    statuses=[413, 422],
)
async def sample(call: Call) -> Answer:
    """A class from the class prior, then every column given the class."""
    published, seed, n = call.published, call.integer("seed"), call.integer("n", 10)
    kind = answer_format(call, JSON, (JSON, ARROW))
    if n > _MOST_SAMPLED:
        raise HttpError.of(413, f"at most {_MOST_SAMPLED:,} rows", got=n)
    n_columns = len(published.snapshot.state.schema.families)
    if n * n_columns > MAX_ANSWER_NUMBERS:
        raise HttpError.of(413, f"at most {MAX_ANSWER_NUMBERS // n_columns:,} rows of {n_columns:,} columns", got=n)

    def work() -> Answer:
        """Draw the rows and write the answer."""
        drawn, headers = published.model.sample(n, seed=seed), call.version_headers
        if kind == ARROW:
            return Answer(write_arrow(drawn), ARROW, headers=headers)
        return Answer.of({**call.model_version, "rows": finite_json(drawn.to_pylist())}, headers=headers)

    return await call.service.in_thread(work)
