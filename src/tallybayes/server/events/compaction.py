"""Compaction: events are folded into a new base, and their rows are dropped.

The base becomes the state after the last event that is folded, of the events that are not undone now. What is left of a
folded event is who, when, how many rows, and its idempotency key: it is listed, and a repeated request is still known,
but it cannot be undone any more.

The base and the log are two files. First the log notes the hash of the base to come, then the base is replaced, then
the log takes the note for its base and drops the rows, in one transaction. After a crash, the hash of the base tells
which of the steps were done (`ModelHistory`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass

from tallybayes.atomic_file import write_file
from tallybayes.errors import check_integer
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.events.model_history import ModelHistory
from tallybayes.server.events.model_lock import ModelLock
from tallybayes.storage.model_file import state_from_bytes, state_to_bytes

__all__ = ["Compaction", "compact"]


@dataclass(frozen=True)
class Compaction:
    """What was folded: events, the last of them, those that are left, and the size of the log before and after."""

    folded: int
    last: int
    left: int
    bytes_before: int
    bytes_after: int


def compact(files: ModelFiles, *, keep: int = 0) -> Compaction:
    """Fold all events but the last `keep` into the base; nobody else may have the model open."""
    keep = check_integer("keep", keep, at_least=0)
    lock = ModelLock(files.lock, f"the model {files.name!r}")
    try:
        EventLog.check_complete(files.log)
        log = EventLog(files.log)
        try:
            return _compact(files, log, keep)
        finally:
            log.close()
    finally:
        lock.release()


def _compact(files: ModelFiles, log: EventLog, keep: int) -> Compaction:
    history = ModelHistory(files, log)
    before, last, first = os.path.getsize(files.log), log.last_id - keep, history.base_event
    if last <= first:
        return Compaction(0, first, log.last_id - first, before, before)
    data = state_to_bytes(history.state_after(last))
    state_from_bytes(data, files.base)  # a base that cannot be loaded would be the end of the model
    base = {"event": last, "sha256": hashlib.sha256(data).hexdigest()}
    log.set_facts(pending_base=base)
    write_file(files.base, data, "the model")
    log.drop_rows(last, base=base, pending_base=None)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(files.snapshot)
    log.shrink()
    return Compaction(last - first, last, log.last_id - last, before, os.path.getsize(files.log))
