"""A table made ready for a model: every column of the schema encoded, labels coded, weights found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import rough_kind
from tallybayes.arrays.chunks import SMALL, in_threads
from tallybayes.arrays.column import Codes, Column
from tallybayes.data.encode import empty_column, encode
from tallybayes.data.label import Labels, find_labels, find_weights
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


def encode_columns(table: Table, schema: Schema, names: Iterable[str] | None = None) -> dict[str, Column]:
    """The columns of the schema, encoded; columns absent from the table are missing throughout."""
    families = schema.families
    wanted = list(families if names is None else names)

    def columns(start: int, stop: int) -> list[Column]:
        return [
            encode(name, table.columns[name], families[name])
            if name in table.columns
            else empty_column(families[name], table.n_rows)
            for name in wanted[start:stop]
        ]

    # several columns at once where that pays; a sparse matrix is one column and uses threads itself
    small = table.n_rows <= SMALL or any(hasattr(raw, "tocsr") for raw in table.columns.values())
    parts = [columns(0, len(wanted))] if small else in_threads(columns, len(wanted), size=1, small=1)
    return dict(zip(wanted, (column for part in parts for column in part), strict=True))


def read_batch(table: Table, schema: Schema, label: Any, weight: Any) -> Batch:
    """A table to learn from: only the schema's columns that are there."""
    labels = find_labels(table, label)
    weights = find_weights(table, weight)
    if weights is not None and np.all(weights == 1):
        weights = None
    apart = {name for name in (label, weight) if isinstance(name, str)}
    there = [name for name in schema.families if name in table.columns and name not in apart]
    return Batch(table.n_rows, encode_columns(table, schema, there), labels, weights)


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
