"""Anything that has rows, read batch by batch.

A table in memory is one batch. Arrow streams, datasets, lazy frames and iterators of tables are read once: families are
inferred from their first rows, and memory does not grow with their length. Paths, globs, queries and standard input
become `tallybayes.io.files.Files`; `tallybayes.io.read` decides.
"""

from __future__ import annotations

import contextlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal

import pyarrow as pa

from tallybayes.cells.arrow import strings
from tallybayes.cells.missing_words import MissingWords
from tallybayes.cells.number_format import NumberFormat
from tallybayes.errors import DataError, ParameterError, TallyError
from tallybayes.tables.table import RowOrigin, Table, is_row, raw_column, to_table

__all__ = [
    "HEAD",
    "BadRows",
    "ConstantColumns",
    "Kind",
    "OpenDateError",
    "Progress",
    "Source",
    "Stream",
    "TableSource",
    "UnexpectedCellError",
    "as_columns",
]

HEAD = 20_000  # rows from which the families of a stream are inferred
BATCH = 65_536  # rows to which small Arrow batches are gathered
_EXAMPLES = 10  # bad rows whose errors are kept; the others are only counted

Kind = Literal["number", "flag"] | NumberFormat  # of the values of a column; text is read as numbers with a format
Progress = Callable[[int, float | None, int], None]  # rows read, their share of all (None: unknown), bytes of the files


class UnexpectedCellError(DataError):
    """A cell that is not of the type that the first rows of its column have, though it is a value."""


class OpenDateError(UnexpectedCellError):
    """A date that begins with the day or the month, below first rows whose dates begin with the year."""


class BadRows:
    """Rows that were skipped because they are invalid: how many, and the errors of the first few.

    kept: the cells of the bad rows of the current batch, if cells are kept: the number of each row in its file (halves
    between rows for a line that is not a row), and a table of one row.
    """

    def __init__(self) -> None:
        self.count = 0
        self.examples: list[TallyError] = []
        self.kept: list[tuple[float, pa.Table]] = []

    @property
    def wants_more(self) -> bool:
        """Whether the error of the next row will be kept."""
        return len(self.examples) < _EXAMPLES

    def add(self, error: TallyError, table: Table | None = None, row: int = 0) -> None:
        """Count one more: a row of a table, whose original cells are kept if the table has them."""
        self.count += 1
        if table is not None and table.kept is not None:
            number = row if table.rows is None else int(table.rows[row])
            first = 0 if table.origin is None else table.origin.first
            self.kept.append((first + number, table.kept.slice(row, 1)))
        if self.wants_more:
            self.examples.append(error)


class Source(ABC):
    """Rows in batches. `bad` is not None if bad rows are skipped and counted; otherwise they are errors."""

    bad: BadRows | None = None
    missing: MissingWords | None = None  # words that mean a missing value, if they were given
    signs: Mapping[str, str | None] = MappingProxyType({})  # decimal and thousands of numbers, if they were given
    is_reconsidered: bool = False  # whether the one who reads begins again after an error, if `reconsider` says so

    def use_words(self, words: MissingWords | None) -> None:
        """Read with these words for missing values, those of a schema, unless others were given."""
        given = None if self.missing is None else self.missing.given
        is_same = words is not None and words.given == given
        self.missing = words if given is None or is_same else given

    @abstractmethod
    def head(self) -> Table:
        """The first rows, from which families are inferred; all rows of a table in memory."""

    @abstractmethod
    def batches(self, wanted: Mapping[str, Kind | None] | None = None, *, keep: bool = False) -> Iterator[Table]:
        """The rows, batch by batch.

        wanted: the columns to read, and their kinds: text (of CSV) is converted to numbers; None keeps the type of the
        source. By default every column is read.
        keep: whether to keep the original cells of all columns in `Table.kept`.
        """

    def look_for(self, names: Iterable[Any]) -> None:  # noqa: B027 - most sources have no lines to look at
        """Be told names of which the data has at least one, such as that of the label: the header may be below a title.

        Names that are no texts are ignored; of "rating=R" the part before the sign may be the name.
        """

    def reconsider(self, error: TallyError) -> bool:
        """Read the data in another way from now on, after an error that this may avoid; whether there is one."""
        return False

    def may_begin_again(self, error: UnexpectedCellError) -> bool:
        """Whether an error would make the one who reads begin again, with the column decided by all of its cells."""
        return False

    def missing_words(self, names: Collection[str]) -> Mapping[str, Mapping[str, int]]:
        """How many cells of some columns are which words for missing values, in all rows; empty if they have none."""
        return {}

    @contextlib.contextmanager
    def read_again(self) -> Iterator[None]:
        """A context in which the rows are read once more: bad rows were counted before, and are not again."""
        bad, self.bad = self.bad, None if self.bad is None else BadRows()
        try:
            yield
        finally:
            self.bad = bad

    def work_on_good_rows(self, table: Table, work: Callable[[Table], Any]) -> Iterator[tuple[Table, Any]]:
        """The result of `work` for a table, or for its good rows if bad rows are skipped; errors name file and line.

        A part that fails is halved until the bad rows are alone, so that a few bad rows cost little.
        """
        try:
            yield table, work(table)
        except DataError as error:
            if self.bad is None or error.row is None:
                raise table.locate(error) from None
            if table.n_rows == 1:
                self.bad.add(table.locate(error) if self.bad.wants_more else error, table)
                return
            half = table.n_rows // 2
            yield from self.work_on_good_rows(table.part(0, half), work)
            yield from self.work_on_good_rows(table.part(half, table.n_rows), work)


