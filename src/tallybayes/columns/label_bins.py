"""A label of numbers cut into classes: ranges between edges, named by them.

A value belongs to the range whose lower edge it reaches: with the edges 10 and 100 the classes are `< 10`, `10 to 100`
(from 10 on, below 100) and `>= 100`. The edges are part of the schema, so that later rows are cut in the same way.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import DataError, Described, ParameterError, is_real_number, warn
from tallybayes.formatting import shown

__all__ = ["LabelBins"]

_DIGITS = 17  # with so many, every double is itself


@dataclass(frozen=True)
class LabelBins:
    """Ranges of numbers by their edges, in ascending order.

    >>> bins = LabelBins((10.0, 100.0))
    >>> bins.names, bins.codes(np.array([3, 10, 99.5, 100, np.nan])).tolist()
    (['< 10', '10 to 100', '>= 100'], [0, 1, 1, 2, -1])
    """

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        edges = np.array(self.edges, np.float64)
        if not len(edges) or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
            raise ParameterError("edges of bins: different finite numbers in ascending order", got=list(self.edges))

    @classmethod
    def from_list(cls, edges: Any) -> LabelBins | None:
        """The bins of a schema, checked; None if it has none."""
        if edges is None:
            return None
        if not isinstance(edges, list) or not all(map(is_real_number, edges)):
            raise ParameterError("a list of the edges of bins", got=edges)
        return cls(tuple(map(float, edges)))

    @classmethod
    def of_quantiles(cls, values: NDArray[np.floating], n: int, column: str) -> LabelBins:
        """Ranges with about as many of the values each; the edges are as short as the division of the values allows.

        >>> LabelBins.of_quantiles(np.array([1.5, 2.25, 3.75, 9.125]), 2, "price")
        LabelBins(edges=(3.0,))
        """
        there = np.sort(values[np.isfinite(values)].astype(np.float64))
        ordered = np.unique(there)
        if len(ordered) < 2:
            got = Described("none" if not len(ordered) else "a single one")
            raise DataError(f"different numbers to cut into {n} bins", got=got, column=column)
        upper = np.unique(there[np.arange(1, n) * len(there) // n])
        upper = upper[upper > ordered[0]]
        upper = upper if len(upper) else ordered[1:2]
        lower = ordered[np.searchsorted(ordered, upper) - 1]
        if len(upper) + 1 < n:
            text = f"cut into {len(upper) + 1} bins instead of {n}, because many values are equal"
            warn(text, column=column, hint="give the edges: bins=[10, 100] (--bins 10,100)")
        return cls(tuple(_short(a, b) for a, b in zip(lower.tolist(), upper.tolist(), strict=True)))

    @property
    def names(self) -> list[str]:
        """The classes in the order of the ranges."""
        edges = [shown(edge) for edge in self.edges]
        between = [f"{a} to {b}" for a, b in itertools.pairwise(edges)]
        return [f"< {edges[0]}", *between, f">= {edges[-1]}"]

    def codes(self, values: NDArray[np.floating]) -> NDArray[np.int64]:
        """The number of the range of each value, -1 where it is missing."""
        return np.where(np.isnan(values), -1, np.searchsorted(np.array(self.edges), values, side="right"))

    def __str__(self) -> str:
        return "at " + ", ".join(map(shown, self.edges))


def _short(lower: float, upper: float) -> float:
    """The number with the fewest digits that is above one number and not above another."""
    for digits in range(1, _DIGITS):
        for value in (float(f"{upper:.{digits}g}"), float(f"{(lower + upper) / 2:.{digits}g}")):
            if lower < value <= upper:
                return value
    return upper
