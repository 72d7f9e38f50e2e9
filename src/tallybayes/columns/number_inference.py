"""Columns of text that hold numbers, in any table: found when fitting, parsed by their readers afterwards.

Files of text are examined and parsed where they are read (`io/formats`). Here the same is done for text in memory, in
databases and in other files with types: there, text of plain digits stays text, because it was given as text.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tallybayes.arrays.column import Flags, Reals
from tallybayes.cells.missing_words import MissingWords
from tallybayes.cells.number_detection import detect_numbers
from tallybayes.cells.number_reading import NumberReading
from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.readers.raw_cells import is_array, is_plain_number, text_of
from tallybayes.errors import warn
from tallybayes.tables.source import HEAD
from tallybayes.tables.table import Raw, Table

__all__ = ["tell_doubts", "tell_none", "with_readings"]

_FREQUENT = 0.2  # share of the cells from which the word None may be a category
_FREQUENT_LABEL = 0.01  # the same of labels, whose rows are skipped


def with_readings(table: Table, names: Collection[str]) -> Table:
    """A table whose columns of text are numbers where that is how they are written.

    >>> from tallybayes.tables.table import to_table
    >>> table = with_readings(to_table({"price": ["$5", "$1,200"], "code": ["1", "2"]}), ["price", "code"])
    >>> table.columns["price"].to_pylist(), table.columns["code"]
    ([5.0, 1200.0], ['1', '2'])
    """
    new = {name: raw for name in names if name not in table.readings and not is_array(raw := table.columns[name])}
    if not new:
        return table
    first = {name: text_of(raw, HEAD) for name, raw in new.items() if not _is_dictionary(raw)}
    cells = {name: MissingWords().clean(text) for name, text in first.items() if text is not None}
    readings = {
        name: reading
        for name, reading in detect_numbers(cells).items()
        if reading.is_numeric and (reading.example is not None or _is_mixed(table.columns[name]))
    }
    if not readings:
        return table
    texts = {name: MissingWords().clean(text_of(table.columns[name])) for name in readings}
    numbers = {name: reading.format.parse(texts[name]) for name, reading in readings.items()}
    return replace(table, columns={**table.columns, **numbers}, readings={**table.readings, **readings})


def tell_doubts(spec: ColumnSpec, reading: NumberReading | None) -> None:
    """Warn about what was assumed about the numbers of a column."""
    if reading is None or (spec.family is None and not reading.doubts):
        return
    is_numeric = spec.family is not None and spec.family.column in (Reals, Flags)
    if is_numeric == reading.is_numeric:
        for doubt in reading.all_doubts(spec.name):
            warn(doubt.text, column=spec.name, hint=doubt.hint)


def tell_none(name: str, table: Table, *, is_label: bool = False) -> None:
    """Warn if the word None, a missing value, is so frequent in a column of text that it may be a category."""
    n = table.n_none.get(name, 0)
    if n <= (_FREQUENT_LABEL if is_label else _FREQUENT) * table.n_rows:
        return
    rows = "these rows have no label" if is_label else "they were treated as missing"
    hint = 'missing_only=["NA"] (--missing-only NA) says which words mean a missing value; None is a value then'
    warn(f"{n:,} of {table.n_rows:,} cells are None: {rows}", column=name, hint=hint)


def _is_dictionary(raw: Raw) -> bool:
    """Whether a column was given as categories."""
    return isinstance(raw, (pa.Array, pa.ChunkedArray)) and pa.types.is_dictionary(raw.type)


def _is_mixed(raw: Raw) -> bool:
    """Whether a column has numbers besides text."""
    return isinstance(raw, (list, np.ndarray)) and any(is_plain_number(value) for value in raw)
