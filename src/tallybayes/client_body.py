"""The bodies of a client's requests: rows of any kind as JSON, or as a stream of Arrow where they are a table."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tallybayes.errors import DataError, Described

__all__ = ["packed_json", "row_dicts", "rows_body"]


def rows_body(data: Any) -> dict[str, Any]:
    """Any rows as the body of a request: dicts as they are, tables as bytes of Arrow."""
    if isinstance(data, Mapping):
        if any(isinstance(value, (list, np.ndarray)) for value in data.values()):
            return {"rows": _arrow(data)}
        return {"row": dict(data)}
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)) and all(isinstance(r, Mapping) for r in data):
        return {"rows": [dict(row) for row in data]}
    return {"rows": _arrow(data)}


def row_dicts(data: Any) -> list[dict[str, Any]]:
    """Any rows as a list of dicts, for requests with options; NaN is missing."""
    body = rows_body(data)
    if "row" in body:
        return [body["row"]]
    if isinstance(body["rows"], list):
        return body["rows"]
    import pyarrow as pa

    rows = pa.ipc.open_stream(body["rows"]).read_all().to_pylist()
    return [{name: None if value != value else value for name, value in row.items()} for row in rows]


def _arrow(data: Any) -> bytes:
    """A data frame, a dict of columns or a matrix as a stream of Arrow."""
    import pyarrow as pa

    from tallybayes.tables.table import to_table

    table = to_table(data)
    columns = {
        name: pa.array(raw) if not isinstance(raw, pa.ChunkedArray) else raw for name, raw in table.columns.items()
    }
    arrow_table = pa.table(columns)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, arrow_table.schema) as writer:
        writer.write_table(arrow_table)
    return sink.getvalue()


def packed_json(body: Mapping[str, Any]) -> bytes:
    """An object as JSON, with values of NumPy, sets and dates in it.

    >>> packed_json({"rows": [{"age": np.int64(7), "likes": {"fish"}}]})
    b'{"rows": [{"age": 7, "likes": ["fish"]}]}'
    """
    try:
        return json.dumps(body, allow_nan=False, default=_plain).encode()
    except ValueError:
        hint = "leave a missing value out, or give None"
        raise DataError("finite numbers", got=Described("NaN or infinity"), hint=hint) from None


def _plain(value: Any) -> Any:
    """Values of NumPy and sets as values of JSON, dates as text."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    return str(value)
