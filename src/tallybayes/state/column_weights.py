"""A weight for each column, and an offset for each class.

    log P(c, x) = log P(c) + offset_c + sum over columns of w_jc log P(x_j | c)

Naive Bayes counts dependent columns as if they were independent; a weight below 1 corrects for that, and 0 removes a
column. A score stays a sum, so explanations stay exact. There is one weight for each column, or one for each column and
class; in the second case the contribution of a column is centred at log sum over c of P(c) P(x_j | c), because its
level matters where weights differ. `tallybayes.fit` and `tallybayes.tune` fit them (`scoring/weight_fit.py`);
`scoring/weighted_predictive.py` applies them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tallybayes.errors import ParameterError, did_you_mean, is_real_number
from tallybayes.families.family import Floats

__all__ = ["ColumnWeights"]


@dataclass(frozen=True)
class ColumnWeights:
    """Weights of columns (default 1) and offsets of classes (default 0).

    model_rows: the rows in the model when they were fitted; fitted_on: the rows of the sample they were fitted on.

    >>> weights = ColumnWeights({"fever": 0.5, "cough": {"ill": 2.0}}, {"ill": 0.1})
    >>> weights.table(["cough", "fever"], ["ill", "well"]).tolist()
    [[2.0, 1.0], [0.5, 0.5]]
    """

    weights: Mapping[str, float | Mapping[Any, float]] = field(default_factory=dict)
    offsets: Mapping[Any, float] = field(default_factory=dict)
    model_rows: float = 0.0
    fitted_on: float = 0.0

    def __post_init__(self) -> None:
        weights = {str(name): dict(own) if isinstance(own, Mapping) else own for name, own in self.weights.items()}
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "offsets", dict(self.offsets))
        for name, own in weights.items():
            for weight in own.values() if isinstance(own, dict) else [own]:
                if not is_real_number(weight) or not 0 <= weight < np.inf:
                    raise ParameterError("a weight of at least 0", got=weight, column=name)
        if not all(is_real_number(offset) and np.isfinite(offset) for offset in self._numbers()):
            raise ParameterError("finite offsets", got=self.offsets)

    def _numbers(self) -> tuple[float, ...]:
        return (*self.offsets.values(), self.model_rows, self.fitted_on)

    def check(self, names: Collection[str], classes: Collection[Any]) -> None:
        """Raise an error if it names a column or label that the model does not have."""
        for name in self.weights:
            if name not in names:
                raise ParameterError("weights for columns of the model", got=name, hint=did_you_mean(name, names))
        by_label = [own for own in self.weights.values() if isinstance(own, Mapping)]
        for label in {label for own in (*by_label, self.offsets) for label in own}:
            if label not in classes:
                raise ParameterError("weights and offsets for labels of the model", got=label)

    def only(self, names: Collection[str], classes: Collection[Any]) -> ColumnWeights:
        """The weights of some columns and classes: what a model has forgotten is not named any more."""
        weights = {
            name: {label: one for label, one in own.items() if label in classes} if isinstance(own, Mapping) else own
            for name, own in self.weights.items()
            if name in names
        }
        offsets = {label: offset for label, offset in self.offsets.items() if label in classes}
        if weights == self.weights and offsets == self.offsets:
            return self
        return replace(self, weights={name: own for name, own in weights.items() if own != {}}, offsets=offsets)

    def is_complete(self, names: Collection[str], classes: Collection[Any]) -> bool:
        """Whether there is a weight for each of these columns and classes."""
        by_label = [own for own in (*self.weights.values(), self.offsets) if isinstance(own, Mapping) and own]
        return set(names) <= self.weights.keys() and all(set(classes) <= own.keys() for own in by_label)

    def table(self, names: Sequence[str], classes: Sequence[Any]) -> Floats:
        """The weights, (columns, classes).

        What is not named has weight 1. If the weights were fitted, a new class has the mean weight of the other classes
        instead, and a new column the mean of all columns: beside small weights a weight of 1 would dominate.
        """
        means = {name: _mean(own) for name, own in self.weights.items() if own != {}}
        other = float(np.mean(list(means.values()))) if self.fitted_on and means else 1.0
        result = np.full((len(names), len(classes)), other)
        for j, name in enumerate(names):
            own = self.weights.get(name, other)
            new = means[name] if self.fitted_on and name in means else 1.0
            result[j] = [own.get(label, new) for label in classes] if isinstance(own, Mapping) else own
        return result

    def log_offsets(self, classes: Sequence[Any]) -> Floats:
        """The offsets, added to the log prior, (classes,)."""
        return np.array([self.offsets.get(label, 0.0) for label in classes], np.float64)


def _mean(own: float | Mapping[Any, float]) -> float:
    return float(np.mean(list(own.values()))) if isinstance(own, Mapping) else float(own)
