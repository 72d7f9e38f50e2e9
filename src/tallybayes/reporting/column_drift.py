"""The difference between what a model has learned about single columns and the evaluated rows.

total variation       half the sum over cells of |learned share - evaluated share|: from 0 to 1
by chance             its expectation for rows that are drawn from the learned shares
population stability  sum over cells of (evaluated - learned) log(evaluated / learned), the PSI of credit scoring, where
                      below 0.1 is taken for no change and above 0.25 for a large one
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.family import Floats

__all__ = ["Drift", "drift_between"]

_CLEAR = 2.0  # times the total variation expected by chance, beyond which a difference is not chance
_LITTLE = 0.1  # the population stability below which a change is usually ignored


@dataclass(frozen=True)
class Drift:
    """The difference between learned and evaluated shares of a column, and the cell that has changed most."""

    name: str
    variation: float
    chance: float
    stability: float
    cell: str
    learned: float
    evaluated: float

    @property
    def is_clear(self) -> bool:
        """Whether the difference is larger than by chance, and not small."""
        return self.variation > _CLEAR * self.chance and self.stability >= _LITTLE


def drift_between(
    name: str, learned: Floats, counts: NDArray[np.integer], describe: Callable[[int], str]
) -> Drift | None:
    """The difference between learned shares and counts of the evaluated rows, by cell; None without rows.

    >>> found = drift_between("sex", np.array([0.5, 0.5]), np.array([90, 10]), ["f", "m"].__getitem__)
    >>> round(found.variation, 3), round(found.stability, 3), found.cell, found.is_clear
    (0.4, 0.879, 'f', True)
    """
    n = int(counts.sum())
    if not n or not learned.sum() > 0:
        return None
    p, q = learned / learned.sum(), counts / n
    least = 0.5 / n  # half a row, where there is none: the logarithm must be finite
    above, below = np.maximum(q, least), np.maximum(p, least)
    stability = float(((above - below) * np.log(above / below))[(p > 0) | (q > 0)].sum())
    chance = float(np.sqrt(2 * p * (1 - p) / (np.pi * n)).sum() / 2)  # the mean deviation of a binomial count
    most = int(np.argmax(np.abs(q - p)))
    variation = float(np.abs(q - p).sum() / 2)
    return Drift(name, variation, chance, stability, describe(most), float(p[most]), float(q[most]))
