"""Rows that DuckDB reads: a FROM clause, an SQL expression for each column, a stream of Arrow batches.

The first query casts text to numbers at full speed and stops at a value that is not a number. A second query then
finds that value: it selects each such column twice, as text and with TRY_CAST, and the batches are searched for cells
that only the text has. The same query is used where bad rows are skipped, and where words for missing values must be
looked for. Queries and work grow linearly with the number of columns.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tallybayes.data.arrow import strings, to_numpy, valid_rows
from tallybayes.data.formats.duckdb_connection import duckdb_errors, first_line, sql_text
from tallybayes.data.formats.file_format import FileFormat
from tallybayes.data.source import BadRows, Kind
from tallybayes.data.table import Table
from tallybayes.errors import DataError, Described, FileError, TallyError

__all__ = ["DuckDBFormat", "Faults", "line_in"]

Faults = Literal["stop", "report"]

_BATCH_BYTES = 2**24  # about this much in a batch, so that memory is bounded for wide tables too
_BATCH_ROWS = (2048, 131_072)
_EXPECTED = {"number": "a number", "flag": "a boolean (0, 1, true, false)"}


@dataclass(frozen=True)
class _Cells:
    """A column, and where its cells are in a batch: as they were read, and cast to numbers."""

    name: str
    kind: Kind | None
    read: int | None
    cast: int | None


class DuckDBFormat(FileFormat):
    """Rows that DuckDB reads. `expressions` has the SQL expression and the DuckDB type of each column."""

    connection: Any
    expressions: dict[str, tuple[str, str]]
    missing: tuple[str, ...] = ()  # words in columns of text that mean a missing value
    decimal: str = "."
    inferred: Mapping[str, Kind] = MappingProxyType({})  # the kinds of columns of text, by their first rows
    row_bytes: float = 100.0  # of an average row, to choose the size of batches

    @abstractmethod
    def relation(self, faults: Faults = "stop") -> str:
        """The FROM clause; `faults` says what to do with lines that DuckDB cannot read."""

    def original_cell(self, name: str) -> str:
        """The SQL expression of a cell as it is in the file."""
        return self._cell(name)

    def broken(self, error: BaseException) -> TallyError:
        """An error of DuckDB as an error of this library."""
        hint = f"DuckDB reports: {first_line(error)}"
        return FileError(
            f"a complete {self.kind} file", got=Described("one that cannot be read"), file=self.name, hint=hint
        )

    def reported(self) -> list[DataError]:
        """The lines that DuckDB could not read in the last query with `faults="report"`."""
        return []

    def bad_row_condition(self) -> str | None:
        """An SQL condition for rows that are bad as a whole."""
        return None

    def head(self, n: int, *, skip_bad: bool = False) -> Table:
        """The first rows, in the types that DuckDB gives them."""
        try:
            table = self._select(map(self._cell, self.expressions), skip_bad, f"LIMIT {n}").to_arrow_table()
        except duckdb_errors() as error:
            raise self.broken(error) from error
        self.reported()
        self.row_bytes = max(table.nbytes / max(table.num_rows, 1), 1.0)
        columns = [self._without_words(column.combine_chunks()) for column in table.columns]
        return Table(table.num_rows, dict(zip(self.expressions, columns, strict=True)), self.origin(0))

    def some(self, names: Sequence[str], n: int, *, skip_bad: bool = False) -> dict[str, Any]:
        """Up to n values of each column that are not missing, wherever they are, in one pass over the rows."""
        found: dict[str, list[Any]] = {name: [] for name in names if name in self.expressions}
        if not found:
            return {}
        try:
            for batch in self._select(map(self._cell, found), skip_bad).to_arrow_reader(_BATCH_ROWS[0]):
                for parts, column in zip(found.values(), batch.columns, strict=True):
                    if sum(map(len, parts)) < n and column.null_count < len(column):
                        parts.append(self._without_words(column).drop_null())
                if all(sum(map(len, parts)) >= n for parts in found.values()):
                    break
        except duckdb_errors() as error:
            raise self.broken(error) from error
        self.reported()
        values = {name: pa.concat_arrays(parts).slice(0, n) for name, parts in found.items() if parts}
        return {name: column for name, column in values.items() if len(column)}

    def tables(self, wanted: Mapping[str, Kind | None] | None, *, keep: bool, bad: BadRows | None) -> Iterator[Table]:
        """The wanted columns, batch by batch, cast to the kinds that are wanted."""
        kinds = dict.fromkeys(self.expressions) if wanted is None else wanted
        kinds = {name: kind for name, kind in kinds.items() if name in self.expressions}
        try:
            yield from self._read(kinds, keep=keep, bad=bad)
        except duckdb_errors() as error:
            raise (self._first_fault(kinds) or self.broken(error)) from None
        if bad is not None:
            for fault in self.reported():
                bad.add(fault)

    def _read(self, kinds: Mapping[str, Kind | None], *, keep: bool, bad: BadRows | None) -> Iterator[Table]:
        """The batches; those of text that is cast are read as text too where the cells must be looked at."""
        look = bad is not None or bool(self.missing)
        places: dict[str, int] = {}  # expressions, and where each is in the SELECT clause

        def place(expression: str) -> int:
            return places.setdefault(expression, len(places))

        cells = []
        for name, kind in kinds.items():
            cast = None if kind is None or self.expressions[name][1] != "VARCHAR" else self._cast(name, kind, look)
            read = place(self._cell(name)) if look or cast is None else None
            cells.append(_Cells(name, kind, read, None if cast is None else place(cast)))
        kept = [place(self.original_cell(name)) for name in self.expressions] if keep else None
        condition = self.bad_row_condition() if bad is not None else None
        bad_rows = None if condition is None else place(condition)
        n_rows = int(np.clip(_BATCH_BYTES / self.row_bytes, *_BATCH_ROWS))
        first = 0
        for batch in _gathered(self._select(places, bad is not None).to_arrow_reader(n_rows), n_rows):
            table, faults = self._table(batch, cells, first)
            if kept is not None:
                columns = [batch.column(i) for i in kept]
                table = replace(table, kept=pa.table(columns, names=list(self.expressions)))
            if bad_rows is not None:
                faults[to_numpy(batch.column(bad_rows))] = -1
            yield self._without_faults(table, batch, cells, faults, bad)
            first += batch.num_rows

    def _table(self, batch: Any, cells: list[_Cells], first: int) -> tuple[Table, NDArray[np.int64]]:
        """The columns of a batch, and for each row the number of the first column that could not be cast."""
        columns: dict[str, Any] = {}
        faults = np.full(batch.num_rows, len(cells))
        for number, own in enumerate(cells):
            text: Any = None if own.read is None else self._without_words(batch.column(own.read))
            values = text if own.cast is None else batch.column(own.cast)
            columns[own.name] = values
            if text is not None and values is not text:
                if values.null_count:
                    faults[valid_rows(text) & ~valid_rows(values) & (faults == len(cells))] = number
                if self.missing and text.null_count:  # a word for missing values may be a number
                    columns[own.name] = pc.if_else(pc.is_valid(text), values, pa.nulls(1, values.type)[0])
        return Table(batch.num_rows, columns, self.origin(first)), faults

    def _without_faults(
        self, table: Table, batch: Any, cells: list[_Cells], faults: NDArray[np.int64], bad: BadRows | None
    ) -> Table:
        """The rows without a fault; the others are counted, or the first of them is an error."""
        for row in np.flatnonzero(faults < len(cells)).tolist():
            error = DataError("a JSON object", got=Described("another JSON value"), row=row)
            if faults[row] >= 0:
                own = cells[faults[row]]
                error = _not_castable(own, batch.column(own.read)[row].as_py(), row)
            if bad is None:
                raise table.located(error)
            bad.add(table.located(error) if bad.wants_more else error, table, row)
        good = np.flatnonzero(faults == len(cells))
        return table if len(good) == table.n_rows else table.take(good)

    def _first_fault(self, kinds: Mapping[str, Kind | None]) -> TallyError | None:
        """The error for the first cell that cannot be cast, if there is one."""
        bad = BadRows()
        try:
            for _ in self._read(kinds, keep=False, bad=bad):
                if bad.examples:
                    return bad.examples[0] if bad.examples[0].column is not None else None
        except duckdb_errors():
            pass  # something else is wrong as well
        finally:
            self.reported()
        return None

    def _cell(self, name: str) -> str:
        return self.expressions[name][0]

    def _cast(self, name: str, kind: Kind, safe: bool) -> str:
        """A column of text as numbers; null instead of an error if `safe`."""
        cast = "TRY_CAST" if safe else "CAST"
        value = self._cell(name)
        if self.decimal != ".":
            value = f"replace({value}, {sql_text(self.decimal)}, '.')"
        known = kind if kind == "number" else self.inferred.get(name)
        if known is not None:
            return f"{cast}({value} AS {'DOUBLE' if known == 'number' else 'BOOLEAN'})"
        return f"coalesce(TRY_CAST({value} AS DOUBLE), {cast}({value} AS BOOLEAN)::DOUBLE)"

    def _without_words(self, column: Any) -> Any:
        """A column with null in place of the words for missing values."""
        if not self.missing or not pa.types.is_string(column.type):
            return column
        found = pc.is_in(column, value_set=strings(list(self.missing)).cast(column.type))
        return pc.if_else(found, pa.nulls(1, column.type)[0], column) if found.true_count else column

    def _select(self, expressions: Iterable[str], skip_bad: bool, limit: str = "") -> Any:
        columns = ", ".join(f"{expression} AS c{i}" for i, expression in enumerate(expressions)) or "1"
        return self.connection.sql(f"SELECT {columns} FROM {self.relation('report' if skip_bad else 'stop')} {limit}")


def _gathered(batches: Iterable[Any], n_rows: int) -> Iterator[Any]:
    """Batches of about n_rows rows: DuckDB ends one at the end of each part of a file, however short it is."""
    waiting: list[Any] = []
    for batch in batches:
        if waiting and sum(map(len, waiting)) + len(batch) > n_rows:
            yield pa.concat_batches(waiting)
            waiting = []
        waiting.append(batch)
    if waiting:
        yield pa.concat_batches(waiting)


def _not_castable(cells: _Cells, value: str, row: int) -> DataError:
    hint = f"if {value!r} means a missing value: missing= (--missing); for categories: fit with families= (--as)"
    return DataError(_EXPECTED[cells.kind or "number"], got=value, column=cells.name, row=row, hint=hint)


def line_in(message: str) -> int | None:
    """The line that a message of DuckDB names."""
    found = re.search(r"\bline:? (\d+)", message, re.IGNORECASE)
    return int(found[1]) if found else None
