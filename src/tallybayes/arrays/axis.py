"""Keys in a fixed order: labels, categories, tokens.

Keys of one axis have one type (text, integers, reals or booleans), so that they can be sorted; labels and
categories meet by key, never by position.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Indices, Integers, Integers32
from tallybayes.arrays.column import Key

__all__ = ["distinct_numbers", "kind_of", "merge_keys", "positions", "rough_kind", "sort_keys", "to_array"]


def kind_of(key: Key) -> str:
    """The type of a key in words: 'text', 'boolean', 'integer', 'number', 'bytes' or the Python type's name.

    >>> [kind_of(key) for key in ("a", True, 3, 0.5)]
    ['text', 'boolean', 'integer', 'number']
    """
    if isinstance(key, str):
        return "text"
    if isinstance(key, (bool, np.bool_)):
        return "boolean"
    if isinstance(key, (int, np.integer)):
        return "integer"
    if isinstance(key, (float, np.floating)):
        return "number"
    return type(key).__name__


def rough_kind(key: Key) -> str:
    """The type of a key in words, integers counted as numbers.

    >>> rough_kind(3), rough_kind("a")
    ('number', 'text')
    """
    return "number" if kind_of(key) == "integer" else kind_of(key)


def sort_keys(keys: Iterable[Key]) -> list[Any]:
    """Keys in sorted order, of whatever types they are.

    >>> sort_keys(["b", 2, "a", 1])
    [1, 2, 'a', 'b']
    """
    keys = list(keys)
    try:
        return sorted(keys)
    except TypeError:
        return sorted(keys, key=lambda key: (isinstance(key, str), type(key).__name__, key))


def merge_keys(a: Sequence[Key], b: Sequence[Key]) -> list[Any]:
    """The union of two sorted sequences of keys, sorted; `a` itself if it holds all of `b`.

    >>> merge_keys(["a", "c"], ["b"])
    ['a', 'b', 'c']
    """
    known = set(a)
    new = [key for key in b if key not in known]
    return sort_keys([*a, *new]) if new else list(a)


def positions(keys: Sequence[Key], within: Sequence[Key]) -> Integers:
    """Where each key stands in `within`, -1 where it does not.

    >>> positions(["c", "x"], ["a", "b", "c"]).tolist()
    [2, -1]
    """
    index = {key: i for i, key in enumerate(within)}
    return np.array([index.get(key, -1) for key in keys], np.int64)


def to_array(keys: Sequence[Key]) -> NDArray[Any]:
    """Labels as an array of their own type: int64, float64 or bool, and object for text and the rest."""
    kinds = {kind_of(key) for key in keys}
    dtype = {"boolean": bool, "integer": np.int64, "number": np.float64}
    if len(kinds) == 1 and (kind := kinds.pop()) in dtype and all(abs(key) < 2**63 for key in keys):  # type: ignore
        return np.array(list(keys), dtype[kind])
    array = np.empty(len(keys), object)
    array[:] = list(keys)
    return array


def distinct_numbers(numbers: Indices, size: int) -> tuple[Integers, Integers32]:
    """The distinct numbers among some below a size, in order, and the position of each number among them.

    >>> [part.tolist() for part in distinct_numbers(np.array([7, 2, 7]), 9)]
    [[2, 7], [1, 0, 1]]
    """
    if size > 8 * len(numbers):  # sorting few numbers is quicker than marking them among many
        few, place = np.unique(numbers, return_inverse=True)
        return few.astype(np.int64), place.astype(np.int32)
    there = np.zeros(size, bool)
    there[numbers] = True
    if there.all():
        return np.arange(size), numbers.astype(np.int32, copy=False)
    return np.flatnonzero(there), (np.cumsum(there, dtype=np.int32) - 1)[numbers]
