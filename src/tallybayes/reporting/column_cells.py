"""Columns as a few coarse cells: what a model has learned about each, and the evaluated rows counted in the same cells.

Numbers are cut into cells of about equal shares, categories are a cell each, the rarest together. The shares are those
of the predictive distributions, averaged over the classes by their shares of the training rows. Texts and tags have no
cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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

__all__ = ["JudgedColumns", "LearnedCells", "learned_cells"]

Cells = NDArray[np.int16]

_CELLS = 8  # of numbers: five or more show any form of a relation, more need more rows
_KEYS = 31  # categories with a cell of their own
_COLUMNS = 300  # columns that are cut into cells: more would not be read
_DRAWS = 4_000  # samples per class of a density without steps: shares are right to about 0.01


@dataclass(frozen=True, eq=False)
class LearnedCells:
    """The cells of a column and their shares among the learned rows; the last share is that of all other values."""

    input: CellInput
    shares: Floats

    def describe(self, cell: int) -> str:
        """A cell in words."""
        return "(other values)" if cell >= self.input.n_cells else self.input.describe(cell)


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
            result[name] = cells
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
