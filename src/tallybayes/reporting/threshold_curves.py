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

__all__ = [
    "counts_at",
    "gain_rows",
    "precision_recall_rows",
    "reliability_rows",
    "roc_rows",
    "score_rows",
    "thresholds",
]

_POINTS = 150  # of a curve
_REACH = 9.8  # log odds of the lowest and highest threshold of the slider
_STEPS = 197
_SCORE_BINS = 20
_ALL_POINTS = 3_000  # of the curves of all classes


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
    scores, others = (np.sort(p[kept]) for kept in (is_class, ~is_class))
    above = [len(ordered) - np.searchsorted(ordered, at, side="left") for ordered in (scores, others)]
    return above[0].tolist(), above[1].tolist()


def roc_rows(evaluation: Evaluation, labels: Sequence[Any]) -> list[dict[str, Any]]:
    """The ROC curves of some classes as rows of a chart."""
    curves, n = ((label, *evaluation.roc(label)) for label in labels), _points(labels)
    return [row for label, fpr, tpr, at in curves for row in _rows(label, {"fpr": fpr, "tpr": tpr}, at, n)]


def _points(labels: Sequence[Any]) -> int:
    """The points of each curve: fewer if there are many curves."""
    return int(np.clip(_ALL_POINTS // max(len(labels), 1), 30, _POINTS))


def precision_recall_rows(evaluation: Evaluation, labels: Sequence[Any]) -> list[dict[str, Any]]:
    """The precision-recall curves of some classes as rows of a chart."""
    rows = []
    for label in labels:
        precision, recall, at = evaluation.precision_recall(label)
        at = np.append(at, 1.0)  # the last point, without any predicted row, has no threshold
        rows += _rows(label, {"recall": recall, "precision": precision}, at, _points(labels))
    return rows


def gain_rows(evaluation: Evaluation, labels: Sequence[Any]) -> list[dict[str, Any]]:
    """The gain curves of some classes: the share of a class in the rows with the greatest P(class), and the lift."""
    rows: list[dict[str, Any]] = []
    n = evaluation.n_rows
    for label in labels:
        fpr, tpr, at = evaluation.roc(label)
        n_own = evaluation.class_rows.get(label, 0)
        taken = (tpr * n_own + fpr * (n - n_own)) / max(n, 1)
        points = _rows(label, {"taken": taken, "found": tpr}, at, _points(labels))
        rows += [row | {"lift": row["found"] / row["taken"] if row["taken"] else None} for row in points]
    return rows


def score_rows(evaluation: Evaluation, labels: Sequence[Any], others: str) -> list[dict[str, Any]]:
    """Histograms of P(class) of the rows of some classes and, `of` each class, of the other rows."""
    scores, edges, rows = evaluation.scores(), np.linspace(0, 1, _SCORE_BINS + 1), []
    for label in labels:
        place, name = scores.classes.index(label), shown(label)
        is_own = scores.codes == place
        for series, kept in (({"class": name}, is_own), ({"class": others, "of": name}, ~is_own)):
            counts = np.histogram(scores.proba[kept, place], edges)[0]
            rows += [
                {"low": float(low), "high": float(high), **series, "rows": int(n), "share": n / max(int(kept.sum()), 1)}
                for low, high, n in zip(edges, edges[1:], counts.tolist(), strict=False)
            ]
    return rows


def _rows(label: Any, axes: dict[str, Floats], at: Floats, n_points: int = _POINTS) -> list[dict[str, Any]]:
    """A curve as rows, thinned; the axes are x and y."""
    x, y = axes.values()
    return [
        {"class": shown(label), "step": step, "threshold": min(float(at[i]), 1.0)}
        | {name: float(values[i]) for name, values in axes.items()}
        for step, i in enumerate(_pick_points(x, y, n_points))
    ]


def reliability_rows(evaluation: Evaluation, labels: Sequence[Any], bins: int = 10) -> list[dict[str, Any]]:
    """The reliability curves of some classes as rows of a chart."""
    return [
        {"class": shown(label), "step": step, **row}
        for label in labels
        for step, row in enumerate(evaluation.reliability(bins, label))
    ]


def _pick_points(x: Floats, y: Floats, n_points: int = _POINTS) -> list[int]:
    """The positions of points evenly spaced along a curve, including both ends.

    >>> _pick_points(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]))
    [0, 1, 2]
    """
    if len(x) <= n_points:
        return list(range(len(x)))
    path = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    wanted = np.searchsorted(path, np.linspace(0, path[-1], n_points))
    return sorted({0, *np.minimum(wanted, len(path) - 1).tolist(), len(path) - 1})
