"""Probabilities put right.

Naive Bayes is over-confident: columns that repeat each other are counted as if each were new. A calibration is learned
from probabilities that rows were given by a model that had not seen them, and their true classes:

    temperature   P'(c) proportional to P(c)^(1/T): one number, keeps the order of the classes of every row
    isotonic      P(c) through a rising step function per class (pool adjacent violators), then scaled to add up to 1

It changes probabilities and nothing else: sums, scores and explanations stay, and it can be taken off again.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tallybayes.errors import DataError, ParameterError
from tallybayes.families.family import Codes32, Floats

__all__ = ["Calibration"]

Method = Literal["temperature", "isotonic"]
Steps = tuple[tuple[float, ...], tuple[float, ...]]  # P before and after, both rising

_STRENGTH = 10.0  # of the shrinkage: rows that are easily told apart ask for no end of certainty
_LEAST = 1e-12  # what an isotonic step of 0 counts as: nothing that was seen is proof


@dataclass(frozen=True)
class Calibration:
    """A temperature, or rising steps per class; the rows that the model had then, and those it was learned from.

    >>> Calibration("temperature", 2.0).applied(np.log([[0.9, 0.1]]), ["a", "b"]).round(2).tolist()
    [[-0.29, -1.39]]
    """

    method: Method
    temperature: float = 1.0
    steps: Mapping[Any, Steps] = field(default_factory=dict)
    rows: float = 0.0  # below 0: it was learned under other weights of columns
    learned_from: float = 0.0

    def __post_init__(self) -> None:
        if self.method not in ("temperature", "isotonic"):
            raise ParameterError("a method of calibration: 'temperature' or 'isotonic'", got=self.method)
        if not isinstance(self.temperature, (int, float, np.number)) or not 0 < self.temperature < np.inf:
            raise ParameterError("a temperature above 0", got=self.temperature)
        object.__setattr__(self, "steps", dict(self.steps))
        for before, after in self.steps.values():
            rising = all(a < b for a, b in itertools.pairwise(before)) and list(after) == sorted(after)
            finite = all(0 <= p <= 1 for p in (*before, *after))  # false for what is no number
            if len(before) != len(after) or not before or not rising or not finite:
                raise ParameterError("steps that rise, of as many values before and after", got=(before, after))

    @classmethod
    def learned(
        cls, method: Method, log_proba: Floats, codes: Codes32, classes: Sequence[Any], weights: Floats | None = None
    ) -> Calibration:
        """From log P(class | row) of rows that the model had not seen, (rows, classes), and their classes."""
        if method not in ("temperature", "isotonic"):
            raise ParameterError("a method of calibration: 'temperature' or 'isotonic'", got=method)
        rows = np.flatnonzero(codes >= 0)
        if len(rows) < 2 or len(classes) < 2:
            raise DataError("rows of at least two classes to calibrate on", got=len(rows))
        log_p, code = log_proba[rows], codes[rows]
        weight = np.ones(len(rows)) if weights is None else weights[rows]
        n = float(weight.sum())
        if method == "temperature":
            return cls("temperature", _temperature(log_p, code, weight), rows=n, learned_from=n)
        steps = {label: _rising(np.exp(log_p[:, c]), code == c, weight) for c, label in enumerate(classes)}
        return cls("isotonic", steps=steps, rows=n, learned_from=n)

    def applied(self, log_proba: Floats, classes: Sequence[Any]) -> Floats:
        """Log P(class | row) put right, (rows, classes)."""
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
        told = f", T = {self.temperature:.3g}" if self.method == "temperature" else ""
        return f"{self.method}{told}, learned from {self.learned_from:,.0f} rows"


def _temperature(log_p: Floats, codes: Codes32, weights: Floats) -> float:
    """The temperature with the least log loss, 1/T shrunk to 1. Classes that are ruled out stay so, whatever it is."""
    from scipy.optimize import minimize_scalar

    finite = np.maximum(log_p, -1e300)

    def loss(log_t: float) -> float:
        scaled = finite * np.exp(-log_t)
        top = scaled.max(axis=1, keepdims=True)
        log_whole = top[:, 0] + np.log(np.exp(scaled - top).sum(axis=1))
        own = np.maximum(scaled[np.arange(len(codes)), codes] - log_whole, -1e6)
        return float(-(weights * own).sum() + _STRENGTH / 2 * (np.exp(-log_t) - 1) ** 2)

    found = minimize_scalar(loss, bounds=(-4.0, 6.0), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


def _rising(p: Floats, is_it: Any, weights: Floats) -> Steps:
    """The rising function of p that fits best, as its corners."""
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(p, is_it.astype(float), weights)
    before, after = fitted.X_thresholds_.tolist(), np.clip(fitted.y_thresholds_, 0.0, 1.0).tolist()
    return tuple(before), tuple(after)
