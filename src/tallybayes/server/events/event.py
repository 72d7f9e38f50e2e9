"""One event of a log: a change with its number, who asked for it and when, and a checksum; events as a Parquet file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Any, BinaryIO

import pyarrow as pa

from tallybayes.errors import DataError, FileError, ParameterError
from tallybayes.formatting import json_text, rows_of
from tallybayes.server.events.event_rows import JSON, EventData, as_dicts, read_rows

__all__ = ["COLUMNS", "Event", "NewEvent", "UnknownEventError", "damaged_at", "read_together", "write_parquet"]

COLUMNS = (  # of the table of the log, in its order
    *("id", "kind", "time", "who", "key", "fingerprint", "media_type", "rows", "rows_hash", "n_rows", "skipped"),
    *("notes", "undoes", "settings", "scores", "labels", "checksum"),
)
_in_order = itemgetter(*COLUMNS)
_LABELS = COLUMNS.index("labels")
_before_scores = itemgetter(*(i for i, name in enumerate(COLUMNS[:-3]) if name != "rows"))
_AS_JSON = ("notes", "settings", "labels")  # columns that are stored as JSON
_SUMMARIES = {"calibrate": "calibrated", "decide": "set the decision rule", "replace": "replaced the model"}
_EXPORTED = pa.schema(
    [
        ("event", pa.int64()),
        ("kind", pa.string()),
        ("time", pa.string()),
        ("who", pa.string()),
        ("key", pa.string()),
        ("rows", pa.int64()),
        ("skipped", pa.int64()),
        ("undoes", pa.int64()),
        ("undone_by", pa.int64()),
        ("folded", pa.bool_()),
        ("summary", pa.string()),
        ("settings", pa.string()),
        ("data", pa.large_string()),
    ]
)


class UnknownEventError(ParameterError):
    """There is no event with this number."""


@dataclass(frozen=True)
class NewEvent:
    """An event that is not in the log yet.

    rows: the rows as bytes; fingerprint: the hash of the request, to which an idempotency key belongs.
    n_rows, skipped, notes: what the change did. undoes: the event that it takes back.
    settings: of calibrate and decide, what was asked and what was set. scores, labels: of rows that were scored before
    they were learned (`stream_metrics.py`).
    """

    kind: str
    time: str
    who: str = ""
    key: str | None = None
    fingerprint: bytes | None = None
    media_type: str = ""
    rows: bytes | None = None
    n_rows: int = 0
    skipped: int = 0
    notes: tuple[str, ...] = ()
    undoes: int | None = None
    settings: dict[str, Any] | None = None
    scores: bytes | None = None
    labels: dict[str, int] | None = None

    def with_number(self, number: int, before: bytes) -> Event:
        """The event with its number and its checksum, which continues the one before."""
        rows_hash = None if self.rows is None else hashlib.sha256(self.rows).digest()
        event = Event(**self.__dict__, id=number, rows_hash=rows_hash)
        object.__setattr__(event, "checksum", event.content_hash(before))
        return event


@dataclass(frozen=True)
class Event(NewEvent):
    """An event in the log. rows is None where there are none, where they were not read, or after compaction."""

    id: int = 0
    rows_hash: bytes | None = None
    checksum: bytes = b""
    undone_by: int | None = None
    is_folded: bool = False

    def content_hash(self, before: bytes) -> bytes:
        """The checksum over the content and the checksum of the event before."""
        scores = None if self.scores is None else hashlib.sha256(self.scores).digest()
        content = (*_before_scores(self._line), scores, self._line[_LABELS])  # rows and scores by their hashes
        return hashlib.sha256(before + ascii(content).encode()).digest()

    def check(self, before: bytes | None, file: str) -> None:
        """Raise an error if the event is damaged; before: the checksum of the event before it, if it is known."""
        damaged = self.rows is not None and hashlib.sha256(self.rows).digest() != self.rows_hash
        if damaged or (before is not None and self.content_hash(before) != self.checksum):
            raise damaged_at(self.id, "checksum mismatch", file)

    def to_line(self) -> tuple[Any, ...]:
        """The values of the columns of the table."""
        return (*self._line[:-1], self.checksum)

    @cached_property
    def _line(self) -> tuple[Any, ...]:
        """As `to_line`, before the checksum is computed from the others."""
        values = self.__dict__
        texts = {name: None if values[name] is None else _json(values[name]) for name in _AS_JSON}
        line: tuple[Any, ...] = _in_order(values | texts)
        return line

    @classmethod
    def of_line(cls, line: tuple[Any, ...], undone_by: int | None) -> Event:
        """From the values of the columns; rows that are a number were not read."""
        event = cls.__new__(cls)  # a million events are read at a start: the constructor of a frozen class is slow
        facts = event.__dict__
        facts.update(zip(COLUMNS, line, strict=True), _line=line, undone_by=undone_by)
        rows = facts["rows"]
        facts["is_folded"] = facts["rows_hash"] is not None and (rows is None or rows == 1)
        facts["rows"] = rows if isinstance(rows, bytes) else None
        for name in _AS_JSON:
            facts[name] = None if facts[name] is None else _parse(facts[name])
        facts["notes"] = tuple(facts["notes"])
        return event

    @property
    def summary(self) -> str:
        """What the event did, in a few words."""
        if self.kind == "undo":
            return f"undid event {self.undoes}"
        if self.kind in _SUMMARIES:
            return str((self.settings or {}).get("text", _SUMMARIES[self.kind]))
        skipped = f", {self.skipped:,} without a label" if self.skipped else ""
        return f"{'learned' if self.kind == 'learn' else 'forgot'} {rows_of(self.n_rows)}{skipped}"

    def stored_rows(self) -> bytes:
        """The rows as they are in the log."""
        if self.rows is None:
            raise DataError(f"the rows of event {self.id} were folded into the base when the log was compacted")
        return self.rows

    @cached_property
    def data(self) -> EventData:
        """The rows as data for a model."""
        return read_rows(self.stored_rows(), self.media_type)

    def row_values(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        return as_dicts(self.data)

    def to_dict(self) -> dict[str, Any]:
        """The facts for JSON, without the rows."""
        return {
            "event": self.id,
            "kind": self.kind,
            "time": self.time,
            "who": self.who,
            "rows": self.n_rows,
            "skipped": self.skipped,
            "key": self.key,
            "undoes": self.undoes,
            "undone_by": self.undone_by,
            "folded": self.is_folded,
            "notes": list(self.notes),
            "summary": self.summary,
        }


_json = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@lru_cache(4096)
def _parse(text: str) -> Any:
    """A value that is stored as JSON; the labels of single rows are equal again and again, and are shared."""
    return json.loads(text)


def read_together(events: Sequence[Event]) -> None:
    """Read the rows of events that are JSON, and were read before, at once, which is faster."""
    as_json = [event for event in events if event.rows is not None and event.media_type == JSON]
    parts = json.loads(b"[" + b",".join(event.stored_rows() for event in as_json) + b"]")
    for event, rows in zip(as_json, parts, strict=True):
        event.__dict__["data"] = rows


def damaged_at(number: int, what: str, file: str) -> FileError:
    """The error for a log in which an event is damaged or missing."""
    hint = "nothing was changed; restore the log from a copy, and check it with tally log verify"
    return FileError(f"the log is damaged at event {number}: {what}", file=file, hint=hint)


def write_parquet(batches: Iterable[list[Event]], file: BinaryIO) -> int:
    """Write events with their rows as JSON, unless these were folded, to a Parquet file; returns how many."""
    import pyarrow.parquet as pq

    n_events = 0
    with pq.ParquetWriter(file, _EXPORTED) as writer:
        for batch in batches:
            writer.write_batch(pa.RecordBatch.from_pylist([_exported(event) for event in batch], schema=_EXPORTED))
            n_events += len(batch)
    return n_events


def _exported(event: Event) -> dict[str, Any]:
    facts = event.to_dict()
    has_rows = event.rows is not None and event.kind != "replace"
    facts["data"] = json_text(event.row_values()) if has_rows else None
    facts["settings"] = None if event.settings is None else json_text(event.settings)
    return {name: facts[name] for name in _EXPORTED.names}
