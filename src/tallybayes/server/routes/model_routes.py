"""The models of a server: list, description, schema, download, upload, removal."""

from __future__ import annotations

import datetime
import functools
import os
import re
from typing import Any

from tallybayes.errors import Described
from tallybayes.formatting import finite_json
from tallybayes.server.events.event_rows import JSON, MODEL
from tallybayes.server.http.answer import Answer, Headers
from tallybayes.server.http.call import Call
from tallybayes.server.http.endpoint import Routes, unless_current
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.model_tag import in_header, version_headers
from tallybayes.server.live.change_request import ChangeRequest
from tallybayes.server.live.live_model import LiveModel, Published
from tallybayes.server.routes.api_document import (
    IDEMPOTENCY_KEY,
    IF_MATCH,
    IF_NONE_MATCH,
    answers,
    file_answer,
    file_body,
)
from tallybayes.server.routes.change_routes import idempotency_key
from tallybayes.storage.model_file import state_from_bytes, state_to_bytes

__all__ = ["model_facts", "routes"]

routes = Routes("Models", "/v1/models")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_BINARY = ("application/octet-stream", MODEL)


def model_facts(call: Call, live: LiveModel, published: Published) -> dict[str, Any]:
    """What the list of models says about a model."""
    state = published.snapshot.state
    counts = {} if state.given is not None else state.class_counts
    amounts = [int(n) if float(n).is_integer() else float(n) for n in counts.values()]
    return {
        "name": live.name,
        "label": state.schema.label,
        "classes": state.classes,
        "rows": sum(amounts),
        "class_counts": amounts,
        "version": published.version,
        "columns": len(state.schema.columns_in_use),
        "stale": state.stale,
        "read_only": call.service.settings.read_only,
    }


@routes.add("GET", "", needs="predict", summary="List the models", responses=answers("ModelList"))
async def list_models(call: Call) -> Answer:
    """Those that the key may use."""
    models = [live for name, live in sorted(call.service.folder.items()) if call.may_see(name)]
    return Answer.of({"models": [model_facts(call, live, live.current) for live in models]})


@routes.add(
    "GET",
    "/{model}",
    needs="predict",
    summary="Describe a model",
    parameters=[IF_NONE_MATCH],
    responses=answers("ModelDetails", 304, 404),
)
@unless_current
async def describe_model(call: Call, live: LiveModel, published: Published, headers: Headers) -> Answer:
    """Classes, rows per class (`class_counts` has the order of `classes`), version and settings."""
    settings = published.snapshot.state.settings
    weights, calibration, decision = settings.column_weights, settings.calibration, settings.decision
    facts = model_facts(call, live, published) | {
        "decision": None if decision is None else str(decision),
        "calibration": None if calibration is None else str(calibration),
        "column_weights": {"fitted_on": 0 if weights is None else weights.fitted_on},
        "created": _time_of(live.files.base),
        "events": live.log.last_id,
    }
    return Answer.of(facts, headers=headers)


def _time_of(path: str) -> str | None:
    """When a file was written."""
    try:
        seconds = os.stat(path).st_mtime
    except OSError:
        return None
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@routes.add(
    "GET",
    "/{model}/schema",
    needs="predict",
    summary="Read the schema",
    parameters=[IF_NONE_MATCH],
    responses=answers("Schema", 304, 404),
)
@unless_current
async def read_schema(call: Call, live: LiveModel, published: Published, headers: Headers) -> Answer:
    """As `tally inspect --schema` prints it."""
    return Answer.of(finite_json(published.snapshot.state.schema.to_dict()), headers=headers)


def _attachment(live: LiveModel) -> Headers:
    """The header that names the downloaded file."""
    return [(b"content-disposition", f'attachment; filename="{in_header(live.name)}.tally"'.encode())]


@routes.add(
    "GET",
    "/{model}/download",
    needs="learn",
    summary="Download the model file",
    parameters=[IF_NONE_MATCH],
    responses=file_answer(MODEL, 304, 404),
)
@functools.partial(unless_current, more=_attachment)
async def download_model(call: Call, live: LiveModel, published: Published, headers: Headers) -> Answer:
    """The model as it is now, as a `.tally` file."""
    content = await call.service.in_thread(state_to_bytes, published.snapshot.state)
    return Answer(content, MODEL, headers=headers)


@routes.add(
    "PUT",
    "/{model}",
    needs="admin",
    changes=True,
    summary="Upload a model file",
    parameters=[IDEMPOTENCY_KEY, IF_MATCH],
    requestBody=file_body(),
    responses=answers("ModelFacts", 201, 403, 404, 409, 412, 413, 415, 422, 503),
)
async def upload_model(call: Call) -> Answer:
    """Adds a model, or replaces one; the file is checked as any other model file."""
    name = call.path_params["model"]
    if not _NAME.fullmatch(name):
        hint = "letters, digits, _ . and -, at most 100, the first a letter or a digit"
        raise HttpError.of(422, "a name for a model", got=name, hint=hint)
    kind = (call.field(b"content-type") or "").partition(";")[0].strip().lower()
    if kind not in _BINARY:
        raise HttpError.of(415, f"the content type {' or '.join(_BINARY)}", got=Described(kind or "none"))
    service, content = call.service, call.content
    await service.in_thread(state_from_bytes, content, f"{name}.tally")  # audits every number of it
    live = service.folder.get(name)
    if live is None:
        if (tag := call.field(b"if-match")) is not None:
            raise HttpError.of(412, "a model that exists, for If-Match", got=Described(tag))
        await service.in_thread(lambda: service.folder.add(name, content, who=call.who).result())
        live, status = service.model(name), 201
    else:
        key, status = idempotency_key(call), 200
        if key is None or not await service.in_thread(_is_untouched, live, content):
            request = ChangeRequest("replace", content, MODEL, call.who, key, call.if_version(live))
            await service.change(live, request)
    published = live.current
    facts = model_facts(call, live, published)
    return Answer.of(facts, status=status, headers=version_headers(live, published))


def _is_untouched(live: LiveModel, content: bytes) -> bool:
    """Whether a model is as this upload has made it: the upload was repeated, because its answer was lost."""
    state = state_from_bytes(content, f"{live.name}.tally")
    return not live.log.last_id and state_to_bytes(live.current.snapshot.state) == state_to_bytes(state)


@routes.add(
    "DELETE",
    "/{model}",
    needs="admin",
    changes=True,
    summary="Remove a model",
    parameters=[IF_MATCH],
    responses=answers(None, 204, 403, 404, 409, 412, 503),
)
async def remove_model(call: Call) -> Answer:
    """Removes the model file, its log and its snapshot."""
    live, folder = call.live, call.service.folder
    wanted = call.if_version(live)
    await call.service.in_thread(lambda: folder.remove(live.name, if_version=wanted))
    return Answer(b"", JSON, status=204)
