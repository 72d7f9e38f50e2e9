"""A hosted model: one writer applies changes and commits them, readers use an immutable state and never wait.

Requests wait in a queue. The writer takes all that wait, applies them to a private copy of the state, writes their
events in one transaction, and publishes the new state after the commit: an uncommitted event is never visible, and an
answer is sent only for what is on the disk. If the commit fails, the private copy is dropped and the requests fail; the
published state stays, and the next group tries to write again. What readers need (tables of logs) is derived by the
writer before it publishes a state.

    requests -> queue -> writer: apply -> commit -> publish -> answers
                                                       |
    readers: current.model ----------------------------+
"""

from __future__ import annotations

import contextlib
import datetime
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from tallybayes.errors import FileError, TallyError
from tallybayes.model import Model
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.server.events.event import Event, NewEvent
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.events.hosted_state import Done, HostedState
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.events.model_history import ModelHistory
from tallybayes.server.events.settings_change import calibration_change, decision_change
from tallybayes.server.events.snapshot_file import SnapshotFacts
from tallybayes.server.live.change_queue import BY_ROWS, ChangeQueue, Pending
from tallybayes.server.live.change_request import (
    Applied,
    ChangeRequest,
    KeyReuseError,
    NotWritableError,
    check_rows_to_learn,
    check_version,
)
from tallybayes.server.live.stream_metrics import RowScores, StreamMetrics, score_rows
from tallybayes.state.model_state import ModelState
from tallybayes.storage.model_file import state_from_bytes

__all__ = ["SNAPSHOT_EVENTS", "LiveModel", "Published"]

SNAPSHOT_EVENTS = 10_000  # events after which a snapshot is written
_SNAPSHOT_SECONDS = 60.0  # or as soon as this time has passed, if there are new events


@dataclass(frozen=True)
class Published:
    """What readers use: the model after one event, which never changes. `model` answers as any model does."""

    model: Model
    version: int

    @classmethod
    def of(cls, state: ModelState, version: int) -> Self:
        """A state for readers, with the tables that they need: the writer derives them, so that no reader has to."""
        published = cls(Model(state), version)
        if (snapshot := published.snapshot).classes:
            with contextlib.suppress(Exception):  # readers will get the same error, with their own request
                _ = snapshot.posterior
                snapshot.log_score_of_few({})
        return published

    @property
    def snapshot(self) -> Snapshot:
        """What the model answers from."""
        return self.model.snapshot()


