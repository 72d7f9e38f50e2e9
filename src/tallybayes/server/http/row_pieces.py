"""Rows in memory as a source of small tables, of the columns that are asked for: the others cost nothing.

A table of all rows and columns at once has a cell for each row and each name that occurs in any row: two thousand rows
of 500 names each, all different, would be two billion cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Self

import pyarrow as pa

from tallybayes.arrays.chunks import split
from tallybayes.server.http.row_limit import RowLimit
from tallybayes.server.http.work_stop import check_stop
from tallybayes.tables.source import Kind, Source
from tallybayes.tables.table import RowOrigin, Table, to_table

__all__ = ["RowPieces"]

Piece = Callable[[int, int, Sequence[str]], Any]


class RowPieces(Source):
    """Rows in pieces, between which the work may be stopped; a problem (413) if there are too many.

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
    def of_columns(cls, columns: Mapping[str, list[Any]], n_rows: int, limit: RowLimit) -> Self:
        """From columns of values."""

        def piece(start: int, stop: int, names: Sequence[str]) -> Any:
            return Table(stop - start, {name: columns[name][start:stop] for name in names})

        return cls(n_rows, list(columns), piece, limit)

    @classmethod
    def of_arrow(cls, table: pa.Table, limit: RowLimit) -> Self:
        """From an Arrow table."""
        names = list(to_table(table.slice(0, 0)).columns)  # which refuses names that occur twice
        is_one = table.num_rows <= limit.piece

        def piece(start: int, stop: int, names: Sequence[str]) -> Any:
            part = table.select(names).slice(start, stop - start)
            if is_one or not names:
                return part if names else Table(stop - start, {})
            return pa.table([_without_dictionary(column) for column in part.columns], names=names)

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
