"""Calibrated probabilities.

Naive Bayes is over-confident: dependent columns are counted as if they were independent evidence. A calibration is
fitted on the probabilities that a model gave to rows it had not seen, and their true classes:

    temperature   P'(c) proportional to P(c)^(1/T): one number, keeps the order of the classes of every row
    isotonic      P(c) through an increasing function per class (isotonic regression), then scaled to add up to 1

Isotonic steps are functions of P, so they cannot tell apart rows whose P is 1 in doubles; a temperature, which works on
logarithms, can. A calibration changes probabilities only: statistics, scores and explanations stay, and it can be
removed again.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tallybayes.errors import DataError, ParameterError, is_real_number
from tallybayes.families.family import Codes32, Floats

__all__ = ["Calibration"]

Method = Literal["temperature", "isotonic"]
Steps = tuple[tuple[float, ...], tuple[float, ...]]  # P before and after, both increasing

_STRENGTH = 10.0  # of the shrinkage of 1/T to 1: separable rows would make 1/T infinite
_LEAST = 1e-12  # the smallest calibrated probability: no number of rows proves that a class is impossible


@dataclass(frozen=True)
class Calibration:
    """A temperature, or increasing steps per class.

    model_rows: the rows in the model when it was fitted; fitted_on: the rows it was fitted on.

    >>> Calibration("temperature", 2.0).apply(np.log([[0.9, 0.1]]), ["a", "b"]).round(2).tolist()
    [[-0.29, -1.39]]
    """

    method: Method
    temperature: float = 1.0
    steps: Mapping[Any, Steps] = field(default_factory=dict)
    model_rows: float = 0.0  # below 0: it was fitted under other column weights
    fitted_on: float = 0.0

    def __post_init__(self) -> None:
        if self.method not in ("temperature", "isotonic"):
            raise ParameterError("a method of calibration: 'temperature' or 'isotonic'", got=self.method)
        if not is_real_number(self.temperature) or not 0 < self.temperature < np.inf:
            raise ParameterError("a temperature above 0", got=self.temperature)
        object.__setattr__(self, "steps", dict(self.steps))
        for before, after in self.steps.values():
            increasing = all(a < b for a, b in itertools.pairwise(before)) and list(after) == sorted(after)
            finite = all(0 <= p <= 1 for p in (*before, *after))  # false for NaN
            if len(before) != len(after) or not before or not increasing or not finite:
                raise ParameterError("increasing steps, as many values before as after", got=(before, after))

    @classmethod
    def fit(
        cls, method: Method, log_proba: Floats, codes: Codes32, classes: Sequence[Any], weights: Floats | None = None
    ) -> Calibration:
        """From log P(class | row) of rows that the model had not seen, (rows, classes), and their classes."""
        if method not in ("temperature", "isotonic"):
            raise ParameterError("a method of calibration: 'temperature' or 'isotonic'", got=method)
        rows = np.flatnonzero(codes >= 0)
        rows = rows[np.lexsort((codes[rows], *log_proba[rows].T))]  # sums of reals depend on their order
        if len(rows) < 2 or len(classes) < 2:
            raise DataError("rows of at least two classes to calibrate on", got=len(rows))
        log_p, code = log_proba[rows], codes[rows]
        weight = np.ones(len(rows)) if weights is None else weights[rows]
        n = float(weight.sum())
        if method == "temperature":
            return cls("temperature", _temperature(log_p, code, weight), model_rows=n, fitted_on=n)
        steps = {label: _isotonic_steps(np.exp(log_p[:, c]), code == c, weight) for c, label in enumerate(classes)}
        return cls("isotonic", steps=steps, model_rows=n, fitted_on=n)

    def apply(self, log_proba: Floats, classes: Sequence[Any]) -> Floats:
        """Calibrated log P(class | row), (rows, classes)."""
        if self.method == "temperature":
            scaled = log_proba / self.temperature
        else:
            p = np.exp(log_proba)
            for c, label in enumerate(classes):
                if label in self.steps:
                    p[:, c] = np.interp(p[:, c], *self.steps[label])
            scaled = np.log(np.maximum(p, _LEAST))
        top = scaled.max(axis=1, keepdims=True, initial=-np.inf)
        return np.asarray(scaled - top - np.log(np.exp(scaled - top).sum(axis=1, keepdims=True)))

    def __str__(self) -> str:
        temperature = f", T = {self.temperature:.3g}" if self.method == "temperature" else ""
        return f"{self.method}{temperature}, fitted on {self.fitted_on:,.0f} rows"


def _temperature(log_p: Floats, codes: Codes32, weights: Floats) -> float:
    """The temperature with the least log loss, 1/T shrunk to 1. A class that is ruled out stays ruled out."""
    from scipy.optimize import minimize_scalar

    finite = np.maximum(log_p, -1e300)

    def loss(log_t: float) -> float:
        scaled = finite * np.exp(-log_t)
        top = scaled.max(axis=1, keepdims=True)
        log_whole = top[:, 0] + np.log(np.exp(scaled - top).sum(axis=1))
        log_true = np.maximum(scaled[np.arange(len(codes)), codes] - log_whole, -1e6)
        return float(-(weights * log_true).sum() + _STRENGTH / 2 * (np.exp(-log_t) - 1) ** 2)

    spread = float(np.median(finite.max(axis=1) - finite.min(axis=1)))  # many copies of a column need a T as large
    bounds = (-4.0, 6.0 + np.log1p(spread))
    minimum = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(minimum.x))


def _isotonic_steps(p: Floats, is_it: Any, weights: Floats) -> Steps:
    """The increasing function of p that fits best, as its corners."""
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(p, is_it.astype(float), weights)
    before, after = fitted.X_thresholds_.tolist(), np.clip(fitted.y_thresholds_, 0.0, 1.0).tolist()
    return tuple(before), tuple(after)
