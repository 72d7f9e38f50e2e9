"""The base, the log and the snapshot of a hosted model: the state at the start and after an undo, and compaction.

The state after the last event is that of the base and the events that are not undone, applied in the order of their
numbers. An undone event has no effect at all: the model has the bytes of one that never saw it. Most rows can simply be
taken back, because sums are exact. Where that would not be the same (the event was formative, a later one may have been
read differently because of it, rows were forgotten since, or a histogram's grid or a limited vocabulary has lost
detail), the events are replayed without it.

Compaction folds events into a new base and drops their rows. The base becomes the state after the last event that is
folded, of the events that are not undone now. What is left of a folded event is who, when, how many rows, and its
idempotency key: it is listed, and a repeated request is still known, but it cannot be undone any more.

The base and the log are two files. First the log notes the hash of the base to come, then the base is replaced, then
the log takes the note for its base and drops the rows, in one transaction. After a crash, the hash of the base tells
which of the steps were done.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tallybayes.atomic_file import reason, write_file
from tallybayes.errors import FileError, ParameterError, TallyError, check_integer, warn
from tallybayes.server.events.event import Event
from tallybayes.server.events.event_log import EventLog, find_undone
from tallybayes.server.events.hosted_state import HostedState
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.events.replay import OnEvents, Replay, ReplayError
from tallybayes.server.events.snapshot_file import SnapshotFacts, read_snapshot, write_snapshot
from tallybayes.state.model_state import ModelState
from tallybayes.storage.model_file import state_from_bytes, state_to_bytes

__all__ = ["Compaction", "ModelHistory", "UndoError", "compact"]

OnStart = Callable[[SnapshotFacts], None]


class UndoError(ParameterError):
    """The event cannot be undone: it was undone before, was folded into the base, or later events need its rows."""


@dataclass(frozen=True)
class Compaction:
    """What was folded: events, the last of them, those that are left, and the size of the log before and after."""

    folded: int
    last: int
    left: int
    bytes_before: int
    bytes_after: int


class ModelHistory:
    """What a hosted model is made of, on the disk."""

    def __init__(self, files: ModelFiles, log: EventLog) -> None:
        self.files, self.log = files, log
        self.base_hash = hashlib.sha256(_read(files.base)).hexdigest()
        self.base_event: int = self._find_base()
        self.formative: list[int] = []
        self.forgets: list[int] = []
        self.snapshot: SnapshotFacts | None = None  # that the last replay began with, or that was written since
        self._replay: Replay | None = None  # that of an undo which is not committed yet

    # The state at the start

    def load(self, on_start: OnStart | None = None, on_events: OnEvents | None = None) -> ModelState:
        """The state after the last event: the snapshot and the events since, or else the base and all events.

        on_start: called with the facts of the one or the other. on_events: called with the events since.
        """
        if not self.log.last_id and (base := self.base()).given is not None:
            return base  # given probabilities: there is nothing to change
        return self._note(self._replay_all(self.log.undoing, on_start, on_events))

    def state_after(self, last: int, **how: Any) -> ModelState:
        """The state of the base and the events up to a number that are not undone now; how: as in `Replay.run`."""
        events = self.log.after(self.base_event, upto=last)
        return Replay(HostedState(self.base())).run(events, self.log.undone_by, **how)

    def base(self) -> ModelState:
        """The state of the base file."""
        data = _read(self.files.base)
        if hashlib.sha256(data).hexdigest() != self.base_hash:
            raise FileError("the base of the log was changed by another program", file=self.files.base)
        return state_from_bytes(data, self.files.base)

    def _usable_snapshot(self, undoing: Mapping[int, int]) -> tuple[ModelState, SnapshotFacts] | None:
        """The snapshot, if it is intact, of this log, and no undo event after it concerns an event before it."""
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
        later = (_underlying(number, undoing) for number in undoing if number > facts.event)
        return snapshot if all(number > facts.event for number in later) else None

    def _replay_all(
        self, undoing: Mapping[int, int], on_start: OnStart | None = None, on_events: OnEvents | None = None
    ) -> Replay:
        """The replay of the events after the snapshot, or else after the base, after it was run."""
        snapshot = self._usable_snapshot(undoing)
        state, facts = snapshot or (self.base(), SnapshotFacts(self.base_event, "", self.base_hash))
        self.snapshot = None if snapshot is None else facts
        if on_start is not None:
            on_start(facts)
        replay = Replay(HostedState(state), list(facts.formative), list(facts.forgets))
        events = self.log.after(facts.event, bytes.fromhex(facts.checksum))
        replay.run(events, find_undone(undoing), on_events)
        return replay

    def _note(self, replay: Replay) -> ModelState:
        """Take over what a replay of all events has found; the state after it."""
        self.formative, self.forgets = replay.formative, replay.forgets
        return replay.hosted.state

    # Undo

    def _find_target(self, number: int) -> Event:
        """The event that is undone, or is not undone any more, by undoing an event; an error if that cannot be done."""
        self.log.get(number)
        if (undo := self.log.undone_by.get(number)) is not None:
            hint = f"to take that back, undo event {undo}"
            raise UndoError(f"event {number} has been undone already, by event {undo}", hint=hint)
        target = _underlying(number, self.log.undoing)
        if target <= self.base_event:
            hint = "the log was compacted; forget the rows instead, if they are known"
            raise UndoError(f"event {target} was folded into the base and cannot be changed any more", hint=hint)
        return self.log.get(target)

    def undo(self, number: int, hosted: HostedState) -> HostedState:
        """The state after undoing an event; hosted: the state before, which may be changed."""
        self._replay = None
        target = self._find_target(number)
        undoing = self.log.undoing | {self.log.last_id + 1: number}
        undone = find_undone(undoing)
        is_live = target.id not in undone
        if target.kind in ("calibrate", "decide") and not self.log.page(kind="replace", limit=1):
            self._set_rules(hosted, undone)
            return hosted
        if target.kind in (("learn",) if is_live else ("learn", "forget")) and self._may_take_back(target, hosted):
            try:
                if not is_live:
                    hosted.take_back(target)
                    return hosted
                if hosted.put_back(target):
                    return hosted
            except TallyError:
                pass  # replay says why
        try:
            self._replay = self._replay_all(undoing)
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

    def _set_rules(self, hosted: HostedState, undone: Mapping[int, int]) -> None:
        """Set the calibration and the decision rule of the base and the events that are not undone."""
        settings = self.base().settings
        hosted.set(calibration=settings.calibration, decision=settings.decision)
        events = [*self.log.page(kind="calibrate", limit=-1), *self.log.page(kind="decide", limit=-1)]
        for event in sorted(events, key=lambda event: event.id):
            if event.id > self.base_event and event.id not in undone:
                hosted.set_rule(event.kind, event.settings)

    # After a commit

    def note_commit(self, event: Event, *, is_formative: bool) -> None:
        """Note an event that is in the log now."""
        if event.undoes is not None and self._replay is not None:
            self._note(self._replay)
            self._replay = None
        if event.kind == "forget":
            self.forgets.append(event.id)
        if is_formative:
            self.formative.append(event.id)

    def facts(self, stream: dict[str, Any]) -> SnapshotFacts:
        """What a snapshot after the last event is of."""
        event, checksum = self.log.last_id, self.log.last_checksum.hex()
        return SnapshotFacts(event, checksum, self.base_hash, list(self.formative), list(self.forgets), stream)

    def write_snapshot(self, state: ModelState, facts: SnapshotFacts) -> None:
        """Replace the snapshot on the disk, if that is possible: the log has everything."""
        with contextlib.suppress(TallyError):
            write_snapshot(self.files.snapshot, state, facts)
            self.snapshot = facts

    # The base

    def compact(self, keep: int) -> Compaction:
        """Fold all events but the last `keep` into the base."""
        log, path = self.log, self.files.base
        before, last, first = os.path.getsize(log.path), log.last_id - keep, self.base_event
        if last <= first:
            return Compaction(0, first, log.last_id - first, before, before)
        data = state_to_bytes(self.state_after(last))
        state_from_bytes(data, path)  # a base that cannot be loaded would be the end of the model
        base = {"event": last, "sha256": hashlib.sha256(data).hexdigest()}
        log.set_facts(pending_base=base)
        write_file(path, data, "the model")
        log.drop_rows(last, base=base, pending_base=None)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.files.snapshot)
        log.shrink()
        return Compaction(last - first, last, log.last_id - last, before, os.path.getsize(log.path))

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


def compact(files: ModelFiles, *, keep: int = 0) -> Compaction:
    """Fold all events but the last `keep` into the base; nobody else may have the model open."""
    keep = check_integer("keep", keep, at_least=0)
    with files.hold_lock(), contextlib.closing(EventLog.open_complete(files.log)) as log:
        return ModelHistory(files, log).compact(keep)


def _underlying(number: int, undoing: Mapping[int, int]) -> int:
    """The event that is undone, or is not undone any more, by an undo event."""
    while number in undoing:
        number = undoing[number]
    return number


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise FileError(f"the model cannot be opened: {reason(error)}", file=path) from error
