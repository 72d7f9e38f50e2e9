"""Columns of numbers: arrays and lists as they are, cells of text by the format of the column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.arrays.column import Reals
from tallybayes.cells.arrow import as_doubles, combine_chunks, integers, to_numpy, valid_rows
from tallybayes.cells.missing_words import MissingWords
from tallybayes.cells.number_evidence import looks_like_number
from tallybayes.cells.number_format import NumberFormat
from tallybayes.cells.number_reading import UnreadNumbers
from tallybayes.columns.readers.reader import Fact, ReadContext, Reader, check_column, text_of, unwrap, wrong_type
from tallybayes.errors import DataError
from tallybayes.tables.raw_values import is_missing, is_number, plain_reals
from tallybayes.tables.source import Kind
from tallybayes.tables.table import Raw

__all__ = ["FORMAT", "NumberReader", "as_reals", "parse_text", "to_reals"]

_REALS = (np.dtype(np.float64), np.dtype(np.float32))
_EXAMPLE = 1234.5
FORMAT = Fact(
    "format", "format", NumberFormat.to_dict, lambda facts: None if facts is None else NumberFormat.from_dict(facts)
)


@dataclass(frozen=True)
class NumberReader(Reader):
    """Numbers. A word among numbers in cells of text is a missing value, with a warning if it is new.

    >>> reader = NumberReader(NumberFormat(unit="$"))
    >>> reader.encode({"price": ["$5", None, 7]}, ReadContext("price", 3)).values.tolist()
    [5.0, nan, 7.0]
    """

    kind = "number"
    column = Reals
    facts = (FORMAT, Fact.switch("whole", "is_whole", "whether numbers are whole"))

    format: NumberFormat | None = None
    is_whole: bool = False

    def encode(self, inputs: Mapping[Any, Any], context: ReadContext) -> Reals:
        """Check and encode numbers."""
        if (raw := inputs.get(context.name)) is None:
            return Reals(np.full(context.n_rows, np.nan))
        return as_reals(context.name, parse_text(raw, self.format, context))

    def source_types(self, name: str) -> dict[str, Kind | None]:
        """The column, as numbers."""
        return {name: self.format or "number"}

    def with_fractions(self) -> NumberReader:
        """The reader of numbers that are not all whole."""
        return replace(self, is_whole=False)


def parse_text(raw: Raw, form: NumberFormat | None, context: ReadContext) -> Raw:
    """A column of text parsed by a format; any other column as it is."""
    if form is None or (text := text_of(raw)) is None:
        return raw
    return _parse(context.name, (context.missing or MissingWords()).clean(text), form)


def _parse(name: str, text: Any, form: NumberFormat) -> Any:
    values = form.parse(text)
    odd = np.flatnonzero(valid_rows(text) & ~valid_rows(values))
    if len(odd):
        cells = text.take(integers(odd))
        are_numbers = to_numpy(looks_like_number(cells, form.words))
        if are_numbers.any():
            row = int(odd[np.argmax(are_numbers)])
            hint = "the format is in the schema of the model"
            expected = f"a number written like {form.text(_EXAMPLE)}"
            raise DataError(expected, got=text[row].as_py(), column=name, row=row, hint=hint)
        unread = UnreadNumbers()
        unread.add(name, cells, known=form.silent_words, place=lambda: None)
        unread.tell()
    return values


def as_reals(name: str, raw: Raw) -> Reals:
    """Numbers, or a DataError."""
    if type(raw) is np.ndarray and raw.dtype in _REALS:
        return Reals(raw)
    return check_column(to_reals, name, raw, "numbers")


def to_reals(name: str, raw: Raw, expected: str = "a number") -> Reals:
    """Numbers; missing becomes NaN."""
    raw = unwrap(raw, name, expected)
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "fiub":
        if raw.dtype in _REALS:
            return Reals(raw)
        return Reals(raw.astype(np.float32 if raw.dtype == np.float16 else np.float64))
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        kind = raw.type
        if pa.types.is_null(kind):
            return Reals(np.full(len(raw), np.nan))
        numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
        if not any(is_kind(kind) for is_kind in numeric):
            raise wrong_type(name, raw, expected)
        return Reals(to_numpy(combine_chunks(raw if kind in (pa.float32(), pa.float64()) else as_doubles(raw))))
    if isinstance(raw, list) and (plain := plain_reals(raw)) is not None:
        return Reals(plain)
    values = np.full(len(raw), np.nan)
    for row, value in enumerate(raw):
        if type(value) is not float and type(value) is not int:
            if is_missing(value):
                continue
            if not is_number(value):
                raise DataError(expected, got=value, column=name, row=row)
        try:
            values[row] = value
        except OverflowError:
            raise DataError("a number that a double can hold", got=value, column=name, row=row) from None
    return Reals(values)
