"""A snapshot of a hosted model: the model after one event, so that starting need not replay the whole log.

The file has one line of JSON and then the bytes of a model file. The line has the number and the checksum of the last
event, the hash of the base, what is needed to undo earlier events, the totals of the stream, and the hash of the model.
A snapshot is only a shortcut: if it is missing, damaged or of another log, the log is replayed from its base.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from tallybayes.atomic_file import reason, write_file
from tallybayes.errors import FileError
from tallybayes.state.model_state import ModelState
from tallybayes.storage.model_file import state_from_bytes, state_to_bytes

__all__ = ["SnapshotFacts", "read_snapshot", "write_snapshot"]

_START = b"tallybayes snapshot 1 "


@dataclass(frozen=True)
class SnapshotFacts:
    """What a snapshot is of.

    event, checksum: the last event and its checksum; base: the hash of the base file.
    formative, forgets: the events that changed more than sums, and those that forgot rows.
    stream: the totals of the stream so far.
    """

    event: int
    checksum: str
    base: str
    formative: list[int] = field(default_factory=list)
    forgets: list[int] = field(default_factory=list)
    stream: dict[str, Any] = field(default_factory=dict)


def write_snapshot(path: str, state: ModelState, facts: SnapshotFacts) -> None:
    """Replace the snapshot."""
    model = state_to_bytes(state)
    text = json.dumps(asdict(facts) | {"model": hashlib.sha256(model).hexdigest()}, sort_keys=True).encode()
    line = _START + hashlib.sha256(text).hexdigest().encode() + b" " + text + b"\n"
    write_file(path, line + model, "the snapshot", private=True)


def read_snapshot(path: str) -> tuple[ModelState, SnapshotFacts] | None:
    """The state and the facts of a snapshot; None if there is none, a FileError if it is damaged."""
    try:
        with open(path, "rb") as file:
            line, model = file.readline(2**26), file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"the snapshot cannot be read: {reason(error)}", file=os.fsdecode(path)) from error
    start, digest, text = line[: len(_START)], line[len(_START) : len(_START) + 64], line[len(_START) + 65 : -1]
    if start != _START or hashlib.sha256(text).hexdigest().encode() != digest:
        raise FileError("the snapshot is damaged: checksum mismatch", file=path)
    facts = json.loads(text)
    if hashlib.sha256(model).hexdigest() != facts.pop("model"):
        raise FileError("the snapshot is damaged: checksum mismatch", file=path)
    return state_from_bytes(model, path), SnapshotFacts(**facts)
