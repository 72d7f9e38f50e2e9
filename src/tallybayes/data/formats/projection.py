"""Rows that DuckDB can read: a relation, a projection with casts, a stream of Arrow batches.

Every format of files comes down to this. A value that cannot be cast is found by a second look (`_culprit`), so that
the first one runs at full speed; where bad rows are skipped, each row says of itself what is wrong with it.
"""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from tallybayes.data.arrow import valid_rows
from tallybayes.data.formats.file_format import Format
from tallybayes.data.source import BadRows, Kind
from tallybayes.data.table import Table
from tallybayes.errors import DataError, FileError, TallyError

if TYPE_CHECKING:
    import duckdb

__all__ = ["Faults", "Query", "connect", "first_line", "line_in", "path_text", "quoted", "text"]

Faults = Literal["stop", "report"]

_BATCH_BYTES = 2**24  # about this much in a batch, so that memory is bounded for wide tables too
_BATCH_ROWS = (2048, 131_072)
_THREADS = 8  # every thread has buffers of its own
_WORDS = {"number": "a number", "flag": "yes or no (0, 1, true, false)"}
_NUMBERS = (
    "FLOAT",
    "DOUBLE",
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
)


def connect(path: str | None = None) -> duckdb.DuckDBPyConnection:
    """A connection that downloads nothing: to a database file, to be read, or to the one in memory that all share."""
    import duckdb

    if path is None:
        return _quiet(_in_memory(os.getpid()).cursor())
    try:
        return _quiet(duckdb.connect(path, read_only=True, config=_config()))
    except duckdb.Error as error:
        raise FileError(f"the database cannot be opened: {first_line(error)}", file=path) from error


@cache
def _in_memory(process: int) -> duckdb.DuckDBPyConnection:
    """One for each process: threads do not survive a fork."""
    import duckdb

    return duckdb.connect(config=_config())


def _config() -> dict[str, Any]:
    threads = int(os.environ.get("TALLYBAYES_THREADS") or min(os.cpu_count() or 1, _THREADS))
    # a query sees files, not our variables
    return {"threads": threads, "autoinstall_known_extensions": False, "python_enable_replacements": False}


