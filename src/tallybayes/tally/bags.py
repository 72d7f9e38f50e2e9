"""Bags of tokens: how much of each token, and how long the bags were.

The lengths tell how many bags a class has had, and are what sampling draws a length from. A length is rounded up to
a whole number, so that fractional amounts (tf-idf) do not make a length of their own for every bag.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.tally.counts import Counts
from tallybayes.tally.exact import Exact, require
from tallybayes.tally.tally import Arrays, Commit, Tally

__all__ = ["Bags"]


class Bags(Tally):
    """Two tables of counts for the same columns: amounts of tokens, and bags by length."""

    def __init__(self, tokens: Counts, lengths: Counts) -> None:
        self.tokens, self.lengths = tokens, lengths

    @property
    def features(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the columns."""
        return self.lengths.features

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """How many classes there are."""
        return self.tokens.n_classes

    def n_bags(self, feature: str) -> Exact:
        """Bags per class."""
        return self.lengths.totals[feature]

    def copy(self) -> Bags:
        """A tally of its own with the same sums."""
        return Bags(self.tokens.copy(), self.lengths.copy())

    def with_classes(self, positions: NDArray[np.int64], n_classes: int) -> Bags:
        """The same sums with class c at positions[c]."""
        return Bags(self.tokens.with_classes(positions, n_classes), self.lengths.with_classes(positions, n_classes))

    def only(self, features: tuple[str, ...]) -> Bags:
        """The sums of some of the columns."""
        return Bags(self.tokens.only(features), self.lengths.only(features))

    @property
    def n_dead(self) -> int:
        """How many tokens and lengths have no counts any more."""
        return self.tokens.n_dead + self.lengths.n_dead

    def freed(self) -> Bags:
        """The same sums without the tokens and lengths that have no counts any more."""
        return Bags(self.tokens.freed(), self.lengths.freed())

    def prepare(self, other: Bags, sign: int) -> Commit:
        """Check that `other` can be added or taken away; the function returned does it."""
        commits = [self.tokens.prepare(other.tokens, sign), self.lengths.prepare(other.lengths, sign)]

        def commit() -> None:
            for step in commits:
                step()

        return commit

    def rows_seen(self) -> Exact:
        """Bags per (column, class)."""
        return self.lengths.rows_seen()

    def same(self, other: Bags) -> bool:
        """Whether the sums are equal."""
        return self.tokens.same(other.tokens) and self.lengths.same(other.lengths)

    def arrays(self) -> Arrays:
        """Both tables, for the columns that have bags (or, after forgetting what never was, only tokens)."""
        features = tuple(n for n in self.features if self.lengths.n_keys(n) or self.tokens.n_keys(n))
        tokens = self.tokens.arrays_of(features).named("tokens.")
        lengths = self.lengths.arrays_of(features).named("lengths.")
        return Arrays(features, tokens.sums | lengths.sums, tokens.places | lengths.places, tokens.keys | lengths.keys)

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_classes: int, like: Bags) -> Bags:
        """Bags that could come from rows, or a ValueError."""
        tokens = Counts.from_arrays(arrays.without("tokens."), n_classes, like.tokens)
        lengths = Counts.from_arrays(arrays.without("lengths."), n_classes, like.lengths)
        require(all(type(key) is int and 0 <= key <= 2**53 for key in lengths.key_of), "lengths of bags")
        return cls(tokens, lengths)
