"""Categories that a model does not know, where they may be typing errors, or may be written in another way than before.

An unseen category counts for nothing, without any error. Whether that is worth a warning depends on the column: names
and postal codes have new values all the time. How often a new value is to be expected is estimated from the values that
the model has learned once (Good, 1953: The population frequencies of species). A warning is given for

* a column in which no value is known, or less than half of the values, in ten rows or more, unless that was to be
  expected;
* a value that is spelt like a known one, in a column in which new values are rare.
"""

from __future__ import annotations

import difflib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from tallybayes.arrays.axis import sort_keys
from tallybayes.arrays.column import Codes, Column
from tallybayes.errors import shorten, warn
from tallybayes.formatting import rows_of

__all__ = ["LEAST_ROWS", "UnseenCategories"]

LEAST_ROWS = 10  # with fewer it may be chance
_EXAMPLES = 3  # values that are shown
_RARE = 0.02  # share of new values below which they are rare
_CHANCE_OF_ALL = 1e-4  # that no value is known: below it that is a surprise
_ORDINARY = 0.5  # share of new values from which on it is no surprise that all are
_KEPT = 1000  # different new values of a column that are counted by themselves
_COMPARED = 20  # of them, the most frequent, are compared with so many known values
_COMPARED_WITH = 1000
_LONGEST = 100  # characters that are compared: the time grows with their square
_NEAR = 0.75  # of difflib: 'walsk' is near 'walks' (0.8), 'dog' is not near 'dot' (0.67); other orders of letters are


class UnseenCategories:
    """The new values in each column of categories; amounts: the values that the model has in a column, and how often.

    >>> import warnings
    >>> found = UnseenCategories(lambda name: {"fish": 40, "walks": 60})
    >>> found.add({"likes": Codes(np.array([0, 0, 1], np.int32), ["fish", "fihs"])})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found.warn()
    >>> print(str(caught[0].message).splitlines()[0])
    column 'likes': 1 of 3 rows has a value that the model has not learned: 'fihs' (like 'fish')
    """

    def __init__(self, amounts: Callable[[str], Mapping[Any, float]]) -> None:
        self._amounts = amounts
        self._known: dict[str, Mapping[Any, float]] = {}
        self._rows: Counter[str] = Counter()
        self._new: dict[str, Counter[Any]] = {}
        self._usual: set[str] = set()  # columns in which new values are ordinary, and known ones were found

    def add(self, columns: Mapping[str, Column]) -> None:
        """Add the columns of a batch."""
        for name, column in columns.items():
            if name not in self._usual and isinstance(column, Codes):
                self._add(name, column)

    def _add(self, name: str, column: Codes) -> None:
        if name not in self._known:
            self._known[name] = self._amounts(name)
        known = self._known[name]
        if not known:  # nothing was learned yet
            self._usual.add(name)
            return
        used = column.with_keys_in_use()
        places = used.places()
        there = places[places >= 0]
        self._rows[name] += len(there)
        new = [place for place, key in enumerate(used.keys) if key not in known]
        if not new:
            return
        counts = np.bincount(there, minlength=len(used.keys))
        found = self._new.setdefault(name, Counter())
        for place in new:
            if counts[place]:
                key = used.keys[place]
                found[key if key in found or len(found) < _KEPT else None] += int(counts[place])
        if found.total() < self._rows[name] and _share_of_new(known) >= _RARE:
            self._usual.add(name)

    def warn(self, *, of_values: bool = True) -> None:
        """Warn of what may be a mistake, once for each column; of_values: also where some values are known."""
        for name, new in self._new.items():
            known, n, n_rows = self._known[name], new.total(), self._rows[name]
            if name in self._usual or not n:
                continue
            share = _share_of_new(known)
            is_surprise = n >= LEAST_ROWS and share < _ORDINARY and n * math.log(share) < math.log(_CHANCE_OF_ALL)
            if n == n_rows and n >= LEAST_ROWS:
                if is_surprise:
                    learned = ", ".join(map(shorten, sort_keys(itertools.islice(known, _EXAMPLES))))
                    text = f"no value in {n:,} rows is known to the model: {next(iter(new))!r}, where it has learned"
                    hint = "write the values as in the data that the model has learned"
                    warn(f"{text} {learned}", column=name, hint=hint)
            elif of_values and share < _RARE:
                near = _spelt_alike(new, known)
                if near or (is_surprise and 2 * n > n_rows):
                    self._warn_of(name, new, near)

    def _warn_of(self, name: str, new: Counter[Any], near: Mapping[Any, str]) -> None:
        n, n_rows = new.total(), self._rows[name]
        ordered = [*near, *(key for key, _ in new.most_common() if key is not None and key not in near)]
        shown = [shorten(key) + (f" (like {shorten(near[key])})" if key in near else "") for key in ordered[:_EXAMPLES]]
        more = f" and {len(new) - len(shown):,} more" if len(new) > len(shown) else ""
        has = "has a value" if n == 1 else "have a value"
        text = f"{n:,} of {rows_of(n_rows)} {has} that the model has not learned: {', '.join(shown)}{more}"
        warn(text, column=name, hint="it counts as unseen; correct the spelling, or let the model learn such rows")


def _share_of_new(known: Mapping[Any, float]) -> float:
    """The share of new values that is to be expected in new rows: that of values which were learned once."""
    once = sum(amount <= 1 for amount in known.values())
    return (once + 0.5) / (sum(known.values()) + 1)


def _spelt_alike(new: Counter[Any], known: Mapping[Any, float]) -> dict[Any, str]:
    """New values that are nearly spelt like a known one, and that; values with digits are codes, not words.

    >>> _spelt_alike(Counter({"Wlaks": 1, "bird": 1, "A13": 2}), {"walks": 9.0, "A12": 5.0})
    {'Wlaks': 'walks'}
    """
    texts: Collection[str] = [key for key in itertools.islice(known, _COMPARED_WITH) if isinstance(key, str)]
    by_lower = {text.lower().strip(): text for text in texts if not any(map(str.isdigit, text))}
    by_letters = {"".join(sorted(text)): text for text in by_lower}
    result = {}
    for key, _ in new.most_common(_COMPARED):
        if isinstance(key, str) and not any(map(str.isdigit, key)):
            text = key.lower().strip()[:_LONGEST]
            near = [by_letters[letters]] if (letters := "".join(sorted(text))) in by_letters else []
            if near := near or difflib.get_close_matches(text, by_lower, n=1, cutoff=_NEAR):
                result[key] = by_lower[near[0]]
    return result
