"""The rows of an event as bytes: a JSON list of objects, an Arrow stream, or the file of a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from tallybayes.errors import DataError, ParameterError, shorten

__all__ = ["ARROW", "JSON", "MODEL", "NOT_PYTHON", "EventData", "as_dicts", "read_rows", "write_rows"]

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
MODEL = "application/vnd.tallybayes.model"

NOT_PYTHON = (OverflowError, ValueError, pa.ArrowException)  # errors for values that Python cannot have

EventData = Any  # a list of dicts, or a pyarrow Table


def write_rows(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Rows of JSON values as bytes.

    >>> write_rows([{"a": 1.5, "b": None}])
    b'[{"a":1.5,"b":null}]'
    """
    try:
        return json.dumps(rows, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        hint = "numbers must be finite; give dates as text"
        raise DataError(f"rows of JSON values: {error}", hint=hint) from error


def read_rows(data: bytes, media_type: str) -> EventData:
    """Rows from bytes, as data that a model reads.

    >>> read_rows(b'[{"a": 1}]', JSON)
    [{'a': 1}]
    >>> read_rows(b'{"a": 1}', JSON)
    Traceback (most recent call last):
        ...
    tallybayes.errors.DataError: expected a list of objects, one for each row, got {'a': 1}
    """
    if media_type == JSON:
        try:
            rows = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise DataError(f"the rows are not JSON: {error}") from error
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise DataError("a list of objects, one for each row", got=rows)
        return rows
    if media_type == ARROW:
        try:
            with pa.ipc.open_stream(data) as stream:
                return stream.read_all()
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DataError(f"the rows are not an Arrow stream: {shorten(str(error), 200)}") from error
    raise ParameterError(f"rows of type {JSON} or {ARROW}", got=media_type)


def as_dicts(data: EventData) -> list[dict[str, Any]]:
    """The rows as dicts, for people and for JSON; a value that Python cannot have is told as text.

    >>> as_dicts(pa.table({"a": pa.array([253402300800], pa.int64()).cast(pa.timestamp("s"))}))
    [{'a': '10000-01-01 00:00:00'}]
    """
    if isinstance(data, list):
        return data
    try:
        return list(data.to_pylist())
    except NOT_PYTHON:
        columns = [[_as_python(cell) for cell in column] for column in data.columns]
        return [dict(zip(data.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _as_python(cell: pa.Scalar) -> Any:
    try:
        return cell.as_py()
    except NOT_PYTHON:
        try:
            return cell.cast(pa.string()).as_py()
        except pa.ArrowException:
            return f"a value of type {cell.type} that cannot be shown"
