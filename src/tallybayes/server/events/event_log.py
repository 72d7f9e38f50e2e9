"""The durable log of a hosted model: every change is an event in a SQLite file beside the model.

The log is the truth. A model is its base (`NAME.tally`) and the events after it that nobody has undone, in the order of
their numbers. An event is acknowledged after the transaction that holds it is on the disk (write-ahead log,
`synchronous=FULL`), and is never changed afterwards. Undoing an event is an event too.

Numbers begin after the base, grow by one and have no gaps. The order of events is that of their numbers; the time is
only told. Each event has a checksum over its content and the checksum of the event before it: a missing, exchanged or
damaged event is found when it is read. The rows enter the checksum by their own hash, so that the rows of events that
were folded into the base can be dropped and the history stays readable (`compaction.py`).

One process writes (`model_lock.py`), from one thread. Others may read at the same time. The file is created for its
owner only, because it has the rows that were learned; one that exists keeps its mode.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from tallybayes.errors import FileError, ParameterError
from tallybayes.server.events.event import Event, NewEvent, damaged_at
from tallybayes.server.events.last_event import LastEvent, missing_events

__all__ = ["FORMAT", "EventLog"]

FORMAT = 1  # of the log; a later library may read older ones

_TABLES = (
    "CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    """CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, time TEXT NOT NULL, who TEXT NOT NULL, key TEXT, fingerprint BLOB,
    media_type TEXT NOT NULL, rows BLOB, rows_hash BLOB, n_rows INTEGER NOT NULL, skipped INTEGER NOT NULL,
    notes TEXT NOT NULL, undoes INTEGER, settings TEXT, scores BLOB, labels TEXT, checksum BLOB NOT NULL) STRICT""",
    "CREATE UNIQUE INDEX IF NOT EXISTS events_key ON events (key) WHERE key IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS events_undoes ON events (undoes) WHERE undoes IS NOT NULL",
)
_COLUMNS = (
    "id, kind, time, who, key, fingerprint, media_type, rows, rows_hash, n_rows, skipped, notes, undoes, settings,"
    " scores, labels, checksum"
)
_FIRST = bytes(32)  # the checksum before the first event
_BATCH = 1000  # events that are read at once, at most
_BATCH_BYTES = 64 * 2**20  # of their rows, about


class EventLog:
    """The events of one model, and a few facts about the log."""

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path = os.fsdecode(path)
        self.read_only = read_only
        self._readers = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._writer: sqlite3.Connection | None = None
        if not read_only:
            self._writer = self._opened_writer()
        self._check_format()
        self.last_id, self.last_checksum = self._end()
        self._last = LastEvent(self.path)
        if not read_only and self.last_id:
            self._last.write(self.last_id, self.last_checksum)

    @classmethod
    def check_complete(cls, path: str) -> None:
        """Raise an error if a log has lost acknowledged events. To be called before it is opened for writing.

        It only reads: a writer would empty a damaged write-ahead log, of which a part may be rescued.
        """
        acknowledged = LastEvent(path).read()  # before the log: a server may be writing both
        if acknowledged is None:
            return
        with contextlib.closing(cls(path, read_only=True)) as log:
            if log.last_id < acknowledged[0]:
                raise missing_events(path, log.last_id, acknowledged[0])
            if not log.holds(*acknowledged):
                raise FileError(f"the log is damaged: event {acknowledged[0]} is not the acknowledged one", file=path)

    # Facts

    def fact(self, name: str) -> Any:
        """A fact about the log, or None."""
        with self._describe_errors("read"):
            row = self._reader.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def set_facts(self, **facts: Any) -> None:
        """Change facts, all or nothing; None removes one."""
        with self._describe_errors("written"), self._transaction() as writer:
            self._put_facts(writer, facts)

    @staticmethod
    def _put_facts(writer: sqlite3.Connection, facts: dict[str, Any]) -> None:
        for name, value in facts.items():
            if value is None:
                writer.execute("DELETE FROM facts WHERE name = ?", (name,))
            else:
                writer.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))

    # Writing

    def append(self, events: Sequence[NewEvent]) -> list[Event]:
        """Write events in one transaction; they are on the disk when this returns."""
        number, before, written, lines = self.last_id, self.last_checksum, [], []
        for new in events:
            number += 1
            event = new.with_number(number, before)
            before = event.checksum
            written.append(event)
            lines.append(event.to_line())
        with self._describe_errors("written"), self._transaction() as writer:
            places = ", ".join("?" * len(_COLUMNS.split(",")))
            writer.executemany(f"INSERT INTO events ({_COLUMNS}) VALUES ({places})", lines)
        self.last_id, self.last_checksum = number, before
        self._last.write(number, before)
        return written

    def drop_rows(self, last: int, **facts: Any) -> None:
        """Drop the rows of all events up to a number, and set facts, in one transaction."""
        with self._describe_errors("written"), self._transaction() as writer:
            writer.execute("UPDATE events SET rows = NULL WHERE id <= ?", (last,))
            self._put_facts(writer, facts)

    def shrink(self) -> None:
        """Give the space of dropped rows back to the disk."""
        with self._describe_errors("written"):
            assert self._writer is not None
            self._writer.execute("VACUUM")
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # Reading

    def get(self, number: int) -> Event:
        """One event with its rows; checked."""
        events = self._events("id IN (?, ?) ORDER BY id", (number - 1, number))
        if not events or events[-1].id != number:
            raise ParameterError("the number of an event", got=number, hint=f"the last event is {self.last_id}")
        before = events[0].checksum if len(events) == 2 else _FIRST if number == 1 else None
        events[-1].check(before, self.path)
        return events[-1]

    def holds(self, number: int, checksum: bytes) -> bool:
        """Whether there is an event with a number and a checksum, maybe written by another process since the start."""
        events = self._events("id = ?", (number,), "rows IS NULL AS rows")
        return bool(events) and events[0].checksum == checksum

    def with_key(self, key: str) -> Event | None:
        """The event with an idempotency key."""
        events = self._events("key = ?", (key,))
        return events[0] if events else None

    def after(self, number: int, checksum: bytes | None = None, *, upto: int | None = None) -> Iterator[list[Event]]:
        """The events after a number in order, with their rows, in batches; each event is checked.

        checksum: that of the event `number`, if it is known, for instance from a snapshot.
        """
        if checksum is None:
            checksum = self.get(number).checksum if number else _FIRST
        last = self.last_id if upto is None else upto
        while number < last:
            n_events = self._batch_size(number, last)
            batch = self._events("id > ? AND id <= ? ORDER BY id", (number, min(number + n_events, last)))
            if not batch:
                raise damaged_at(number + 1, "the event is missing", self.path)
            for event in batch:
                if event.id != number + 1:
                    raise damaged_at(number + 1, "the event is missing", self.path)
                event.check(checksum, self.path)
                number, checksum = event.id, event.checksum
            yield batch

    def _batch_size(self, number: int, last: int) -> int:
        """How many events to read at once, so that their rows fit into memory."""
        with self._describe_errors("read"):
            sizes = self._reader.execute(
                "SELECT length(rows) FROM events WHERE id > ? AND id <= ? ORDER BY id",
                (number, min(number + _BATCH, last)),
            ).fetchall()
        total = 0
        for i, (size,) in enumerate(sizes):
            total += size or 0
            if total > _BATCH_BYTES:
                return max(i, 1)
        return _BATCH

    def page(
        self,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = 100,
        kind: str | None = None,
        who: str | None = None,
    ) -> list[Event]:
        """Events without their rows, newest first; oldest first if `after` is given."""
        conditions, values = ["1"], []
        for text, value in (("id > ?", after), ("id < ?", before), ("kind = ?", kind), ("who = ?", who)):
            if value is not None:
                conditions.append(text)
                values.append(value)
        order = "id DESC" if after is None else "id"
        values.append(limit)
        where = f"{' AND '.join(conditions)} ORDER BY {order} LIMIT ?"
        return self._events(where, values, "rows IS NULL AS rows")

    def newest_first(self, last: int) -> Iterator[Event]:
        """The events up to a number without their rows, from the last to the first."""
        before = last + 1
        while batch := self.page(before=before, limit=_BATCH):
            yield from batch
            before = batch[-1].id

    def undoing(self) -> dict[int, int]:
        """The number of every undo event, and that of the event it undoes."""
        with self._describe_errors("read"):
            rows = self._reader.execute("SELECT id, undoes FROM events WHERE undoes IS NOT NULL ORDER BY id")
            return dict(rows.fetchall())

    def check_structure(self) -> None:
        """Raise an error if SQLite finds damage in the structure of the file."""
        with self._describe_errors("read"):
            verdict = self._reader.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != ("ok",):
            raise FileError(f"the log is damaged: {verdict[0]}", file=self.path)

    def close(self) -> None:
        """Close all connections; the writer's is the last, which empties the write-ahead log."""
        for connection in (*self._connections, self._writer):
            if connection is not None:
                connection.close()
        self._connections, self._writer = [], None
        self._last.close()

    # Details

    def _opened_writer(self) -> sqlite3.Connection:
        _create_private(self.path)
        with self._describe_errors("opened"):
            writer = sqlite3.connect(self.path, timeout=10, isolation_level=None, check_same_thread=False)
            mode = writer.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            if mode != "wal":
                text = f"expected a disk on which SQLite can write a log ahead, got mode {mode}"
                raise FileError(text, file=self.path)
            writer.execute("PRAGMA synchronous = FULL")
            if not _has_tables(writer):
                self._writer = writer
                with self._transaction():
                    self._create_tables(writer)
                _sync_folder(self.path)
        return writer

    def _create_tables(self, connection: sqlite3.Connection) -> None:
        for table in _TABLES:
            connection.execute(table)
        self._put_facts(connection, {"format": FORMAT})

    @property
    def _reader(self) -> sqlite3.Connection:
        """A connection of this thread."""
        connection: sqlite3.Connection | None = getattr(self._readers, "connection", None)
        if connection is None:
            connection = self._opened_reader()
            self._connections.append(connection)
            self._readers.connection = connection
        return connection

    def _opened_reader(self) -> sqlite3.Connection:
        """A connection for reading; to an empty log if there is none yet."""
        uri = pathlib.Path(os.path.abspath(self.path)).as_uri()
        options: dict[str, Any] = {"isolation_level": None, "timeout": 10.0, "check_same_thread": False}
        if os.path.exists(self.path):
            reader: sqlite3.Connection = sqlite3.connect(f"{uri}?mode=ro", uri=True, **options)
            try:
                if _has_tables(reader):
                    return reader
            except sqlite3.OperationalError:
                ahead = f"{self.path}-wal"
                if os.path.exists(ahead) and os.path.getsize(ahead):
                    raise
                reader = sqlite3.connect(f"{uri}?immutable=1", uri=True, **options)  # on a disk that is read-only
                if _has_tables(reader):
                    return reader
        reader = sqlite3.connect(":memory:", **options)
        self._create_tables(reader)
        return reader

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        if self._writer is None:
            raise FileError("the log is open for reading only", file=self.path)
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            yield self._writer
            self._writer.execute("COMMIT")
        except BaseException:
            if self._writer.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self._writer.execute("ROLLBACK")
            raise

    def _events(self, where: str, values: Sequence[Any], rows: str = "rows") -> list[Event]:
        columns = _COLUMNS.replace(" rows,", f" {rows},", 1)
        with self._describe_errors("read"):
            lines = self._reader.execute(f"SELECT {columns} FROM events WHERE {where}", values).fetchall()
        try:
            return [Event.of_line(line) for line in lines]
        except (ValueError, TypeError, RecursionError) as error:
            raise FileError(f"the log is damaged: {error}", file=self.path) from error

    def _end(self) -> tuple[int, bytes]:
        events = self._events("1 ORDER BY id DESC LIMIT 1", ())
        return (events[0].id, events[0].checksum) if events else (0, _FIRST)

    def _check_format(self) -> None:
        number = self.fact("format")
        if number != FORMAT:
            raise FileError(f"expected a log of format {FORMAT}, got {number!r}", file=self.path)

    @contextlib.contextmanager
    def _describe_errors(self, verb: str) -> Iterator[None]:
        """Errors of SQLite as errors of this library."""
        try:
            yield
        except sqlite3.Error as error:
            raise FileError(f"the log cannot be {verb}: {error}", file=self.path) from error


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'facts'").fetchone())


def _create_private(path: str) -> None:
    """Create the file, if there is none, for its owner only; SQLite gives the files beside it the same mode."""
    with contextlib.suppress(OSError):  # it exists, or SQLite says why it cannot be created
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _sync_folder(path: str) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
