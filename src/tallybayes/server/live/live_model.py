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
from dataclasses import replace
from typing import Any, Self

from tallybayes.errors import FileError, TallyError
from tallybayes.server.events.change_errors import NotWritableError, UnknownEventError
from tallybayes.server.events.event import Event, NewEvent
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.events.event_rows import n_rows_of
from tallybayes.server.events.hosted_state import HostedState, RowsDone
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.events.model_history import ModelHistory
from tallybayes.server.events.model_lock import ModelLock
from tallybayes.server.events.settings_change import calibration_change, decision_change, with_event
from tallybayes.server.events.snapshot_file import SnapshotFacts
from tallybayes.server.live.change_group import ChangeGroup, Pending, answer_of, check_version, known_answer, new_event
from tallybayes.server.live.change_queue import ChangeQueue
from tallybayes.server.live.change_request import Applied, ChangeRequest
from tallybayes.server.live.prequential_scores import RowScores, score_rows
from tallybayes.server.live.published_model import Published, publish
from tallybayes.server.live.stream_metrics import StreamMetrics
from tallybayes.storage.model_file import state_from_bytes

__all__ = ["SNAPSHOT_EVENTS", "LiveModel", "Published"]

SNAPSHOT_EVENTS = 10_000  # events after which a snapshot is written
_SNAPSHOT_SECONDS = 60.0  # or as soon as this time has passed, if there are new events


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
        self._lock: ModelLock | None = None
        self._queue = ChangeQueue()
        self._submitting = threading.Lock()
        self._is_closed = False
        self._subscribers: list[Callable[[Published, list[Event]], None]] = []
        self._snapshot_lock = threading.Lock()
        self._snapshot_thread: threading.Thread | None = None
        self._writer: threading.Thread | None = None
        self._committer = ThreadPoolExecutor(1, thread_name_prefix=f"commits of {files.name}")

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, read_only: bool = False, **more: Any) -> Self:
        """Open a model file and its log, which is begun if there is none; a FileError if another process has it.

        snapshot_events: how many events there are between two snapshots, about.
        """
        live = cls(ModelFiles.of(path), read_only=read_only, **more)
        live._start()
        return live

    def _start(self) -> None:
        if not self.why_read_only:
            self._lock = ModelLock(self.files.lock, f"the model {self.name!r}")
        try:
            EventLog.check_complete(self.files.log)
            self._log = EventLog(self.files.log, read_only=bool(self.why_read_only))
            self._log.check_structure()  # a damaged index of keys would let a repeated request through
            self._history = ModelHistory(self.files, self._log)
            self.stream = StreamMetrics()
            state = self._history.load(self.stream.add, self._restore_stream)
            if state.given is not None:
                self.why_read_only = "it was made from given probabilities"
            self.current = publish(state, self._log.last_id)
            self._snapshot_event, self._snapshot_time = self._log.last_id, time.monotonic()
        except BaseException:
            if (log := getattr(self, "_log", None)) is not None:
                log.close()
            if self._lock is not None:
                self._lock.release()
            raise
        if not self.why_read_only:
            self._writer = threading.Thread(target=self._run, name=f"writer of {self.name}", daemon=True)
            self._writer.start()

    def _restore_stream(self, facts: SnapshotFacts) -> None:
        self.stream.restore(facts.stream, self._log.newest_first(facts.event))

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
        return len(self._queue)

    def subscribe(self, callback: Callable[[Published, list[Event]], None]) -> Callable[[], None]:
        """Call a function after each publication, from the writer's thread, with the state and its new events.

        It must return soon. The function that is returned ends the subscription.
        """
        self._subscribers.append(callback)

        def unsubscribe() -> None:
            with contextlib.suppress(ValueError):
                self._subscribers.remove(callback)

        return unsubscribe

    # Events

    def events(
        self,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = 100,
        kind: str | None = None,
        who: str | None = None,
    ) -> list[Event]:
        """Events without their rows, newest first; oldest first if `after` is given."""
        undone = self._history.undone_by
        page = self._log.page(after=after, before=before, limit=limit, kind=kind, who=who)
        return [replace(event, undone_by=undone.get(event.id)) for event in page]

    def event(self, number: int) -> Event:
        """One event with its rows."""
        if not 0 < number <= self._log.last_id:
            raise UnknownEventError("the number of an event", got=number, hint=f"the last event is {self._log.last_id}")
        return replace(self._log.get(number), undone_by=self._history.undone_by.get(number))

    @property
    def n_events(self) -> int:
        """How many events there are."""
        return self._log.last_id

    def stream_summary(self) -> dict[str, Any]:
        """Windows of test-then-learn metrics, class shares, drift warnings and rates, for JSON."""
        published = self.current
        summary = self.stream.to_dict(published.snapshot.state)
        facts = {"version": published.version, "events": self._log.last_id, "rows": summary["windows"][-1]["rows"]}
        return facts | summary

    # The writer

    def _run(self) -> None:
        while True:
            parts, is_last = self._queue.take(_SNAPSHOT_SECONDS)
            for part in parts:
                try:
                    self._write(part)
                except BaseException as error:  # the requests must be answered, whatever went wrong
                    for pending in part:
                        pending.fail(error)
            if is_last:
                return
            with contextlib.suppress(Exception):  # without a snapshot the next start takes longer, no more
                self._snapshot_if_due()

    def _write(self, group: list[Pending]) -> None:
        """Apply, commit, publish and answer the requests of one transaction."""
        if group[0].request.kind not in ("learn", "forget"):
            self._write_alone(group[0])
            return
        try:
            work = ChangeGroup(self._fresh(), self._log, self.current.version)
            for pending in group:
                work.add(pending)
            work.finish()
        except Exception:
            if len(group) == 1:
                raise
            for pending in group:  # an error that nobody expected: each request alone
                if not pending.future.done():
                    self._write_safely(pending)
            return
        now = _now()
        scores = self._score([pending.request for pending, _ in work.accepted])
        events = [
            new_event(pending.request, now, done, scores=row_scores.to_bytes(), labels=row_scores.labels)
            for (pending, done), row_scores in zip(work.accepted, scores, strict=True)
        ]
        try:
            written = self._commit(work.hosted, events, [done.is_formative for _, done in work.accepted])
        except TallyError as error:
            for pending, _ in work.accepted:
                pending.fail(error)
            for pending, _ in work.repeats:
                pending.fail(error)
            return
        answers = {pending: answer_of(event) for (pending, _), event in zip(work.accepted, written, strict=True)}
        for pending, applied in answers.items():
            pending.answer(applied)
        for pending, first in work.repeats:
            if first in answers:
                pending.answer(replace(answers[first], repeated=True))
            else:
                self._write_safely(pending)  # the first one was refused after this had been read

    def _write_safely(self, pending: Pending) -> None:
        try:
            self._write([pending])
        except BaseException as error:
            pending.fail(error)

    def _write_alone(self, pending: Pending) -> None:
        """Undo, calibrate, decide or replace."""
        request = pending.request
        try:
            if (applied := known_answer(self._log, request)) is not None:
                pending.answer(applied)
                return
            check_version(request, self.current.version)
            hosted, facts = self._change(request)
            done = RowsDone(0 if request.data is None else n_rows_of(request.data), 0)
            event = new_event(request, _now(), done, **facts)
            (written,) = self._commit(hosted, [event], [request.kind == "replace"])
        except TallyError as error:
            pending.fail(error)
            return
        pending.answer(answer_of(written))

    def _change(self, request: ChangeRequest) -> tuple[HostedState, dict[str, Any]]:
        """The state after a change that is not by rows, and what is stored of it."""
        if request.kind == "undo":
            assert request.event is not None
            return self._history.undo(request.event, self._fresh()), {"undoes": request.event}
        if request.kind == "replace":
            assert request.rows is not None
            return HostedState(state_from_bytes(request.rows, "the model")), {}
        fitted = calibration_change if request.kind == "calibrate" else decision_change
        stored = fitted(self.current.snapshot, request.data, request.settings)
        hosted = self._fresh()
        after = with_event(hosted.state.settings, request.kind, stored)
        hosted.set(calibration=after.calibration, decision=after.decision)
        return hosted, {"settings": stored}

    def _fresh(self) -> HostedState:
        """A private copy of the published state."""
        return HostedState(self.current.snapshot.state)

    def _score(self, requests: list[ChangeRequest]) -> list[RowScores]:
        """How the published model answers for the rows before it learns them."""
        return score_rows(self.current.snapshot, [r.data if r.kind == "learn" else None for r in requests])

    def _commit(self, hosted: HostedState, events: list[NewEvent], formative: list[bool]) -> list[Event]:
        """Write events, then publish the state; a NotWritableError if they cannot be written."""
        if not events:
            return []
        version = self._log.last_id + len(events)
        committing = self._committer.submit(self._log.append, events)
        published = publish(hosted.state, version)  # while the disk is busy
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
        n_new = self._log.last_id - self._snapshot_event
        is_due = n_new >= self._snapshot_events or time.monotonic() - self._snapshot_time >= _SNAPSHOT_SECONDS
        if n_new and is_due and (self._snapshot_thread is None or not self._snapshot_thread.is_alive()):
            task = self._snapshot_task()
            self._snapshot_thread = threading.Thread(target=task, name=f"snapshot of {self.name}", daemon=True)
            self._snapshot_thread.start()

    def _snapshot_task(self) -> Callable[[], None]:
        """What writes a snapshot of the published state."""
        state = self.current.snapshot.state
        facts = self._history.facts(self._log.last_id, self._log.last_checksum, self.stream.state())
        self._snapshot_event, self._snapshot_time = self._log.last_id, time.monotonic()

        def write() -> None:
            with contextlib.suppress(TallyError):  # a full disk: the log has everything
                self._history.write_snapshot(state, facts)

        return write

    def close(self) -> None:
        """Finish what was accepted, write a snapshot, and let go of the files."""
        with self._submitting:
            if self._is_closed:
                return
            self._is_closed = True
            self._queue.end()
        if self._writer is not None:
            self._writer.join()
            if self._snapshot_thread is not None:
                self._snapshot_thread.join()
            if self._log.last_id > (self._history.snapshot.event if self._history.snapshot else 0):
                self._snapshot_task()()
        self._committer.shutdown()
        self._log.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
