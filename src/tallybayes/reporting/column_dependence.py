"""Dependence between two columns within the classes, which naive Bayes assumes to be none.

The measure is the mutual information of the coarse cells of two columns given the class,

    I(A; B | C) = sum over c, a, b of P(c, a, b) log( P(a, b | c) / (P(a | c) P(b | c)) )

on rows that have both values, minus what independent columns would show by chance (Miller and Madow 1955: the degrees
of freedom divided by twice the rows). As a correlation it is sqrt(1 - exp(-2 I)): that of two normal variables with the
same information.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ColumnPair", "dependent_pairs", "information_given_class"]

_CLEAR = 3.0  # standard deviations beyond which a dependence is not chance


@dataclass(frozen=True)
class ColumnPair:
    """Two columns, and their mutual information within the classes in nats per row."""

    first: str
    second: str
    information: float

    @property
    def correlation(self) -> float:
        """The correlation of two normal variables with the same information."""
        return float(np.sqrt(-np.expm1(-2 * self.information)))


def dependent_pairs(
    cells: Mapping[str, NDArray[np.int16]], codes: NDArray[np.int64], columns: Sequence[str]
) -> list[ColumnPair]:
    """All pairs of some columns, those with most information first; cells below 0 are missing values."""
    names = [name for name in columns if name in cells]
    pairs = [
        ColumnPair(first, second, information_given_class(cells[first], cells[second], codes))
        for first, second in itertools.combinations(names, 2)
    ]
    return sorted(pairs, key=lambda pair: -pair.information)


def information_given_class(first: NDArray[np.int16], second: NDArray[np.int16], codes: NDArray[np.int64]) -> float:
    """The mutual information of two columns of cells given the class, in nats per row; 0 if chance can explain it.

    >>> both, codes = np.array([0, 1] * 50, np.int16), np.zeros(100, np.int64)
    >>> round(information_given_class(both, both, codes), 3), round(float(np.log(2)) - 1 / 200, 3)
    (0.688, 0.688)
    >>> information_given_class(both, np.repeat([0, 1], 50).astype(np.int16), codes)
    0.0
    """
    there = (first >= 0) & (second >= 0)
    n = int(np.count_nonzero(there))
    if not n:
        return 0.0
    a, b, c = first[there].astype(np.int64), second[there].astype(np.int64), codes[there]
    shape = int(c.max()) + 1, int(a.max()) + 1, int(b.max()) + 1
    joint = np.bincount((c * shape[1] + a) * shape[2] + b, minlength=shape[0] * shape[1] * shape[2]).reshape(shape)
    by_class, with_a, with_b = joint.sum(axis=(1, 2)), joint.sum(axis=2), joint.sum(axis=1)
    k, i, j = np.nonzero(joint)
    n_rows = joint[k, i, j]
    information = float((n_rows * np.log(n_rows * by_class[k] / (with_a[k, i] * with_b[k, j]))).sum()) / n
    freedom = (np.count_nonzero(with_a, axis=1) - 1) * (np.count_nonzero(with_b, axis=1) - 1)
    chance = float(freedom[by_class > 0].sum())  # 2 n I is about chi-squared distributed if there is no dependence
    is_clear = 2 * n * information > chance + _CLEAR * np.sqrt(2 * chance)
    return information - chance / (2 * n) if is_clear else 0.0
