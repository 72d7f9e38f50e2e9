"""A change that is asked of a hosted model, what became of it, or why it was refused.

Some rows are not learned although they could be counted. Very many new columns would hold up others. Dates that no
calendar of Python has could not be listed or exported. These limits are for requests: events that are in a log were
accepted once and are replayed whatever they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Self, get_args

import pyarrow as pa
import pyarrow.compute as pc

from tallybayes.columns.schema import Schema
from tallybayes.errors import NONE, DataError, Described, FileError, ParameterError
from tallybayes.server.events.event import Event
from tallybayes.server.events.event_rows import JSON, NOT_PYTHON, EventData, read_rows, write_rows

__all__ = [
    "MAX_NEW_COLUMNS",
    "Applied",
    "ChangeKind",
    "ChangeRequest",
    "KeyReuseError",
    "NotWritableError",
    "VersionError",
    "check_rows_to_learn",
    "check_version",
]

ChangeKind = Literal["learn", "forget", "undo", "calibrate", "decide", "replace"]

MAX_NEW_COLUMNS = 1_000  # of one request; the family of each is inferred, which takes about half a millisecond
_NEED_ROWS = ("learn", "forget", "replace")


class VersionError(ParameterError):
    """The model has another version than the one that the change was meant for."""


class KeyReuseError(ParameterError):
    """The idempotency key belongs to another change."""


class NotWritableError(FileError):
    """The change cannot be stored: the model is read-only, closed, or its disk is full."""


@dataclass(frozen=True)
class ChangeRequest:
    """One change: rows to learn or forget, an event to undo, a calibration, a decision rule, or another model.

    rows: as they are stored in the log; media_type: what they are (`event_rows.py`).
    key: an idempotency key: the same request with the same key is applied once.
    if_version: the change is refused if the model has another version.
    event: the event to undo. settings: the options of calibrate and decide (`settings_change.py`).
    notes: what was doubtful about the rows when they were read.

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
    notes: tuple[str, ...] = field(default=(), compare=False)
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
        settings = None if self.settings is None else dict(self.settings)
        facts = [self.kind, self.media_type if self.rows is not None else None, self.event, settings]
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

    @classmethod
    def of(cls, event: Event, *, repeated: bool = False) -> Self:
        """The answer to the request that an event was made of."""
        return cls(event.id, event.id, event.kind, event.n_rows, event.skipped, event.notes, repeated)


def check_version(wanted: int | None, version: int, what: str = "the change still applies") -> None:
    """Refuse a change that is meant for another version of the model; what: what is then to be decided."""
    if wanted is not None and wanted != version:
        hint = f"read the model again, then decide whether {what}"
        raise VersionError(f"a model of version {wanted}", got=version, hint=hint)


def check_rows_to_learn(data: EventData, schema: Schema) -> None:
    """Raise a DataError for rows that are not to be learned."""
    names = set().union(*data) if isinstance(data, list) else set(data.column_names)
    n_new = len(names.difference(schema.columns, (schema.label, schema.weight)))
    if n_new > MAX_NEW_COLUMNS:
        hint = "send the values in one column, as a list or an object, or fit the model with these columns"
        got = Described(f"{n_new:,}")
        raise DataError(f"at most {MAX_NEW_COLUMNS:,} new columns in one request", got=got, hint=hint)
    if isinstance(data, pa.Table):
        for name, column in zip(data.column_names, data.columns, strict=True):
            _check_times(name, column)


def _check_times(name: str, column: pa.ChunkedArray) -> None:
    """Refuse a column with dates and times that Python cannot have."""
    if not _has_times(column.type):
        return
    try:
        if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
            pc.min_max(column).as_py()  # what is between them is in the range, too
        else:
            column.to_pylist()
    except NOT_PYTHON:
        got = Described(f"others ({column.type})")
        raise DataError("dates and times of the years 1 to 9999, in a known time zone", got=got, column=name) from None


def _has_times(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _has_times(kind.value_type)
    return pa.types.is_temporal(kind) or any(_has_times(kind.field(i).type) for i in range(kind.num_fields))
