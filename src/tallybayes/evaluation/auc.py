"""The area under the ROC curve, by ranks, of rows that may count more than once.

    AUC = P(a row of the class has the greater score than a row that is not), ties counting one half

It is what scikit-learn's `roc_auc_score` gives, without loading all of scikit-learn for one number, and for many
weightings of the same rows at once, which bootstrap intervals need: the rows are sorted only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.evaluation.scores import Scores
from tallybayes.families.family import Floats

__all__ = ["Ranking", "compared", "mean_auc", "rankings", "ratios"]


class Ranking:
    """Rows sorted by a score; `positive` tells which of them are of the class.

    >>> Ranking(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, True, False, True])).auc()
    0.875
    """

    def __init__(self, score: Floats, positive: NDArray[np.bool_]) -> None:
        self._order = np.argsort(score, kind="stable")
        ordered = score[self._order]
        self._positive = positive[self._order]
        values = ordered[self._positive]
        self._first, self._last = (np.searchsorted(ordered, values, side) for side in ("left", "right"))

    def auc(self) -> float:
        """The area, every row counting once; NaN unless there are rows of both kinds."""
        return float(self.aucs(np.ones((len(self._order), 1)))[0])

    def aucs(self, weights: Floats) -> Floats:
        """The area for each column of weights, (rows, columns)."""
        ordered = weights[self._order]
        of_class = ordered[self._positive]
        ordered[self._positive] = 0.0
        below = np.zeros((len(ordered) + 1, weights.shape[1]))
        np.cumsum(ordered, axis=0, out=below[1:])
        won = np.einsum("ij,ij->j", of_class, below[self._first] + below[self._last]) / 2
        pairs = of_class.sum(axis=0) * below[-1]
        return ratios(won, pairs)


def compared(classes: Sequence[Any]) -> Sequence[Any]:
    """The classes whose areas make up the one of all: the second of two, each of several."""
    return classes[1:] if len(classes) == 2 else classes


def rankings(scores: Scores, labels: Sequence[Any]) -> dict[Any, Ranking]:
    """The rows ranked by the probability of each class that some model knew and that some rows were of, not all."""
    found = {}
    for label in labels:
        place = scores.classes.index(label)
        positive = scores.codes == place
        if scores.known[positive].any() and not positive.all():
            found[label] = Ranking(scores.proba[:, place], positive)
    return found


def mean_auc(aucs: Sequence[Floats]) -> Floats:
    """The mean of the areas of several classes that are defined; NaN without any.

    >>> mean_auc([np.array([0.7, np.nan]), np.array([0.8, np.nan])]).tolist()
    [0.75, nan]
    """
    if not aucs:
        return np.full(1, np.nan)
    there = ~np.isnan(aucs)
    n_there = there.sum(axis=0)
    total = np.where(there, aucs, 0.0).sum(axis=0)
    return ratios(total, n_there)


def ratios(part: Floats, whole: NDArray[Any]) -> Floats:
    """Quotients; NaN where there is nothing to divide by."""
    return np.asarray(np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0))
