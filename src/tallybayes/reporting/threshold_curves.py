"""Curves over the thresholds of a class: a row is predicted as the class if P(class | row) is at least the threshold.

The curves are thinned to a visible number of points. The counts at fixed thresholds are the data of the slider.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.evaluation import Evaluation
from tallybayes.families.family import Floats
from tallybayes.formatting import shown

__all__ = ["counts_at", "precision_recall_rows", "reliability_rows", "roc_rows", "thresholds"]

_POINTS = 150  # of a curve
_REACH = 9.8  # log odds of the lowest and highest threshold of the slider
_STEPS = 197


def thresholds() -> Floats:
    """The threshold 0, then thresholds evenly spaced in log odds, including 0.5.

    >>> len(thresholds()), float(thresholds()[0]), 0.5 in thresholds(), round(float(thresholds()[-1]), 5)
    (198, 0.0, True, 0.99994)
    """
    return np.concatenate([[0.0], 1 / (1 + np.exp(-np.linspace(-_REACH, _REACH, _STEPS)))])


def counts_at(p: Floats, is_class: NDArray[np.bool_], at: Floats) -> tuple[list[int], list[int]]:
    """The numbers of rows of the class, and of other rows, with a probability of at least each threshold.

    >>> counts_at(np.array([0.2, 0.9, 0.8]), np.array([False, True, False]), np.array([0.0, 0.5, 0.85]))
    ([1, 1, 1], [2, 1, 0])
    """
    own, others = (np.sort(p[kept]) for kept in (is_class, ~is_class))
    above = [len(ordered) - np.searchsorted(ordered, at, side="left") for ordered in (own, others)]
    return above[0].tolist(), above[1].tolist()


def roc_rows(evaluation: Evaluation, labels: Sequence[Any]) -> list[dict[str, Any]]:
    """The ROC curves of some classes as rows of a chart."""
    curves = ((label, *evaluation.roc(label)) for label in labels)
    return [row for label, fpr, tpr, at in curves for row in _rows(label, {"fpr": fpr, "tpr": tpr}, at)]


def precision_recall_rows(evaluation: Evaluation, labels: Sequence[Any]) -> list[dict[str, Any]]:
    """The precision-recall curves of some classes as rows of a chart."""
    rows = []
    for label in labels:
        precision, recall, at = evaluation.precision_recall(label)
        at = np.append(at, 1.0)  # the last point, without any predicted row, has no threshold
        rows += _rows(label, {"recall": recall, "precision": precision}, at)
    return rows


def _rows(label: Any, axes: dict[str, Floats], at: Floats) -> list[dict[str, Any]]:
    """A curve as rows, thinned; the axes are x and y."""
    return [
        {"class": shown(label), "step": step, "threshold": min(float(at[i]), 1.0)}
        | {name: float(values[i]) for name, values in axes.items()}
        for step, i in enumerate(_thinned(*axes.values()))
    ]


def reliability_rows(evaluation: Evaluation, labels: Sequence[Any], bins: int = 10) -> list[dict[str, Any]]:
    """The reliability curves of some classes as rows of a chart."""
    return [
        {"class": shown(label), "step": step, **row}
        for label in labels
        for step, row in enumerate(evaluation.reliability(bins, label))
    ]


def _thinned(x: Floats, y: Floats) -> list[int]:
    """The positions of points evenly spaced along a curve, including both ends.

    >>> _thinned(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    [0, 1, 2]
    """
    if len(x) <= _POINTS:
        return list(range(len(x)))
    path = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    wanted = np.searchsorted(path, np.linspace(0, path[-1], _POINTS))
    return sorted({0, *np.minimum(wanted, len(path) - 1).tolist(), len(path) - 1})
