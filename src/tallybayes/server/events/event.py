"""One event of a log: a change with its number, who asked for it and when, and a checksum."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from tallybayes.errors import DataError, FileError
from tallybayes.formatting import rows_of
from tallybayes.server.events.event_rows import as_dicts, read_rows

__all__ = ["Event", "NewEvent", "damaged_at"]

_COLUMNS = (  # of the table, in its order
    *("id", "kind", "time", "who", "key", "fingerprint", "media_type", "rows", "rows_hash", "n_rows", "skipped"),
    *("notes", "undoes", "settings", "scores", "labels", "checksum"),
)


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
        notes, settings, labels = self._texts()
        facts = (self.id, self.kind, self.time, self.who, self.key, self.fingerprint, self.media_type, self.rows_hash)
        more = (self.n_rows, self.skipped, notes, self.undoes, settings, scores, labels)
        return hashlib.sha256(before + ascii((*facts, *more)).encode()).digest()

    def check(self, before: bytes | None, file: str) -> None:
        """Raise an error if the event is damaged; before: the checksum of the event before it, if it is known."""
        damaged = self.rows is not None and hashlib.sha256(self.rows).digest() != self.rows_hash
        if damaged or (before is not None and self.content_hash(before) != self.checksum):
            raise damaged_at(self.id, "checksum mismatch", file)

    def to_line(self) -> tuple[Any, ...]:
        """The values of the columns of the table."""
        texts = self._texts()
        return (
            *(self.id, self.kind, self.time, self.who, self.key, self.fingerprint, self.media_type, self.rows),
            *(self.rows_hash, self.n_rows, self.skipped, texts[0], self.undoes),
            *(texts[1], self.scores, texts[2], self.checksum),
        )

    def _texts(self) -> tuple[str, str | None, str | None]:
        """Notes, settings and labels as they are stored."""
        texts: tuple[str, str | None, str | None] | None = self.__dict__.get("_stored")
        if texts is None:
            texts = (_notes_text(self.notes), _json_or_none(self.settings), _json_or_none(self.labels))
            self.__dict__["_stored"] = texts
        return texts

    @classmethod
    def of_line(cls, line: tuple[Any, ...]) -> Event:
        """From the values of the columns; rows that are a number were not read."""
        event = cls.__new__(cls)  # a million events are read at a start: the constructor of a frozen class is slow
        facts = event.__dict__
        facts.update(zip(_COLUMNS, line, strict=True))
        rows = facts["rows"]
        facts["is_folded"] = facts["rows_hash"] is not None and (rows is None or rows == 1)
        facts["rows"] = rows if isinstance(rows, bytes) else None
        notes, settings, labels = facts["_stored"] = (facts["notes"], facts["settings"], facts["labels"])
        facts["notes"] = () if notes == "[]" else tuple(json.loads(notes))
        facts["settings"] = None if settings is None else json.loads(settings)
        facts["labels"] = None if labels is None else _labels_of(labels)
        return event

    @property
    def summary(self) -> str:
        """What the event did, in a few words."""
        if self.kind == "undo":
            return f"undid event {self.undoes}"
        if self.kind == "calibrate":
            return str((self.settings or {}).get("text", "calibrated"))
        if self.kind == "decide":
            return str((self.settings or {}).get("text", "set the decision rule"))
        if self.kind == "replace":
            return "replaced the model"
        skipped = f", {self.skipped:,} without a label" if self.skipped else ""
        return f"{'learned' if self.kind == 'learn' else 'forgot'} {rows_of(self.n_rows)}{skipped}"

    def row_values(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        if self.is_folded:
            raise DataError(f"the rows of event {self.id} were folded into the base when the log was compacted")
        return as_dicts(read_rows(self.rows, self.media_type)) if self.rows is not None else []

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


def _json_or_none(value: Any) -> str | None:
    return None if value is None else _json(value)


def damaged_at(number: int, what: str, file: str) -> FileError:
    """The error for a log in which an event is damaged or missing."""
    hint = "nothing was changed; restore the log from a copy, and check it with tally log verify"
    return FileError(f"the log is damaged at event {number}: {what}", file=file, hint=hint)


@functools.lru_cache(4096)
def _labels_of(text: str) -> dict[str, int]:
    """Rows per label; those of single rows are equal again and again, and are shared."""
    labels: dict[str, int] = json.loads(text)
    return labels


def _notes_text(notes: tuple[str, ...]) -> str:
    return _json(list(notes)) if notes else "[]"
