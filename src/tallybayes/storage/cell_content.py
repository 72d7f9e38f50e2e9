"""Cells of sampled rows as bytes: an Arrow table in which equal cells have equal bytes.

Columns of Arrow and NumPy stay what they are. Other columns (lists of Python values) become texts: a key as in
`storage/keys.py`, "[" and a list, "<" and a set, "{" and pairs.

>>> from tallybayes.tables.table import to_table
>>> table = to_table({"a": [1, None], "b": [{"x": 2}, {"y": 1}]})
>>> cells_from_bytes(cells_to_bytes(table), 2).columns
{'a': [1, None], 'b': [{'x': 2}, {'y': 1}]}
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.cells.arrow import combine_chunks, is_text_type, strings, to_list, to_numpy, valid_rows
from tallybayes.storage.keys import key_text, text_key
from tallybayes.tables.raw_values import is_missing
from tallybayes.tables.table import Raw, Table, column_values
from tallybayes.tally.exact import require

__all__ = ["cells_from_bytes", "cells_to_bytes"]

_TEXTS = b"python"  # metadata of a column whose cells are texts of Python values


def cells_to_bytes(table: Table) -> bytes:
    """The columns of a table, in the order of names, as an Arrow stream."""
    fields, columns = [], []
    for name in sorted(table.columns):
        raw = table.columns[name]
        is_array = isinstance(raw, (pa.Array, pa.ChunkedArray)) or (
            isinstance(raw, np.ndarray) and raw.dtype.kind in "biuf"
        )
        array = _canonical(raw) if is_array else strings([_cell_text(value) for value in column_values(raw)])
        columns.append(array)
        fields.append(pa.field(name, array.type, metadata=None if is_array else {"cells": _TEXTS}))
    schema = pa.schema(fields)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    return sink.getvalue()


def cells_from_bytes(data: bytes, n_rows: int) -> Table:
    """The table of `cells_to_bytes`; a ValueError if the bytes are something else."""
    try:
        with pa.ipc.open_stream(data) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"cells of sampled rows: {error}") from error
    require(not table.num_columns or table.num_rows == n_rows, "a cell for each sampled row")
    require(len(set(table.column_names)) == table.num_columns, "a duplicate column of sampled rows")
    columns: dict[str, Raw] = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        is_text = (field.metadata or {}).get(b"cells") == _TEXTS
        require(not is_text or is_text_type(field.type), "cells of sampled rows that are not texts")
        columns[field.name] = [_text_cell(text) for text in to_list(column)] if is_text else combine_chunks(column)
    return Table(n_rows, columns)


def _canonical(raw: Raw) -> Any:
    """An array whose bytes depend on its values only: nothing is left in the places of nulls."""
    array = (
        pa.array(np.ascontiguousarray(raw), from_pandas=False) if isinstance(raw, np.ndarray) else combine_chunks(raw)
    )
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind, n = array.type, len(array)
    if is_text_type(kind):
        return strings(to_list(array))
    valid = valid_rows(array)
    bits = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    if pa.types.is_boolean(kind):
        values = np.packbits((to_numpy(array, null=0) != 0) & valid, bitorder="little")
        return pa.Array.from_buffers(kind, n, [bits, pa.py_buffer(values)])
    if pa.types.is_primitive(kind) or pa.types.is_decimal(kind):
        width = kind.bit_width // 8
        data = array.buffers()[1]
        items = np.frombuffer(data, np.uint8, n * width, array.offset * width).reshape(n, width) if n else np.zeros(0)
        return pa.Array.from_buffers(kind, n, [bits, pa.py_buffer(np.where(valid[:, None], items, np.uint8(0)))])
    return pa.array(array.to_pylist(), kind)


def _cell_text(value: Any) -> str | None:
    """A Python value as text; None if it is missing."""
    if is_missing(value):
        return None
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(value, Mapping):
        return "{" + json.dumps([[_part_text(key), _part_text(amount)] for key, amount in value.items()])
    if isinstance(value, (set, frozenset)):
        return "<" + json.dumps(sorted(map(_part_text, value)))
    if isinstance(value, list):
        return "[" + json.dumps([_part_text(part) for part in value])
    return key_text(value)


def _part_text(value: Any) -> str:
    return key_text(None if is_missing(value) else value)


def _text_cell(text: str | None) -> Any:
    if text is None or text[:1] not in ("{", "<", "["):
        return None if text is None else text_key(text)
    parts = json.loads(text[1:])
    require(isinstance(parts, list), "a cell that is not a list")
    if text[0] == "{":
        require(all(isinstance(pair, list) and len(pair) == 2 for pair in parts), "a cell that has no pairs")
        return {text_key(key): text_key(amount) for key, amount in parts}
    values = [text_key(part) for part in parts]
    return set(values) if text[0] == "<" else values
