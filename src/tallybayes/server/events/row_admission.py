"""Which rows a hosted model does not learn although they could be counted.

Very many new columns would hold up others. Dates that no calendar of Python has could not be listed or exported.

These limits are for requests. Events that are in a log were accepted once and are replayed whatever they are.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, Described
from tallybayes.server.events.event_rows import NOT_PYTHON, EventData

__all__ = ["MAX_NEW_COLUMNS", "check_rows_to_learn"]

MAX_NEW_COLUMNS = 1_000  # of one request; the family of each is inferred, which takes about half a millisecond


def check_rows_to_learn(data: EventData, schema: Schema) -> None:
    """Raise a DataError for rows that are not to be learned."""
    names = set().union(*data) if isinstance(data, list) else set(data.column_names)
    n_new = len(names.difference(schema.columns, (schema.label, schema.weight)))
    if n_new > MAX_NEW_COLUMNS:
        hint = "send the values in one column, as a list or an object, or fit the model with these columns"
        got = Described(f"{n_new:,}")
        raise DataError(f"at most {MAX_NEW_COLUMNS:,} new columns in one request", got=got, hint=hint)
    if isinstance(data, pa.Table):
        for name, column in zip(data.column_names, data.columns, strict=True):
            _check_times(name, column)


def _check_times(name: str, column: pa.ChunkedArray) -> None:
    """Refuse a column with dates and times that Python cannot have."""
    if not _has_times(column.type):
        return
    try:
        if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
            pc.min_max(column).as_py()  # what is between them is in the range, too
        else:
            column.to_pylist()
    except NOT_PYTHON:
        got = Described(f"others ({column.type})")
        raise DataError("dates and times of the years 1 to 9999, in a known time zone", got=got, column=name) from None


def _has_times(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _has_times(kind.value_type)
    return pa.types.is_temporal(kind) or any(_has_times(kind.field(i).type) for i in range(kind.num_fields))
