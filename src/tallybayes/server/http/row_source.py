"""The rows of a request as a source in pieces, within limits on their number and on the cells of the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self

import pyarrow as pa

from tallybayes.arrays.chunks import split
from tallybayes.errors import Described
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.service import check_stop
from tallybayes.tables.source import Kind, Source
from tallybayes.tables.table import RowOrigin, Table, to_table

__all__ = ["INTERVAL_COST", "MAX_ANSWER_NUMBERS", "LimitedSource", "RowLimit", "RowPieces"]

MAX_ANSWER_NUMBERS = 10_000_000  # of an answer: 80 MB of numbers, 200 MB of JSON, some ten seconds
INTERVAL_COST = 50  # cells that an interval counts for: 500 draws take 20 us
_PIECE_CELLS = 2**18  # of the rows that are scored at once, in about a tenth of a second
_PIECE_ROWS = 8192

Piece = Callable[[int, int, Sequence[str]], Any]


@dataclass(frozen=True)
class RowLimit:
    """How many rows a request may have.

    most: the limit of the server; n_classes: the cells of a row; cost: what each counts for, 0 if none is answered.
    hint: what else helps than fewer rows.

    >>> RowLimit(1_000_000).rows, RowLimit(1_000_000, n_classes=150, cost=1).rows
    (1000000, 66666)
    """

    most: int
    n_classes: int = 1
    cost: int = 0
    hint: str = ""

    @property
    def rows(self) -> int:
        """The most rows."""
        return min(self.most, MAX_ANSWER_NUMBERS // (self.n_classes * self.cost)) if self.cost else self.most

    @property
    def piece(self) -> int:
        """Rows to be scored at once, so that the work can be stopped."""
        return max(1, min(_PIECE_ROWS, _PIECE_CELLS // (self.n_classes * max(self.cost, 1))))

    def check(self, n_rows: int | None) -> None:
        """Refuse so many rows (413), if they are too many; None: more than the limit."""
        if n_rows is not None and n_rows <= self.rows:
            return
        what, more = "", "or start the server with a larger --max-rows"
        if self.rows < self.most:
            what = f" with {'intervals' if self.cost > 1 else 'probabilities'} of {self.n_classes:,} classes"
            more = self.hint
        hint = ", ".join(filter(None, ["send the rows in several requests", more]))
        got = Described("more") if n_rows is None else n_rows
        raise HttpError.of(413, f"at most {self.rows:,} rows{what}", got=got, hint=hint)


class LimitedSource(Source):
    """Another source in pieces, between which the work may be stopped; a problem (413) if it has too many rows."""

    def __init__(self, source: Source, limit: RowLimit) -> None:
        self._source, self._limit = source, limit
        self.bad, self.missing = source.bad, source.missing

    def head(self) -> Table:
        """The first rows of the other source."""
        self._source.bad, self._source.missing = self.bad, self.missing
        return self._source.head()

    def batches(self, wanted: Mapping[str, Kind | None] | None = None, *, keep: bool = False) -> Iterator[Table]:
        """The rows of the other source."""
        self._source.bad, self._source.missing = self.bad, self.missing
        n_rows, most = 0, self._limit.rows
        for table in self._source.batches(wanted, keep=keep):
            n_rows += table.n_rows
            if n_rows > most:
                self._limit.check(None)
            for start, stop in split(table.n_rows, self._limit.piece):
                check_stop()
                yield table if stop - start == table.n_rows else table.part(start, stop)


class RowPieces(Source):
    """Rows in memory in pieces, between which the work may be stopped; a problem (413) if there are too many.

    A piece is a table of the columns that are asked for: the others cost nothing. A table of all rows and columns at
    once has a cell for each row and each name that occurs in any row: two thousand rows of 500 names each, all
    different, would be two billion cells.

    names: the columns that any row has; piece: the rows from a place to another with some of these columns.

    >>> source = RowPieces.of_rows([{"a": 1, "b": 2}, {"c": 3}], RowLimit(10))
    >>> [table.columns for table in source.batches({"a": None, "x": None})]
    [{'a': [1, None]}]
    """

    def __init__(self, n_rows: int, names: Sequence[str], piece: Piece, limit: RowLimit) -> None:
        limit.check(n_rows)
        self._n_rows, self._names, self._piece, self._size = n_rows, names, piece, limit.piece

    @classmethod
    def of_rows(cls, rows: list[dict[str, Any]], limit: RowLimit) -> Self:
        """From objects of JSON."""
        limit.check(len(rows))  # before all names are gathered
        known = dict.fromkeys(chain.from_iterable(rows))

        def piece(start: int, stop: int, names: Sequence[str]) -> Any:
            part, wanted = rows[start:stop], {*names}
            if len(wanted) < len(known):
                part = [{name: value for name, value in row.items() if name in wanted} for row in part]
            return part

        return cls(len(rows), list(known), piece, limit)

    @classmethod
    def of_columns(cls, columns: Mapping[str, list[Any]], limit: RowLimit) -> Self:
        """From columns of values, at least one."""

        def piece(start: int, stop: int, names: Sequence[str]) -> Any:
            return Table(stop - start, {name: columns[name][start:stop] for name in names})

        return cls(len(next(iter(columns.values()))), list(columns), piece, limit)

    @classmethod
    def of_arrow(cls, table: pa.Table, limit: RowLimit) -> Self:
        """From an Arrow table."""
        names = list(to_table(table.slice(0, 0)).columns)  # which refuses names that occur twice

        def piece(start: int, stop: int, names: Sequence[str]) -> Any:
            part = table.select(names).slice(start, stop - start)
            columns = [_without_dictionary(column) for column in part.columns]
            return pa.table(columns, names=names) if names else Table(stop - start, {})

        return cls(table.num_rows, names, piece, limit)

    def head(self) -> Table:
        """The columns, without rows: there is nothing to be inferred."""
        return Table(0, {name: [] for name in self._names})

    def batches(self, wanted: Mapping[str, Kind | None] | None = None, *, keep: bool = False) -> Iterator[Table]:
        """The rows with the columns that are wanted; each piece has all of them that any row has."""
        names = [name for name in self._names if wanted is None or name in wanted]
        for start, stop in split(self._n_rows, self._size):
            check_stop()
            table = to_table(self._piece(start, stop, names))
            absent = {name: [None] * table.n_rows for name in names if name not in table.columns}
            yield replace(table, columns={**table.columns, **absent}, origin=RowOrigin(start))


def _without_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of which each piece does not bring all values of the whole."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
