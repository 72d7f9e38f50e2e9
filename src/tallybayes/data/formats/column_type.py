"""Columns of text that hold numbers or booleans.

A column holds numbers if (nearly) all of its cells are numbers: a rare word among numbers is an error in the file to
be reported, not a reason to take a thousand numbers for categories. Codes with leading zeros stay text.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tallybayes.data.source import Kind

__all__ = ["has_decimal_comma", "inferred_kind", "mostly_numbers", "with_inferred_type"]

_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$|^\s*[+-]?(?i:inf|infinity|nan)\s*$"
_INTEGER = r"^\s*[+-]?\d{1,18}\s*$"
_CODE = r"^\s*[+-]?0\d"  # 007 is a name, not a number
_BOOLEAN, _TRUE = r"^(?i:true|false)$", r"^(?i:true)$"
_COMMA = r"^\s*[+-]?\d+,\d+\s*$"
_FEW = 20  # below this many values a single odd word is a larger share
_SHARE, _SHARE_OF_FEW = 0.9, 0.6  # of numbers from which a column is one of numbers


def with_inferred_type(cells: Any, decimal: str = ".") -> Any:
    """Text as integers, reals or booleans, if that is what it holds; a rare other word becomes null.

    >>> cells = (["1", "2", None], ["1.5"], ["true", "False"], ["007"])
    >>> [with_inferred_type(pa.array(column)).to_pylist() for column in cells]
    [[1, 2, None], [1.5], [True, False], ['007']]
    """
    values = cells.drop_null()
    if not len(values):
        return pa.nulls(len(cells))
    if _all(values, _BOOLEAN):
        return pc.match_substring_regex(cells, _TRUE)
    points = _with_point(values, decimal)
    n_numbers = _count(points, _NUMBER)
    if not mostly_numbers(n_numbers, len(values)) or _count(points, _CODE):
        return cells
    trimmed = pc.utf8_ltrim(pc.utf8_trim_whitespace(_with_point(cells, decimal)), characters="+")
    if _all(values, _INTEGER):
        return pc.cast(trimmed, pa.int64())
    if n_numbers < len(values):
        trimmed = pc.if_else(pc.match_substring_regex(trimmed, _NUMBER), trimmed, pa.nulls(1, trimmed.type)[0])
    return pc.cast(trimmed, pa.float64())


def inferred_kind(column: Any) -> Kind | None:
    """Whether a column with an inferred type holds numbers or booleans."""
    if pa.types.is_boolean(column.type):
        return "flag"
    return "number" if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) else None


def mostly_numbers(n_numbers: float, n: int) -> bool:
    """Whether so many numbers among n values make a column of numbers."""
    return n > 0 and n_numbers / n >= (_SHARE if n >= _FEW else _SHARE_OF_FEW)


def has_decimal_comma(cells: Any) -> bool:
    """Whether a column has numbers with a decimal comma."""
    return _count(cells.drop_null(), _COMMA) > 0 and with_inferred_type(cells, ",").type == pa.float64()


def _with_point(cells: Any, decimal: str) -> Any:
    return cells if decimal == "." else pc.replace_substring(cells, decimal, ".")


def _count(cells: Any, pattern: str) -> int:
    return pc.match_substring_regex(cells, pattern).true_count if len(cells) else 0


def _all(cells: Any, pattern: str) -> bool:
    """Whether all cells match; most columns are ruled out by their first cells."""
    return all(_count(part, pattern) == len(part) for part in (cells[:10], cells))
