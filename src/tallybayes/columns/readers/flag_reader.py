"""Columns of booleans: 0 and 1, true and false, and words that mean them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.arrays.column import Codes, Flags
from tallybayes.cells.arrow import combine_chunks, is_text_type, to_numpy
from tallybayes.cells.key_form import as_boolean
from tallybayes.cells.number_format import NumberFormat
from tallybayes.columns.readers.key_reader import as_codes
from tallybayes.columns.readers.number_reader import FORMAT, parse_text, to_reals
from tallybayes.columns.readers.reader import Fact, ReadContext, Reader, check_column, unwrap
from tallybayes.errors import DataError
from tallybayes.tables.source import Kind
from tallybayes.tables.table import Raw
from tallybayes.tally import Tally

__all__ = ["FlagReader", "as_flags"]

_FLAG_CODES = {0: 0, 1: 1}
_BOOLEAN = "a boolean (0, 1, true, false)"


@dataclass(frozen=True)
class FlagReader(Reader):
    """Booleans. With `only_bits`, numbers other than 0 and 1 are missing in rows to score.

    >>> FlagReader().encode({"smokes": ["yes", None, "no"]}, ReadContext("smokes", 3)).values.tolist()
    [1, -1, 0]
    """

    kind = "flag"
    column = Flags
    facts = (FORMAT, Fact.switch("only_bits", "only_bits", "whether booleans are numbers that were 0 and 1"))

    format: NumberFormat | None = None
    only_bits: bool = False

    def encode(self, inputs: Mapping[Any, Any], context: ReadContext) -> Flags:
        """Check and encode booleans; whether numbers are 0 or 1 is checked where they are counted."""
        if (raw := inputs.get(context.name)) is None:
            return Flags(np.full(context.n_rows, np.nan))
        return as_flags(context.name, parse_text(raw, self.format, context))

    def kernel_entry(self, place: int, name: str, tally: Tally | None) -> Any:
        """The place, and the codes of 0 and 1, which are equal keys to false and true."""
        return place, _FLAG_CODES, (bool, int, float)

    def source_types(self, name: str) -> dict[str, Kind | None]:
        """The column, as booleans or by its format."""
        return {name: self.format or "flag"}


def as_flags(name: str, raw: Raw) -> Flags:
    """Booleans, or a DataError."""
    return check_column(_to_flags, name, raw, "booleans")


def _to_flags(name: str, raw: Raw) -> Flags:
    """Booleans; missing becomes -1 or NaN."""
    raw = unwrap(raw, name, _BOOLEAN)
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "fiub":
        if raw.dtype.kind == "i" and (raw < 0).any():
            row = int(np.argmax(raw < 0))
            raise DataError(_BOOLEAN, got=raw[row], column=name, row=row)
        if raw.dtype in (np.float64, np.float32, np.int8, np.uint8, np.int64, np.bool_):
            return Flags(raw)
        return Flags(raw.astype(np.float64 if raw.dtype.kind in "fu" else np.int64))
    if isinstance(raw, (pa.Array, pa.ChunkedArray)) and pa.types.is_boolean(raw.type):
        return Flags(to_numpy(combine_chunks(raw), null=-1))
    if isinstance(raw, (pa.Array, pa.ChunkedArray)) and is_text_type(raw.type):
        return _flags_of_words(name, as_codes(name, raw))
    if not isinstance(raw, (pa.Array, pa.ChunkedArray)) and any(isinstance(value, str) for value in raw):
        return _flags_of_words(name, as_codes(name, raw))
    return Flags(to_reals(name, raw, _BOOLEAN).values)


def _flags_of_words(name: str, column: Codes) -> Flags:
    """Texts that mean true and false as booleans; others are refused."""
    meanings = [as_boolean(key) for key in column.keys]
    for code, meaning in enumerate(meanings):
        if meaning is None and len(rows := np.flatnonzero(column.codes == code)):
            raise DataError(_BOOLEAN, got=column.keys[code], column=name, row=int(rows[0]))
    return Flags(np.array([*(meaning is True for meaning in meanings), -1], np.int8)[column.codes])
