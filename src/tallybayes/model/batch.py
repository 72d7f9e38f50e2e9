"""A table made ready for a model: every column of the schema encoded, labels coded, weights found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import kind_of
from tallybayes.arrays.column import Codes, Column
from tallybayes.data.encode import empty_column, encode
from tallybayes.data.label import Labels, find_labels, find_weights
from tallybayes.data.schema import Schema
from tallybayes.data.table import Table
from tallybayes.errors import DataError

__all__ = ["Batch", "encode_columns", "read_batch"]


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
    return {
        name: encode(name, table.columns[name], families[name])
        if name in table.columns
        else empty_column(families[name], table.n_rows)
        for name in (families if names is None else names)
    }


def read_batch(table: Table, schema: Schema, label: Any, weight: Any) -> Batch:
    """A table to learn from: only the schema's columns that are there."""
    labels = find_labels(table, label)
    weights = find_weights(table, weight)
    if weights is not None and np.all(weights == 1):
        weights = None
    there = [name for name in schema.families if name in table.columns]
    return Batch(table.n_rows, encode_columns(table, schema, there), labels, weights)


def check_kinds(columns: dict[str, Column], kinds: dict[str, str]) -> None:
    """Refuse categories of another type than those learned so far."""
    for name, column in columns.items():
        if name in kinds and isinstance(column, Codes) and column.keys:
            key = next((key for key in column.keys if key is not None), None)
            kind = _rough_kind(key)
            if key is not None and kind != kinds[name]:
                row = int(np.argmax(column.codes >= column.origin))
                raise DataError(f"{kinds[name]}, as learned before", came=key, column=name, row=row)


def _rough_kind(key: Any) -> str:
    return "number" if kind_of(key) == "whole number" else kind_of(key)


def kinds_of(columns: dict[str, Column]) -> dict[str, str]:
    """The type of the categories of each column that has any."""
    return {
        name: _rough_kind(key)
        for name, column in columns.items()
        if isinstance(column, Codes) and (key := next((k for k in column.keys if k is not None), None)) is not None
    }