class TableSource(Source):
    """A table in memory."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def head(self) -> Table:
        """The table."""
        return self._table

    def batches(self, wanted: Mapping[str, Kind | None] | None = None, *, keep: bool = False) -> Iterator[Table]:
        """The table, once."""
        yield self._table


class ConstantColumns(Source):
    """Another source with more columns that have the same value in every row, such as the label of a mail.

    >>> source = ConstantColumns(TableSource(to_table({"a": [1, 2]})), {"label": "ham"})
    >>> [table.columns["label"].to_pylist() for table in source.batches()]
    [['ham', 'ham']]
    """

    def __init__(self, source: Source, values: Mapping[str, Any]) -> None:
        self._source, self._values = source, dict(values)
        self.bad, self.missing, self.signs = source.bad, source.missing, source.signs

    def look_for(self, names: Iterable[Any]) -> None:
        """Look for columns of the other source, unless the constant ones are among them."""
        if not self._values.keys() & (wanted := list(names)):
            self._source.look_for(wanted)

    def reconsider(self, error: TallyError) -> bool:
        """Read the other source in another way."""
        return self._source.reconsider(error)

    def head(self) -> Table:
        """The first rows of the other source."""
        self._source.missing = self.missing
        return self._fill(self._source.head())

    def batches(self, wanted: Mapping[str, Kind | None] | None = None, *, keep: bool = False) -> Iterator[Table]:
        """The rows of the other source."""
        self._source.bad, self._source.missing = self.bad, self.missing
        if wanted is not None:
            wanted = {name: kind for name, kind in wanted.items() if name not in self._values}
        return (self._fill(table) for table in self._source.batches(wanted, keep=keep))

    def _fill(self, table: Table) -> Table:
        constant = {
            name: strings([value] * table.n_rows) if isinstance(value, str) else [value] * table.n_rows
            for name, value in self._values.items()
        }
        texts = {name: cells for name, cells in table.texts.items() if name not in constant}
        return replace(table, columns={**table.columns, **constant}, texts=texts)


class Stream(Source):
    """Tables one after the other, read once.

    >>> stream = Stream(iter([{"a": [1, 2]}, {"a": [3]}]))
    >>> stream.head().n_rows, [table.n_rows for table in stream.batches()]
    (2, [2, 1])
    """

    def __init__(self, parts: Iterable[Any]) -> None:
        self._parts: Iterator[Any] | None = _gather(iter(parts))
        self._peeked: Table | None = None

    def head(self) -> Table:
        """The first batch."""
        if self._peeked is None or self._parts is None:
            self._peeked = next(self._once(), None) or Table(0, {})
        return self._peeked

    def batches(self, wanted: Mapping[str, Kind | None] | None = None, *, keep: bool = False) -> Iterator[Table]:
        """The tables."""
        n_rows, head, parts = 0, self.head(), self._once()
        self._parts = None
        for table in itertools.chain([head], parts):
            yield Table(table.n_rows, table.columns, RowOrigin(n_rows)) if n_rows else table
            n_rows += table.n_rows

    def _once(self) -> Iterator[Table]:
        if self._parts is None:
            raise DataError("a stream can be read only once", hint="give a table, a file, or a new iterator")
        return self._parts


def _gather(parts: Iterator[Any]) -> Iterator[Table]:
    """Parts as tables of a useful size: Arrow batches and single rows are combined."""
    waiting: list[Any] = []
    n_rows = 0
    for part in parts:
        kind = _kind(part)
        if waiting and (kind is None or kind != _kind(waiting[0]) or n_rows >= BATCH):
            yield _together(waiting)
            waiting, n_rows = [], 0
        if kind is None:
            yield to_table(part)
        else:
            waiting.append(part)
            n_rows += 1 if kind == "row" else part.num_rows
    if waiting:
        yield _together(waiting)


def _kind(part: Any) -> Any:
    """What can be combined: rows, and record batches of one schema."""
    if isinstance(part, pa.RecordBatch):
        return part.schema
    return "row" if isinstance(part, Mapping) and is_row(part) else None


def _together(parts: list[Any]) -> Table:
    return to_table(pa.Table.from_batches(parts) if isinstance(parts[0], pa.RecordBatch) else parts)


def as_columns(
    source: Source, label: Any, weight: Any = None, words: tuple[str, str] = ("label", "weight")
) -> tuple[Source, Any, Any]:
    """Data whose label and weight (or what else `words` names) are columns: arrays become columns too."""
    names: dict[str, Any] = {}
    for word, value in zip(words, (label, weight), strict=True):
        if value is None or isinstance(value, (str, int, float)):
            names[word] = value
            continue
        if not isinstance(source, TableSource):
            raise ParameterError(f"the {word} as the name of a column, for data that comes in batches", got=type(value))
        table = source.head()
        name = next(word + "_" * i for i in range(len(table.columns) + 1) if word + "_" * i not in table.columns)
        raw, options = raw_column(value), (source.bad, source.signs)
        if len(raw) != table.n_rows:
            raise DataError(f"{table.n_rows} values of the {word}, one per row", got=len(raw))
        source = TableSource(replace(table, columns={**table.columns, name: raw}))
        (source.bad, source.signs), names[word] = options, name
    return source, names[words[0]], names[words[1]]
