"""The base, the log and the snapshot of a hosted model: the state at the start, and after an event was undone.

The state after the last event is that of the base and the events that are not undone, applied in the order of their
numbers. An undone event has no effect at all: the model has the bytes of one that never saw it. Most rows can simply be
taken back, because sums are exact. Where that would not be the same (the event was formative, a later one may have been
read differently because of it, rows were forgotten since, or a histogram's grid or a limited vocabulary has lost
detail), the events are replayed without it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tallybayes.atomic_file import reason
from tallybayes.errors import FileError, TallyError, warn
from tallybayes.server.events.change_errors import UndoError, UnknownEventError
from tallybayes.server.events.event import Event
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.events.hosted_state import HostedState
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.events.replay import Replay, ReplayError, live_events
from tallybayes.server.events.settings_change import with_events
from tallybayes.server.events.snapshot_file import SnapshotFacts, read_snapshot, write_snapshot
from tallybayes.state.model_state import ModelState
from tallybayes.storage.model_file import state_from_bytes

__all__ = ["ModelHistory"]

OnEvents = Callable[[list[Event]], None]


class ModelHistory:
    """What a hosted model is made of, on the disk."""

    def __init__(self, files: ModelFiles, log: EventLog) -> None:
        self.files, self.log = files, log
        data = _read(files.base)
        self.base_hash = hashlib.sha256(data).hexdigest()
        self.base_event: int = self._find_base()
        self._base_settings = state_from_bytes(data, files.base).settings
        self.formative: list[int] = []
        self.forgets: list[int] = []
        self.snapshot: SnapshotFacts | None = None
        self._undoing = {undo: event for undo, event in log.undoing().items() if undo <= log.last_id}
        self._replay: Replay | None = None  # that of an undo which is not committed yet

    @property
    def undone_by(self) -> dict[int, int]:
        """The event that undid each event, unless that was undone itself."""
        return live_events(self._undoing)[0]

    # The state at the start

    def load(
        self, on_events: OnEvents | None = None, on_snapshot: Callable[[SnapshotFacts], None] | None = None
    ) -> ModelState:
        """The state after the last event: the snapshot and the events since, or else the base and all events.

        on_events: called with the events that are not in the snapshot; on_snapshot: with what the snapshot is of.
        """
        if not self.log.last_id and (base := self.base()).given is not None:
            return base  # given probabilities: there is nothing to change
        snapshot = self._usable_snapshot()
        if snapshot is not None:
            state, facts = snapshot
            self.snapshot = facts
            if on_snapshot is not None:
                on_snapshot(facts)
            return self._note(self._replay_after(state, facts.event, facts, self._undoing, on_events))
        if on_events is not None:
            for batch in self.log.after(0, upto=self.base_event):  # folded, but their scores are still there
                on_events(batch)
        return self._note(self._replay_after(self.base(), self.base_event, None, self._undoing, on_events))

    def state_after(self, last: int, **how: Any) -> ModelState:
        """The state of the base and the events up to a number that are not undone now; how: as in `Replay`."""
        replay = Replay.of(self.base(), **how)
        return replay.run(self.log.after(self.base_event, upto=last), live_events(self._undoing)[0])

    def base(self) -> ModelState:
        """The state of the base file."""
        data = _read(self.files.base)
        if hashlib.sha256(data).hexdigest() != self.base_hash:
            raise FileError("the base of the log was changed by another program", file=self.files.base)
        return state_from_bytes(data, self.files.base)

    def _usable_snapshot(self) -> tuple[ModelState, SnapshotFacts] | None:
        """The snapshot, if it is intact, of this log, and no later undo concerns an event before it."""
        try:
            snapshot = read_snapshot(self.files.snapshot)
        except TallyError as error:
            warn(f"{error}; the log is replayed from its base")
            return None
        if snapshot is None:
            return None
        facts = snapshot[1]
        if facts.base != self.base_hash or facts.event < self.base_event:
            return None  # written before the log was compacted
        if facts.event > self.log.last_id:
            if self.log.read_only and self.log.holds(facts.event, bytes.fromhex(facts.checksum)):
                return None  # a server has written it since this log was opened
            text = f"the log ends with event {self.log.last_id}, but the snapshot has event {facts.event}"
            hint = (
                f"events are missing: restore the log from a copy; to go on without them, remove {self.files.snapshot}"
            )
            raise FileError(f"the log is damaged: {text}", file=self.log.path, hint=hint)
        if facts.event and self.log.get(facts.event).checksum.hex() != facts.checksum:
            raise FileError(f"the log is damaged: event {facts.event} is not that of the snapshot", file=self.log.path)
        return snapshot if self._is_start(facts, self._undoing) else None

    def _is_start(self, facts: SnapshotFacts, undoing: dict[int, int]) -> bool:
        """Whether the events after a snapshot can be replayed on it: none of them concerns an event before it."""
        return all(self._underlying(number, undoing) > facts.event for number in undoing if number > facts.event)

    @staticmethod
    def _underlying(number: int, undoing: dict[int, int]) -> int:
        """The event that is undone, or is not undone any more, by an undo event."""
        while number in undoing:
            number = undoing[number]
        return number

    def _replay_after(
        self,
        state: ModelState,
        start: int,
        facts: SnapshotFacts | None,
        undoing: dict[int, int],
        on_events: OnEvents | None = None,
    ) -> Replay:
        """The replay of the events after a state, after it was run."""
        replay = Replay.of(state)
        if facts is not None:
            replay.formative, replay.forgets = list(facts.formative), list(facts.forgets)
        checksum = bytes.fromhex(facts.checksum) if facts is not None else None
        events = self.log.after(start, checksum)
        if on_events is not None:
            events = _told(events, on_events)
        replay.run(events, live_events(undoing)[0])
        return replay

    def _note(self, replay: Replay) -> ModelState:
        """Take over what a replay of all events has found; the state after it."""
        self.formative, self.forgets = replay.formative, replay.forgets
        return replay.hosted.state

    # Undo

    def check_undo(self, number: int) -> Event:
        """The event with a number, if it can be undone."""
        if not 0 < number <= self.log.last_id:
            raise UnknownEventError("the number of an event", got=number, hint=f"the last event is {self.log.last_id}")
        event, undone_by = self.log.get(number), self.undone_by
        if number in undone_by:
            hint = f"to take that back, undo event {undone_by[number]}"
            raise UndoError(f"event {number} has been undone already, by event {undone_by[number]}", hint=hint)
        target = self._underlying(number, self._undoing)
        if target <= self.base_event:
            hint = "the log was compacted; forget the rows instead, if they are known"
            raise UndoError(f"event {target} was folded into the base and cannot be changed any more", hint=hint)
        return event

    def undo(self, number: int, hosted: HostedState) -> HostedState:
        """The state after undoing an event; hosted: the state before, which may be changed."""
        self._replay = None
        self.check_undo(number)
        undoing = self._undoing | {self.log.last_id + 1: number}
        target = self.log.get(self._underlying(number, undoing))
        live = target.id not in live_events(undoing)[0]
        if target.kind in ("calibrate", "decide") and not self._has_replacements():
            hosted.set(**self._settings_after(hosted.state, undoing))
            return hosted
        if target.kind in (("learn",) if live else ("learn", "forget")) and self._may_take_back(target, hosted):
            try:
                if not live:
                    hosted.take_back(target)
                    return hosted
                if hosted.put_back(target):
                    return hosted
            except TallyError:
                pass  # replay says why
        try:
            snapshot = self._snapshot_before(target.id, undoing)
            state, start = (self.base(), self.base_event) if snapshot is None else (snapshot[0], snapshot[1].event)
            self._replay = self._replay_after(state, start, snapshot[1] if snapshot else None, undoing)
            return self._replay.hosted
        except ReplayError as error:
            hint = f"undo event {error.number} first"
            text = f"event {number} cannot be undone: event {error.number} could not be applied without it"
            raise UndoError(f"{text} ({error.cause})", hint=hint) from error

    def _may_take_back(self, target: Event, hosted: HostedState) -> bool:
        """Whether adding or subtracting the rows of an event gives the state of a replay.

        An event that is undone is not among the formative ones: that it adds to sums only is seen when it is added.
        """
        later = any(number > target.id for number in (*self.formative, *self.forgets))
        return not later and target.id not in self.formative and hosted.is_exact()

    def _snapshot_before(self, number: int, undoing: dict[int, int]) -> tuple[ModelState, SnapshotFacts] | None:
        """The snapshot, if events from a number on can be replayed on it."""
        if self.snapshot is None or self.snapshot.event >= number or not self._is_start(self.snapshot, undoing):
            return None
        try:
            snapshot = read_snapshot(self.files.snapshot)
        except TallyError:
            return None
        return snapshot if snapshot is not None and snapshot[1] == self.snapshot else None

    def _has_replacements(self) -> bool:
        return bool(self.log.page(kind="replace", limit=1))

    def _settings_after(self, state: ModelState, undoing: dict[int, int]) -> dict[str, Any]:
        """Calibration and decision rule of the base and the events that are not undone."""
        undone = live_events(undoing)[0]
        kinds = [*self.log.page(kind="calibrate", limit=-1), *self.log.page(kind="decide", limit=-1)]
        live = sorted((e for e in kinds if e.id > self.base_event and e.id not in undone), key=lambda event: event.id)
        rules = {name: getattr(self._base_settings, name) for name in ("calibration", "decision")}
        after = with_events(
            replace(state.settings, **rules), [(event.kind, event.settings or {"set": {}}) for event in live]
        )
        return {name: getattr(after, name) for name in rules}

    # After a commit

    def note_commit(self, event: Event, *, is_formative: bool) -> None:
        """Note an event that is in the log now."""
        if event.undoes is not None:
            self._undoing[event.id] = event.undoes
            if self._replay is not None:
                self._note(self._replay)
            self._replay = None
        if event.kind == "forget":
            self.forgets.append(event.id)
        if is_formative:
            self.formative.append(event.id)

    def facts(self, event: int, checksum: bytes, stream: dict[str, Any]) -> SnapshotFacts:
        """What a snapshot after the last event is of."""
        formative, forgets = list(self.formative), list(self.forgets)
        return SnapshotFacts(event, checksum.hex(), self.base_hash, formative, forgets, stream)

    def write_snapshot(self, state: ModelState, facts: SnapshotFacts) -> None:
        """Replace the snapshot on the disk."""
        write_snapshot(self.files.snapshot, state, facts)
        self.snapshot = facts

    # The base

    def _find_base(self) -> int:
        """The number of the last event that is in the base; finishes a compaction that was interrupted."""
        known, pending = self.log.fact("base"), self.log.fact("pending_base")
        if known is not None and known["sha256"] == self.base_hash:
            return int(known["event"])
        if pending is not None and pending["sha256"] == self.base_hash:
            if not self.log.read_only:
                self.log.drop_rows(pending["event"], base=pending, pending_base=None)
            return int(pending["event"])
        last = self.log.last_id
        if last == (0 if known is None else known["event"]):  # no event after it: the file may have been changed
            if not self.log.read_only:
                self.log.set_facts(base={"event": last, "sha256": self.base_hash}, pending_base=None)
            return last
        hint = (
            f"restore the file that the log was begun with; or, to begin anew with this one, move {self.log.path} away"
        )
        got = "another file, which was changed since"
        raise FileError(
            f"expected the model that the log {self.log.path} continues, got {got}", file=self.files.base, hint=hint
        )


def _told(batches: Iterator[list[Event]], on_events: OnEvents) -> Iterator[list[Event]]:
    for batch in batches:
        on_events(batch)
        yield batch


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise FileError(f"the model cannot be opened: {reason(error)}", file=path) from error
