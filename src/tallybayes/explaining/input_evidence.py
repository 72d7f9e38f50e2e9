"""What the columns of the table contribute to the score of a derived column.

Its score is not a sum over its inputs: what one adds depends on the others. The contribution of an input is the mean of
what it adds in two orders, from the first input to the last and back: the score with the inputs up to it, minus the
score with those before it, all others taken as missing. In each order the differences add up to the score, so the
means do too. (Shapley values are the mean over all orders; two are exact in the sum, and much quicker.) An interaction
of two columns is not divided, nor is a group of columns with a joint density: they are shown by their own names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.column import Column, Derived
from tallybayes.columns.schema import Schema
from tallybayes.families.family import Floats, Predictive
from tallybayes.scoring.scorer import score_column

__all__ = ["DerivedColumn", "DerivedParts", "input_evidence"]


def input_evidence(predictive: Predictive, column: Derived) -> Floats:
    """The contribution of every input of a derived column to its score, (inputs, rows, classes).

    predictive: of this column alone.
    """
    forward = list(range(column.n_inputs))
    return (_steps(predictive, column, forward) + _steps(predictive, column, reversed(forward))) / 2


def _steps(predictive: Predictive, column: Derived, order: Iterable[int]) -> Floats:
    """What the inputs add, one after the other, in the order of the inputs.

    Without smoothing a class may be ruled out on the way. If it is in the end, by the input that did it; if not, the
    input with which it becomes possible again adds the difference to the last finite score.
    """
    before = np.zeros((len(column), predictive.n_classes))
    result = np.zeros((column.n_inputs, *before.shape))
    kept, ruled_out, by = (
        np.zeros(column.n_inputs, bool),
        np.zeros(before.shape, bool),
        np.zeros(before.shape, np.int64),
    )
    for i in order:
        kept[i] = True
        now = score_column(predictive, column.with_inputs(kept))
        by = np.where(np.isneginf(now) & ~ruled_out, i, by)
        ruled_out = np.isneginf(now)
        now = np.where(ruled_out, before, now)
        result[i], before = now - before, now
    row, code = np.nonzero(ruled_out)
    result[by[row, code], row, code] = -np.inf
    return result


@dataclass(frozen=True, eq=False)
class DerivedColumn:
    """A derived column of some rows; is_divided: whether its contribution is divided among its inputs."""

    name: str
    inputs: tuple[str, ...]
    predictive: Predictive
    cells: Derived
    is_divided: bool

    def take(self, rows: NDArray[np.int64]) -> DerivedColumn:
        """Some of the rows."""
        return replace(self, cells=self.cells.take(rows))

    def contributions(self) -> dict[str, Floats]:
        """What it adds, (rows, classes), by the names under which it is shown."""
        if not self.is_divided:
            return {self.name: score_column(self.predictive, self.cells)}
        return dict(zip(self.inputs, input_evidence(self.predictive, self.cells), strict=True))


@dataclass(frozen=True, eq=False)
class DerivedParts:
    """The derived columns of some rows; there may be none."""

    derived: tuple[DerivedColumn, ...] = ()

    def __len__(self) -> int:
        return len(self.derived)

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """The derived columns that are shown by their own names, and their inputs."""
        return {column.name: column.inputs for column in self.derived if not column.is_divided}

    @classmethod
    def of(cls, schema: Schema, predictives: Mapping[str, Predictive], columns: Mapping[str, Column]) -> DerivedParts:
        """Those of encoded columns that have a predictive."""
        derived = []
        for name, spec in schema.derived.items():
            column = columns[name]
            if name in predictives and isinstance(column, Derived) and spec.family is not None:
                inputs = tuple(part.column for part in spec.reader.inputs)
                derived.append(DerivedColumn(name, inputs, predictives[name], column, spec.family.is_divided))
        return cls(tuple(derived))

    def add_to(self, parts: Mapping[str, Floats]) -> dict[str, Floats]:
        """Contributions by columns of the table, (rows, classes) each: of the columns themselves and as inputs."""
        result = dict(parts)
        for column in self.derived:
            for name, contribution in column.contributions().items():
                result[name] = result[name] + contribution if name in result else contribution
        return dict(sorted(result.items())) if self.derived else result

    def row(self, row: int) -> DerivedParts:
        """One of the rows."""
        return DerivedParts(tuple(column.take(np.array([row])) for column in self.derived))

    def without(self, names: list[str], kept: NDArray[np.bool_]) -> Floats:
        """The scores of a single row with some columns missing, (sets, classes): kept (sets, names) are there."""
        scores = []
        for column in self.derived:
            shown = (column.name,) * len(column.inputs) if column.name in names else column.inputs
            there, cells = kept[:, [names.index(name) for name in shown]], column.cells
            rows = cells.take(np.zeros(len(there), np.int64))
            scores.append(score_column(column.predictive, rows.with_inputs(there)))
        return np.asarray(sum(scores[1:], scores[0]))
