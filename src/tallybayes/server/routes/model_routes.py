"""The models of a server: list, description, schema, download, upload, removal."""

from __future__ import annotations

import datetime
import os
import re
from typing import Any

from tallybayes.errors import Described
from tallybayes.formatting import finite_json
from tallybayes.model.model_summary import given_facts
from tallybayes.server.events.event_rows import JSON, MODEL
from tallybayes.server.http.answer import Answer
from tallybayes.server.http.call import Call
from tallybayes.server.http.endpoint import BodyFacts, Routes
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.model_tag import attachment
from tallybayes.server.live.change_request import ChangeRequest
from tallybayes.server.live.live_model import LiveModel, Published
from tallybayes.server.routes.change_routes import idempotency_key
from tallybayes.state.model_state import ModelState
from tallybayes.storage.model_file import state_from_bytes, state_to_bytes

__all__ = ["routes"]

routes = Routes("Models", "/v1/models")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_BINARY = ("application/octet-stream", MODEL)


def _model_facts(call: Call, live: LiveModel, published: Published) -> dict[str, Any]:
    """What the list of models says about a model."""
    state = published.snapshot.state
    counts = [] if state.given is not None else list(state.class_counts.values())
    return {
        "name": live.name,
        "label": state.schema.label,
        "classes": state.classes,
        "rows": sum(counts),
        "class_counts": counts,
        "version": published.version,
        "columns": len(state.schema.columns_in_use),
        "stale": state.stale,
        "read_only": call.service.settings.read_only,
    }


@routes.add("GET", "", needs="predict", summary="List the models", answer="ModelList")
async def list_models(call: Call) -> Answer:
    """Those that the key may use."""
    models = [live for name, live in sorted(call.service.folder.items()) if call.may_see(name)]
    return Answer.of({"models": [_model_facts(call, live, live.current) for live in models]})


@routes.add("GET", "/{model}", needs="predict", summary="Describe a model", answer="ModelDetails", by_version=True)
async def describe_model(call: Call) -> Answer:
    """Classes, rows per class (`class_counts` has the order of `classes`), version and settings."""
    live, settings = call.live, call.published.snapshot.state.settings
    weights, calibration, decision = settings.column_weights, settings.calibration, settings.decision
    facts = _model_facts(call, live, call.published) | given_facts(call.published.snapshot.state)
    facts |= {
        "decision": None if decision is None else str(decision),
        "calibration": None if calibration is None else str(calibration),
        "column_weights": {"fitted_on": 0 if weights is None else weights.fitted_on},
        "created": _time_of(live.files.base),
        "events": live.log.last_id,
    }
    return Answer.of(facts)


def _time_of(path: str) -> str | None:
    """When a file was written."""
    try:
        seconds = os.stat(path).st_mtime
    except OSError:
        return None
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@routes.add("GET", "/{model}/schema", needs="predict", summary="Read the schema", answer="Schema", by_version=True)
async def read_schema(call: Call) -> Answer:
    """As `tally inspect --schema` prints it."""
    return Answer.of(finite_json(call.published.snapshot.state.schema.to_dict()))


@routes.add(
    "GET", "/{model}/download", needs="learn", summary="Download the model file", formats=[MODEL], by_version=True
)
async def download_model(call: Call) -> Answer:
    """The model as it is now, as a `.tally` file."""
    content = await call.service.in_thread(state_to_bytes, call.published.snapshot.state)
    return Answer(content, MODEL, headers=[attachment(call.live, ".tally")])


@routes.add(
    "PUT",
    "/{model}",
    needs="admin",
    changes=True,
    creates=True,
    summary="Upload a model file",
    parameters=["IdempotencyKey", "IfMatch"],
    body=BodyFacts(None, formats=_BINARY),
    answer="ModelFacts",
    statuses=(201, 409, 415),
)
async def upload_model(call: Call) -> Answer:
    """Adds a model, or replaces one; the file is checked as any other model file."""
    name = call.path_params["model"]
    if not _NAME.fullmatch(name):
        hint = "letters, digits, _ . and -, at most 100, the first a letter or a digit"
        raise HttpError.of(422, "a name for a model", got=name, hint=hint)
    if call.media_type not in _BINARY:
        got = Described(call.media_type or "none")
        raise HttpError.of(415, f"the content type {' or '.join(_BINARY)}", got=got)
    service, content = call.service, call.content
    state = await service.in_thread(state_from_bytes, content, f"{name}.tally")  # audits every number of it
    live = service.folder.get(name)
    if live is None:
        if (tag := call.field(b"if-match")) is not None:
            raise HttpError.of(412, "a model that exists, for If-Match", got=Described(tag))
        await service.in_thread(lambda: service.folder.add(name, content, who=call.who).result())
        status = 201
    else:
        key, status = idempotency_key(call), 200
        if key is None or not await service.in_thread(_is_untouched, live, state):
            request = ChangeRequest("replace", content, MODEL, call.who, key, call.if_version())
            await service.change(live, request)
    facts = _model_facts(call, call.live, call.published)
    return Answer.of(facts, status=status, headers=call.version_headers)


def _is_untouched(live: LiveModel, state: ModelState) -> bool:
    """Whether a model is as this upload has made it: the upload was repeated, because its answer was lost."""
    return not live.log.last_id and state_to_bytes(live.current.snapshot.state) == state_to_bytes(state)


@routes.add(
    "DELETE",
    "/{model}",
    needs="admin",
    changes=True,
    summary="Remove a model",
    parameters=["IfMatch"],
    statuses=(204, 409),
)
async def remove_model(call: Call) -> Answer:
    """Removes the model file, its log and its snapshot."""
    name, wanted = call.live.name, call.if_version()
    await call.service.in_thread(lambda: call.service.folder.remove(name, if_version=wanted))
    return Answer(b"", JSON, status=204)
