"""The area under the ROC curve, computed from ranks, for rows with weights.

    AUC = P(a row of the class has a higher score than a row of another class), ties counting one half

The values equal scikit-learn's `roc_auc_score`, without importing scikit-learn. Many weightings of the same rows, as
bootstrap intervals need them, are computed together: the rows are sorted only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.evaluation.scores import Scores
from tallybayes.families.family import Floats

__all__ = ["RankedScores", "auc_classes", "mean_auc", "rank_scores", "ratios"]


class RankedScores:
    """Rows sorted by a score; `positive` marks the rows of the class.

    >>> RankedScores(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, True, False, True])).auc()
    0.875
    """

    def __init__(self, score: Floats, positive: NDArray[np.bool_]) -> None:
        self._order = np.argsort(score, kind="stable")
        ordered = score[self._order]
        self._positive = positive[self._order]
        values = ordered[self._positive]
        self._first, self._last = (np.searchsorted(ordered, values, side) for side in ("left", "right"))

    def auc(self) -> float:
        """The AUC with weight 1 for every row; NaN unless there are rows of the class and other rows."""
        return float(self.aucs(np.ones((len(self._order), 1)))[0])

    def aucs(self, weights: Floats) -> Floats:
        """The AUC for each column of weights, (rows, columns)."""
        ordered = weights[self._order]
        of_class = ordered[self._positive]
        ordered[self._positive] = 0.0
        below = np.zeros((len(ordered) + 1, weights.shape[1]))
        np.cumsum(ordered, axis=0, out=below[1:])
        won = np.einsum("ij,ij->j", of_class, below[self._first] + below[self._last]) / 2
        return ratios(won, of_class.sum(axis=0) * below[-1])


def auc_classes(classes: Sequence[Any]) -> Sequence[Any]:
    """The classes whose AUCs are averaged: the second of two classes, or all of several."""
    return classes[1:] if len(classes) == 2 else classes


def rank_scores(scores: Scores, labels: Sequence[Any]) -> dict[Any, RankedScores]:
    """The rows ranked by the probability of each label, for labels whose AUC is defined."""
    ranked = {}
    for label in labels:
        place = scores.classes.index(label)
        positive = scores.codes == place
        if scores.known[positive].any() and not positive.all():
            ranked[label] = RankedScores(scores.proba[:, place], positive)
    return ranked


def mean_auc(aucs: Sequence[Floats]) -> Floats:
    """The mean of the AUCs of several classes, ignoring NaN; NaN if all are.

    >>> mean_auc([np.array([0.7, np.nan]), np.array([0.8, np.nan])]).tolist()
    [0.75, nan]
    """
    if not aucs:
        return np.full(1, np.nan)
    defined = ~np.isnan(aucs)
    return ratios(np.where(defined, aucs, 0.0).sum(axis=0), defined.sum(axis=0))


def ratios(part: Floats, whole: NDArray[Any]) -> Floats:
    """Quotients; NaN where the denominator is 0."""
    return np.asarray(np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0))
