"""A change that is asked of a hosted model, and what became of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from tallybayes.errors import NONE, ParameterError
from tallybayes.server.events.event_rows import JSON, EventData, read_rows, write_rows

__all__ = ["Applied", "ChangeKind", "ChangeRequest"]

ChangeKind = Literal["learn", "forget", "undo", "calibrate", "decide", "replace"]

_NEED_ROWS = ("learn", "forget", "replace")


@dataclass(frozen=True)
class ChangeRequest:
    """One change: rows to learn or forget, an event to undo, a calibration, a decision rule, or another model.

    rows: as they are stored in the log; media_type: what they are (`event_rows.py`).
    key: an idempotency key: the same request with the same key is applied once.
    if_version: the change is refused if the model has another version.
    event: the event to undo. settings: the options of calibrate and decide (`settings_change.py`).

    >>> request = ChangeRequest.of_rows("learn", [{"fever": 1, "ill": "yes"}], key="a1")
    >>> request.rows, request.data
    (b'[{"fever":1,"ill":"yes"}]', [{'fever': 1, 'ill': 'yes'}])
    """

    kind: ChangeKind
    rows: bytes | None = None
    media_type: str = JSON
    who: str = ""
    key: str | None = None
    if_version: int | None = None
    event: int | None = None
    settings: Mapping[str, Any] | None = None
    parsed: EventData | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in get_args(ChangeKind):
            raise ParameterError(f"a kind of change: {', '.join(get_args(ChangeKind))}", got=self.kind)
        if self.kind in _NEED_ROWS and self.rows is None:
            raise ParameterError(f"rows to {self.kind}", got=NONE)
        if self.kind == "undo" and (not isinstance(self.event, int) or isinstance(self.event, bool)):
            raise ParameterError("the number of the event to undo", got=self.event)

    @classmethod
    def of_rows(cls, kind: ChangeKind, rows: Sequence[Mapping[str, Any]], **more: Any) -> ChangeRequest:
        """A change by rows that are dicts of JSON values."""
        return cls(kind, write_rows(rows), JSON, parsed=list(rows), **more)

    @property
    def data(self) -> EventData | None:
        """The rows as data for a model; None if there are none. A DataError if they cannot be read."""
        if self.parsed is not None or self.rows is None or self.kind == "replace":
            return self.parsed
        data = read_rows(self.rows, self.media_type)
        object.__setattr__(self, "parsed", data)
        return data

    @cached_property
    def fingerprint(self) -> bytes:
        """A hash of everything that the change does, by which a repeated idempotency key is checked."""
        facts = [self.kind, self.media_type if self.rows is not None else None, self.event, _plain(self.settings)]
        head = json.dumps(facts, sort_keys=True, separators=(",", ":"), default=str).encode()
        return hashlib.sha256(hashlib.sha256(head).digest() + (self.rows or b"")).digest()


@dataclass(frozen=True)
class Applied:
    """A change that is committed: its event, the version of the model after it, and what it did.

    repeated: whether it had been applied before, by a request with the same idempotency key.
    """

    event: int
    version: int
    kind: str
    rows: int = 0
    skipped: int = 0
    notes: tuple[str, ...] = ()
    repeated: bool = False


def _plain(settings: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if settings is None else dict(settings)
