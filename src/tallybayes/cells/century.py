"""The century of years of two digits: one for all dates of a column, and fixed in the schema when a model is fitted.

The years of a column lie in a window of a hundred years, which begins in the middle of a gap between them. Of the
windows in which no date lies beyond the present (or the latest year of four digits in the column), that one is taken in
which the dates are close together and recent. Dates in the future are allowed if some are of the present and all are
close together, as ends of contracts are, unless the name of the column says that they are births.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection

__all__ = ["POSIX", "born", "full_year", "window_start"]

POSIX = 1969  # the first year of the usual window: 69 is 1969 and 68 is 2068
_CLOSE = 40  # years between the dates of a column up to which some of them may lie in the future
_BORN = re.compile(r"birth|born|dob|bday|geburt|naissance|nacimiento|nascimento|nascita", re.IGNORECASE)


def full_year(digits: int, start: int) -> int:
    """A year of two digits in the hundred years from `start` on.

    >>> full_year(51, 1969), full_year(51, 1930), full_year(5, 1930)
    (2051, 1951, 2005)
    """
    return start + (digits - start) % 100


def born(name: str) -> bool:
    """Whether the name of a column says that its dates are births.

    >>> born("date_of_birth"), born("DOB"), born("ordered")
    (True, True, False)
    """
    return _BORN.search(name) is not None


def window_start(years: Collection[int], *, latest: int, may_be_future: bool = True) -> int:
    """The first of the hundred years in which years of two digits lie; latest: no date should be later.

    >>> window_start([51, 62, 99, 3], latest=2026)  # 1951 to 2003, with room on both sides
    1927
    >>> window_start([24, 26, 31], latest=2026)  # 2024 to 2031
    1978
    >>> window_start([24, 26, 31], latest=2026, may_be_future=False)  # 1924 to 1931
    1878
    """
    ordered = sorted(set(years))
    best, result = math.inf, latest - 99
    for i, first in enumerate(ordered):
        last = ordered[i - 1]
        span, gap = (last - first) % 100, (first - last - 1) % 100
        for start in (full_year(first, latest - 98), full_year(first, latest - 198)):
            n_future = start + span - latest
            if n_future > 0 and not (may_be_future and span <= _CLOSE):
                continue
            cost = 2 * span + max(-n_future, 2 * n_future)
            if cost < best:
                best, result = cost, start - (gap + 1) // 2
    return result