class LiveModel:
    """A model with its log: `current` to read, `submit` to change.

    >>> import pathlib, tempfile, tallybayes as tb
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ill.tally"
    >>> tb.fit({"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}, label="ill").save(path)
    >>> with LiveModel.open(path) as live:
    ...     applied = live.submit(ChangeRequest.of_rows("learn", [{"fever": 1, "ill": "no"}])).result()
    ...     applied.event, live.current.version, live.current.model.class_counts
    (1, 1, {'no': 3, 'yes': 2})
    """

    current: Published

    def __init__(self, files: ModelFiles, *, read_only: bool = False, snapshot_events: int = SNAPSHOT_EVENTS) -> None:
        self.name = files.name
        self.files = files
        self._snapshot_events = snapshot_events
        self.why_read_only = "it was opened for reading only" if read_only else ""
        self._queue = ChangeQueue()
        self._submitting = threading.Lock()
        self._is_closed = False
        self._subscribers: list[Callable[[Published, list[Event]], None]] = []
        self._snapshot_thread: threading.Thread | None = None
        self._writer: threading.Thread | None = None
        self.stream = StreamMetrics()
        with contextlib.ExitStack() as resources:
            if not read_only:
                resources.enter_context(files.hold_lock())
            self.log = resources.enter_context(
                contextlib.closing(EventLog.open_complete(files.log, read_only=read_only))
            )
            self._load()
            self._committer = resources.enter_context(
                ThreadPoolExecutor(1, thread_name_prefix=f"commits of {self.name}")
            )
            self._resources = resources.pop_all()
        if not self.why_read_only:
            self._writer = threading.Thread(target=self._run, name=f"writer of {self.name}", daemon=True)
            self._writer.start()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, read_only: bool = False, **more: Any) -> Self:
        """Open a model file and its log, which is begun if there is none; a FileError if another process has it.

        snapshot_events: how many events there are between two snapshots, about.
        """
        return cls(ModelFiles.of(path), read_only=read_only, **more)

    def _load(self) -> None:
        """Publish the model after the last event of the log."""
        self.log.check_structure()  # a damaged index of keys would let a repeated request through
        self._history = ModelHistory(self.files, self.log)
        state = self._history.load(self._restore_stream, self.stream.add)
        if state.given is not None:
            self.why_read_only = "it was made from given probabilities"
        self.current = Published.of(state, self.log.last_id)
        self._snapshot_event, self._snapshot_time = self.log.last_id, time.monotonic()

    def _restore_stream(self, facts: SnapshotFacts) -> None:
        self.stream.restore(facts, self.log)

    # Changes

    def submit(self, request: ChangeRequest) -> Future[Applied]:
        """Ask for a change; the future has the answer once the change is on the disk, or a TallyError."""
        pending = Pending(request)
        with self._submitting:
            if self._is_closed:
                pending.fail(NotWritableError("the model is being closed", hint="try again later"))
            elif self.why_read_only:
                pending.fail(NotWritableError(f"the model {self.name!r} is read-only: {self.why_read_only}"))
            else:
                self._queue.put(pending)
        return pending.future

    @property
    def n_waiting(self) -> int:
        """How many requests wait for the writer."""
        return self._queue.qsize()

    def subscribe(self, callback: Callable[[Published, list[Event]], None]) -> Callable[[], None]:
        """Call a function after each publication, from the writer's thread, with the state and its new events.

        It must return soon. The function that is returned ends the subscription.
        """
        self._subscribers.append(callback)

        def unsubscribe() -> None:
            with contextlib.suppress(ValueError):
                self._subscribers.remove(callback)

        return unsubscribe

    def stream_summary(self) -> dict[str, Any]:
        """Windows of test-then-learn metrics, class shares, drift warnings and rates, for JSON."""
        published = self.current
        summary = self.stream.to_dict(published.snapshot.state)
        facts = {"version": published.version, "events": self.log.last_id, "rows": summary["windows"][-1]["rows"]}
        return facts | summary

    # The writer

    def _run(self) -> None:
        while True:
            parts, is_last = self._queue.take(_SNAPSHOT_SECONDS)
            for part in parts:
                self._write_safely(part)
            if is_last:
                return
            with contextlib.suppress(Exception):  # without a snapshot the next start takes longer, no more
                self._snapshot_if_due()

    def _write_safely(self, group: list[Pending]) -> None:
        try:
            self._write(group)
        except BaseException as error:  # the requests must be answered, whatever went wrong
            for pending in group:
                pending.fail(error)

    def _write(self, group: list[Pending]) -> None:
        """Apply, commit, publish and answer the requests of one transaction; what is refused fails alone."""
        group = [pending for pending in group if not self._answer_at_once(pending)]
        if not group:
            return
        try:
            hosted, results = self._apply([pending.request for pending in group])
        except Exception:
            if len(group) == 1:
                raise
            for pending in group:  # an error that nobody expected: each request alone
                self._write_safely([pending])
            return
        accepted: list[tuple[Pending, Done]] = []
        for pending, result in zip(group, results, strict=True):
            if isinstance(result, TallyError):
                pending.fail(result)
            else:
                accepted.append((pending, result))
        learned = [p.request.data if p.request.kind == "learn" else None for p, _ in accepted]
        scores, now = score_rows(self.current.snapshot, learned), _now()  # of rows that it has not learned yet
        events = [
            _new_event(pending.request, now, done, row_scores)
            for (pending, done), row_scores in zip(accepted, scores, strict=True)
        ]
        written = self._commit(hosted, events, [done.is_formative for _, done in accepted])
        for (pending, _), event in zip(accepted, written, strict=True):
            pending.answer(Applied.of(event))

    def _answer_at_once(self, pending: Pending) -> bool:
        """Answer a request that is in the log already, by its idempotency key, or is meant for another version."""
        request = pending.request
        try:
            event = None if request.key is None else self.log.with_key(request.key)
            if event is None:
                check_version(request.if_version, self.current.version)
                return False
            if event.fingerprint != request.fingerprint:
                hint = "use a new key for each change, and the same key only to repeat a change"
                got = f"{request.key}, the key of another change"
                raise KeyReuseError("an idempotency key of this change", got=got, hint=hint)
            pending.answer(Applied.of(event, repeated=True))
        except TallyError as error:
            pending.fail(error)
        return True

    def _apply(self, requests: list[ChangeRequest]) -> tuple[HostedState, list[Done | TallyError]]:
        """The state after the requests of one transaction, and what became of each."""
        hosted = HostedState(self.current.snapshot.state)  # a private copy
        if requests[0].kind in BY_ROWS:
            return hosted, hosted.change_rows(requests, check=check_rows_to_learn)
        (request,) = requests
        try:
            done = Done(0 if request.data is None else len(request.data))
            if request.kind == "undo":
                assert request.event is not None
                hosted = self._history.undo(request.event, hosted)
            elif request.kind == "replace":
                assert request.rows is not None
                hosted, done = HostedState(state_from_bytes(request.rows, "the model")), Done(is_formative=True)
            else:
                fit = calibration_change if request.kind == "calibrate" else decision_change
                stored = fit(self.current.snapshot, request.data, request.settings)
                hosted.set_rule(request.kind, stored)
                done = done._replace(settings=stored)
        except TallyError as error:
            return hosted, [error]
        return hosted, [done]

    def _commit(self, hosted: HostedState, events: list[NewEvent], formative: list[bool]) -> list[Event]:
        """Write events, then publish the state; a NotWritableError if they cannot be written."""
        if not events:
            return []
        version = self.log.last_id + len(events)
        committing = self._committer.submit(self.log.append, events)
        published = Published.of(hosted.state, version)  # while the disk is busy
        try:
            written = committing.result()
        except FileError as error:
            hint = "nothing was changed; predictions go on; try again when the disk can be written to"
            raise NotWritableError(f"the change cannot be stored: {error.expected}", hint=hint) from error
        for event, is_formative in zip(written, formative, strict=True):
            self._history.note_commit(event, is_formative=is_formative)
        self.current = published
        with contextlib.suppress(Exception):  # what is committed is answered, whatever the metrics do
            self.stream.add(written)
            self.stream.count(written)
        for callback in list(self._subscribers):
            with contextlib.suppress(Exception):  # a subscriber that fails must not stop the writer
                callback(published, written)
        return written

    # Snapshots

    def _snapshot_if_due(self) -> None:
        n_new = self.log.last_id - self._snapshot_event
        is_due = n_new >= self._snapshot_events or time.monotonic() - self._snapshot_time >= _SNAPSHOT_SECONDS
        if n_new and is_due and (self._snapshot_thread is None or not self._snapshot_thread.is_alive()):
            task, name = self._snapshot_task(), f"snapshot of {self.name}"
            self._snapshot_thread = threading.Thread(target=task, name=name, daemon=True)
            self._snapshot_thread.start()

    def _snapshot_task(self) -> Callable[[], None]:
        """What writes a snapshot of the published state."""
        facts = self._history.facts(self.stream.state())
        self._snapshot_event, self._snapshot_time = self.log.last_id, time.monotonic()
        return partial(self._history.write_snapshot, self.current.snapshot.state, facts)

    def close(self) -> None:
        """Finish what was accepted, write a snapshot, and let go of the files."""
        with self._submitting:
            if self._is_closed:
                return
            self._is_closed = True
            self._queue.put(None)
        if self._writer is not None:
            self._writer.join()
            if self._snapshot_thread is not None:
                self._snapshot_thread.join()
            if self.log.last_id > (self._history.snapshot.event if self._history.snapshot else 0):
                self._snapshot_task()()
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _new_event(request: ChangeRequest, time: str, done: Done, scores: RowScores) -> NewEvent:
    """The event of a request that was applied."""
    facts: dict[str, Any] = {"who": request.who, "key": request.key, "media_type": request.media_type}
    facts |= {"fingerprint": None if request.key is None else request.fingerprint, "rows": request.rows}
    facts |= {"undoes": request.event if request.kind == "undo" else None, "settings": done.settings}
    facts |= {"n_rows": done.rows, "skipped": done.skipped, "notes": (*request.notes, *done.notes)}
    return NewEvent(request.kind, time, scores=scores.to_bytes(), labels=scores.labels, **facts)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
