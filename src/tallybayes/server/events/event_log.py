"""The durable log of a hosted model: every change is an event in a SQLite file beside the model.

The log is the truth. A model is its base (`NAME.tally`) and the events after it that nobody has undone, in the order of
their numbers. An event is acknowledged after the transaction that holds it is on the disk (write-ahead log,
`synchronous=FULL`), and is never changed afterwards. Undoing an event is an event too.

Numbers begin after the base, grow by one and have no gaps. The order of events is that of their numbers; the time is
only told. Each event has a checksum over its content and the checksum of the event before it: a missing, exchanged or
damaged event is found when it is read. The rows enter the checksum by their own hash, so that the rows of events that
were folded into the base can be dropped and the history stays readable (`model_history.py`).

One process writes (`model_files.py`), from one thread. Others may read at the same time. The file is created for its
owner only, because it has the rows that were learned; one that exists keeps its mode.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from tallybayes.atomic_file import sync_directory
from tallybayes.errors import FileError
from tallybayes.server.events.event import COLUMNS, Event, NewEvent, UnknownEventError, damaged_at
from tallybayes.server.events.last_event import LastEvent, missing_events

__all__ = ["FORMAT", "EventLog", "find_undone"]

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
_INSERT = f"INSERT INTO events ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_TOO_FAR = (  # the first event at which the rows of those after a number have more than some bytes
    "SELECT min(id) FROM (SELECT id, sum(length(rows)) OVER (ORDER BY id) AS n_bytes FROM events"
    " WHERE id > ? AND id <= ?) WHERE n_bytes > ?"
)
_FIRST = bytes(32)  # the checksum before the first event
_BATCH = 1000  # events that are read at once, at most
_BATCH_BYTES = 64 * 2**20  # of their rows, about


def find_undone(undoing: Mapping[int, int]) -> dict[int, int]:
    """The event that undid each event, unless it was undone itself; undoing: every undo event and what it undoes.

    >>> find_undone({4: 2, 5: 3, 6: 4})
    {3: 5, 4: 6}
    """
    undone_by: dict[int, int] = {}
    for number in sorted(undoing, reverse=True):
        if number not in undone_by:
            undone_by[undoing[number]] = number
    return dict(sorted(undone_by.items()))


class EventLog:
    """The events of one model, and a few facts about the log.

    undoing: the number of every undo event, and that of the event it undoes. undone_by: as `find_undone`.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path = os.fsdecode(path)
        self.read_only = read_only
        self._readers = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._writer: sqlite3.Connection | None = None
        if not read_only:
            self._writer = self._opened_writer()
        if (number := self.fact("format")) != FORMAT:
            raise FileError(f"expected a log of format {FORMAT}, got {number!r}", file=self.path)
        last = self._query("SELECT id, checksum FROM events ORDER BY id DESC LIMIT 1")
        self.last_id: int = last[0][0] if last else 0
        self.last_checksum: bytes = last[0][1] if last else _FIRST
        undoing = "SELECT id, undoes FROM events WHERE undoes IS NOT NULL AND id <= ? ORDER BY id"
        self.undoing: dict[int, int] = dict(self._query(undoing, self.last_id))
        self.undone_by = find_undone(self.undoing)
        self._last = LastEvent(self.path)
        if not read_only and self.last_id:
            self._last.write(self.last_id, self.last_checksum)

    @classmethod
    def open_complete(cls, path: str, *, read_only: bool = False) -> Self:
        """Open a log; an error if it has lost acknowledged events.

        This is found out by reading only: a writer would empty a damaged write-ahead log, of which a part may be
        rescued.
        """
        if (acknowledged := LastEvent(path).read()) is not None:  # before the log: a server may be writing both
            with contextlib.closing(cls(path, read_only=True)) as log:
                if log.last_id < acknowledged[0]:
                    raise missing_events(path, log.last_id, acknowledged[0])
                if not log.holds(*acknowledged):
                    text = f"the log is damaged: event {acknowledged[0]} is not the acknowledged one"
                    raise FileError(text, file=path)
        return cls(path, read_only=read_only)

    # Facts

    def fact(self, name: str) -> Any:
        """A fact about the log, or None."""
        values = self._query("SELECT value FROM facts WHERE name = ?", name)
        return json.loads(values[0][0]) if values else None

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
        before, written = self.last_checksum, list[Event]()
        for number, new in enumerate(events, self.last_id + 1):
            written.append(new.with_number(number, before))
            before = written[-1].checksum
        with self._describe_errors("written"), self._transaction() as writer:
            writer.executemany(_INSERT, [event.to_line() for event in written])
        self.last_id, self.last_checksum = self.last_id + len(written), before
        if undoing := {event.id: event.undoes for event in written if event.undoes is not None}:
            self.undoing = self.undoing | undoing
            self.undone_by = find_undone(self.undoing)
        self._last.write(self.last_id, before)
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
        exists = 0 < number <= self.last_id
        events = self._events("id IN (?, ?) ORDER BY id", (number - 1, number)) if exists else []
        if not events or events[-1].id != number:
            raise UnknownEventError("the number of an event", got=number, hint=f"the last event is {self.last_id}")
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

    def after(self, number: int, checksum: bytes = b"", *, upto: int | None = None) -> Iterator[list[Event]]:
        """The events after a number in order, with their rows, in batches; each event is checked.

        checksum: that of the event `number`, if it is known, for instance from a snapshot.
        """
        if not checksum:
            checksum = self.get(number).checksum if number else _FIRST
        last = self.last_id if upto is None else upto
        while number < last:
            end = self._batch_end(number, last)
            batch = self._events("id > ? AND id <= ? ORDER BY id", (number, end))
            for event in batch:
                if event.id != number + 1:
                    break
                event.check(checksum, self.path)
                number, checksum = event.id, event.checksum
            if number != end:
                raise damaged_at(number + 1, "the event is missing", self.path)
            yield batch

    def _batch_end(self, number: int, last: int) -> int:
        """The last of the events to read at once after a number, so that their rows fit into memory."""
        end = min(number + _BATCH, last)
        ((too_far,),) = self._query(_TOO_FAR, number, end, _BATCH_BYTES)
        return end if too_far is None else max(int(too_far) - 1, number + 1)

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
        conditions = {"id > ?": after, "id < ?": before, "kind = ?": kind, "who = ?": who}
        wanted = {text: value for text, value in conditions.items() if value is not None}
        where = f"{' AND '.join(['1', *wanted])} ORDER BY {'id DESC' if after is None else 'id'} LIMIT ?"
        return self._events(where, [*wanted.values(), limit], "rows IS NULL AS rows")

    def newest_first(self, last: int) -> Iterator[Event]:
        """The events up to a number without their rows, from the last to the first."""
        before = last + 1
        while batch := self.page(before=before, limit=_BATCH):
            yield from batch
            before = batch[-1].id

    def check_structure(self) -> None:
        """Raise an error if SQLite finds damage in the structure of the file."""
        ((verdict,),) = self._query("PRAGMA integrity_check(1)")
        if verdict != "ok":
            raise FileError(f"the log is damaged: {verdict}", file=self.path)

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
                sync_directory(os.path.dirname(os.path.abspath(self.path)))
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
        columns = ", ".join(rows if name == "rows" else name for name in COLUMNS)
        lines = self._query(f"SELECT {columns} FROM events WHERE {where}", *values)
        try:
            return [Event.of_line(line, self.undone_by.get(line[0])) for line in lines]
        except (ValueError, TypeError, RecursionError) as error:
            raise FileError(f"the log is damaged: {error}", file=self.path) from error

    def _query(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._describe_errors("read"):
            return self._reader.execute(query, values).fetchall()

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
