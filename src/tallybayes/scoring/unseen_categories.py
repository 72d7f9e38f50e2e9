"""Columns in which a model knows no value at all: most likely they are written in another way than when it learned.

A single unseen category is ordinary. That all values of a column are unseen, over many rows, is worth a warning: the
column counts for nothing, without any error.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from tallybayes.arrays.axis import sort_keys
from tallybayes.arrays.column import Codes, Column
from tallybayes.errors import shorten, warn

__all__ = ["LEAST_ROWS", "UnseenCategories"]

LEAST_ROWS = 10  # with fewer it may be chance
_EXAMPLES = 3  # known values that are shown
_FIRST = 64  # rows, among which a known value is nearly always found
_PARTS = (slice(0, _FIRST), slice(_FIRST, None))


class UnseenCategories:
    """The columns of categories without any known value so far; known: the values that the model has in a column.

    >>> import warnings
    >>> found = UnseenCategories(lambda name: ["no", "yes"])
    >>> found.add({"smokes": Codes(np.zeros(30, np.int32), ["ja"])})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found.warn()
    >>> print(str(caught[0].message).splitlines()[0])
    column 'smokes': no value in 30 rows is known to the model: 'ja', where it has learned 'no', 'yes'
    """

    def __init__(self, known: Callable[[str], Collection[Any]]) -> None:
        self._known = known
        self._seen: set[str] = set()
        self._rows: dict[str, int] = {}
        self._examples: dict[str, Any] = {}

    def add(self, columns: Mapping[str, Column]) -> None:
        """Add the columns of a batch."""
        for name, column in columns.items():
            if name in self._seen or not isinstance(column, Codes):
                continue
            known = self._known(name)
            if not known or any(self._any_known(name, column.codes[part], column, known) for part in _PARTS):
                self._seen.add(name)

    def _any_known(self, name: str, codes: np.ndarray, column: Codes, known: Collection[Any]) -> bool:
        """Whether a value of some rows is known; if none is, the rows that have one are counted."""
        used, counts = np.unique(codes.astype(np.int64) - column.origin, return_counts=True)
        there = (used >= 0) & (used < len(column.keys))
        keys = [column.keys[code] for code in used[there].tolist()]
        if any(key in known for key in keys):
            return True
        self._rows[name] = self._rows.get(name, 0) + int(counts[there].sum())
        if keys:
            self._examples.setdefault(name, keys[0])
        return False

    def warn(self) -> None:
        """Warn of the columns without a known value in any batch."""
        for name, n in self._rows.items():
            if name not in self._seen and n >= LEAST_ROWS:
                learned = ", ".join(shorten(key) for key in sort_keys(itertools.islice(self._known(name), _EXAMPLES)))
                text = f"no value in {n:,} rows is known to the model: {self._examples[name]!r}, where it has learned"
                hint = "write the values as in the data that the model has learned"
                warn(f"{text} {learned}", column=name, hint=hint)
