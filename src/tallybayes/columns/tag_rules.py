"""Which columns of text hold several values in a cell, and what separates them.

A bar has no other use. A semicolon or comma also occurs in names ("Smith, John") and places ("Ulm, Germany"), and in
sentences. So it separates values if these are much fewer than the cells, or if they repeat and have no fixed place: in
lists (of countries, of actors) the same value comes first in one cell and later in another. Nearly all cells with one
separator, and no value on both sides of it, are names, however often they repeat.

Lists, in cells of text or not, are sets of tags if hardly any of them has a value twice; else bags of tokens.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from tallybayes.tables.raw_values import is_number

__all__ = ["are_sets", "are_vectors", "n_tags"]

_SEPARATED = 0.2  # share of values with a separator from which text is taken for tags
_SEPARATED_LISTS = 0.1  # the same where values have no fixed place
_REPEATED, _MOVING = 0.3, 0.7  # shares of values that repeat, and of these that occur in different places
_PAIRS = 0.95  # share of the cells with two parts in a fixed order, from which on they are names or places
_WORDS = 4.0  # mean number of words of a value, up to which it is no sentence
_DIFFERENT = 0.95  # share of the lists with several values in which none is repeated, from which on they are sets
_LEAST = 20  # values that repeat, from which their places say something
_SOME_LISTS = 1000  # that are looked at, whether they are vectors
_FRACTIONS, _MANY_FRACTIONS = 0.05, 20  # share and different ones of numbers that are not whole, of vectors
_SINGLE_NUMBER = r"[^\w]*\d+([.,]\d+)?(?!\d*[.,;])|[^\w]*\d{1,3}([.,]\d{3})+(?!\d*[.,;])"


def n_tags(values: Mapping[str, int], separator: str, n_rows: int) -> int:
    """How many distinct tags there are if texts are tags with this separator, else 0.

    >>> n_tags({"a|b": 3, "b|c": 2, "c": 1}, "|", 6), n_tags({"Smith, John": 1, "Jones, Ann": 1}, ",", 2)
    (3, 0)
    """
    separated = sum(n for value, n in values.items() if separator in value)
    if not separated or separated < _SEPARATED_LISTS * n_rows:
        return 0
    parts = {part.strip() for value in values for part in value.split(separator)} - {""}
    if separator != "|" and sum(n for value, n in values.items() if re.match(_SINGLE_NUMBER, value)) > separated / 2:
        return 0  # 1,5 and 5,201 are numbers, whatever else is among them
    if separator != "|" and _are_pairs(values, separator, n_rows):
        return 0
    few = max(50, n_rows // 2) if separator == "|" else min(len(values) // 2, n_rows // 5)
    if separated >= _SEPARATED * n_rows and len(parts) <= few:
        return len(parts)
    return len(parts) if separator != "|" and _are_moving(values, separator) else 0


def are_sets(lists: Iterable[tuple[Sequence[Hashable], int]]) -> bool:
    """Whether lists are sets: hardly any has a value twice; each is given with the number of its rows.

    >>> are_sets([(["a", "b"], 2), (["b"], 1), ([], 1)]), are_sets([(["a", "b", "a"], 1), (["b", "a"], 1)])
    (True, False)
    """
    n_long = n_different = 0
    for values, n_rows in lists:
        if len(values) > 1:
            n_long += n_rows
            n_different += n_rows * (len(set(values)) == len(values))
    return n_different >= _DIFFERENT * n_long


def are_vectors(lists: Iterable[Sequence[Hashable]]) -> bool:
    """Whether lists are vectors, such as embeddings: all values are numbers, and many of them different fractions.

    >>> are_vectors([[i / 7, -0.5 * i] for i in range(40)]), are_vectors([[4.5, 3.0], [2.5, 4.5]] * 40)
    (True, False)
    """
    n_values, fractions = 0, Counter[float]()
    for values in itertools.islice(lists, _SOME_LISTS):
        for value in values:
            if (number := _as_number(value)) is None:
                return False
            n_values += 1
            if not number.is_integer():
                fractions[number] += 1
    return len(fractions) > _MANY_FRACTIONS and fractions.total() >= _FRACTIONS * n_values


def _as_number(value: Hashable) -> float | None:
    """A number, or a text that is one; None if it is neither."""
    if isinstance(value, (bool, np.bool_)) or not (isinstance(value, str) or is_number(value)):
        return None
    try:
        return float(value)  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        return None


def _are_pairs(values: Mapping[str, int], separator: str, n_rows: int) -> bool:
    """Whether texts have two parts, and what is the first of one is never the second of another: "Smith, Ann"."""
    pairs = [text.split(separator) for text in values if text.count(separator) == 1]
    n_pairs = sum(n for text, n in values.items() if text.count(separator) == 1)
    first, second = ({pair[place].strip() for pair in pairs} for place in (0, 1))
    return n_pairs >= _PAIRS * n_rows and first.isdisjoint(second)


def _are_moving(values: Mapping[str, int], separator: str) -> bool:
    """Whether the parts of distinct texts are short, repeat, and occur in different places."""
    places: dict[str, set[int]] = {}
    counts: Counter[str] = Counter()
    for value in values:
        for place, part in enumerate(value.split(separator)) if separator in value else ():
            places.setdefault(part.strip(), set()).add(place)
            counts[part.strip()] += 1
    repeated = [part for part, n in counts.items() if n > 1 and part]
    if len(repeated) < _LEAST or np.mean([len(part.split()) for part in counts]) > _WORDS:
        return False
    n_moving = sum(len(places[part]) > 1 for part in repeated)
    return sum(counts[part] for part in repeated) >= _REPEATED * counts.total() and n_moving >= _MOVING * len(repeated)
