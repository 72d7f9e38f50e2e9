"""What every tally can do.

A tally belongs to a block: the columns of one family. It knows its columns by name and its classes by code; what a
code means is the model's business. Two steps make changes safe: `prepare` works out the sum and raises if it cannot
be, and only the function it returns changes anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.column import Key
from tallybayes.tally.exact import Exact, require

__all__ = ["Arrays", "Commit", "Tally", "check_ends", "plain"]

Commit = Callable[[], None]


@dataclass(frozen=True, eq=False)
class Arrays:
    """A tally taken apart, to be written to a file: the columns that have counts, and named arrays of three kinds.

    There is one such form for equal sums, whatever order they have come in.
    """

    features: tuple[str, ...]
    sums: dict[str, Exact] = field(default_factory=dict)
    places: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    keys: dict[str, list[Key]] = field(default_factory=dict)

    def named(self, prefix: str) -> Arrays:
        """The same arrays with a prefix to their names."""
        sums, places, keys = ({prefix + n: v for n, v in part.items()} for part in (self.sums, self.places, self.keys))
        return Arrays(self.features, sums, places, keys)  # type: ignore[arg-type]

    def without(self, prefix: str) -> Arrays:
        """The arrays whose names begin with a prefix, without it."""
        sums, places, keys = (
            {name.removeprefix(prefix): value for name, value in part.items() if name.startswith(prefix)}
            for part in (self.sums, self.places, self.keys)
        )
        return Arrays(self.features, sums, places, keys)  # type: ignore[arg-type]


_PLAIN: dict[type, Callable[[Any], Any]] = {str: str.__str__, int: int.__index__, float: float.__float__}
_SCALARS = (np.bool_, np.integer, np.floating, np.str_, np.bytes_)


def plain(key: Key) -> Key:
    """A key as one of Python's own types where it equals one: NumPy's scalars, members of enumerations.

    >>> plain(np.int32(3)), plain("a")
    (3, 'a')
    """
    if type(key) in _PLAIN or type(key) is bool:
        return key
    if isinstance(key, _SCALARS) and not isinstance(key, np.timedelta64):
        return key.item()
    return next((make(key) for kind, make in _PLAIN.items() if isinstance(key, kind)), key)


def check_ends(ends: NDArray[np.int64], n_parts: int, length: int, what: str) -> NDArray[np.int64]:
    """The part that each of `length` things belongs to, from the place where each part ends; raises if they lie.

    >>> check_ends(np.array([2, 2, 3]), 3, 3, "keys").tolist()
    [0, 0, 2]
    """
    require(ends.shape == (n_parts,), f"{what}: one end for each part")
    bounds = np.concatenate([[0], ends])
    require((bounds >= 0).all() and (bounds <= length).all(), f"{what}: ends out of range")
    require((np.diff(bounds) >= 0).all() and bounds[-1] == length, f"{what}: ends out of order")
    return np.repeat(np.arange(n_parts), np.diff(bounds))


@runtime_checkable
class Tally(Protocol):
    """Sums over rows, per column and class."""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns, sorted."""

    @property
    def n_classes(self) -> int:
        """How many classes there are."""

    def prepare(self, other: Self, sign: int) -> Commit:
        """Check that `other` can be added (sign 1) or taken away (-1); the function returned does it."""

    def copy(self) -> Self:
        """A tally of its own with the same sums."""

    def with_classes(self, positions: NDArray[np.int64], n_classes: int) -> Self:
        """The same sums with class c at positions[c] of `n_classes`; a class at -1 is dropped."""

    def only(self, features: tuple[str, ...]) -> Self:
        """The sums of some of the columns."""

    def rows_seen(self) -> Exact:
        """Rows (or their weight) with a value, per column and class: never more than the class has rows."""

    def same(self, other: Self) -> bool:
        """Whether the sums are equal; columns, keys and cells without any count do not matter."""

    def arrays(self) -> Arrays:
        """The sums as named arrays, in their one form."""

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_classes: int, like: Self) -> Self:
        """A tally from arrays of which nothing is known but their names; a ValueError if they cannot be sums.

        `like` is an empty tally of the family in question: it says which sums there should be.
        """
