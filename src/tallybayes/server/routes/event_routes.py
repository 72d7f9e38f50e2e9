"""The log of a model over HTTP: events, their rows, export, measurements of the stream, and news as they happen."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import AsyncGenerator
from typing import IO, Any, get_args

from tallybayes.errors import Described
from tallybayes.formatting import finite_json, json_text
from tallybayes.server.events.event import Event, write_parquet
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.http.answer import Answer, StreamedAnswer
from tallybayes.server.http.call import Call
from tallybayes.server.http.endpoint import Routes
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.model_tag import attachment, parse_number
from tallybayes.server.live.change_request import ChangeKind
from tallybayes.server.live.live_model import LiveModel, Published
from tallybayes.server.routes.api_schemas import query_parameter

__all__ = ["routes"]

routes = Routes("Events", "/v1/models/{model}")

_MOST_EVENTS = 1000  # events of one answer
_HEARTBEAT = 15.0  # seconds; proxies close connections that are silent for a minute
_LOOK = 1.0  # seconds between looks whether the model is still there
_PARQUET = "application/vnd.apache.parquet"
_PART = 2**20  # bytes
_KINDS = get_args(ChangeKind)
_NUMBER = {"minimum": 0, "maximum": 2**63 - 1}


@routes.add(
    "GET",
    "/events",
    needs="learn",
    summary="List events",
    parameters=[
        query_parameter("after", "Only events after this one, the oldest first.", "integer", **_NUMBER),
        query_parameter("before", "Only events before this one.", "integer", **_NUMBER),
        query_parameter("limit", "At most so many.", "integer", minimum=1, maximum=_MOST_EVENTS, default=100),
        query_parameter("kind", "Only events of this kind.", "any", enum=list(_KINDS)),
        query_parameter("who", "Only events of this sender.", "text"),
    ],
    answer="EventList",
    statuses=[422],
)
async def list_events(call: Call) -> Answer:
    """The newest first, or, with `after`, the ones that follow."""
    after, before, limit = call.integer("after"), call.integer("before"), call.integer("limit", 100)
    if not 1 <= limit <= _MOST_EVENTS:
        raise HttpError.of(422, f"limit: from 1 to {_MOST_EVENTS:,}", got=limit)
    kind, who = call.query_params.get("kind"), call.query_params.get("who")
    if kind is not None and kind not in _KINDS:
        raise HttpError.of(422, f"kind: {', '.join(_KINDS)}", got=kind)

    def work() -> list[dict[str, Any]]:
        """Read a page of events."""
        page = call.live.log.page(after=after, before=before, limit=limit, kind=kind, who=who)
        return [event.to_dict() for event in page]

    events = await call.service.in_thread(work)
    following = events[-1]["event"] if len(events) == limit else None
    return Answer.of({"events": events, "next": following}, headers=call.version_headers)


@routes.add("GET", "/events/{event}", needs="learn", summary="Read an event", answer="EventDetails", statuses=[422])
async def read_event(call: Call) -> Answer:
    """With its rows."""
    number = parse_number(call.path_params["event"])
    if number is None:
        raise HttpError.of(404, "the number of an event", got=call.path_params["event"])

    def work() -> Answer:
        """Read an event with its rows, and write the answer."""
        event = call.live.log.get(number)
        rows = None if event.rows is None or event.kind == "replace" else event.row_values()
        facts = {**event.to_dict(), "data": finite_json(rows), "settings": finite_json(event.settings)}
        return Answer.of(facts, headers=call.version_headers)

    return await call.service.in_thread(work)


@routes.add("GET", "/events.parquet", needs="learn", summary="Export all events", formats=[_PARQUET])
async def export_events(call: Call) -> Answer:
    """As a Parquet file, as `tally log export` writes it."""
    call.deadline.reschedule(None)  # a long log takes its time

    def work() -> IO[bytes]:
        """Write the events to a temporary file, so that a long log needs little memory."""
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is sent
        try:
            with contextlib.closing(EventLog(call.live.files.log, read_only=True)) as log:
                write_parquet(log.after(0), file)
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return file

    file = await call.service.in_thread(work)
    headers = [*call.version_headers, attachment(call.live, ".events.parquet")]
    return StreamedAnswer(_parts(call, file), _PARQUET, headers=headers)


async def _parts(call: Call, file: IO[bytes]) -> AsyncGenerator[bytes]:
    """A file part by part."""
    with file:
        while part := await call.service.in_thread(file.read, _PART):
            yield part


@routes.add("GET", "/stream", needs="predict", summary="Measurements of the stream", answer="Stream")
async def read_stream(call: Call) -> Answer:
    """Each row is scored before it is learned: accuracy and log loss over windows of rows.

    Also the shares of classes, warnings of drift, and how many events and rows come per second.
    """
    headers = call.version_headers
    return Answer.of(await call.service.in_thread(call.live.stream_summary), headers=headers)


@routes.add("GET", "/live", needs="predict", streams=True, summary="Follow changes", formats=["text/event-stream"])
async def follow_events(call: Call) -> Answer:
    """Server-sent events: `published` after each change; a comment every 15 seconds.

    It has version, event, kind, rows, time and a summary of the stream. Under load, changes in between are skipped.
    """
    live, service = call.live, call.service
    if service.n_streams >= service.settings.max_streams:
        got = Described("more")
        expected = f"at most {service.settings.max_streams} streams of events"
        raise HttpError.of(503, expected, got=got, headers={"Retry-After": "10"})
    return StreamedAnswer(_news(call, live), "text/event-stream", headers=[(b"x-accel-buffering", b"no")])


async def _news(call: Call, live: LiveModel) -> AsyncGenerator[bytes]:
    """Each publication of the model as an event; a comment where nothing happens for a while."""
    service, loop = call.service, asyncio.get_running_loop()
    changed = asyncio.Event()
    latest: dict[str, Any] = {}

    def published(state: Published, events: list[Event]) -> None:  # called in the writer's thread
        newest = events[-1]
        latest.update(version=state.version, event=newest.id, kind=newest.kind, time=newest.time, n_events=len(events))
        latest.update(rows=sum(event.n_rows for event in events))
        loop.call_soon_threadsafe(changed.set)

    unsubscribe = live.subscribe(published)
    waiting = closing = asyncio.ensure_future(service.closing.wait())
    service.n_streams += 1
    try:
        yield _event("hello", {"version": live.current.version})
        silent = 0.0
        while not closing.done() and service.folder.get(live.name) is live and call.has_valid_key:
            waiting = asyncio.ensure_future(changed.wait())
            await asyncio.wait((waiting, closing), timeout=_LOOK, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if changed.is_set():
                changed.clear()  # several publications that came meanwhile are told as one: the newest
                summary = await service.in_thread(live.stream_summary)
                yield _event("published", {**latest, "stream": summary["windows"]})
                silent = 0.0
            elif (silent := silent + _LOOK) >= _HEARTBEAT:
                yield b": still here\n\n"
                silent = 0.0
    finally:
        service.n_streams -= 1
        unsubscribe()
        waiting.cancel()
        closing.cancel()


def _event(kind: str, data: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json_text(json.loads(json.dumps(data, default=str)))}\n\n".encode()
