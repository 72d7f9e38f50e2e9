"""Tables of SQLite files, read by Python's sqlite3 module (DuckDB would have to download an extension)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from tallybayes.errors import Described, FileError
from tallybayes.io.formats.duckdb_connection import sql_name
from tallybayes.io.formats.file_format import FileFormat, ReadOptions
from tallybayes.io.formats.input_file import InputFile
from tallybayes.io.formats.relation import chosen_table, is_query
from tallybayes.tables.source import BadRows, Kind
from tallybayes.tables.table import Table

__all__ = ["Sqlite"]

_ROWS = 20_000
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


class Sqlite(FileFormat):
    """A table of a SQLite file, or a query on it."""

    kind = "sqlite"

    def __init__(self, file: InputFile, options: ReadOptions) -> None:
        self.name = file.name
        self._missing = {*options.given_words}
        _check_size(file)
        try:
            self._connection = sqlite3.connect(
                f"file://{quote(os.fsencode(os.path.abspath(file.path)))}?mode=ro", uri=True
            )
            self._connection.set_authorizer(lambda action, *_: int(action not in _ALLOWED))  # 0: yes, 1: no
            self._connection.text_factory = lambda data: data.decode("utf-8", errors="replace")
            query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1"
            names = [name for (name,) in self._connection.execute(query) if not name.startswith("sqlite_")]
        except sqlite3.Error as error:
            raise self._unreadable(error) from error
        if is_query(options.table):
            self._query = f"SELECT * FROM ({options.table.strip().rstrip(';')}\n)"
        else:
            self._query = f"SELECT * FROM {sql_name(chosen_table(options.table, names, file.name))}"
        try:
            self._names = [column[0] for column in self._connection.execute(f"{self._query} LIMIT 0").description]
        except sqlite3.Error as error:
            hint = "queries can only read data: a single SELECT statement" if is_query(options.table) else None
            raise self._unreadable(error).at(hint=hint) from error

    def head(self, n: int, *, skip_bad: bool = False) -> Table:
        """The first rows."""
        try:
            rows = self._connection.execute(f"SELECT * FROM ({self._query}) LIMIT {n}").fetchall()
        except sqlite3.Error as error:
            raise self._unreadable(error) from error
        return self._table(rows, dict.fromkeys(self._names), 0, False)

    def tables(self, wanted: Mapping[str, Kind | None] | None, *, keep: bool, bad: BadRows | None) -> Iterator[Table]:
        """The rows, batch by batch; values are as SQLite has them."""
        kinds = dict.fromkeys(self._names) if wanted is None else wanted
        first = 0
        try:
            cursor = self._connection.execute(self._query)
            while rows := cursor.fetchmany(_ROWS):
                yield self._table(rows, kinds, first, keep)
                first += len(rows)
        except sqlite3.Error as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: sqlite3.Error) -> FileError:
        return FileError(f"cannot be read: {error}", file=self.name)

    def _table(self, rows: list[tuple[Any, ...]], kinds: Mapping[str, Kind | None], first: int, keep: bool) -> Table:
        cells = dict(zip(self._names, zip(*rows, strict=True) if rows else ((),) * len(self._names), strict=True))
        columns = {name: self._column(cells[name], kind) for name, kind in kinds.items() if name in cells}
        kept = pa.table({name: _kept(values) for name, values in cells.items()}) if keep else None
        return Table(len(rows), columns, self.origin(first), None, kept)

    def _column(self, values: tuple[Any, ...], kind: Kind | None) -> list[Any]:
        if self._missing:
            values = tuple(None if isinstance(v, str) and v in self._missing else v for v in values)
        if kind == "flag":
            words = {"true": True, "false": False}
            return [words.get(v.lower(), v) if isinstance(v, str) else v for v in values]
        return list(values)


def _check_size(file: InputFile) -> None:
    """Refuse a file that is shorter than its header says: SQLite would read the rows that are left, without an error.

    The header has the size of a page at byte 16, the number of pages at byte 28, which is valid if the counters of
    changes at bytes 24 and 92 are equal (https://www.sqlite.org/fileformat.html).
    """
    with open(file.path, "rb") as opened:
        header = opened.read(100)
        size = opened.seek(0, os.SEEK_END)
    page, n_pages = int.from_bytes(header[16:18]), int.from_bytes(header[28:32])
    whole = n_pages * (65536 if page == 1 else page)
    if header[24:28] == header[92:96] and size < whole:
        got = Described(f"{size:,} bytes: the file was cut off")
        raise FileError(f"a SQLite file of {whole:,} bytes, as its header says", got=got, file=file.name)


def _kept(values: tuple[Any, ...]) -> Any:
    """Values as they are, or as text if they are of several types."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if value is None else str(value) for value in values])
