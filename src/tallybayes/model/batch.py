"""A table made ready for a model: every column of the schema encoded, labels coded, weights found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import rough_kind
from tallybayes.arrays.chunks import SMALL, in_threads
from tallybayes.arrays.column import Codes, Column
from tallybayes.data.encode import empty_column, encode
from tallybayes.data.label import Labels, find_labels, find_weights, label_column
from tallybayes.data.schema import Schema
from tallybayes.data.table import Table
from tallybayes.errors import DataError

__all__ = ["Batch", "check_kinds", "encode_columns", "read_batch"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Encoded columns with labels and weights."""

    n_rows: int
    columns: dict[str, Column]
    labels: Labels
    weights: NDArray[np.float64] | None


def encode_columns(table: Table, schema: Schema) -> dict[str, Column]:
    """The columns of the schema, encoded; columns absent from the table are missing throughout."""
    families = schema.families
    absent = {
        name: empty_column(family, table.n_rows) for name, family in families.items() if name not in table.columns
    }
    tasks = [partial(encode, name, table.columns[name], families[name]) for name in families if name not in absent]
    encoded = iter(_side_by_side(table, tasks))
    return {name: absent[name] if name in absent else next(encoded) for name in families}


def read_batch(table: Table, schema: Schema, label: Any, weight: Any) -> Batch:
    """A table to learn from: only the schema's columns that are there."""
    weights = find_weights(table, weight)
    if weights is not None and np.all(weights == 1):
        weights = None
    families = schema.families
    apart = {weight} if isinstance(weight, str) else set()
    apart |= {label_column(label, table.columns)[0]} if isinstance(label, str) else set()
    names = [name for name in families if name in table.columns and name not in apart]
    tasks = [partial(encode, name, table.columns[name], families[name]) for name in names]
    labels, *columns = _side_by_side(table, [partial(find_labels, table, label), *tasks])
    return Batch(table.n_rows, dict(zip(names, columns, strict=True)), labels, weights)


def _side_by_side(table: Table, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    """Tasks in threads where that pays; a sparse matrix is one column and uses threads itself."""
    if table.n_rows <= SMALL or any(hasattr(raw, "tocsr") for raw in table.columns.values()):
        return [task() for task in tasks]
    return in_threads(lambda start, stop: tasks[start](), len(tasks), size=1, small=0) if tasks else []


def check_kinds(columns: dict[str, Column], known: Callable[[str], Any]) -> None:
    """Refuse categories of another type than those learned so far; `known` gives one of them, or None."""
    for name, column in columns.items():
        if not isinstance(column, Codes) or not len(column.keys) or (mine := known(name)) is None:
            continue
        kind = rough_kind(mine)
        if kind != rough_kind(column.keys[0]) and (row := _first_row(column)) is not None:
            key = column.keys[int(column.codes[row]) - column.origin]
            raise DataError(f"{kind}, as learned before", came=key, column=name, row=row)


def _first_row(column: Codes) -> int | None:
    """The first row that is not missing."""
    there = (column.codes >= column.origin) & (column.codes < column.origin + len(column.keys))
    row = int(np.argmax(there)) if len(there) else 0
    return row if len(there) and there[row] else None
