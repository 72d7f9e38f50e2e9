"""The state after some events: those that nobody has undone, in order, counted in groups where that is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tallybayes.errors import DataError, FileError, TallyError
from tallybayes.server.events.event import Event
from tallybayes.server.events.event_rows import JSON, EventData, n_rows_of, read_many, read_rows
from tallybayes.server.events.hosted_state import HostedState
from tallybayes.server.events.known_values import GroupTypes
from tallybayes.server.events.settings_change import with_event
from tallybayes.state.model_state import ModelState
from tallybayes.storage.model_file import state_from_bytes

__all__ = ["GROUP_ROWS", "Replay", "ReplayError", "live_events"]

GROUP_ROWS = 20_000  # rows that are counted together, at most


def live_events(undoing: Mapping[int, int], upto: int | None = None) -> tuple[dict[int, int], set[int]]:
    """The event that undid each event (if it has not been undone itself), and the numbers of all undo events.

    >>> live_events({4: 2, 5: 3, 6: 4})
    ({3: 5, 4: 6}, {4, 5, 6})
    """
    undone_by: dict[int, int] = {}
    for number in sorted(undoing, reverse=True):
        if number not in undone_by and (upto is None or number <= upto):
            undone_by[undoing[number]] = number
    return dict(sorted(undone_by.items())), set(undoing)


class ReplayError(FileError):
    """An event of a log cannot be applied."""

    def __init__(self, number: int, cause: TallyError) -> None:
        self.number, self.cause = number, str(cause).partition("\n")[0]
        super().__init__(f"event {number} of the log cannot be applied: {self.cause}")


@dataclass
class Replay:
    """Applies events that are in a log to a state.

    group_rows: how many rows are counted together, at most; 1: one event after the other.
    formative: the numbers of events that changed more than sums (`hosted_state.py`); forgets: those of forget events.
    """

    hosted: HostedState
    group_rows: int = GROUP_ROWS
    formative: list[int] = field(default_factory=list)
    forgets: list[int] = field(default_factory=list)
    progress: Callable[[int], None] | None = None
    _waiting: list[dict[str, Any]] = field(default_factory=list)
    _types: GroupTypes = field(default_factory=GroupTypes)
    _ids: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, state: ModelState, **more: Any) -> Replay:
        """From a base."""
        return cls(HostedState(state), **more)

    def run(self, batches: Iterable[list[Event]], undone: Mapping[int, int]) -> ModelState:
        """Apply those events that are not undone, and return the state."""
        for batch in batches:
            live = [event for event in batch if event.kind != "undo" and event.id not in undone]
            parsed = _parse(live)
            for event in live:
                self._apply(event, parsed.get(event.id))
            if self.progress is not None:
                self.progress(batch[-1].id)
        self._flush()
        return self.hosted.state

    def _apply(self, event: Event, data: EventData | None) -> None:
        try:
            if data is not None and self._joins(event, data):
                return
            if event.kind in ("calibrate", "decide"):
                self._flush()
                stored = event.settings or {"set": {}}
                self.hosted.state = _with_settings(self.hosted.state, event.kind, stored)
                return
            if event.rows is None:
                raise DataError(f"the rows of event {event.id} were folded into the base when the log was compacted")
            if event.kind == "replace":
                self._flush()
                self.hosted = HostedState(state_from_bytes(event.rows, f"the model of event {event.id}"))
                self.formative.append(event.id)
                return
            data = read_rows(event.rows, event.media_type) if data is None else data
            self._flush()
            if self._joins(event, data):
                return
            if _was_skipped(event, data) and self.hosted.lacks_label(data):
                self.hosted.skip(event.skipped)
                return
            done = self.hosted.change(data, 1 if event.kind == "learn" else -1)
        except TallyError as error:
            raise ReplayError(event.id, error) from error
        if done.is_formative:
            self.formative.append(event.id)
        if event.kind == "forget":
            self.forgets.append(event.id)

    def _joins(self, event: Event, data: EventData) -> bool:
        """Let the rows of an event wait for others that are counted together with them; False if they cannot."""
        if event.kind != "learn" or self.group_rows <= 1 or not self.hosted.may_join(data, self._types):
            return False
        self._waiting += data
        self._ids.append(event.id)
        if len(self._waiting) >= self.group_rows:
            self._flush()
        return True

    def _flush(self) -> None:
        """Count the rows that are waiting."""
        if self._waiting:
            try:
                self.hosted.learn_together(self._waiting)
            except TallyError as error:
                raise ReplayError(self._ids[0], error) from error
        self._waiting, self._types, self._ids = [], GroupTypes(), []


def _parse(events: list[Event]) -> dict[int, list[dict[str, Any]]]:
    """The rows of the learn events whose rows are JSON, by the number of the event."""
    small = [event for event in events if event.rows is not None and event.media_type == JSON and event.kind == "learn"]
    return dict(zip((event.id for event in small), read_many([event.rows or b"[]" for event in small]), strict=True))


def _was_skipped(event: Event, data: EventData) -> bool:
    """Whether no row of a learn event had a label.

    A log may have such events without the column of the label, which were counted together with others; now they are
    refused.
    """
    return event.kind == "learn" and not event.n_rows and event.skipped == n_rows_of(data)


def _with_settings(state: ModelState, kind: str, stored: Mapping[str, Any]) -> ModelState:
    return replace(state, settings=with_event(state.settings, kind, stored))
