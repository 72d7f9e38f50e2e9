"""The log of a model over HTTP: events, their rows, export, measurements of the stream, and news as they happen."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import AsyncIterator
from typing import IO, Any

from tallybayes.errors import Described
from tallybayes.formatting import finite_json, json_text
from tallybayes.server.events.event import Event, write_parquet
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.http.answer import Answer, StreamedAnswer
from tallybayes.server.http.call import Call
from tallybayes.server.http.endpoint import Routes
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.model_tag import in_header, version_headers
from tallybayes.server.live.live_model import LiveModel, Published
from tallybayes.server.routes.api_document import answers, file_answer, path_parameter, query, text_answer

__all__ = ["routes"]

routes = Routes("Events", "/v1/models/{model}")

_MOST_EVENTS = 1000  # events of one answer
_HEARTBEAT = 15.0  # seconds; proxies close connections that are silent for a minute
_LOOK = 1.0  # seconds between looks whether the model is still there
_PARQUET = "application/vnd.apache.parquet"
_PART = 2**20  # bytes
_KINDS = ("learn", "forget", "undo", "calibrate", "decide", "replace")
_NUMBER = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}


@routes.add(
    "GET",
    "/events",
    needs="learn",
    summary="List events",
    parameters=[
        query("after", "Only events after this one, the oldest first.", _NUMBER),
        query("before", "Only events before this one.", _NUMBER),
        query("limit", "At most so many.", {"type": "integer", "minimum": 1, "maximum": _MOST_EVENTS, "default": 100}),
        query("kind", "Only events of this kind.", {"enum": list(_KINDS)}),
        query("who", "Only events of this sender.", {"type": "string"}),
    ],
    responses=answers("EventList", 404, 422),
)
async def list_events(call: Call) -> Answer:
    """The newest first, or, with `after`, the ones that follow."""
    live = call.live
    after, before = call.integer("after"), call.integer("before")
    limit = call.integer("limit")
    limit = 100 if limit is None else limit
    if not 1 <= limit <= _MOST_EVENTS:
        raise HttpError.of(422, f"limit: from 1 to {_MOST_EVENTS:,}", got=limit)
    kind, who = call.query_params.get("kind"), call.query_params.get("who")
    if kind is not None and kind not in _KINDS:
        raise HttpError.of(422, f"kind: {', '.join(_KINDS)}", got=kind)

    def work() -> list[dict[str, Any]]:
        """Read a page of events."""
        page = live.log.page(after=after, before=before, limit=limit, kind=kind, who=who)
        return [event.to_dict() for event in page]

    events = await call.service.in_thread(work)
    following = events[-1]["event"] if len(events) == limit else None
    return Answer.of({"events": events, "next": following}, headers=version_headers(live, live.current))


@routes.add(
    "GET",
    "/events/{event}",
    needs="learn",
    summary="Read an event",
    parameters=[path_parameter("event", "The number of the event.", {"type": "integer", "minimum": 0})],
    responses=answers("EventDetails", 404, 422),
)
async def read_event(call: Call) -> Answer:
    """With its rows."""
    live, number = call.live, _path_number(call)

    def work() -> Answer:
        """Read an event with its rows, and write the answer."""
        event = live.log.get(number)
        rows = None if event.rows is None or event.kind == "replace" else event.row_values()
        facts = {**event.to_dict(), "data": finite_json(rows), "settings": finite_json(event.settings)}
        return Answer.of(facts, headers=version_headers(live, live.current))

    return await call.service.in_thread(work)


@routes.add("GET", "/events.parquet", needs="learn", summary="Export all events", responses=file_answer(_PARQUET, 404))
async def export_events(call: Call) -> Answer:
    """As a Parquet file, as `tally log export` writes it."""
    live = call.live
    call.deadline.reschedule(None)  # a long log takes its time

    def work() -> IO[bytes]:
        """Write the events to a temporary file, so that a long log needs little memory."""
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is sent
        try:
            with contextlib.closing(EventLog(live.files.log, read_only=True)) as log:
                write_parquet(log.after(0), file)
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return file

    file = await call.service.in_thread(work)
    disposition = f'attachment; filename="{in_header(live.name)}.events.parquet"'.encode()
    headers = [*version_headers(live, live.current), (b"content-disposition", disposition)]
    return StreamedAnswer(_parts(call, file), _PARQUET, headers=headers)


async def _parts(call: Call, file: IO[bytes]) -> AsyncIterator[bytes]:
    """A file part by part."""
    with file:
        while part := await call.service.in_thread(file.read, _PART):
            yield part


@routes.add("GET", "/stream", needs="predict", summary="Measurements of the stream", responses=answers("Stream", 404))
async def read_stream(call: Call) -> Answer:
    """Each row is scored before it is learned: accuracy and log loss over windows of rows.

    Also the shares of classes, warnings of drift, and how many events and rows come per second.
    """
    live = call.live
    published = live.current
    summary = await call.service.in_thread(live.stream_summary)
    return Answer.of(summary, headers=version_headers(live, published))


@routes.add(
    "GET",
    "/live",
    needs="predict",
    streams=True,
    summary="Follow changes",
    responses=text_answer("text/event-stream", 404),
)
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


async def _news(call: Call, live: LiveModel) -> AsyncIterator[bytes]:
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
    gone = asyncio.ensure_future(_until_gone(call))
    closing = asyncio.ensure_future(service.closing.wait())
    service.n_streams += 1
    try:
        yield _event("hello", {"version": live.current.version})
        silent = 0.0
        while not gone.done() and not closing.done() and service.folder.get(live.name) is live and call.has_valid_key:
            waiting = asyncio.ensure_future(changed.wait())
            await asyncio.wait((waiting, gone, closing), timeout=_LOOK, return_when=asyncio.FIRST_COMPLETED)
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
        gone.cancel()
        closing.cancel()


async def _until_gone(call: Call) -> None:
    """Wait until the client hangs up."""
    while (await call.receive())["type"] != "http.disconnect":
        pass


def _event(kind: str, data: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json_text(json.loads(json.dumps(data, default=str)))}\n\n".encode()


def _path_number(call: Call) -> int:
    text = call.path_params["event"]
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise HttpError.of(404, "the number of an event", got=text)
    return int(text)
