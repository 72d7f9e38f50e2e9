"""How well the rows of a class are ranked before the others, by P(class).

The rows are sorted by descending probability; equal probabilities are one step. After each step, precision is the share
of the class among the rows so far, recall the share of its rows that are among them:

    average precision   sum over steps of (recall - recall before) * precision; by chance the share of the class
    KS                  Kolmogorov-Smirnov distance: the largest difference of recall and the same share of other rows
    lift                precision in the first tenth of the rows / share of the class; by chance 1

Of a step across the end of the first tenth, rows count in proportion. Average precision is that of scikit-learn
(`average_precision_score`), KS that of SciPy (`ks_2samp`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.evaluation.scores import Scores
from tallybayes.families.family import Floats

__all__ = ["NAMES", "matthews_correlation", "ranking_by_class", "ranking_metrics"]

NAMES = ("average_precision", "ks", "lift")
_TOP = 0.1  # of the rows: the tenth that is usual for lift


def ranking_metrics(score: Floats, positive: NDArray[np.bool_], weights: Floats | None = None) -> dict[str, float]:
    """The metrics of rows with a score and weights; `positive` marks the rows of the class. NaN where undefined.

    >>> ranking_metrics(np.array([0.9, 0.6, 0.6, 0.1]), np.array([True, True, False, False]))["ks"]
    0.5
    """
    order = np.argsort(-score, kind="stable")
    row_weights = np.ones(len(order)) if weights is None else weights[order]
    ends = np.flatnonzero(np.append(np.diff(score[order]) != 0, True)[: len(order)])
    rows, hits = np.cumsum(row_weights)[ends], np.cumsum(np.where(positive[order], row_weights, 0.0))[ends]
    n_rows, n_own = (float(total[-1]) if len(ends) else 0.0 for total in (rows, hits))
    if not n_own:
        return dict.fromkeys(NAMES, float("nan"))
    precision = np.divide(hits, rows, out=np.zeros(len(rows)), where=rows > 0)
    distances = hits / n_own - (rows - hits) / (n_rows - n_own) if n_rows > n_own else np.array([np.nan])
    top = float(np.interp(_TOP * n_rows, np.append(0.0, rows), np.append(0.0, hits)))
    return {
        "average_precision": float((np.diff(hits / n_own, prepend=0.0) * precision).sum()),
        "ks": float(np.abs(distances).max()),
        "lift": top / (_TOP * n_own),
    }


def ranking_by_class(scores: Scores) -> list[dict[str, float]]:
    """The metrics of each class against the rest; NaN where all rows are of the class, or its P is not known."""
    result = []
    for place in range(len(scores.classes)):
        positive = scores.codes == place
        is_defined = scores.known[positive].any() and not positive.all()
        metrics = (
            ranking_metrics(scores.proba[:, place], positive) if is_defined else dict.fromkeys(NAMES, float("nan"))
        )
        result.append(metrics)
    return result


def matthews_correlation(matrix: NDArray[np.int64]) -> float:
    """The Matthews correlation coefficient of a confusion matrix; NaN if all rows have one class or one prediction.

    The correlation of true and predicted class, for any number of classes (Gorodkin 2004): 1 if all predictions are
    right, 0 by chance.

    >>> matthews_correlation(np.array([[3, 1], [1, 3]]))
    0.5
    """
    true, predicted = (matrix.sum(axis=axis).astype(float) for axis in (1, 0))
    n = true.sum()
    spread = float(np.sqrt((n**2 - true @ true) * (n**2 - predicted @ predicted)))
    return float((np.trace(matrix) * n - true @ predicted) / spread) if spread else float("nan")
