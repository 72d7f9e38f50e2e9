"""What every tally can do.

A tally belongs to a block: the columns of one family. It knows its columns by name and its classes by code; what a
code means is the model's business. Two steps make changes safe: `prepare` works out the sum and raises if it cannot
be, and only the function it returns changes anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tallybayes.tally.exact import Exact

__all__ = ["Commit", "Tally"]

Commit = Callable[[], None]


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
