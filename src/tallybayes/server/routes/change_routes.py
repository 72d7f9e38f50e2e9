"""Changes of a model: every one is an event of its log, and is answered after the durable commit."""

from __future__ import annotations

import json
from typing import Any, Literal

from tallybayes.errors import Described, ParameterError
from tallybayes.server.events.event_rows import ARROW, JSON, write_rows
from tallybayes.server.http.answer import Answer
from tallybayes.server.http.call import Call
from tallybayes.server.http.endpoint import BodyFacts, Routes
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.model_tag import version_headers
from tallybayes.server.http.request_rows import TABLES, RequestRows, check_rows, read_object
from tallybayes.server.live.change_request import ChangeKind, ChangeRequest

__all__ = ["idempotency_key", "routes"]

routes = Routes(
    "Changes",
    "/v1/models/{model}",
    changes=True,
    parameters=["IdempotencyKey", "IfMatch"],
    answer="Change",
    statuses=(409, 415),
)
_LABELLED = BodyFacts("RowsRequest", {"rows": [{"weight": 4.2, "likes": "fish", "pet": "cat"}]}, TABLES)
_CALIBRATION = {"rows": [{"weight": 4.2, "pet": "cat"}], "method": "temperature"}

_LONGEST_KEY = 255
_PART = 1000  # rows that are written as JSON at once
_CONSTRAINTS = ("false_negatives", "false_positives", "maximise", "budget")
_DECIDE = ("positive", "threshold", "costs", "abstain", *_CONSTRAINTS, "rows", "new")


@routes.add("POST", "/learn", needs="learn", summary="Learn labelled rows", body=_LABELLED)
async def learn(call: Call) -> Answer:
    """Adds rows, all of them or none; new classes, categories and columns are added to the model."""
    return await _change_rows(call, "learn")


@routes.add("POST", "/forget", needs="learn", summary="Forget labelled rows", body=_LABELLED)
async def forget(call: Call) -> Answer:
    """Subtracts rows that were learned, exactly; all of them or none."""
    return await _change_rows(call, "forget")


async def _change_rows(call: Call, kind: Literal["learn", "forget"]) -> Answer:
    request = await RequestRows.read(call)
    rows, media_type, notes = await _pack_body(call, request)
    if rows is None:
        raise HttpError.of(422, f"at least one row to {kind}", got=Described("none"))
    parsed = request.rows  # the writer need not read them again
    return await _commit(call, kind, rows, media_type, parsed=parsed, notes=notes)


async def _commit(
    call: Call, kind: ChangeKind, rows: bytes | None = None, media_type: str = JSON, **facts: Any
) -> Answer:
    """Submit a change in the name of the sender, and answer when it is committed."""
    change = ChangeRequest(kind, rows, media_type, call.who, idempotency_key(call), call.if_version(), **facts)
    applied = await call.service.change(call.live, change)
    body = json.dumps(vars(applied), ensure_ascii=False).encode()
    return Answer(body, headers=version_headers(call.live, applied))


async def _pack_body(call: Call, request: RequestRows) -> tuple[bytes | None, str, tuple[str, ...]]:
    """Rows as the log of events stores them, None if there are none; their content type; and notes about them."""
    if request.rows is not None:
        return await call.service.for_body(call.content, _write_json, request.rows), JSON, ()
    most, snapshot = call.service.settings.max_rows, call.published.snapshot
    rows, notes = await call.service.in_thread(request.as_arrow, snapshot, most)
    return rows, ARROW, notes


def _write_json(rows: list[dict[str, Any]]) -> bytes | None:
    """Rows as JSON; None if there are none. A part at a time: other threads wait while one is written."""
    if not rows:
        return None
    parts = [write_rows(rows[i : i + _PART])[1:-1] for i in range(0, len(rows), _PART)]
    return b"[" + b",".join(parts) + b"]"


def idempotency_key(call: Call) -> str | None:
    """The idempotency key."""
    key = call.field(b"idempotency-key")
    if key is None:
        return None
    if not 0 < len(key) <= _LONGEST_KEY or not key.isprintable():
        got = Described(f"{len(key)} characters")
        raise HttpError.of(422, f"an Idempotency-Key of 1 to {_LONGEST_KEY} printable characters", got=got)
    return key


@routes.add("POST", "/undo", needs="learn", summary="Take back an event", body=BodyFacts("UndoRequest", {"event": 17}))
async def undo(call: Call) -> Answer:
    """The model is then as if the event had never happened, byte for byte."""
    event = (await read_object(call, ("event",))).get("event")
    if type(event) is not int or not 0 < event < 2**63:
        raise HttpError.of(422, "event: the number of an event", got=event)
    return await _commit(call, "undo", event=event)


@routes.add(
    "POST",
    "/calibrate",
    needs="admin",
    summary="Calibrate the probabilities",
    body=BodyFacts("CalibrateRequest", _CALIBRATION, TABLES),
)
async def calibrate(call: Call) -> Answer:
    """On rows that the model has learned (each scored without itself), or on new ones."""
    request = await RequestRows.read(call, ("method", "new"), needs_rows=False)
    method = request.options.get("method", "temperature")
    has_rows = request.media_type != JSON or request.rows is not None
    if has_rows == (method == "none"):
        expected = "no rows for the method none" if has_rows else "rows to calibrate on"
        raise HttpError.of(422, expected, got=Described("rows" if has_rows else "none"))
    rows, media_type, notes = await _pack_body(call, request) if has_rows else (None, JSON, ())
    settings = {"method": method, "leave_one_out": not request.options.get("new", False)}
    return await _commit(call, "calibrate", rows, media_type, settings=settings, notes=notes)


@routes.add(
    "PUT",
    "/decision",
    needs="admin",
    summary="Set the decision rule",
    body=BodyFacts("DecideRequest", {"positive": "dog", "threshold": 0.8}),
)
async def decide(call: Call) -> Answer:
    """A threshold for a class, costs, or no answer below a probability, as `tally decide`.

    An empty object is the most probable class.
    """
    options = await read_object(call, _DECIDE)
    rows = options.pop("rows", None)
    stored = None
    if rows is not None:
        checked = check_rows(rows, call.service.settings.max_rows)
        stored = await call.service.for_body(call.content, _write_json, checked)
    return await _commit(call, "decide", stored, settings=_rule(options, stored is not None))


def _rule(options: dict[str, Any], has_rows: bool) -> dict[str, Any]:
    """The settings of a rule, checked as far as they do not depend on the model."""
    chosen = [name for name in _CONSTRAINTS if options.get(name) is not None]
    if len(chosen) > 1:
        raise ParameterError(f"one of {', '.join(_CONSTRAINTS)}", got=chosen)
    if bool(chosen) != has_rows and not (has_rows and options.get("costs") is not None):
        expected = "rows to choose the threshold on" if chosen else "rows only to choose a threshold on"
        raise ParameterError(expected, got=Described("none" if chosen else "rows"))
    result = {name: value for name, value in options.items() if value is not None and name != "new"}
    return result | ({"leave_one_out": not options.get("new", False)} if has_rows else {})
