"""Columns that name the rows instead of describing them: identifiers, which are excluded.

Whole numbers that are all different are an identifier if one of these holds:

* They would repeat if they were drawn at random from their range: n numbers in a range of s have about n*n / (2*s)
  equal pairs, and with ten expected none is seen by chance once in 20,000 tables. So running numbers are found, with
  gaps and in any order, but not incomes or populations, whose range is wide.
* They all have the same number of digits, at least six, and are spread evenly over all numbers with so many digits, as
  random codes are; measurements and times since an epoch are not.
* The name says so (`id`, `customer_id`, `OrderNo`), and the range is at least as wide as there are rows. Then some may
  repeat, up to half of the rows.

Texts are an identifier if more than half are different (`family_rules.py`), or if they are UUIDs or hashes and more
than a tenth is. With fewer than 20 rows it cannot be told whether values repeat.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

__all__ = ["IDENTIFIER_ROWS", "are_hashes", "named_as_code", "named_as_identifier", "number_identifier"]

IDENTIFIER_ROWS = 20
_EXPECTED_PAIRS = 10.0  # equal ones among random numbers: exp(-10) is the chance of none
_CODE_DIGITS, _CODE_ROWS = 6, 100
_EVEN = 1.63  # times 1/sqrt(n): the Kolmogorov-Smirnov distance that random numbers stay below in 99 of 100 tables
_ANYWHERE = {"id", "ids", "uuid", "guid", "rowid", "rownum", "rownames", "pk", "unnamed"}
_AT_THE_END = {"key", "no", "nr", "num", "number", "code", "index", "idx", "serial"}
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|#")
_HASH = re.compile(
    r"\{?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\}?|[0-9a-f]{16,}", re.IGNORECASE
)


def named_as_identifier(name: str) -> bool:
    """Whether the name of a column says that it is an identifier.

    >>> [named_as_identifier(name) for name in ("customer_id", "OrderNo", "userID", "idle", "number of rooms", "#")]
    [True, True, True, False, False, True]
    """
    parts = [part.lower() for part in _PARTS.findall(name)]
    if not parts:
        return False
    return not _ANYWHERE.isdisjoint((parts[0], parts[-1])) or parts[-1] in _AT_THE_END or parts == ["#"]


def named_as_code(name: str) -> bool:
    """Whether the name of a column says that it is a code, which may classify the rows instead of naming them.

    >>> named_as_code("zip_code"), named_as_code("order_id")
    (True, False)
    """
    parts = [part.lower() for part in _PARTS.findall(name)]
    return bool(parts) and parts[-1] == "code" and parts[0] not in _ANYWHERE


def number_identifier(name: str, values: NDArray[np.generic]) -> str | None:
    """Why some whole numbers, none of them missing, are an identifier; None if they are not.

    >>> number_identifier("customer", np.random.default_rng(0).permutation(1000) + 5000)
    'identifier: 1,000 distinct whole numbers in a range of 1,000'
    >>> number_identifier("customer_id", np.arange(30) ** 3)
    'identifier: 30 distinct whole numbers, and the name'
    >>> number_identifier("income", np.arange(30) ** 3)
    """
    n = len(values)
    if n < IDENTIFIER_ROWS:
        return None
    if np.all(np.diff(values.astype(np.float64)) == 1):
        return "identifier: consecutive integers"
    ordered = np.unique(values)
    n_distinct, span = len(ordered), float(ordered[-1]) - float(ordered[0]) + 1
    if 2 * n_distinct <= n:
        return None
    if named_as_identifier(name) and span >= n:
        rows = "" if n_distinct == n else f" in {n:,} rows"
        return f"identifier: {n_distinct:,} distinct whole numbers{rows}, and the name"
    if n_distinct == n and n * (n - 1) / (2 * span) >= _EXPECTED_PAIRS:
        return f"identifier: {n:,} distinct whole numbers in a range of {span:,.0f}"
    if n_distinct == n and _are_codes(ordered):
        return f"identifier: {n:,} distinct codes of {len(str(int(ordered[0])))} digits"
    return None


def _are_codes(ordered: NDArray[np.generic]) -> bool:
    """Whether sorted numbers have one length and are spread evenly over all numbers of that length."""
    n, first = len(ordered), float(ordered[0])
    if n < _CODE_ROWS or first < 10.0 ** (_CODE_DIGITS - 1):
        return False
    low = 10.0 ** (len(str(int(first))) - 1)
    if float(ordered[-1]) >= 10 * low:
        return False
    share = (ordered.astype(np.float64) - low) / (9 * low)
    place = np.arange(n) / n
    return bool(max(np.max(share - place), np.max(place + 1 / n - share)) * np.sqrt(n) < _EVEN)


def are_hashes(texts: Collection[str]) -> bool:
    """Whether texts are UUIDs or hashes: 16 or more hexadecimal digits, some of them figures and some letters.

    >>> are_hashes(["0f8fad5b-d9cb-469f-a165-70867728950e"]), are_hashes(["4111111111111111"]), are_hashes(["feed"])
    (True, False, False)
    """
    if not texts or not all(map(_HASH.fullmatch, texts)):
        return False
    joined = "".join(texts)
    return any(sign.isdigit() for sign in joined) and any(sign.isalpha() for sign in joined)
