"""ROC, precision-recall and reliability curves of predicted probabilities.

The expected calibration error is the mean over the rows of |observed share - mean probability| of their bin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import ParameterError, check_integer, shorten
from tallybayes.evaluation.scores import Scores
from tallybayes.families.family import Floats

__all__ = ["calibration_error", "place_of", "precision_recall", "reliability", "roc"]

Curve = tuple[Floats, Floats, Floats]


def place_of(scores: Scores, label: Any) -> int:
    """The position of a class; None is the second of two classes."""
    if label is None and len(scores.classes) == 2:
        return 1
    if label not in scores.classes:
        raise ParameterError("a class", got=label, hint=f"the classes are {shorten(scores.classes, 200)}")
    return scores.classes.index(label)


def roc(scores: Scores, place: int) -> Curve:
    """False positive rate, true positive rate and thresholds."""
    from sklearn.metrics import roc_curve

    positive = scores.codes == place
    if not positive.any() or positive.all():
        return np.zeros(0), np.zeros(0), np.zeros(0)
    return roc_curve(positive, scores.proba[:, place])  # type: ignore[no-any-return]


def precision_recall(scores: Scores, place: int) -> Curve:
    """Precision, recall (ending in the point 1, 0) and thresholds."""
    from sklearn.metrics import precision_recall_curve

    positive = scores.codes == place
    if not positive.any():
        return np.zeros(0), np.zeros(0), np.zeros(0)
    return precision_recall_curve(positive, scores.proba[:, place])  # type: ignore[no-any-return]


def reliability(scores: Scores, bins: int, place: int | None) -> list[dict[str, Any]]:
    """Every bin that has rows: its bounds, the mean probability, the observed share and the number of rows.

    place: the position of a class, whose probability is compared with its observed share. None compares the
    probability of the predicted class with the share of correct predictions.
    """
    bins = check_integer("bins", bins, at_least=1)
    p, outcome = _outcomes(scores, place)
    edges = np.linspace(0, 1, bins + 1)
    which = np.searchsorted(edges[1:-1], p)
    rows, sums, hits = (np.bincount(which, weights, minlength=bins) for weights in (None, p, outcome))
    return [
        {
            "low": float(edges[i]),
            "high": float(edges[i + 1]),
            "rows": int(rows[i]),
            "predicted": float(sums[i] / rows[i]),
            "observed": float(hits[i] / rows[i]),
        }
        for i in np.flatnonzero(rows)
    ]


def calibration_error(curve: list[dict[str, Any]]) -> float:
    """The expected calibration error of a reliability curve; NaN without rows."""
    n_rows = sum(point["rows"] for point in curve)
    off = sum(point["rows"] * abs(point["observed"] - point["predicted"]) for point in curve)
    return off / n_rows if n_rows else float("nan")


def _outcomes(scores: Scores, place: int | None) -> tuple[Floats, NDArray[np.bool_]]:
    """A predicted probability for every row, and whether the event happened."""
    if place is not None:
        return scores.proba[:, place], scores.codes == place
    rows = np.flatnonzero(scores.answered)
    return scores.proba[rows, scores.predicted[rows]], scores.right[rows]
