"""Whether rows are equal: a hash decides which rows are sampled, but never that two rows are the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Booleans
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Bag, Codes, Column, Derived
from tallybayes.columns.batch import encode_columns
from tallybayes.columns.schema import Schema
from tallybayes.tables.table import Table, column_values

__all__ = ["differing_groups", "encoded_rows", "first_cells"]


def encoded_rows(table: Table, schema: Schema) -> list[Column]:
    """The columns of a table, encoded so that its rows can be compared; keys of several types in one type."""
    return list(encode_columns(table, schema).values())


def first_cells(table: Table, group: NDArray[np.integer]) -> NDArray[np.int64]:
    """Of rows in groups, each in one piece, the row of every group whose cells come first in order."""
    first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    others = np.flatnonzero(~np.isin(np.arange(len(group)), first))
    names = sorted(table.columns)
    left, right = table.take(others), table.take(first[group[others]])
    if all(_are_equal(left.columns[name], right.columns[name]) for name in names):
        return first
    several = np.isin(group, group[others])
    texts = np.full(len(group), "", object)
    cells = (column_values(column) for column in map(table.take(np.flatnonzero(several)).columns.get, names))
    texts[several] = [repr(row) for row in zip(*cells, strict=True)]
    for row in others.tolist():
        if texts[row] < texts[first[group[row]]]:
            first[group[row]] = row
    return first


def _are_equal(left: Any, right: Any) -> bool:
    return isinstance(left, (pa.Array, pa.ChunkedArray)) and type(left) is type(right) and bool(left.equals(right))


def differing_groups(
    columns: Iterable[Column], rows: NDArray[np.integer], group: NDArray[np.integer]
) -> NDArray[np.integer]:
    """The numbers of the groups whose rows differ in any encoded value; group: of each row, in order.

    Two missing values are equal, as are 0 and -0.

    >>> from tallybayes.arrays.column import Reals
    >>> columns = [Reals(np.array([0.0, -0.0, np.nan, np.nan])), Codes(np.array([0, 0, 0, 1]), "ab")]
    >>> differing_groups(columns, np.arange(4), np.array([0, 0, 1, 1])).tolist()
    [1]
    """
    compared = [
        column for column in columns if not isinstance(column, Derived)
    ]  # derived columns follow from the others
    several = np.zeros(len(group), bool)  # rows in a group of several
    several[1:] = group[1:] == group[:-1]
    several[:-1] |= several[1:]
    rows, group = rows[several], group[several]
    if not compared or not len(rows):
        return group
    differ = np.zeros(len(rows) - 1, bool)
    for part in in_threads(lambda i, _: _differ(compared[i].take(rows)), len(compared), size=1, small=0):
        differ |= part
    return np.asarray(group[1:][differ & (group[1:] == group[:-1])])


def _differ(column: Column) -> Booleans:
    """For each row but the first whether it differs from the one before."""
    if isinstance(column, Bag):
        bag, rows = column.expanded(), np.arange(len(column))
        return _different_bags(bag.take(rows[1:]), bag.take(rows[:-1]))
    if isinstance(column, Codes):
        codes = column.codes.astype(np.int64) - column.origin
        codes[(codes < 0) | (codes >= len(column.keys))] = -1
        return np.asarray(codes[1:] != codes[:-1])
    values: Any = column.values  # type: ignore[union-attr]
    differ = values[1:] != values[:-1]
    if values.dtype.kind == "f":
        missing = values != values
        differ &= ~(missing[1:] & missing[:-1])
    return np.asarray(differ)


def _different_bags(left: Bag, right: Bag) -> Booleans:
    """For each row of two bags with the same keys whether the bags differ."""
    lengths = np.diff(left.indptr)
    differ = lengths != np.diff(right.indptr)
    if left.present is not None and right.present is not None:
        differ |= left.present != right.present
    same = np.flatnonzero(~differ)
    left, right = _sort_tokens(left.take(same)), _sort_tokens(right.take(same))
    entries_differ = left.indices != right.indices
    if left.amounts is not None and right.amounts is not None:
        entries_differ |= left.amounts != right.amounts
    differ[same[np.repeat(np.arange(len(same)), np.diff(left.indptr))[entries_differ]]] = True
    return np.asarray(differ)


def _sort_tokens(bag: Bag) -> Bag:
    """The same bags, the tokens of each in order."""
    order = np.lexsort((bag.indices, np.repeat(np.arange(len(bag)), np.diff(bag.indptr))))
    amounts = None if bag.amounts is None else bag.amounts[order]
    return Bag(bag.indptr, bag.indices[order], amounts, bag.keys)
