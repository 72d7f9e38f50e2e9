"""Columns of text as numbers or booleans, if that is what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tallybayes.cells.arrow import pc
from tallybayes.cells.number_reading import NumberReading
from tallybayes.tables.source import Kind

__all__ = ["holds_booleans", "inferred_kind", "typed"]

_INTEGER = r"^[+-]?\d{1,18}$"
_BOOLEAN, _TRUE = r"^(?i:true|false)$", r"^(?i:true)$"
_FIRST = 10  # cells that rule out most columns


def typed(columns: Mapping[str, Any], readings: Mapping[str, NumberReading]) -> dict[str, Any]:
    """Columns of trimmed text as integers, reals or booleans; null where a cell is no number among numbers.

    >>> from tallybayes.cells.number_detection import detect_numbers
    >>> cells = {"a": pa.array(["1", None]), "b": pa.array(["1.5"]), "c": pa.array(["true"]), "d": pa.array(["007"])}
    >>> {name: values.to_pylist() for name, values in typed(cells, detect_numbers(cells)).items()}
    {'a': [1, None], 'b': [1.5], 'c': [True], 'd': ['007']}
    """
    return {name: _typed(cells, readings.get(name)) for name, cells in columns.items()}


def _typed(cells: Any, reading: NumberReading | None) -> Any:
    if cells.null_count == len(cells):
        return pa.nulls(len(cells))
    if holds_booleans(cells):
        return pc.match_substring_regex(cells, _TRUE)
    if reading is None or not reading.is_numeric:
        return cells
    if reading.needed_format is not None or reading.n_numbers < reading.n_cells:
        return reading.format.parse(cells)
    plain = pc.utf8_ltrim(cells, characters="+")
    return pc.cast(plain, pa.int64() if _all(cells.drop_null(), _INTEGER) else pa.float64())


def holds_booleans(cells: Any) -> bool:
    """Whether all cells are true or false."""
    return _all(cells.drop_null(), _BOOLEAN)


def inferred_kind(column: Any) -> Kind | None:
    """Whether a column with an inferred type holds numbers or booleans."""
    if pa.types.is_boolean(column.type):
        return "flag"
    return "number" if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) else None


def _all(cells: Any, pattern: str) -> bool:
    """Whether all cells match; most columns are ruled out by their first cells."""
    return all(pc.match_substring_regex(part, pattern).true_count == len(part) for part in (cells[:_FIRST], cells))
