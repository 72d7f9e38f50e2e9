"""Columns of text that hold numbers, in any table: found when fitting, parsed by the format of the schema afterwards.

Files of text are examined and parsed where they are read (`io/formats`). Here the same is done for text in memory, in
databases and in other files with types: there, text of plain digits stays text, because it was given as text.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.arrays.column import Flags, Reals
from tallybayes.cells.arrow import combined, integers, is_text_type, strings, to_list, to_numpy, valid_rows
from tallybayes.cells.missing_words import MissingWords
from tallybayes.cells.number_detection import detect_numbers, looks_like_number
from tallybayes.cells.number_format import NumberFormat
from tallybayes.cells.number_reading import NumberReading
from tallybayes.cells.unread_numbers import UnreadNumbers
from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, warn
from tallybayes.tables.source import HEAD
from tallybayes.tables.table import Raw, Table, is_missing, is_number

__all__ = ["tell_doubts", "tell_none", "with_format", "with_numbers", "with_readings"]

_EXAMPLE = 1234.5
_FREQUENT = 0.2  # share of the cells from which the word None may be a category
_FREQUENT_LABEL = 0.01  # the same of labels, whose rows are skipped


def with_readings(table: Table, names: Collection[str]) -> Table:
    """A table whose columns of text are numbers where that is how they are written.

    >>> from tallybayes.tables.table import to_table
    >>> table = with_readings(to_table({"price": ["$5", "$1,200"], "code": ["1", "2"]}), ["price", "code"])
    >>> table.columns["price"].to_pylist(), table.columns["code"]
    ([5.0, 1200.0], ['1', '2'])
    """
    new = {name: raw for name in names if name not in table.readings and not _is_array(raw := table.columns[name])}
    if not new:
        return table
    first = {name: _text(raw, HEAD) for name, raw in new.items() if not _is_dictionary(raw)}
    cells = {name: MissingWords().cleaned(text) for name, text in first.items() if text is not None}
    found = {
        name: reading
        for name, reading in detect_numbers(cells).items()
        if reading.is_numeric and (reading.example is not None or _is_mixed(table.columns[name]))
    }
    if not found:
        return table
    texts = {name: MissingWords().cleaned(_text(table.columns[name])) for name in found}
    numbers = {name: reading.format.parse(texts[name]) for name, reading in found.items()}
    return replace(table, columns={**table.columns, **numbers}, readings={**table.readings, **found})


def with_format(field: ColumnSpec, reading: NumberReading | None) -> ColumnSpec:
    """A column of the schema with the format of its numbers, and what there is to say about its cells."""
    if reading is None:
        return field
    is_numeric = field.family is not None and field.family.column in (Reals, Flags)
    remark = reading.remark if is_numeric == reading.is_numeric else ""
    reason = f"{field.reason}; {remark}" if remark else field.reason
    return replace(field, reason=reason, format=reading.needed_format if is_numeric else None)


def tell_doubts(field: ColumnSpec, reading: NumberReading | None) -> None:
    """Warn about what was assumed about the numbers of a column."""
    if reading is None or (field.family is None and not reading.doubts):
        return
    is_numeric = field.family is not None and field.family.column in (Reals, Flags)
    if is_numeric == reading.is_numeric:
        for doubt in reading.all_doubts(field.name):
            warn(doubt.text, column=field.name, hint=doubt.hint)


def tell_none(name: str, table: Table, *, is_label: bool = False) -> None:
    """Warn if the word None, a missing value, is so frequent in a column of text that it may be a category."""
    n = table.n_none.get(name, 0)
    if n <= (_FREQUENT_LABEL if is_label else _FREQUENT) * table.n_rows:
        return
    rows = "these rows have no label" if is_label else "they were treated as missing"
    hint = 'missing_only=["NA"] (--missing-only NA) says which words mean a missing value; None is a value then'
    warn(f"{n:,} of {table.n_rows:,} cells are None: {rows}", column=name, hint=hint)


def with_numbers(table: Table, schema: Schema) -> Table:
    """A table whose columns of text are parsed as the schema says; a word is a missing value, and told if it is new."""
    parsed: dict[str, Any] = {}
    for name, form in schema.formats.items():
        text = _text(table.columns[name]) if name in table.columns else None
        if text is not None:
            parsed[name] = _parsed(name, (schema.missing or MissingWords()).cleaned(text), form)
    return replace(table, columns={**table.columns, **parsed}) if parsed else table


def _parsed(name: str, text: Any, form: NumberFormat) -> Any:
    values = form.parse(text)
    odd = np.flatnonzero(valid_rows(text) & ~valid_rows(values))
    if len(odd):
        cells = text.take(integers(odd))
        are_numbers = to_numpy(looks_like_number(cells))
        if are_numbers.any():
            row = int(odd[np.argmax(are_numbers)])
            hint = "the format is in the schema of the model"
            expected = f"a number written like {form.text(_EXAMPLE)}"
            raise DataError(expected, got=text[row].as_py(), column=name, row=row, hint=hint)
        unread = UnreadNumbers()
        unread.add(name, cells, known=form.words, place=lambda: None)
        unread.warn()
    return values


def _text(raw: Raw, most: int | None = None) -> Any:
    """The first rows of a column of text, or of numbers and text, as an Arrow array of text; None of any other column.

    most: so many rows, or all.
    """
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        if pa.types.is_dictionary(raw.type) and is_text_type(raw.type.value_type):
            return strings(to_list(raw[:most]))
        if not is_text_type(raw.type):
            return None
        raw = combined(raw[:most])
        return raw.cast(pa.large_string()) if pa.types.is_string_view(raw.type) else raw
    if isinstance(raw, np.ndarray):
        if _is_array(raw):
            return None
        raw = raw.tolist()
    if not isinstance(raw, list):
        return None
    types = set(map(type, raw))
    if not any(issubclass(own, str) for own in types):
        return None
    if types <= {str, type(None)}:
        return strings(raw[:most])
    values = [None if is_missing(value) else value for value in raw]
    if not all(value is None or isinstance(value, str) or _is_plain_number(value) for value in values):
        return None
    return strings([value if value is None or isinstance(value, str) else repr(value) for value in values[:most]])


def _is_array(raw: Raw) -> bool:
    """Whether a column is an array of numbers, booleans or dates: it has no text to be read."""
    return isinstance(raw, np.ndarray) and raw.dtype.kind not in "UO"


def _is_dictionary(raw: Raw) -> bool:
    """Whether a column was given as categories."""
    return isinstance(raw, (pa.Array, pa.ChunkedArray)) and pa.types.is_dictionary(raw.type)


def _is_plain_number(value: Any) -> bool:
    return is_number(value) and not isinstance(value, (bool, np.bool_))


def _is_mixed(raw: Raw) -> bool:
    """Whether a column has numbers besides text."""
    return isinstance(raw, (list, np.ndarray)) and any(_is_plain_number(value) for value in raw)
