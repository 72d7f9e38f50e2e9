"""The interface of a tally: the sufficient statistics of a block of columns.

A block is all columns of one family. A tally identifies columns by name and classes by code; the model keeps the labels
of the codes. A change takes two steps: `prepare` computes the new sums and raises an error if they are impossible, and
only the function it returns changes the tally.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from tallybayes.arrays.array_types import Integers
from tallybayes.arrays.column import Key
from tallybayes.errors import UnsupportedError
from tallybayes.tally.exact import Exact, require

__all__ = ["Arrays", "Commit", "Tally", "check_ends", "plain"]

Commit = Callable[[], None]


@dataclass(frozen=True, eq=False)
class Arrays:
    """A serialised tally: the columns that have counts, and named arrays of three kinds.

    The form is canonical: equal sums have equal arrays, whatever the order of the rows.
    """

    features: tuple[str, ...]
    sums: dict[str, Exact] = field(default_factory=dict)
    places: dict[str, Integers] = field(default_factory=dict)
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
    """A key as a built-in type where it equals one: NumPy scalars and members of enumerations are converted.

    >>> plain(np.int32(3)), plain("a")
    (3, 'a')
    """
    if type(key) in _PLAIN or type(key) is bool:
        return key
    if isinstance(key, _SCALARS) and not isinstance(key, np.timedelta64):
        return key.item()
    return next((make(key) for kind, make in _PLAIN.items() if isinstance(key, kind)), key)


def check_ends(ends: Integers, n_parts: int, length: int, what: str) -> Integers:
    """The part that each of `length` items belongs to, from the end of each part; a ValueError if these are invalid.

    >>> check_ends(np.array([2, 2, 3]), 3, 3, "keys").tolist()
    [0, 0, 2]
    """
    require(ends.shape == (n_parts,), f"{what}: one end for each part")
    bounds = np.concatenate([[0], ends])
    require((bounds >= 0).all() and (bounds <= length).all(), f"{what}: ends out of range")
    require((np.diff(bounds) >= 0).all() and bounds[-1] == length, f"{what}: ends out of order")
    return np.repeat(np.arange(n_parts), np.diff(bounds))


class Tally(ABC):
    """Sums over rows, per column and class.

    The methods at the end have defaults that suit most tallies; `tallybayes.testing.check_family` checks them all.
    """

    features: tuple[str, ...]  # the names of the columns, sorted
    n_classes: int
    has_keys: ClassVar[bool] = False  # whether columns hold keys that have slots: see `key_slots`
    incomplete_rows_are: ClassVar[str] = ""  # how rows are counted that lack some values of a column, for people

    @abstractmethod
    def prepare(self, other: Self, sign: int) -> Commit:
        """Check that `other` can be added (sign 1) or subtracted (sign -1); the function returned does it."""

    @abstractmethod
    def copy(self) -> Self:
        """An independent tally with the same sums."""

    @abstractmethod
    def with_classes(self, positions: Integers, n_classes: int) -> Self:
        """The same sums with class c at positions[c] of `n_classes`; a class at -1 is dropped."""

    @abstractmethod
    def only(self, features: tuple[str, ...]) -> Self:
        """The sums of some of the columns."""

    @abstractmethod
    def rows_seen(self) -> Exact:
        """Rows (or their weight) with a value, per column and class: never more than the rows of the class."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """The sums as named arrays, in canonical form."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Arrays, n_classes: int, like: Self) -> Self:
        """A tally from untrusted arrays with the right names; a ValueError if no rows can have these sums.

        `like` is an empty tally of the same family: it defines which sums are expected.
        """

    def same(self, other: Self) -> bool:
        """Whether the sums are equal; columns, keys and entries without any count do not matter."""
        a, b = self.arrays(), other.arrays()
        return (
            self.n_classes == other.n_classes
            and a.features == b.features
            and a.keys == b.keys
            and a.sums == b.sums
            and all(np.array_equal(a.places[name], b.places[name]) for name in a.places)
        )

    def times(self, factor: float) -> Self:
        """The sums of the same rows with their weights multiplied by a number above 0, exactly."""
        arrays, empty = self.arrays(), self.copy()
        empty.prepare(self, -1)()
        scaled = {name: sums.times(factor) for name, sums in arrays.sums.items()}
        result: Self = self.from_arrays(replace(arrays, sums=scaled), self.n_classes, empty)
        return result

    def pooled(self) -> Self:
        """The sums over all classes, as if they were one."""
        codes = np.arange(self.n_classes)
        parts = [self.with_classes(np.where(codes == c, 0, -1), 1) for c in codes]
        result = parts[0].copy()
        for part in parts[1:]:
            result.prepare(part, 1)()
        return result

    def is_full(self) -> bool:
        """A quick check that every column has values in every class; False if it has not, or if that is not clear."""
        return self.rows_seen().all_nonzero()

    def change_notes(self, sign: int) -> tuple[str, ...]:
        """What adding (sign 1) or subtracting (sign -1) rows could not do exactly, for people."""
        return ()

    def incomplete_rows(self) -> dict[str, float]:
        """Rows that lack some values of a column that has several in a row, by column; only columns that have any."""
        return {}

    def bound(self) -> None:  # noqa: B027 - most tallies have no limit
        """Shrink to the limits that the family sets, if it sets any."""

    @property
    def is_limited(self) -> bool:
        """Whether the family sets a limit, so that the sums may depend on the order and the batches of the rows."""
        return False

    @property
    def n_dead(self) -> int:
        """The number of keys that are kept although they have no counts any more."""
        return 0

    def freed(self) -> Self:
        """The same sums without the keys that have no counts any more."""
        return self

    def any_key(self, feature: str) -> Key | None:
        """One key counted in a column, which shows their type; None if there is none."""
        return None

    def key_amounts(self, feature: str) -> dict[Key, float]:
        """The rounded amount of every key of a column over all classes: rows that have it; empty without keys."""
        return {}

    def key_slots(self, feature: str) -> Mapping[Key, int]:
        """The slot of every key of a column: the number that stands for it in `Predictive.bind_matrix`."""
        return {}

    def slot_for(self, feature: str, key: Key) -> int:
        """The slot of a key, a new one if it has none; it has no effect until something is counted there.

        Only for tallies with `has_keys`.
        """
        raise UnsupportedError(f"{type(self).__name__} has no keys", column=feature)

    def lexicon(self, feature: str) -> Any | None:
        """The lexicon that numbers the tokens of a column of text; None for other columns."""
        return None
