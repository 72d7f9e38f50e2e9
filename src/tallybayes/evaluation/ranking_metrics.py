"""How well the rows of a class are ranked before the others, by P(class), for rows with weights.

    AUC                 P(a row of the class has a higher score than a row of another class), ties counting one half

The rest is computed from steps. The rows are sorted by descending probability; equal probabilities are one step. After
each step, precision is the share of the class among the rows so far, recall the share of its rows that are among them:

    average precision   sum over steps of (recall - recall before) * precision; by chance the share of the class
    KS                  Kolmogorov-Smirnov distance: the largest difference of recall and the same share of other rows
    lift                precision in the first tenth of the rows / share of the class; by chance 1

Of a step across the end of the first tenth, rows count in proportion. AUC and average precision are those of
scikit-learn (`roc_auc_score`, `average_precision_score`), without importing it, KS that of SciPy (`ks_2samp`). The AUCs
of many weightings of the same rows, as bootstrap intervals need them, are computed together: rows are sorted only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.evaluation.scores import Scores
from tallybayes.families.family import Floats

__all__ = ["RANKING", "RankedRows", "auc_classes", "mean_auc", "rank_rows", "ratios"]

RANKING = ("average_precision", "ks", "lift")
_TOP = 0.1  # of the rows: the tenth that is usual for lift


class RankedRows:
    """Rows sorted by a score; `positive` marks the rows of the class.

    >>> RankedRows(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, True, False, True])).auc()
    0.875
    >>> RankedRows(np.array([0.9, 0.6, 0.6, 0.1]), np.array([True, True, False, False])).metrics()["ks"]
    0.5
    """

    def __init__(self, score: Floats, positive: NDArray[np.bool_]) -> None:
        self._order = np.argsort(score, kind="stable")
        self._ordered = score[self._order]
        self._positive = positive[self._order]
        values = self._ordered[self._positive]
        self._first, self._last = (np.searchsorted(self._ordered, values, side) for side in ("left", "right"))

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

    def metrics(self, weights: Floats | None = None) -> dict[str, float]:
        """Average precision, KS and lift by name, for rows with weights; NaN where they are undefined."""
        row_weights = (np.ones(len(self._order)) if weights is None else weights[self._order])[::-1]
        ends = np.flatnonzero(np.append(np.diff(self._ordered[::-1]) != 0, True)[: len(self._order)])
        rows, hits = (np.cumsum(part)[ends] for part in (row_weights, np.where(self._positive[::-1], row_weights, 0.0)))
        n_rows, n_own = (float(total[-1]) if len(ends) else 0.0 for total in (rows, hits))
        if not n_own:
            return dict.fromkeys(RANKING, float("nan"))
        precision = np.divide(hits, rows, out=np.zeros(len(rows)), where=rows > 0)
        distances = hits / n_own - (rows - hits) / (n_rows - n_own) if n_rows > n_own else np.array([np.nan])
        top = float(np.interp(_TOP * n_rows, np.append(0.0, rows), np.append(0.0, hits)))
        average = float((np.diff(hits / n_own, prepend=0.0) * precision).sum())
        return dict(zip(RANKING, (average, float(np.abs(distances).max()), top / (_TOP * n_own)), strict=True))


def auc_classes(classes: Sequence[Any]) -> Sequence[Any]:
    """The classes whose AUCs are averaged: the second of two classes, or all of several."""
    return classes[1:] if len(classes) == 2 else classes


def rank_rows(scores: Scores, labels: Sequence[Any]) -> dict[Any, RankedRows]:
    """The rows ranked by the probability of each label; not of one that all rows have, or whose P is not known."""
    ranked = {}
    for label in labels:
        place = scores.classes.index(label)
        positive = scores.codes == place
        if scores.known[positive].any() and not positive.all():
            ranked[label] = RankedRows(scores.proba[:, place], positive)
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
