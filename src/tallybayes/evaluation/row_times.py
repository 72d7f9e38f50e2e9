"""The time of every row as a number, to put rows in order: from numbers, dates and times, or text as in ISO 8601."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.errors import NONE, DataError
from tallybayes.tables.table import Table

__all__ = ["row_times"]

_HINT = "times are numbers, dates, or text such as 2024-03-31 and 2024-03-31T12:00"


def row_times(table: Table, name: str) -> NDArray[np.float64]:
    """The times of the rows of a table; every row needs one. Times without a zone are in UTC.

    >>> from tallybayes.tables.table import to_table
    >>> times = row_times(to_table({"when": ["2024-03-31", "2024-04-01"]}), "when")
    >>> float(times[1] - times[0])
    86400.0
    """
    raw = table.columns[name]
    try:
        column = raw if isinstance(raw, (pa.Array, pa.ChunkedArray)) else pa.array(raw, from_pandas=True)
        values = _numbers(column, name)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):  # values that Arrow has no time for
        raise DataError("a column of times", got=type(raw).__name__, column=name, hint=_HINT) from None
    except DataError as error:
        raise table.locate(error) from None
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        raise table.locate(DataError("a time in every row", got=NONE, column=name, row=int(missing[0])))
    return values


def _numbers(column: Any, name: str) -> NDArray[np.float64]:
    """Seconds, or the numbers themselves; NaN where a value is missing."""
    kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        micros = column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False).cast(pa.int64())
        return _floats(micros) / 1e6
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _floats(column)
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise DataError("a column of times", got=str(kind), column=name, hint=_HINT)
    texts: list[str | None] = column.to_pylist()
    parsed = {text: _parse(text) for text in dict.fromkeys(texts)}
    for row, text in enumerate(texts):
        if text is not None and text.strip() and parsed[text] is None:
            raise DataError("a time", got=text, column=name, row=row, hint=_HINT)
    kinds = {time[0] for time in parsed.values() if time is not None}
    if len(kinds) > 1:
        raise DataError("times of one kind", got="numbers and dates", column=name, hint=_HINT)
    return np.array([np.nan if (time := parsed[text]) is None else time[1] for text in texts], np.float64)


def _floats(column: Any) -> NDArray[np.float64]:
    return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def _parse(text: str | None) -> tuple[str, float] | None:
    """Whether a text is a number or a date, and its value; None if it is neither."""
    plain = (text or "").strip()
    with contextlib.suppress(ValueError):
        return ("number", float(plain)) if np.isfinite(float(plain)) else None
    with contextlib.suppress(ValueError):
        when = datetime.fromisoformat(plain)
        return "date", (when if when.tzinfo is not None else when.replace(tzinfo=UTC)).timestamp()
    return None
