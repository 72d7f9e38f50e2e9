"""Rows that DuckDB reads: a FROM clause, an SQL expression for each column, a stream of Arrow batches.

Cells are selected as they are stored. Text that is wanted as numbers or booleans is cast afterwards, batch by batch, or
parsed if the column has a format of its own. Of the cells that cannot be cast, words are missing values and are
counted; numbers that are written in another way, and what is no boolean, are errors or bad rows.
"""

from __future__ import annotations

import contextlib
import re
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.cells.arrow import integers, is_text_type, pc, strings, to_numpy, valid_rows
from tallybayes.cells.number_evidence import looks_like_number
from tallybayes.cells.number_format import NumberFormat
from tallybayes.cells.number_reading import lack_unit
from tallybayes.errors import DataError, Described, FileError, TallyError
from tallybayes.io.formats.duckdb_connection import connect, duckdb_errors, first_line
from tallybayes.io.formats.file_format import FileFormat
from tallybayes.tables.source import BadRows, Kind, UnexpectedCellError
from tallybayes.tables.table import Table

__all__ = ["ARROW_TYPES", "CastType", "DuckDBFormat", "WantedColumn", "line_in"]

CastType = Literal["DOUBLE", "BOOLEAN", "EITHER"]  # of text: numbers, booleans, or numbers where not booleans
ARROW_TYPES: dict[str | None, Any] = {None: pa.string(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_()}

_BATCH_BYTES = 2**24  # about this much in a batch, so that memory is bounded for wide tables too
_BATCH_ROWS = (2048, 131_072)
_BOOLEAN = "a boolean (0, 1, true, false)"
_INFINITE = {"inf": np.inf, "+inf": np.inf, "infinity": np.inf, "-inf": -np.inf, "-infinity": -np.inf}
_EXAMPLE = 1234.5  # shows how thousands and decimals are written
_CAST_TYPES: Mapping[Any, CastType] = {"number": "DOUBLE", "flag": "BOOLEAN", None: "EITHER"}  # by the kind, if known


@dataclass(frozen=True)
class WantedColumn:
    """A column to read, and what its cells become if they are text: parsed by a format, cast, or left as they are."""

    name: str
    kind: Kind | None
    form: NumberFormat | None = None
    cast: CastType | None = None


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
    def relation(self, skip_bad: bool = False) -> str:
        """The FROM clause; skip_bad: whether lines that DuckDB cannot read are reported instead of stopping at one."""

    def original_cells(self) -> dict[str, str]:
        """The columns of the file by name: the SQL expressions of their cells as they are in the file."""
        return {name: self._cell(name) for name in self.expressions}

    @property
    def original_names(self) -> list[str] | None:
        """The columns of the file, records as they are."""
        return list(self.original_cells())

    def broken(self, error: BaseException) -> TallyError:
        """An error of DuckDB as an error of this library."""
        hint = f"DuckDB reports: {first_line(error)}"
        return FileError(
            f"a complete {self.kind} file", got=Described("one that cannot be read"), file=self.name, hint=hint
        )

    def reported(self) -> list[DataError]:
        """The lines that DuckDB could not read in the last query that skipped them."""
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
        stored = zip(self.expressions, table.columns, strict=True)
        columns = {name: self._without_words(name, column.combine_chunks()) for name, column in stored}
        return Table(table.num_rows, columns, self.origin(0))

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
            for (name, values), column in zip(parts.items(), batch.columns, strict=True):
                if sum(map(len, values)) < n and column.null_count < len(column):
                    values.append(self._without_words(name, column).drop_null())
            if all(sum(map(len, values)) >= n for values in parts.values()):
                break
        found = {name: pa.concat_arrays(values).slice(0, n) for name, values in parts.items() if values}
        return {name: column for name, column in found.items() if len(column)}

    def tables(self, wanted: Mapping[str, Kind | None] | None, *, keep: bool, bad: BadRows | None) -> Iterator[Table]:
        """The wanted columns, batch by batch, cast to the kinds that are wanted."""
        return self.tables_after(0, self.wanted_columns(wanted), keep=keep, bad=bad)

    def wanted_columns(self, wanted: Mapping[str, Kind | None] | None) -> list[WantedColumn]:
        """The columns of the file that are wanted."""
        kinds = dict.fromkeys(self.expressions) if wanted is None else wanted
        return [self._wanted_column(name, kind) for name, kind in kinds.items() if name in self.expressions]

    def _wanted_column(self, name: str, kind: Kind | None) -> WantedColumn:
        if kind is None or self.expressions[name][1] != "VARCHAR":
            return WantedColumn(name, kind)
        if (form := self.format_of(name, kind)) is not None:
            return WantedColumn(name, kind, form)
        known = kind if kind == "number" else self.inferred.get(name)
        return WantedColumn(name, kind, cast=_CAST_TYPES[known])

    def tables_after(
        self, after: int, columns: Sequence[WantedColumn], *, keep: bool, bad: BadRows | None
    ) -> Iterator[Table]:
        """The rows after some that were read already."""
        condition = None if bad is None else self.bad_row_condition()
        cells = [self._cell(column.name) for column in columns]
        originals = self.original_cells() if keep else {}
        selected = [*cells, *originals.values(), *([] if condition is None else [condition])]
        place = {expression: i for i, expression in enumerate(dict.fromkeys(selected))}
        n_rows = int(np.clip(_BATCH_BYTES / self.row_bytes, *_BATCH_ROWS))
        first = 0
        try:
            for batch in _gathered(self._select(place, bad is not None).to_arrow_reader(n_rows), n_rows):
                n_known, first = min(max(after - first, 0), len(batch)), first + len(batch)
                if n_known and n_known == len(batch):
                    continue
                read = [column.slice(n_known) for column in batch.columns]
                kept = pa.table([read[place[one]] for one in originals.values()], list(originals)) if keep else None
                are_bad = None if condition is None else to_numpy(read[place[condition]])
                table = Table(len(batch) - n_known, {}, self.origin(first - len(batch) + n_known), kept=kept)
                yield self.read(table, columns, [read[place[one]] for one in cells], bad, are_bad)
        except duckdb_errors() as error:
            raise self.broken(error) from None
        if bad is not None:
            for fault in self.reported():
                bad.add(fault)

    def read(
        self,
        table: Table,
        columns: Sequence[WantedColumn],
        cells: Sequence[Any],
        bad: BadRows | None,
        are_bad: NDArray[np.bool_] | None = None,
    ) -> Table:
        """A table filled with columns, whose cells are as they were read; a bad row is counted, or an error."""
        faults = np.full(table.n_rows, len(columns))  # for each row the number of the first column that is wrong
        for number, (column, stored) in enumerate(zip(columns, cells, strict=True)):
            text = values = self._without_words(column.name, stored)
            if column.form is not None:
                values = column.form.parse(text)
            elif column.cast is not None and is_text_type(text.type):
                values = _cast_text(text, column.cast)
            table.columns[column.name] = values
            self._count_without_unit(column, text, values, table)
            if values.null_count > text.null_count:
                odd = np.flatnonzero(valid_rows(text) & ~valid_rows(values))
                odd = odd if _is_flag(column) else self._numbers(column, text, odd, table)
                faults[odd] = np.minimum(faults[odd], number)
        if are_bad is not None:
            faults[are_bad] = -1
        for row in np.flatnonzero(faults < len(columns)).tolist():
            error = DataError("a JSON object", got=Described("another JSON value"), row=row)
            if faults[row] >= 0:
                error = _not_castable(columns[faults[row]], cells[faults[row]][row].as_py(), row)
            if bad is None:
                raise table.locate(error)
            bad.add(table.locate(error) if bad.wants_more else error, table, row)
        good = np.flatnonzero(faults == len(columns))
        return table if len(good) == table.n_rows else table.take(good)

    def _numbers(self, column: WantedColumn, text: Any, odd: NDArray[np.int64], table: Table) -> NDArray[np.int64]:
        """Of rows whose cells could not be read, those that hold a number in another format; words are counted."""
        cells = text.take(integers(odd))
        known_words = () if column.form is None else column.form.words
        are_numbers = to_numpy(looks_like_number(cells, known_words))
        known = strings(list(() if column.form is None else column.form.silent_words)).cast(cells.type)
        words = np.flatnonzero(~are_numbers & ~to_numpy(pc.is_in(cells, value_set=known)))
        if len(words) and self.unread_numbers is not None and table.origin is not None:
            row = table.origin.first + int(odd[words[0]])
            said = () if column.form is None else column.form.said
            found = cells.take(integers(words))
            self.unread_numbers.add(column.name, found, expected=said, place=lambda: self._place(row))
        others: NDArray[np.int64] = odd[are_numbers]
        return others

    def _count_without_unit(self, column: WantedColumn, text: Any, values: Any, table: Table) -> None:
        """Count the numbers without a unit in a column whose first cells all have one."""
        if self.unread_numbers is None or column.name not in self.unread_numbers.with_unit or column.form is None:
            return
        are_bare = lack_unit(text, values, column.form.unit)
        if n := are_bare.true_count:
            row = pc.index(are_bare, True).as_py() + (0 if table.origin is None else table.origin.first)
            self.unread_numbers.add_without_unit(column.name, n, column.form.unit, place=lambda: self._place(row))

    def _place(self, row: int) -> str:
        line = self.line_of(row)
        return f"{self.name}, row {row}" if line is None else f"{self.name}, line {line}"

    def _cell(self, name: str) -> str:
        return self.expressions[name][0]

    def _without_words(self, name: str, column: Any) -> Any:
        """A column with null in place of the words for missing values; of reals, of inf and -inf among them."""
        if self.missing and pa.types.is_floating(column.type):
            return _without_infinite(column, {word.strip().lower() for word in self.missing})
        if not self.missing or not pa.types.is_string(column.type):
            return column
        found = pc.is_in(column, value_set=strings(list(self.missing)).cast(column.type))
        return pc.if_else(found, pa.nulls(1, column.type)[0], column) if found.true_count else column

    def _select(self, expressions: Iterable[str], skip_bad: bool, limit: str = "") -> Any:
        columns = ", ".join(f"{expression} AS c{i}" for i, expression in enumerate(expressions)) or "1"
        return self.connection.sql(f"SELECT {columns} FROM {self.relation(skip_bad)} {limit}")


def _without_infinite(column: Any, words: Collection[str]) -> Any:
    """Reals with null in place of infinite numbers that some words name.

    >>> _without_infinite(pa.array([1.5, float("inf"), float("-inf")]), {"inf", "none"}).to_pylist()
    [1.5, None, -inf]
    """
    named = [number for word, number in _INFINITE.items() if word in words]
    found = pc.is_in(column, value_set=pa.array(named, column.type)) if named else None
    return column if found is None else pc.if_else(found, pa.nulls(1, column.type)[0], column)


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


def _cast_text(cells: Any, kind: CastType) -> Any:
    """Cells of text as numbers or booleans, null where one is neither; Arrow casts fewer spellings than DuckDB.

    >>> _cast_text(pa.array(["1.5", " 2", "1_000", "true", "none"]), "EITHER").to_pylist()
    [1.5, 2.0, 1000.0, 1.0, None]
    """
    if kind in ARROW_TYPES:
        with contextlib.suppress(pa.ArrowInvalid):
            return cells.cast(ARROW_TYPES[kind])
    cast = f"TRY_CAST(cell AS {kind})"
    if kind == "EITHER":
        cast = "coalesce(TRY_CAST(cell AS DOUBLE), TRY_CAST(cell AS BOOLEAN)::DOUBLE)"
    return connect().from_arrow(pa.table({"cell": cells})).project(cast).to_arrow_table().column(0).combine_chunks()


def _is_flag(column: WantedColumn) -> bool:
    """Whether only booleans are expected."""
    return column.kind == "flag" and column.form is None


def _not_castable(column: WantedColumn, value: str, row: int) -> DataError:
    if _is_flag(column):
        hint = f"if {value!r} means a missing value: missing= (--missing); for categories: fit with families= (--as)"
        return UnexpectedCellError(_BOOLEAN, got=value, column=column.name, row=row, hint=hint)
    form = column.form or NumberFormat()
    expected = f"a number written like {form.text(_EXAMPLE)}"
    hint = "decimal= and thousands= (--decimal, --thousands) say how numbers are written; "
    hint += f"if {value!r} means a missing value: missing= (--missing)"
    return UnexpectedCellError(expected, got=value, column=column.name, row=row, hint=hint)


def line_in(message: str) -> int | None:
    """The line that a message of DuckDB names."""
    found = re.search(r"\bline:? (\d+)", message, re.IGNORECASE)
    return int(found[1]) if found else None
