"""Rows that DuckDB reads: a FROM clause, an SQL expression for each column, a stream of Arrow batches.

The first query casts text to numbers at full speed and stops at a value that is not a number. A second query then
goes on from there: it selects each such column twice, as text and with TRY_CAST, and the batches are searched for cells
that only the text has. Of these, words are missing values and are counted; numbers that are written in another way, and
what is no boolean, are errors. The same query is used where bad rows are skipped, and where words for missing values
must be looked for. Columns with a format of their own are read as text and parsed. Queries and work grow linearly with
the number of columns. Rows that another reader has read are skipped: a format may have one that is faster, mostly.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.cells.arrow import integers, pc, strings, to_numpy, valid_rows
from tallybayes.cells.number_detection import looks_like_number
from tallybayes.cells.number_format import NumberFormat
from tallybayes.errors import DataError, Described, FileError, TallyError
from tallybayes.io.formats.duckdb_connection import connect, duckdb_errors, first_line
from tallybayes.io.formats.file_format import FileFormat
from tallybayes.tables.source import BadRows, Kind
from tallybayes.tables.table import Table

__all__ = ["AskedColumn", "DuckDBFormat", "Faults", "Selection", "line_in"]

Faults = Literal["stop", "report"]
CastType = Literal["DOUBLE", "BOOLEAN", "EITHER"]  # of text: numbers, booleans, or numbers where not booleans

_BATCH_BYTES = 2**24  # about this much in a batch, so that memory is bounded for wide tables too
_BATCH_ROWS = (2048, 131_072)
_BOOLEAN = "a boolean (0, 1, true, false)"
_EXAMPLE = 1234.5  # shows how thousands and decimals are written


@dataclass(frozen=True)
class _Cells:
    """A column, and where its cells are in a batch: as they were read (and parsed by a format), and cast to numbers."""

    name: str
    kind: Kind | None
    read: int | None
    cast: int | None
    form: NumberFormat | None = None


@dataclass(frozen=True)
class AskedColumn:
    """A column of a batch: the name of a column of the file, and the type of its values; None: as they are stored."""

    name: str
    type: CastType | None = None


@dataclass(frozen=True)
class Selection:
    """What is read of every row.

    expressions: SQL expressions, one for each column of a batch; asked: the same for other readers.
    kept: the places of the original cells, if they are kept; bad_rows: the place of the condition for bad rows.
    """

    cells: list[_Cells]
    expressions: list[str]
    asked: list[AskedColumn]
    kept: list[int] | None
    bad_rows: int | None


class DuckDBFormat(FileFormat):
    """Rows that DuckDB reads. `expressions` has the SQL expression and the DuckDB type of each column."""

    expressions: dict[str, tuple[str, str]]
    missing: tuple[str, ...] = ()  # words in columns of text that mean a missing value
    inferred: Mapping[str, Kind] = MappingProxyType({})  # the kinds of columns of text, by their first rows
    row_bytes: float = 100.0  # of an average row, to choose the size of batches

    @cached_property
    def connection(self) -> Any:
        """To DuckDB; made when it is needed."""
        return connect()

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

    def format_of(self, name: str, kind: Kind) -> NumberFormat | None:
        """How the cells of a column of text are parsed as numbers; None if they are cast."""
        return kind if isinstance(kind, NumberFormat) else None

    def head(self, n: int, *, skip_bad: bool = False) -> Table:
        """The first rows, in the types that DuckDB gives them."""
        table = self._first_rows(n, skip_bad)
        columns = [self._without_words(column.combine_chunks()) for column in table.columns]
        return Table(table.num_rows, dict(zip(self.expressions, columns, strict=True)), self.origin(0))

    def _first_rows(self, n: int, skip_bad: bool) -> Any:
        try:
            table = self._select(map(self._cell, self.expressions), skip_bad, f"LIMIT {n}").to_arrow_table()
        except duckdb_errors() as error:
            raise self.broken(error) from error
        self.reported()
        self.row_bytes = max(table.nbytes / max(table.num_rows, 1), 1.0)
        return table

    def some(self, names: Sequence[str], n: int, *, skip_bad: bool = False) -> dict[str, Any]:
        """Up to n values of each column that are not missing, wherever they are, in one pass over the rows."""
        known = [name for name in names if name in self.expressions]
        if not known:
            return {}
        try:
            batches = self._select(map(self._cell, known), skip_bad).to_arrow_reader(_BATCH_ROWS[0])
            values = self.values_among(batches, known, n)
        except duckdb_errors() as error:
            raise self.broken(error) from error
        self.reported()
        return values

    def values_among(self, batches: Iterable[Any], names: Sequence[str], n: int) -> dict[str, Any]:
        """Up to n values of the columns of some batches that are not missing; no more batches are read than needed."""
        parts: dict[str, list[Any]] = {name: [] for name in names}
        for batch in batches:
            for values, column in zip(parts.values(), batch.columns, strict=True):
                if sum(map(len, values)) < n and column.null_count < len(column):
                    values.append(self._without_words(column).drop_null())
            if all(sum(map(len, values)) >= n for values in parts.values()):
                break
        found = {name: pa.concat_arrays(values).slice(0, n) for name, values in parts.items() if values}
        return {name: column for name, column in found.items() if len(column)}

    def tables(self, wanted: Mapping[str, Kind | None] | None, *, keep: bool, bad: BadRows | None) -> Iterator[Table]:
        """The wanted columns, batch by batch, cast to the kinds that are wanted."""
        return self.tables_after(0, self.wanted_kinds(wanted), keep=keep, bad=bad)

    def wanted_kinds(self, wanted: Mapping[str, Kind | None] | None) -> dict[str, Kind | None]:
        """The columns of the file that are wanted, and their kinds."""
        kinds = dict.fromkeys(self.expressions) if wanted is None else wanted
        return {name: kind for name, kind in kinds.items() if name in self.expressions}

    def tables_after(
        self, n_rows: int, kinds: Mapping[str, Kind | None], *, keep: bool, bad: BadRows | None, look: bool = False
    ) -> Iterator[Table]:
        """The rows after the first n_rows; look: whether a cell that cannot be cast is known to come."""
        try:
            if bad is None and not look and not self.must_look():
                plain = self.selection(kinds, keep=keep)
                try:
                    for table in self.read(plain, self._selected(plain), after=n_rows):
                        yield table
                        n_rows += table.n_rows
                    return
                except duckdb_errors():
                    self.reported()
            complete = self.selection(kinds, keep=keep, look=True, bad=bad)
            yield from self.read(complete, self._selected(complete, bad is not None), bad, after=n_rows)
        except duckdb_errors() as error:
            raise self.broken(error) from None
        if bad is not None:
            for fault in self.reported():
                bad.add(fault)

    def must_look(self) -> bool:
        """Whether cells that are cast must be looked at as text too, for words that mean a missing value."""
        return bool(self.missing)

    def selection(
        self, kinds: Mapping[str, Kind | None], *, keep: bool, bad: BadRows | None = None, look: bool = False
    ) -> Selection:
        """What to select; text that is cast is read as text too where the cells must be looked at."""
        places: dict[str, int] = {}  # expressions, and where each is in the SELECT clause
        asked: list[AskedColumn] = []

        def place(expression: str, name: str, cast: CastType | None = None) -> int:
            if expression not in places:
                asked.append(AskedColumn(name, cast))
            return places.setdefault(expression, len(places))

        cells = []
        for name, kind in kinds.items():
            is_text = kind is not None and self.expressions[name][1] == "VARCHAR"
            form = self.format_of(name, kind) if is_text and kind is not None else None
            cast = self._cast_type(name, kind) if is_text and form is None and kind is not None else None
            read = place(self._cell(name), name) if look or cast is None else None
            numbers = None if cast is None else place(self._cast(name, cast, look), name, cast)
            cells.append(_Cells(name, kind, read, numbers, form))
        kept = [place(self.original_cell(name), name) for name in self.expressions] if keep else None
        condition = self.bad_row_condition() if bad is not None else None
        bad_rows = None if condition is None else place(condition, "")
        return Selection(cells, list(places), asked, kept, bad_rows)

    def _selected(self, selection: Selection, skip_bad: bool = False) -> Iterator[Any]:
        """The rows as DuckDB reads them."""
        n_rows = int(np.clip(_BATCH_BYTES / self.row_bytes, *_BATCH_ROWS))
        yield from _gathered(self._select(selection.expressions, skip_bad).to_arrow_reader(n_rows), n_rows)

    def read(
        self, selection: Selection, batches: Iterable[Any], bad: BadRows | None = None, *, after: int = 0
    ) -> Iterator[Table]:
        """Batches as tables; after: how many rows are skipped."""
        cells, first = selection.cells, 0
        for batch in batches:
            n_known, start = max(after - first, 0), first
            first += batch.num_rows
            if n_known and n_known >= batch.num_rows:
                continue
            batch, start = batch.slice(n_known), start + n_known
            table, faults = self._table(batch, cells, start)
            if selection.kept is not None:
                columns = [batch.column(i) for i in selection.kept]
                table = replace(table, kept=pa.table(columns, names=list(self.expressions)))
            if selection.bad_rows is not None:
                faults[to_numpy(batch.column(selection.bad_rows))] = -1
            yield self._without_faults(table, batch, cells, faults, bad)

    def _table(self, batch: Any, cells: list[_Cells], first: int) -> tuple[Table, NDArray[np.int64]]:
        """The columns of a batch, and for each row the number of the first column that could not be cast."""
        columns: dict[str, Any] = {}
        faults = np.full(batch.num_rows, len(cells))
        for number, column in enumerate(cells):
            text: Any = None if column.read is None else self._without_words(batch.column(column.read))
            values = text if column.cast is None else batch.column(column.cast)
            values = values if column.form is None else column.form.parse(text)
            columns[column.name] = values
            if text is not None and values is not text:
                if values.null_count > text.null_count or column.cast is not None:
                    odd = np.flatnonzero(valid_rows(text) & ~valid_rows(values))
                    odd = (
                        odd
                        if column.kind == "flag" and column.form is None
                        else self._numbers(column, text, odd, first)
                    )
                    faults[odd] = np.minimum(faults[odd], number)
                if column.cast is not None and text.null_count:  # a word for missing values may be a number
                    columns[column.name] = pc.if_else(pc.is_valid(text), values, pa.nulls(1, values.type)[0])
        return Table(batch.num_rows, columns, self.origin(first)), faults

    def _numbers(self, column: _Cells, text: Any, odd: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Of rows whose cells could not be read, those that hold a number in another format; words are counted."""
        if not len(odd):
            return odd
        cells = text.take(integers(odd))
        are_numbers = to_numpy(looks_like_number(cells))
        known = strings([] if column.form is None else list(column.form.words)).cast(cells.type)
        words = np.flatnonzero(~are_numbers & ~to_numpy(pc.is_in(cells, value_set=known)))
        if len(words) and self.unread_numbers is not None:
            row = first + int(odd[words[0]])
            self.unread_numbers.add(column.name, cells.take(integers(words)), place=lambda: self._place(row))
        others: NDArray[np.int64] = odd[are_numbers]
        return others

    def _place(self, row: int) -> str:
        line = self.line_of(row)
        return f"{self.name}, row {row}" if line is None else f"{self.name}, line {line}"

    def _without_faults(
        self, table: Table, batch: Any, cells: list[_Cells], faults: NDArray[np.int64], bad: BadRows | None
    ) -> Table:
        """The rows without a fault; the others are counted, or the first of them is an error."""
        for row in np.flatnonzero(faults < len(cells)).tolist():
            error = DataError("a JSON object", got=Described("another JSON value"), row=row)
            if faults[row] >= 0:
                column = cells[faults[row]]
                error = _not_castable(column, batch.column(column.read)[row].as_py(), row)
            if bad is None:
                raise table.locate(error)
            bad.add(table.locate(error) if bad.wants_more else error, table, row)
        good = np.flatnonzero(faults == len(cells))
        return table if len(good) == table.n_rows else table.take(good)

    def _cell(self, name: str) -> str:
        return self.expressions[name][0]

    def _cell_to_cast(self, name: str) -> str:
        return self._cell(name)

    def _cast_type(self, name: str, kind: Kind) -> CastType:
        """The type that a column of text is cast to."""
        known = kind if kind == "number" else self.inferred.get(name)
        return "EITHER" if known is None else "DOUBLE" if known == "number" else "BOOLEAN"

    def _cast(self, name: str, kind: CastType, safe: bool) -> str:
        """A column of text as numbers; null instead of an error if `safe`."""
        cast = "TRY_CAST" if safe else "CAST"
        value = self._cell_to_cast(name)
        if kind != "EITHER":
            return f"{cast}({value} AS {kind})"
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
    if cells.kind == "flag" and cells.form is None:
        hint = f"if {value!r} means a missing value: missing= (--missing); for categories: fit with families= (--as)"
        return DataError(_BOOLEAN, got=value, column=cells.name, row=row, hint=hint)
    form = cells.form or NumberFormat()
    expected = f"a number written like {form.text(_EXAMPLE)}"
    hint = "decimal= and thousands= (--decimal, --thousands) say how numbers are written; "
    hint += f"if {value!r} means a missing value: missing= (--missing)"
    return DataError(expected, got=value, column=cells.name, row=row, hint=hint)


def line_in(message: str) -> int | None:
    """The line that a message of DuckDB names."""
    found = re.search(r"\bline:? (\d+)", message, re.IGNORECASE)
    return int(found[1]) if found else None
