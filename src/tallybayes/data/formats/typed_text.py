"""Columns of text that are something else: numbers, yes or no.

A column is numbers if (nearly) all of its words are: a rare word among numbers is a fault of the file to be told to
the user, not a reason to take a thousand numbers for categories. Codes with leading zeros stay text.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["mostly_numbers", "typed", "with_comma"]

_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$|^\s*[+-]?(?i:inf|infinity|nan)\s*$"
_WHOLE = r"^\s*[+-]?\d{1,18}\s*$"
_CODE = r"^\s*[+-]?0\d"  # 007 is a name, not a number
_FLAG, _TRUE = r"^(?i:true|false)$", r"^(?i:true)$"
_COMMA = r"^\s*[+-]?\d+,\d+\s*$"
_FEW = 20  # below this many values a single odd word is a larger share
_SHARE, _SHARE_OF_FEW = 0.9, 0.6  # of numbers from which a column is one of numbers


def typed(words: Any, decimal: str = ".") -> Any:
    """Words as numbers (whole ones as integers) or as yes and no, if that is what they are; odd words become null.

    >>> typed(pa.array(["1", "2", None])).to_pylist(), typed(pa.array(["1,5", "2"]), ",").to_pylist()
    ([1, 2, None], [1.5, 2.0])
    >>> typed(pa.array(["true", "False"])).to_pylist(), typed(pa.array(["007", "12"])).to_pylist()
    ([True, False], ['007', '12'])
    """
    there = words.drop_null()
    if not len(there):
        return pa.nulls(len(words))
    if _share(there, _FLAG) == 1:
        return pc.match_substring_regex(words, _TRUE)
    points = there if decimal == "." else pc.replace_substring(there, decimal, ".")
    share = _share(points, _NUMBER)
    if not mostly_numbers(share * len(there), len(there)) or _share(points, _CODE):
        return words
    if decimal != ".":
        words = pc.replace_substring(words, decimal, ".")
    words = pc.utf8_trim_whitespace(words)
    if _share(there, _WHOLE) == 1:
        return _numbers(words, pa.int64())
    return _numbers(
        pc.if_else(pc.match_substring_regex(words, _NUMBER), words, pa.nulls(1, words.type)[0]), pa.float64()
    )


def mostly_numbers(n_numbers: float, n: int) -> bool:
    """Whether so many numbers among n values make a column of numbers."""
    return n > 0 and n_numbers / n >= (_SHARE if n >= _FEW else _SHARE_OF_FEW)


def with_comma(words: Any) -> bool:
    """Whether a column has numbers with a decimal comma."""
    there = words.drop_null()
    return bool(len(there)) and _share(there, _COMMA) > 0 and typed(words, ",").type == pa.float64()


def _share(words: Any, pattern: str) -> float:
    return float(pc.mean(pc.cast(pc.match_substring_regex(words, pattern), pa.int8())).as_py())


def _numbers(words: Any, kind: Any) -> Any:
    return pc.cast(pc.utf8_ltrim(words, characters="+"), kind)  # Arrow does not know a plus sign
