"""A correction of the evidence of a column by value and class, fitted after the sums.

    correction_c(v) = slope_c * z(v)             z(v) = (v - centre) / scale, cut off at 4 on both sides (numbers)
                    + table_c[cell of v]         (columns in coarse cells)

The weighted evidence of a column is its own log likelihood times a weight: right about the column alone, but blind to
what other columns repeat. The slope moves the evidence where a trend of the value remains, the table where single
values remain. Both are settings like column weights, are folded into the tables of the predictive when a scorer is
derived (`Predictive.corrected`), and are part of what the column contributes to an explanation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tallybayes.errors import ParameterError, is_real_number
from tallybayes.families.predictive import Correction, Floats

__all__ = ["FARTHEST", "ValueCorrection"]

FARTHEST = 4.0  # standard deviations from the centre up to which a trend goes on: beyond there are few rows to fit it


@dataclass(frozen=True)
class ValueCorrection:
    """The correction of one column.

    slopes: by class, per standard deviation `scale` from `centre`; classes that are not named have 0.

    >>> trend = ValueCorrection({"ill": 0.5, "well": -0.5}, centre=37.0, scale=2.0)
    >>> trend.bound(["ill", "well"]).of_numbers(np.array([37.0, 41.0, 99.0])).tolist()
    [[0.0, 0.0], [1.0, -1.0], [2.0, -2.0]]
    """

    slopes: Mapping[Any, float] = field(default_factory=dict)
    centre: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "slopes", dict(self.slopes))
        numbers = (*self.slopes.values(), self.centre, self.scale)
        if not all(is_real_number(one) and np.isfinite(one) for one in numbers):
            raise ParameterError("finite slopes, centre and scale", got=list(numbers))
        if not self.scale > 0:
            raise ParameterError("a scale above 0", got=self.scale)

    @property
    def labels(self) -> set[Any]:
        """The classes it names."""
        return {*self.slopes}

    def only(self, classes: Collection[Any]) -> ValueCorrection:
        """The correction for some classes."""
        return replace(self, slopes={label: slope for label, slope in self.slopes.items() if label in classes})

    def bound(self, classes: Sequence[Any]) -> Correction:
        """The correction as arrays over classes in order."""
        slopes = np.array([self.slopes.get(label, 0.0) for label in classes], np.float64)
        return _BoundCorrection(slopes, self.centre, self.scale)


@dataclass(frozen=True, eq=False)
class _BoundCorrection(Correction):
    slopes: Floats
    centre: float
    scale: float

    def of_numbers(self, values: Floats) -> Floats:
        with np.errstate(over="ignore"):
            z = np.clip((values - self.centre) / self.scale, -FARTHEST, FARTHEST)
        return np.asarray(z[:, None] * self.slopes)

    def of_keys(self, keys: Sequence[Any]) -> Floats:
        return np.zeros((len(keys), len(self.slopes)))
