"""The requests of one transaction: applied to a private state in order; what is refused fails alone.

Learn and forget requests are applied in groups. An undo, a calibration, a decision rule or another model is a group by
itself, so that it works on the events that are in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from tallybayes.errors import TallyError
from tallybayes.server.events.change_errors import KeyReuseError, VersionError
from tallybayes.server.events.event import Event, NewEvent
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.events.event_rows import EventData, n_rows_of
from tallybayes.server.events.hosted_state import HostedState, RowsDone
from tallybayes.server.events.known_values import GroupTypes
from tallybayes.server.events.row_admission import check_rows_to_learn
from tallybayes.server.live.change_request import Applied, ChangeRequest

__all__ = ["ChangeGroup", "Pending", "answer_of", "check_version", "known_answer", "new_event"]


@dataclass(eq=False)
class Pending:
    """A request that waits for its answer."""

    request: ChangeRequest
    future: Future[Applied] = field(default_factory=Future)

    def fail(self, error: BaseException) -> None:
        """Answer with an error, unless nobody waits any more."""
        if not self.future.done():
            self.future.set_exception(error)

    def answer(self, applied: Applied) -> None:
        """Answer, unless nobody waits any more."""
        if not self.future.done():
            self.future.set_result(applied)


class ChangeGroup:
    """Applies learn and forget requests to a state; `accepted` are those that are to be written, in order."""

    def __init__(self, hosted: HostedState, log: EventLog, version: int) -> None:
        self.hosted, self._log, self._version = hosted, log, version
        self.accepted: list[tuple[Pending, RowsDone]] = []
        self.repeats: list[tuple[Pending, Pending]] = []  # a request, and the earlier one of this group with its key
        self._keys: dict[str, Pending] = {}
        self._joined: list[Pending] = []
        self._types = GroupTypes()

    def add(self, pending: Pending) -> None:
        """Apply a request, or let it wait for others that may be counted together with it."""
        request = pending.request
        try:
            if request.key is not None and self._is_repeated(pending):
                return
            if request.if_version is not None:
                self.finish()
                check_version(request, self._version + len(self.accepted))
            data = request.data
            sign = 1 if request.kind == "learn" else -1
            if sign > 0 and self._may_join(data):
                self._joined.append(pending)
                return
            self.finish()
            if sign > 0 and self._may_join(data):
                self._joined.append(pending)
                return
            if sign > 0:
                check_rows_to_learn(data, self.hosted.state.schema)
            self.accepted.append((pending, self.hosted.change(data, sign)))
        except TallyError as error:
            self._refuse(pending, error)

    def finish(self) -> None:
        """Apply the requests that wait."""
        joined, self._joined, self._types = self._joined, [], GroupTypes()
        self._learn(joined)

    def _may_join(self, data: EventData) -> bool:
        return self.hosted.may_join(data, self._types)

    def _learn(self, joined: Sequence[Pending]) -> None:
        """Learn the rows of several requests together; if they are refused, of each half."""
        if not joined:
            return
        rows = [row for pending in joined for row in pending.request.data or ()]
        try:
            self.hosted.learn_together(rows)
        except TallyError as error:
            if len(joined) == 1:
                self._refuse(joined[0], error)
                return
            half = len(joined) // 2
            self._learn(joined[:half])
            self._learn(joined[half:])
            return
        self.accepted += [(pending, self._sum_up(pending.request.data)) for pending in joined]

    def _sum_up(self, data: EventData) -> RowsDone:
        """What learning rows did that were learned together with others: such rows change sums only."""
        label = self.hosted.state.schema.label
        n_missing = sum(row.get(label) is None for row in data)
        return RowsDone(n_rows_of(data) - n_missing, n_missing)

    def _is_repeated(self, pending: Pending) -> bool:
        """Whether the key of a request is known; then it is answered like the first one."""
        request = pending.request
        assert request.key is not None
        if (first := self._keys.get(request.key)) is not None:
            if first.request.fingerprint != request.fingerprint:
                raise _key_reused(request.key)
            self.repeats.append((pending, first))
            return True
        if (applied := known_answer(self._log, request)) is not None:
            pending.answer(applied)
            return True
        self._keys[request.key] = pending
        return False

    def _refuse(self, pending: Pending, error: TallyError) -> None:
        if pending.request.key is not None and self._keys.get(pending.request.key) is pending:
            del self._keys[pending.request.key]
        pending.fail(error)


def known_answer(log: EventLog, request: ChangeRequest) -> Applied | None:
    """The answer to a request that is in the log already, by its idempotency key."""
    if request.key is None or (event := log.with_key(request.key)) is None:
        return None
    if event.fingerprint != request.fingerprint:
        raise _key_reused(request.key)
    return answer_of(event, repeated=True)


def answer_of(event: Event, *, repeated: bool = False) -> Applied:
    """The answer to the request that an event was made of."""
    return Applied(event.id, event.id, event.kind, event.n_rows, event.skipped, event.notes, repeated)


def check_version(request: ChangeRequest, version: int) -> None:
    """Refuse a request that is meant for another version of the model."""
    if request.if_version is not None and request.if_version != version:
        hint = "read the model again, then decide whether the change still applies"
        raise VersionError(f"a model of version {request.if_version}", got=version, hint=hint)


def new_event(request: ChangeRequest, time: str, done: RowsDone, **more: Any) -> NewEvent:
    """The event of a request that was applied."""
    facts: dict[str, Any] = {"who": request.who, "key": request.key, "media_type": request.media_type}
    facts |= {"fingerprint": request.fingerprint if request.key is not None else None, "rows": request.rows}
    return NewEvent(request.kind, time, n_rows=done.rows, skipped=done.skipped, notes=done.notes, **facts, **more)


def _key_reused(key: str) -> KeyReuseError:
    hint = "use a new key for each change, and the same key only to repeat a change"
    return KeyReuseError("an idempotency key of this change", got=f"{key}, the key of another change", hint=hint)
