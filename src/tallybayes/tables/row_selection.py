"""Some rows of data, in the kind that the data was given in; of data that is read in batches, as an Arrow table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.arrays.sparse_matrix import is_sparse
from tallybayes.cells.arrow import integers
from tallybayes.errors import DataError
from tallybayes.tables.input_kind import has_attribute, is_pandas_frame, library_of
from tallybayes.tables.table import Table, is_row, take_rows, to_table

__all__ = ["select_rows", "to_arrow"]


def select_rows(data: Any, rows: NDArray[np.int64]) -> Any:
    """The rows at these positions: a frame of the same library, an array, a list, a dict of columns, an Arrow table.

    >>> select_rows([{"a": 1}, {"a": 2}, {"a": 3}], np.array([2, 0]))
    [{'a': 3}, {'a': 1}]
    >>> select_rows({"a": [1, 2, 3], "b": ("x", "y", "z")}, np.array([1]))
    {'a': [2], 'b': ['y']}
    """
    if is_pandas_frame(data):
        return data.iloc[rows]
    if library_of(data) == "polars" and has_attribute(data, "columns"):
        return data[rows]
    if isinstance(data, Table):
        return data.take(rows)
    if isinstance(data, pa.RecordBatch):
        return data.take(integers(rows))
    if has_attribute(data, "__arrow_c_stream__"):
        return _take_arrow(data if isinstance(data, pa.Table) else pa.table(data), rows)
    if is_sparse(data):
        return data.tocsr()[rows]
    if isinstance(data, np.ndarray):
        return data[rows]
    if isinstance(data, Mapping):
        if is_row(data):
            return dict(data) if len(rows) else {}
        return {name: _take_values(values, rows) for name, values in data.items()}
    if isinstance(data, Sequence):
        return [data[row] for row in rows.tolist()]
    return to_arrow(to_table(data).take(rows))


def to_arrow(table: Table) -> pa.Table:
    """A table as an Arrow table.

    >>> to_arrow(to_table({"a": [1, None], "b": ["x", "y"]})).schema.types
    [DataType(int64), DataType(string)]
    """
    columns = {}
    for name, raw in table.columns.items():
        try:
            columns[name] = raw if isinstance(raw, (pa.Array, pa.ChunkedArray)) else pa.array(raw, from_pandas=True)
        except (pa.ArrowException, TypeError) as error:
            hint = "give the data as a data frame, a list of dicts or a dict of lists"
            raise DataError("values of one type that Arrow has", got=str(error), column=name, hint=hint) from error
    return pa.table(columns)


def _take_arrow(table: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
    """Rows of an Arrow table in its own types; Arrow takes no rows of views, which are cast and cast back."""
    try:
        return table.take(integers(rows))
    except pa.ArrowNotImplementedError:
        taken = [take_rows(column, rows) for column in table.columns]
        return pa.table(
            [
                column.cast(field.type) if isinstance(column, pa.ChunkedArray) else pa.array(column, field.type)
                for column, field in zip(taken, table.schema, strict=True)
            ],
            schema=table.schema,
        )


def _take_values(values: Any, rows: NDArray[np.int64]) -> Any:
    """Rows of one column of a dict: in its kind where it can be indexed by positions, else as a list."""
    if is_sparse(values):
        return values.tocsr()[rows]
    if library_of(values) == "pandas" and has_attribute(values, "iloc"):
        return values.iloc[rows]
    if isinstance(values, (np.ndarray, pa.Array, pa.ChunkedArray)) or library_of(values) == "polars":
        return values[rows] if not isinstance(values, (pa.Array, pa.ChunkedArray)) else take_rows(values, rows)
    listed = list(values)
    return [listed[row] for row in rows.tolist()]