def _quiet(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    connection.execute("SET enable_progress_bar = false")  # it would stand between the data on standard output
    return connection


def path_text(path: str) -> str:
    """A path in SQL, its signs taken as they are and not as a glob."""
    return text(re.sub(r"[\[*?]", lambda sign: f"[{sign[0]}]", path))


def quoted(name: str) -> str:
    """An identifier in SQL."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"


def first_line(error: BaseException) -> str:
    """What an error of a library says, without the rest."""
    return str(error).strip().partition("\n")[0]


class Query(Format):
    """A relation of DuckDB.

    `expressions` gives each column's SQL expression and DuckDB type; `relation` the FROM clause.
    """

    connection: Any
    expressions: dict[str, tuple[str, str]]
    missing: tuple[str, ...] = ()  # words to be taken for null in columns of text
    decimal: str = "."
    flags: Mapping[str, str] = MappingProxyType({})  # columns of text that can be cast in one go, and the type
    row_bytes: float = 100.0  # of an average row, to choose the size of batches

    @abstractmethod
    def relation(self, faults: Faults = "stop") -> str:
        """What to select from, and what happens at rows that DuckDB cannot read."""

    def kept(self, name: str) -> str:
        """The expression of a cell as it is."""
        return self.expressions[name][0]

    def broken(self, error: BaseException) -> TallyError:
        """What DuckDB could not read, as an error of ours."""
        return FileError(f"cannot be read: {first_line(error)}", file=self.name)

    def reported(self) -> list[DataError]:
        """What DuckDB itself left out in the last query that was told to report."""
        return []

    def also_bad(self) -> str | None:
        """A condition for rows that are bad as a whole, where bad rows are skipped."""
        return None

    def head(self, n: int, *, skip_bad: bool = False) -> Table:
        """The first rows, in the types that DuckDB gives them."""
        parts = [f"{self._whole(name)} AS c{i}" for i, name in enumerate(self.expressions)]
        relation = self.relation("report" if skip_bad else "stop")
        try:
            table = self._sql(f"SELECT {', '.join(parts)} FROM {relation} LIMIT {n}").to_arrow_table()
        except _errors() as error:
            raise self.broken(error) from error
        self.reported()
        return self.first(table)

    def some(self, name: str, n: int, *, skip_bad: bool = False) -> Any:
        """Up to n values of a column that are not null, wherever they are."""
        if name not in self.expressions:
            return None
        value, relation = self._whole(name), self.relation("report" if skip_bad else "stop")
        try:
            query = f"SELECT {value} AS v FROM {relation} WHERE {value} IS NOT NULL LIMIT {n}"
            found = self._sql(query).to_arrow_table().column(0).combine_chunks()
        except _errors() as error:
            raise self.broken(error) from error
        self.reported()
        return found if len(found) else None

    def first(self, table: Any) -> Table:
        """An Arrow table of the first rows, columns in our order; from it the size of a row is known."""
        self.row_bytes = max(table.nbytes / max(table.num_rows, 1), 1.0)
        return Table(table.num_rows, dict(zip(self.expressions, table.columns, strict=True)), self.origin(0))

    def tables(self, wanted: Mapping[str, Kind | None] | None, *, keep: bool, bad: BadRows | None) -> Iterator[Table]:
        """Stream the wanted columns, cast as they are wanted."""
        kinds = dict.fromkeys(self.expressions) if wanted is None else wanted
        kinds = {name: kind for name, kind in kinds.items() if name in self.expressions}
        names = list(kinds)
        select = [f"{self.cast(name, kinds[name], safe=bad is not None)} AS c{i}" for i, name in enumerate(names)]
        if keep:
            select += [f"{self.kept(name)} AS k{i}" for i, name in enumerate(self.expressions)]
        if bad is not None:
            select += self._faults(kinds)
        if not select:
            select = ["1 AS nothing"]
        low, high = _BATCH_ROWS
        n_rows = int(np.clip(_BATCH_BYTES / self.row_bytes, low, high))
        query = f"SELECT {', '.join(select)} FROM {self.relation('stop' if bad is None else 'report')}"
        first = 0
        try:
            for batch in self._sql(query).to_arrow_reader(n_rows):
                table = self._table(batch, names, keep, first)
                yield table if bad is None else self._without_faults(table, batch, kinds, bad)
                first += batch.num_rows
        except _errors() as error:
            raise (self._culprit(kinds) or self.broken(error)) from None
        if bad is not None:
            for fault in self.reported():
                bad.add(fault)

    def cast(self, name: str, kind: Kind | None, *, safe: bool = False) -> str:
        """A column's expression in the kind that is wanted of it; null instead of an error if `safe`."""
        expression, own = self.expressions[name]
        if not self.can_fail(name, kind):
            return self._whole(name)
        cast = "TRY_CAST" if safe else "CAST"
        if own != "VARCHAR":
            return f"{cast}({expression} AS DOUBLE)"
        value = self._whole(name)
        if self.decimal != ".":
            value = f"replace({value}, {text(self.decimal)}, '.')"
        if kind == "number" or name in self.flags:
            return f"{cast}({value} AS {self.flags[name] if kind == 'flag' else 'DOUBLE'})"
        number, no_flag = f"TRY_CAST({value} AS DOUBLE)", "NULL" if safe else "error('no flag')::BOOLEAN"
        known = f"CASE WHEN {value} IS NULL THEN NULL WHEN {number} = 1 THEN true WHEN {number} = 0 THEN false"
        return f"coalesce(TRY_CAST({value} AS BOOLEAN), {known} ELSE {no_flag} END)"

    def can_fail(self, name: str, kind: Kind | None) -> bool:
        """Whether a cast may meet a value that it has no number for."""
        own = self.expressions[name][1]
        return kind is not None and own not in _NUMBERS and own != "BOOLEAN"

    def _whole(self, name: str) -> str:
        """A column's expression, with words for missing values taken out of text."""
        expression, own = self.expressions[name]
        if not self.missing or own != "VARCHAR":
            return expression
        return f"CASE WHEN {expression} NOT IN ({', '.join(map(text, self.missing))}) THEN {expression} END"

    def _faults(self, kinds: Mapping[str, Kind | None]) -> list[str]:
        """Two columns that tell which of the wanted columns cannot be cast (-1: the whole row), and its value."""
        conditions = [
            (i, f"{self._whole(name)} IS NOT NULL AND {self.cast(name, kind, safe=True)} IS NULL", name)
            for i, (name, kind) in enumerate(kinds.items())
            if self.can_fail(name, kind)
        ]
        which = [f"WHEN {condition} THEN {i}" for i, condition, _ in conditions]
        value = [f"WHEN {condition} THEN {self.expressions[name][0]}::VARCHAR" for _, condition, name in conditions]
        if whole := self.also_bad():
            which.insert(0, f"WHEN {whole} THEN -1")
            value.insert(0, f"WHEN {whole} THEN NULL")
        if not which:
            return ["NULL::INTEGER AS fault", "NULL::VARCHAR AS came"]
        return [f"CASE {' '.join(which)} END::INTEGER AS fault", f"CASE {' '.join(value)} END AS came"]

    def _without_faults(self, table: Table, batch: Any, kinds: Mapping[str, Kind | None], bad: BadRows) -> Table:
        fault = batch.column("fault")
        if fault.null_count == len(fault):
            return table
        faulty = valid_rows(fault)
        for row in np.flatnonzero(faulty).tolist():
            error = DataError("a bad row")
            if bad.wants_more:
                error = self._fault(list(kinds.items()), fault[row].as_py(), batch.column("came")[row].as_py(), row)
            bad.add(table.located(error) if error.row is not None else error)
        return table.take(np.flatnonzero(~faulty))

    def _fault(self, kinds: list[tuple[str, Kind | None]], which: int, came: str | None, row: int) -> DataError:
        if which < 0:
            return DataError("a JSON object", got="something else", row=row)
        name, kind = kinds[which]
        hint = f"{came!r} may stand for missing (missing=, --missing), or the column for categories (families=, --as)"
        return DataError(_WORDS[kind or "number"], got=came, column=name, row=row, hint=hint)

    def _culprit(self, kinds: Mapping[str, Kind | None]) -> TallyError | None:
        """The first row with a value that cannot be cast."""
        which, came = self._faults(kinds)
        inner = f"SELECT row_number() OVER () - 1 AS number, {which}, {came} FROM {self.relation('report')}"
        try:
            found = self._sql(f"SELECT * FROM ({inner}) WHERE fault IS NOT NULL LIMIT 1").fetchall()
        except _errors():
            return None
        self.reported()
        if not found:
            return None
        number, fault, value = found[0]
        error = self._fault(list(kinds.items()), fault, value, number)
        return error.at(row=number, file=self.name, line=self.line_of(number))

    def _table(self, batch: Any, names: list[str], keep: bool, first: int) -> Table:
        columns = {name: batch.column(i) for i, name in enumerate(names)}
        kept = None
        if keep:
            start = batch.schema.get_field_index("k0")
            own = [batch.column(start + i) for i in range(len(self.expressions))]
            kept = pa.table(own, names=list(self.expressions))
        return Table(batch.num_rows, columns, self.origin(first), None, kept)

    def _sql(self, query: str) -> Any:
        return self.connection.sql(query)


def _errors() -> tuple[type[BaseException], ...]:
    import duckdb

    return (duckdb.Error, pa.ArrowException, OSError)


def line_in(message: str) -> int | None:
    """The line that a message of DuckDB names."""
    found = re.search(r"\bline:? (\d+)", message, re.IGNORECASE)
    return int(found[1]) if found else None
