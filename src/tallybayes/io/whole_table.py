"""All rows of a source as one table in memory, each column in the type that all of its cells have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from tallybayes.cells.arrow import combine_chunks, is_text_type, pc
from tallybayes.tables.source import Source
from tallybayes.tables.table import Raw, Table, concatenate_tables

__all__ = ["read_whole"]


def read_whole(source: Source) -> Table:
    """The rows of a source as one table.

    Columns of text files that begin with numbers or booleans are read as such if all of their cells are, and are text
    otherwise: no cell is lost.

    >>> from tallybayes.tables.source import Stream
    >>> read_whole(Stream(iter([{"a": [1, 2]}, {"a": [3]}]))).columns
    {'a': [1, 2, 3]}
    """
    head = source.head()
    tables = list(source.batches())
    whole = concatenate_tables(tables) if tables else head.part(0, 0)
    return replace(whole, columns={name: _typed(raw, head, name) for name, raw in whole.columns.items()})


def _typed(raw: Raw, head: Table, name: str) -> Raw:
    """Cells of text as what the first rows of a text file show, if all of them are that."""
    if name not in head.texts or not isinstance(raw, (pa.Array, pa.ChunkedArray)) or not is_text_type(raw.type):
        return raw
    first: Any = head.columns[name]
    cells = combine_chunks(raw) if isinstance(raw, pa.ChunkedArray) else raw
    cells = pc.utf8_trim_whitespace(cells.cast(pa.string()))
    if pa.types.is_boolean(first.type):
        words = pc.utf8_lower(cells)
        are_flags = pc.all(pc.is_in(words, value_set=pa.array(["true", "false"]))).as_py()
        return pc.equal(words, "true") if are_flags else raw
    reading = head.readings.get(name)
    form = None if reading is None else reading.needed_format
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = form.parse(cells) if form is not None and kind == pa.float64() else cells.cast(kind)
        except pa.ArrowInvalid:
            continue
        if numbers.null_count == cells.null_count:
            return numbers
    return raw
