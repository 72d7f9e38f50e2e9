"""Columns as a few coarse cells: what a model has learned about each, and the evaluated rows counted in the same cells.

Numbers are cut into cells of about equal shares, categories are a cell each, the rarest together. The shares are those
of the predictive distributions, averaged over the classes by their shares of the training rows. Texts and tags have no
cells.

Dependence between two columns within the classes, which naive Bayes assumes to be none, is the mutual information of
their cells given the class,

    I(A; B | C) = sum over c, a, b of P(c, a, b) log( P(a, b | c) / (P(a | c) P(b | c)) )

on rows that have both values, minus what independent columns would show by chance (Miller and Madow 1955: the degrees
of freedom divided by twice the rows). As a correlation it is sqrt(1 - exp(-2 I)): that of two normal variables with the
same information.

Drift is the difference between what a model has learned about a column and the evaluated rows:

    total variation       half the sum over cells of |learned share - evaluated share|: from 0 to 1
    by chance             its expectation for rows that are drawn from the learned shares
    population stability  sum over cells of (evaluated - learned) log(evaluated / learned), the PSI of credit scoring,
                          where below 0.1 is taken for no change and above 0.25 for a large one
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.column import Codes, Column, Flags, Reals
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.errors import ParameterError, UnsupportedError
from tallybayes.explaining.description import Description
from tallybayes.families.family import Floats, Predictive
from tallybayes.model import Model
from tallybayes.scoring.missing_evidence import is_missing

__all__ = [
    "ColumnPair",
    "Drift",
    "JudgedColumns",
    "LearnedCells",
    "dependent_pairs",
    "drift_between",
    "information_given_class",
    "learned_cells",
]

Cells = NDArray[np.int16]

_CELLS = 8  # of numbers: five or more show any form of a relation, more need more rows
_KEYS = 31  # categories with a cell of their own
_COLUMNS = 300  # columns that are cut into cells: more would not be read
_CLEAR_DEPENDENCE = 3.0  # standard deviations beyond which a dependence is not chance
_CLEAR_DRIFT = 2.0  # times the total variation expected by chance, beyond which a difference is not chance
_LITTLE = 0.1  # the population stability below which a change is usually ignored
_DRAWS = 4_000  # samples per class of a density without steps: shares are right to about 0.01


@dataclass(frozen=True, eq=False)
class LearnedCells:
    """The cells of a column and their shares among the learned rows; the last share is that of all other values."""

    input: CellInput
    shares: Floats
    show: Callable[[Any], Any] | None = None  # how numbers are shown, if they are dates

    def describe(self, cell: int) -> str:
        """A cell in words."""
        return "(other values)" if cell >= self.input.n_cells else self.input.describe(cell, self.show)


def learned_cells(model: Model, description: Description) -> dict[str, LearnedCells]:
    """The cells of the columns of a model by name, without derived columns.

    >>> import tallybayes as tb
    >>> model = tb.fit({"x": ["a", "a", "b", "b"], "y": [0, 0, 1, 1]}, label="y", smoothing=0)
    >>> found = learned_cells(model, model.describe())["x"]
    >>> [found.describe(cell) for cell in range(3)], found.shares.round(3).tolist()
    (['a', 'b', '(other values)'], [0.5, 0.5, 0.0])
    """
    weights = np.array([row["P(class)"] for row in description.classes])
    predictives, result = model.predictives(), {}
    for name, family in list(model.schema.families.items())[:_COLUMNS]:
        rows = description.columns.get(name, [])
        try:
            if family.column is Reals:
                cells = _of_numbers(name, predictives[name], weights)
            elif family.column is Flags:
                cells = _of_flags(name, rows, weights)
            elif family.column is Codes:
                cells = _of_keys(name, rows, dict(zip(model.classes, weights, strict=True)))
            else:
                continue
        except (ParameterError, UnsupportedError):  # categories of several types, or scores without a distribution
            continue
        if cells is not None and cells.input.n_cells > 1:
            reader = model.schema.columns[name].reader
            result[name] = replace(cells, show=reader.show) if reader.shows_dates else cells
    return result


def _of_numbers(name: str, part: Predictive, weights: Floats) -> LearnedCells | None:
    if (steps := part.steps()) is not None:
        values, p = steps.values, steps.p @ weights
    else:
        rng = np.random.default_rng(0)
        drawn = [np.asarray(part.sample(rng, code, _DRAWS)[0], np.float64) for code in range(part.n_classes)]
        values, p = np.concatenate(drawn), np.repeat(weights / _DRAWS, _DRAWS)
        order = np.argsort(values, kind="stable")
        values, p = values[order], p[order]
    there = np.isfinite(values)
    values, p = values[there], p[there]
    if not len(values) or not p.sum() > 0:
        return None
    starts = _starts(values, p / p.sum())
    shares = np.add.reduceat(p / p.sum(), starts)
    edges = tuple((values[starts[1:]] + 0.0).tolist())  # no negative zero
    return LearnedCells(CellInput(name, edges=edges), np.append(shares, 0.0))


def _starts(values: Floats, p: Floats) -> NDArray[np.int64]:
    """The first value of each cell, so that cells have about equal shares and equal values are together."""
    first = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)  # of equal values
    shares = np.add.reduceat(p, first)
    middle = np.cumsum(shares) - shares / 2
    cell = np.minimum((middle * _CELLS).astype(np.int64), _CELLS - 1)
    return np.asarray(first[np.flatnonzero(np.diff(cell, prepend=-1))])


def _of_flags(name: str, rows: list[dict[str, Any]], weights: Floats) -> LearnedCells | None:
    if not rows or "P(yes)" not in rows[0]:
        return None
    yes = float(np.array([row["P(yes)"] for row in rows]) @ weights)
    return LearnedCells(CellInput(name), np.array([1 - yes, yes, 0.0]))


def _of_keys(name: str, rows: list[dict[str, Any]], weights: dict[Any, float]) -> LearnedCells | None:
    if not rows or "P(value)" not in rows[0]:
        return None
    total: dict[Any, float] = {}
    for row in rows:
        total[row["value"]] = total.get(row["value"], 0.0) + weights[row["class"]] * row["P(value)"]
    keys = tuple(sorted(total, key=lambda key: -total[key])[:_KEYS])
    shares = np.array([*(total[key] for key in keys), 0.0])
    shares[-1] = max(0.0, 1 - shares.sum())
    return LearnedCells(CellInput(name, keys=keys), shares)


class JudgedColumns:
    """The classes of rows, the cell of every value (-1: missing; after the last cell: another value), and gaps."""

    def __init__(self, cells: Mapping[str, LearnedCells], n_classes: int) -> None:
        self.learned = dict(cells)
        self.class_rows: NDArray[np.int64] = np.zeros(n_classes, np.int64)
        self.missing: dict[str, NDArray[np.int64]] = {}  # rows of each class without a value, by column
        self._codes: list[NDArray[np.int64]] = []
        self._cells: dict[str, list[Cells]] = {name: [] for name in cells}

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.class_rows.sum())

    @property
    def codes(self) -> NDArray[np.int64]:
        """The class of every row."""
        return np.concatenate([np.zeros(0, np.int64), *self._codes])

    def add(self, columns: Mapping[str, Column], codes: NDArray[np.int64]) -> None:
        """Add rows with their encoded columns and classes."""
        n_classes = len(self.class_rows)
        self.class_rows += np.bincount(codes, minlength=n_classes)
        self._codes.append(codes)
        for name, column in columns.items():
            gaps = is_missing(column)
            n_missing = self.missing.setdefault(name, np.zeros(n_classes, np.int64))
            n_missing += np.bincount(codes[gaps], minlength=n_classes)
            if name in self.learned:
                cells = self.learned[name].input.cells(column)
                other = self.learned[name].input.n_cells
                self._cells[name].append(np.where((cells < 0) & ~gaps, other, cells).astype(np.int16))

    def cells(self, name: str) -> Cells:
        """The cell of a column in every row."""
        return np.concatenate([np.zeros(0, np.int16), *self._cells[name]])

    def counts(self, name: str) -> NDArray[np.int64]:
        """The rows in each cell of a column, that of other values last; rows without a value are not counted."""
        cells = self.cells(name)
        return np.bincount(cells[cells >= 0], minlength=len(self.learned[name].shares))


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
    is_clear = 2 * n * information > chance + _CLEAR_DEPENDENCE * np.sqrt(2 * chance)
    return information - chance / (2 * n) if is_clear else 0.0


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
        return self.variation > _CLEAR_DRIFT * self.chance and self.stability >= _LITTLE


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
