"""A proof that a log and its model belong together: everything is replayed from the base, in two ways.

One way counts events together where that is allowed, the other one event after the other (of a long log: in small
groups). Both must give the same bytes, and so must the snapshot with the events after it. Every event is read and its
checksum is compared on the way, and SQLite checks the structure of the file.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tallybayes.errors import FileError, TallyError
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.events.model_history import ModelHistory
from tallybayes.server.events.snapshot_file import read_snapshot
from tallybayes.storage.model_file import state_to_bytes

__all__ = ["LogProof", "prove"]

_ONE_BY_ONE = 20_000  # events up to which each is applied alone; that takes about a millisecond each
_SMALL_GROUP = 64  # rows of a group beyond


@dataclass(frozen=True)
class LogProof:
    """What was proved: facts for JSON, and lines for people."""

    facts: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        facts = self.facts
        folded = f", {facts['folded']:,} of them folded into the base" if facts["folded"] else ""
        snapshot = {
            "equal": f"the snapshot after event {facts['snapshot_event']:,} and the events since: the same bytes",
            "none": "there is no snapshot",
            "stale": "the snapshot is of an older base and is not used",
            "newer": "the snapshot was written by a server meanwhile and is not used",
        }[facts["snapshot"]]
        return "\n".join(
            [
                f"log: {facts['events']:,} events{folded}; every checksum matches, the structure is intact",
                f"undone: {facts['undone']:,}",
                f"replayed from the base in large groups, then {facts['second_way']}: the same bytes",
                snapshot,
                f"the model after event {facts['events']:,}: {facts['bytes']:,} bytes, sha256 {facts['sha256']}",
            ]
        )


def prove(files: ModelFiles, progress: Callable[[int], None] | None = None) -> LogProof:
    """Replay a log in two ways and compare the bytes; a FileError if anything differs or is damaged.

    progress: called with the number of the last event that was replayed.
    """
    with contextlib.closing(EventLog.open_complete(files.log, read_only=True)) as log:
        log.check_structure()
        history = ModelHistory(files, log)
        for _ in log.after(0, upto=history.base_event):  # the events that are folded: their checksums
            pass
        last = log.last_id
        on_events = None if progress is None else lambda batch: progress(batch[-1].id)
        expected = state_to_bytes(history.state_after(last, on_events=on_events))
        few = last - history.base_event <= _ONE_BY_ONE
        group_rows = 1 if few else _SMALL_GROUP
        other = state_to_bytes(history.state_after(last, group_rows=group_rows, on_events=on_events))
        if other != expected:
            raise FileError("replaying the log in two ways gives different models", file=files.log)
        snapshot, event = _compare_snapshot(files, history, expected)
        return LogProof(
            {
                "events": last,
                "folded": history.base_event,
                "undone": len(log.undone_by),
                "second_way": "one event after the other" if few else f"in groups of {_SMALL_GROUP} rows",
                "snapshot": snapshot,
                "snapshot_event": event,
                "bytes": len(expected),
                "sha256": hashlib.sha256(expected).hexdigest(),
            }
        )


def _compare_snapshot(files: ModelFiles, history: ModelHistory, expected: bytes) -> tuple[str, int]:
    """Whether the snapshot and the events after it give the expected bytes; and its event."""
    snapshot = read_snapshot(files.snapshot)
    if snapshot is None:
        return "none", 0
    state, facts = snapshot
    if facts.base != history.base_hash:
        return "stale", 0
    try:
        same = state_to_bytes(history.load()) == expected
    except TallyError as error:
        raise FileError(f"the snapshot does not fit the log: {error}", file=files.snapshot) from error
    if facts.event > history.log.last_id:
        return "newer", facts.event
    if same and history.snapshot is not None:  # otherwise an event before it was undone since
        same = state_to_bytes(history.state_after(facts.event)) == state_to_bytes(state)
    if not same:
        hint = "remove the snapshot: the log has everything"
        raise FileError("the snapshot is not the model of the log", file=files.snapshot, hint=hint)
    return "equal", facts.event
