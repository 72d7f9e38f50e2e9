"""The types in which cells of text are written to formats that have types: Parquet and workbooks.

The first rows decide, as they do where a table is read: integers, reals, booleans and dates are written as such, in the
format of numbers and dates that the model knows for the column. A column stays text if it is no column of numbers (007
is a code), or if any of its first cells is no number: no word is lost. All rows of Parquet have one type, so a later
cell that contradicts is empty, and is said to be; in a workbook it is text.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.cells.arrow import (
    combine_chunks,
    integers,
    is_text_type,
    pc,
    to_list,
    to_numpy,
    valid_rows,
    word_counts,
)
from tallybayes.cells.date_format import DAY, DateFormat
from tallybayes.cells.missing_words import MissingWords
from tallybayes.cells.number_format import NumberFormat
from tallybayes.cells.number_reading import list_words
from tallybayes.cli.csv_lines import is_kind, plain_values
from tallybayes.columns.date_inference import are_dates, decide_format
from tallybayes.columns.readers.date_cells import NO_DATE, read_dates
from tallybayes.doubts import doubt
from tallybayes.formatting import json_text
from tallybayes.tables.table import Table

__all__ = ["ColumnTypes"]

_LARGE = r"^[+-]?\d{16,}$"  # integers of more digits than a double holds
_OFFSET = r"(?i):\d{2}.*(?:z|utc|gmt|[+-]\d{2}(?::?\d{2})?)$"  # of a time: it is an instant
_WORDS = {pa.int64(): "integers", pa.float64(): "numbers", pa.bool_(): "booleans", pa.date32(): "dates"}
_JSON_TYPES = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "text": pa.string()}
_AS_IT_IS = "-o with a name that ends in .csv writes every cell as it is"
_KEPT = 1000  # different cells of a column that are counted by themselves


@dataclass(frozen=True, eq=False)
class _ColumnType:
    """The type of a column, and how cells of text, without spaces around them, become that: null where they do not."""

    type: Any
    read: Callable[[Any], Any]
    unit: str = ""  # that is not written


class ColumnTypes:
    """The types of the columns of an input.

    >>> columns = {"is_old": pa.array([True]), "code": pa.array(["007"])}
    >>> types = ColumnTypes(Table(1, columns, texts={"is_old": pa.array(["true"])}))
    >>> types.apply(pa.table({"is_old": ["FALSE", "NA"], "code": ["007", "y"]})).to_pylist()
    [{'is_old': False, 'code': '007'}, {'is_old': None, 'code': 'y'}]
    """

    def __init__(
        self,
        head: Table | None = None,
        *,
        formats: Mapping[str, NumberFormat] | None = None,
        dates: Mapping[str, DateFormat] | None = None,
        words: MissingWords | None = None,
        stored: pa.Schema | None = None,
    ) -> None:
        """Decide by the first rows.

        formats, dates: how the model reads columns; words: those for missing values; stored: the types of the input,
        if it has types.
        """
        self._words = words or MissingWords()
        self._stored = {} if stored is None else {field.name: field.type for field in stored}
        self._known: dict[str, _ColumnType | None] = {}
        self._lost: dict[str, Counter[str]] = {}
        self._units: dict[str, str] = {}
        self._json: dict[str, _ColumnType] = {}
        if head is not None:
            self._known = {name: _decide(name, head, formats or {}, dates or {}) for name in head.columns}

    def apply(self, table: Any) -> Any:
        """A table in these types; cells that do not fit are null, and counted."""
        columns, fields = [], []
        for field, column in zip(table.schema, table.columns, strict=True):
            values, odd = self._typed(field, combine_chunks(column))
            self._count(field.name, Counter(odd.values()))
            columns.append(values)
            fields.append(pa.field(field.name, values.type))
        return pa.table(columns, schema=pa.schema(fields))

    def values(self, table: Any) -> list[list[Any]]:
        """The columns of a table as Python values in these types; cells that do not fit stay text."""
        columns = []
        for field, column in zip(table.schema, table.columns, strict=True):
            values, odd = self._typed(field, combine_chunks(column))
            columns.append(plain_values(pa.field("", values.type), values))
            for row, text in odd.items():
                columns[-1][row] = text
        return columns

    def tell(self, file: str) -> None:
        """Say which cells and units were not written."""
        for name, unit in self._units.items():
            text = f"the numbers in {file} are without their unit, {unit}"
            doubt("odd cells", text, column=name, hint=_AS_IT_IS)
        for name, counts in self._lost.items():
            n, known = counts.total(), self._known[name]
            kind = "" if known is None else _WORDS.get(known.type, "dates with a time")
            cells = "1 cell does" if n == 1 else f"{n:,} cells do"
            text = f"{cells} not fit the first rows of the column, which are {kind}, and "
            text += f"{'is' if n == 1 else 'are'} empty in {file}: {list_words(dict(counts.most_common()))}"
            doubt("odd cells", text, column=name, hint=_AS_IT_IS)
        self._lost, self._units = {}, {}

    def _typed(self, field: Any, column: Any) -> tuple[Any, dict[int, str]]:
        """A column in its type, and the cells that do not fit, by their rows."""
        name = field.name
        if is_kind(field, "json"):
            return self._typed_json(name, plain_values(field, column))
        if (wanted := self._stored.get(name)) is not None and wanted != column.type:
            with contextlib.suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):  # else as they were read
                column = column.cast(wanted)
            return column, {}
        known = self._known.get(name)
        if known is None or not is_text_type(column.type):
            return column, {}
        if known.unit:
            self._units[name] = known.unit
        cells = self._words.of_column(name).clean(column)
        values = known.read(cells)
        if values.null_count == cells.null_count:
            return values, {}
        odd = np.flatnonzero(valid_rows(cells) & ~valid_rows(values))
        return values, dict(zip(odd.tolist(), to_list(cells.take(integers(odd))), strict=True))

    def _typed_json(self, name: str, values: list[Any]) -> tuple[Any, dict[int, str]]:
        """Values of JSON: numbers, texts and booleans as such, by the first rows; anything else as JSON text."""
        if (known := self._json.get(name)) is None:
            known = self._known[name] = self._json[name] = _decide_json(values)
        column = known.read(values)
        pairs = enumerate(zip(values, column.to_pylist(), strict=True))
        return column, {row: json_text(value) for row, (value, one) in pairs if value is not None and one is None}

    def _count(self, name: str, words: Mapping[str, int]) -> None:
        if words:
            counts = self._lost.setdefault(name, Counter())
            for word, n in words.items():
                counts[word if word in counts or len(counts) < _KEPT else "others"] += n


def _decide(
    name: str, head: Table, formats: Mapping[str, NumberFormat], dates: Mapping[str, DateFormat]
) -> _ColumnType | None:
    """The type of one column; None if it is written as it is."""
    column, texts, reading = head.columns[name], head.texts.get(name), head.readings.get(name)
    if isinstance(column, (pa.Array, pa.ChunkedArray)) and is_text_type(column.type):
        return _decide_date(name, combine_chunks(column), dates.get(name))
    if texts is None:
        return None
    if pa.types.is_boolean(column.type):
        return _ColumnType(pa.bool_(), _booleans)
    if reading is None or not reading.is_numeric or pa.types.is_null(column.type):
        return None
    form = formats.get(name) or (reading.format if reading.needed_format is not None else None)
    result = _ColumnType(pa.float64(), form.parse, form.unit) if form else _ColumnType(pa.float64(), _plain_numbers)
    is_large = pc.match_substring_regex(texts, _LARGE).true_count > 0  # rounded as doubles, but not as integers or text
    if pa.types.is_integer(column.type) or is_large:
        result = _ColumnType(pa.int64(), _whole_numbers)
    return result if result.read(texts).null_count == texts.null_count else None


def _decide_date(name: str, cells: Any, form: DateFormat | None) -> _ColumnType | None:
    """Dates, dates with a time, or instants; None if a cell is none, or a time alone."""
    counts = word_counts(cells)
    if form is None:
        if not are_dates(counts):
            return None
        form = decide_format(name, cells, DateFormat())
    there = cells.drop_null()
    is_instant = pc.match_substring_regex(there, _OFFSET)
    if is_instant.true_count not in (0, len(there)):
        return None
    kind = pa.timestamp("us")
    if is_instant.true_count:
        kind = pa.timestamp("us", "UTC")
    elif not pc.match_substring(there, ":").true_count:
        kind = pa.date32()
    own = replace(form, zone=None)  # instants are written in UTC
    result = _ColumnType(kind, lambda texts: _dates(texts, own, kind))
    return result if len(there) and result.read(cells).null_count == cells.null_count else None


def _dates(texts: Any, form: DateFormat, kind: Any) -> Any:
    """Cells as dates of a type, null where they are none."""
    found = read_dates(texts, form)
    fits = (found.micros != NO_DATE) & ~found.is_time
    if pa.types.is_date(kind):
        fits &= found.micros % DAY == 0
    else:
        is_instant = to_numpy(pc.match_substring_regex(texts, _OFFSET), null=0).astype(bool)
        fits &= is_instant == (kind.tz is not None)
    micros = integers(np.where(fits, found.micros, 0), fits)
    return micros.cast(pa.timestamp("us")).cast(kind) if pa.types.is_date(kind) else micros.cast(kind)


def _booleans(cells: Any) -> Any:
    is_true, is_false = (pc.match_substring_regex(cells, f"^(?i:{word})$") for word in ("true", "false"))
    return pc.if_else(pc.or_(is_true, is_false), is_true, pa.nulls(1, pa.bool_())[0])


def _whole_numbers(cells: Any) -> Any:
    return _cast(pc.utf8_ltrim(cells, characters="+"), pa.int64(), int)


def _plain_numbers(cells: Any) -> Any:
    return _cast(cells, pa.float64(), float)


def _cast(cells: Any, kind: Any, convert: Callable[[str], Any]) -> Any:
    """Cells as numbers; if Arrow cannot cast them all, one by one."""
    try:
        return cells.cast(kind)
    except pa.ArrowInvalid:
        return pa.array([_converted(cell, convert) for cell in to_list(cells)], kind)


def _converted(cell: str | None, convert: Callable[[str], Any]) -> Any:
    try:
        value = None if cell is None or "_" in cell else convert(cell)
    except ValueError:
        return None
    return None if isinstance(value, int) and not -(2**63) <= value < 2**63 else value


def _decide_json(values: list[Any]) -> _ColumnType:
    """The type of values of JSON; text if all are null."""
    if all(value is None for value in values):
        return _ColumnType(pa.string(), lambda values: _json_texts(values, is_plain=True))
    for name, kind in _JSON_TYPES.items():
        if all(value is None or _fits(value, name) for value in values):
            return _ColumnType(kind, partial(_json_column, name))
    return _ColumnType(pa.string(), _json_texts)


def _json_column(name: str, values: list[Any]) -> Any:
    return pa.array([value if _fits(value, name) else None for value in values], _JSON_TYPES[name])


def _json_texts(values: list[Any], *, is_plain: bool = False) -> Any:
    """Values as JSON; is_plain: texts without quotes."""
    are_written = [value is None or (is_plain and isinstance(value, str)) for value in values]
    texts = [value if is_done else json_text(value) for value, is_done in zip(values, are_written, strict=True)]
    return pa.array(texts, pa.string())


def _fits(value: Any, name: str) -> bool:
    """Whether a value of JSON can be written in a type."""
    if isinstance(value, bool) or name == "boolean":
        return isinstance(value, bool) and name == "boolean"
    if name == "integer":
        return isinstance(value, int) and -(2**63) <= value < 2**63
    return isinstance(value, (int, float) if name == "number" else str)
