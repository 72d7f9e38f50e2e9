"""A weight for each column, corrections of its values, and an offset for each class.

    log P(c, x) = log P(c) + offset_c + sum over columns of w_jc log P(x_j | c) + correction_jc(x_j)


Naive Bayes counts dependent columns as if they were independent; a weight below 1 corrects for that, and 0 removes a
column. A score stays a sum, so explanations stay exact. There is one weight for each column, or one for each column and
class; in the second case the contribution of a column is centred at log sum over c of P(c) P(x_j | c), because its
level matters where weights differ. That a value is missing may be evidence too, log P(missing | c) or log P(present |
c), with a weight of its own (`scoring/missing_evidence.py`). `tallybayes.fit` and `tallybayes.tune` fit all of these
(`weights/weight_fit.py`); `scoring/weighted_predictive.py` applies them.

    correction_c(v) = slope_c * z(v)             z(v) = (v - centre) / scale, cut off at 4 on both sides (numbers)
                    + table_c[cell of v]         (columns in coarse cells)

The weighted evidence of a column is right about the column alone, but blind to what other columns repeat. The slope
moves the evidence where a trend of the value remains, the table where single values remain. Both are folded into the
tables of the predictive when a scorer is derived (`Predictive.corrected`), and are part of what the column contributes
to an explanation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from tallybayes.arrays.column import Codes, Flags, Reals
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.errors import ParameterError, did_you_mean, is_real_number
from tallybayes.families.family import Family, Floats
from tallybayes.families.predictive import Correction

__all__ = ["FARTHEST", "ColumnWeights", "ValueCorrection", "Weighting", "weight_range"]

Weight = float | Mapping[Any, float]  # one for all classes, or one for each


FARTHEST = 4.0  # standard deviations from the centre up to which a trend goes on: beyond there are few rows to fit it


@dataclass(frozen=True)
class ValueCorrection:
    """The correction of one column.

    slopes: by class, per standard deviation `scale` from `centre`; classes that are not named have 0.
    cells, table: coarse cells of the column, and what is added in each of them, by class.

    >>> trend = ValueCorrection({"ill": 0.5, "well": -0.5}, centre=37.0, scale=2.0)
    >>> trend.bound(["ill", "well"]).of_numbers(np.array([38.0, 41.0, 99.0])).tolist()
    [[0.25, -0.25], [1.0, -1.0], [2.0, -2.0]]
    """

    slopes: Mapping[Any, float] = field(default_factory=dict)
    centre: float = 0.0
    scale: float = 1.0
    cells: CellInput | None = None
    table: Mapping[Any, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "slopes", dict(self.slopes))
        object.__setattr__(self, "table", {label: tuple(line) for label, line in self.table.items()})
        numbers = (*self.slopes.values(), self.centre, self.scale, *(x for line in self.table.values() for x in line))
        if not all(is_real_number(number) and np.isfinite(number) for number in numbers):
            raise ParameterError("finite slopes, tables, centre and scale", got=list(numbers))
        if not self.scale > 0:
            raise ParameterError("a scale above 0", got=self.scale)
        n_cells = 0 if self.cells is None else self.cells.n_cells
        for line in self.table.values():
            if len(line) != n_cells:
                raise ParameterError(f"a table of {n_cells} cells", got=len(line))

    @property
    def labels(self) -> set[Any]:
        """The classes it names."""
        return {*self.slopes, *self.table}

    def only(self, classes: Collection[Any]) -> ValueCorrection:
        """The correction for some classes."""
        slopes = {label: slope for label, slope in self.slopes.items() if label in classes}
        return replace(
            self, slopes=slopes, table={label: line for label, line in self.table.items() if label in classes}
        )

    def bound(self, classes: Sequence[Any]) -> Correction:
        """The correction as arrays over classes in order."""
        slopes = np.array([self.slopes.get(label, 0.0) for label in classes], np.float64)
        n_cells = 0 if self.cells is None else self.cells.n_cells
        none = (0.0,) * n_cells
        lines = [*np.array([self.table.get(label, none) for label in classes]).reshape(len(classes), n_cells).T]
        table = np.array([*lines, np.zeros(len(classes))])  # the last line is of a value without a cell
        return _BoundCorrection(slopes, self.centre, self.scale, self.cells, table)


@dataclass(frozen=True, eq=False)
class _BoundCorrection(Correction):
    slopes: Floats
    centre: float
    scale: float
    cells: CellInput | None
    table: Floats

    def of_numbers(self, values: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            z = np.clip((values - self.centre) / self.scale, -FARTHEST, FARTHEST)
        result = z[:, None] * self.slopes
        return np.asarray(result if self.cells is None else result + self.table[self.cells.cells(Reals(values))])

    def of_keys(self, keys: Sequence[Any]) -> Floats:
        if self.cells is None:
            return np.zeros((len(keys), len(self.slopes)))
        if self.cells.keys is None:
            return self.table[self.cells.cells(Flags(np.array(keys, np.int8)))]
        return self.table[self.cells.cells(Codes(np.arange(len(keys), dtype=np.int32), list(keys)))]


@dataclass(frozen=True)
class ColumnWeights:
    """Weights of columns (default 1), offsets of classes (default 0), and corrections of the values of columns.

    missing: the weights of the evidence that the value of a column is missing; columns not named have no such evidence.
    model_rows: the rows in the model when they were fitted; fitted_on: the rows of the sample they were fitted on.
    temperature: the weight of columns that are not named, and of all columns beside a class that the weights do not
    name, if they were fitted: they compare the classes that they were fitted on.

    >>> weights = ColumnWeights({"fever": 0.5, "cough": {"ill": 2.0}}, {"ill": 0.1})
    >>> weights.table(["cough", "fever"], ["ill", "well"]).tolist()
    [[2.0, 1.0], [0.5, 0.5]]
    """

    weights: Mapping[str, Weight] = field(default_factory=dict)
    offsets: Mapping[Any, float] = field(default_factory=dict)
    model_rows: float = 0.0
    fitted_on: float = 0.0
    missing: Mapping[str, Weight] = field(default_factory=dict)
    corrections: Mapping[str, ValueCorrection] = field(default_factory=dict)
    temperature: float = 1.0

    def __post_init__(self) -> None:
        for kind in ("weights", "missing"):
            by_column: Mapping[str, Weight] = getattr(self, kind)
            weights = {
                str(name): dict(value) if isinstance(value, Mapping) else value for name, value in by_column.items()
            }
            object.__setattr__(self, kind, weights)
            for name, value in weights.items():
                for weight in value.values() if isinstance(value, dict) else [value]:
                    if not is_real_number(weight) or not 0 <= weight < np.inf:
                        raise ParameterError("a weight of at least 0", got=weight, column=name)
        object.__setattr__(self, "offsets", dict(self.offsets))
        object.__setattr__(self, "corrections", dict(self.corrections))
        for name, correction in self.corrections.items():
            if not isinstance(correction, ValueCorrection):
                raise ParameterError("a ValueCorrection", got=correction, column=name)
        if not all(is_real_number(offset) and np.isfinite(offset) for offset in self._numbers()):
            raise ParameterError("finite offsets", got=self.offsets)

    def _numbers(self) -> tuple[float, ...]:
        return (*self.offsets.values(), self.model_rows, self.fitted_on, self.temperature)

    def check(self, names: Collection[str], classes: Collection[Any]) -> None:
        """Raise an error if it names a column or label that the model does not have."""
        for name in (*self.weights, *self.missing, *self.corrections):
            if name not in names:
                raise ParameterError("weights for columns of the model", got=name, hint=did_you_mean(name, names))
        by_label = [
            by_class for by_class in (*self.weights.values(), *self.missing.values()) if isinstance(by_class, Mapping)
        ]
        named = {label for by_class in (*by_label, self.offsets) for label in by_class}
        for label in named.union(*(correction.labels for correction in self.corrections.values())):
            if label not in classes:
                raise ParameterError("weights and offsets for labels of the model", got=label)

    def check_families(self, families: Mapping[str, Family]) -> None:
        """Raise an error if it corrects a column whose family has no tables to hold corrections."""
        for name in self.corrections:
            if not families[name].takes_class_weights:
                expected = "corrections for columns whose family has tables, such as histogram"
                raise ParameterError(expected, got=families[name].display_name(), column=name)

    def only(self, names: Collection[str], classes: Collection[Any]) -> ColumnWeights:
        """The weights of some columns and classes: what a model has forgotten is not named any more."""
        result = replace(
            self,
            weights=_only(self.weights, names, classes),
            missing=_only(self.missing, names, classes),
            offsets={label: offset for label, offset in self.offsets.items() if label in classes},
            corrections={
                name: correction.only(classes) for name, correction in self.corrections.items() if name in names
            },
        )
        return self if result == self else result

    def is_complete(self, names: Collection[str], classes: Collection[Any]) -> bool:
        """Whether there is a weight for each of these columns and classes."""
        by_label = [value for value in (*self.weights.values(), self.offsets) if isinstance(value, Mapping) and value]
        return set(names) <= self.weights.keys() and all(set(classes) <= value.keys() for value in by_label)

    def table(self, names: Sequence[str], classes: Sequence[Any]) -> Floats:
        """The weights, (columns, classes); what is not named has weight 1, or the temperature if they were fitted."""
        return self._table(self.weights, names, classes)

    def missing_table(self, names: Sequence[str], classes: Sequence[Any]) -> Floats:
        """The weights of the evidence that values are missing, as `table`."""
        return self._table(self.missing, names, classes)

    def _table(self, weights: Mapping[str, Weight], names: Sequence[str], classes: Sequence[Any]) -> Floats:
        other = self.temperature if self.fitted_on else 1.0
        result = np.full((len(names), len(classes)), other)
        if self.is_for(classes):
            for j, name in enumerate(names):
                weight = weights.get(name, other)
                result[j] = [weight.get(label, other) for label in classes] if isinstance(weight, Mapping) else weight
        return result

    def is_for(self, classes: Collection[Any]) -> bool:
        """Whether it can compare these classes: given weights can, fitted ones only those that they were fitted on."""
        return not self.fitted_on or not self.offsets or self.offsets.keys() >= set(classes)

    def corrections_of(self, names: Sequence[str], classes: Sequence[Any]) -> tuple[Correction | None, ...]:
        """The correction of each column, over classes in order; empty if there are none for these classes."""
        corrections = [self.corrections.get(name) for name in names if self.is_for(classes)]
        bound = tuple(None if correction is None else correction.bound(classes) for correction in corrections)
        return bound if any(corrections) else ()

    def log_offsets(self, classes: Sequence[Any]) -> Floats:
        """The offsets, added to the log prior, (classes,)."""
        return np.array([self.offsets.get(label, 0.0) for label in classes], np.float64)


Weighting = Literal["auto"] | ColumnWeights | None  # the option of `fit`: to be fitted, given, or none


def weight_range(weight: Weight) -> str:
    """A weight in words, or the range of the weights of the classes.

    >>> weight_range({"ill": 0.5, "well": 2.0}), weight_range(1.0)
    ('weights 0.5 to 2', 'weight 1')
    """
    values = list(weight.values()) if isinstance(weight, Mapping) else [weight]
    low, high = f"{min(values, default=1.0):.3g}", f"{max(values, default=1.0):.3g}"
    return f"weight {low}" if low == high else f"weights {low} to {high}"


def _only(weights: Mapping[str, Weight], names: Collection[str], classes: Collection[Any]) -> dict[str, Weight]:
    """The weights of some columns and classes."""
    kept = {
        name: {label: amount for label, amount in weight.items() if label in classes}
        if isinstance(weight, Mapping)
        else weight
        for name, weight in weights.items()
        if name in names
    }
    return {name: weight for name, weight in kept.items() if weight != {} or weight == weights[name]}
