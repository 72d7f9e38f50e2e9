"""Metrics of the answers alone, from a confusion matrix: rows by (true label, answer), None for no answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Confusion", "Costs", "count_by_class", "least_constant_cost", "matthews_correlation", "mean_cost", "ratio"]

Confusion = Mapping[tuple[Any, Any], int]
Costs = Mapping[Any, Mapping[Any, float]]  # by true label and answer; by default 0 for right and 1 for wrong answers


def count_by_class(confusion: Confusion, classes: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows, precision, recall and F1 of every class; rows without an answer do not count."""
    true, predicted = Counter[Any](), Counter[Any]()
    for (label, answer), n in confusion.items():
        if answer is not None:
            true[label] += n
            predicted[answer] += n
    rows = []
    for label in classes:
        right, n_true, n_predicted = confusion.get((label, label), 0), true[label], predicted[label]
        precision, recall, f1 = ratio(right, n_predicted), ratio(right, n_true), ratio(2 * right, n_predicted + n_true)
        rows.append({"class": label, "rows": n_true, "precision": precision, "recall": recall, "f1": f1})
    return rows


def mean_cost(confusion: Confusion, costs: Costs) -> float:
    """The mean cost of the answers; rows without one have none.

    >>> mean_cost({("ham", "spam"): 1, ("ham", "ham"): 3, ("spam", None): 9}, {"ham": {"spam": 20}})
    5.0
    """
    answered = {pair: n for pair, n in confusion.items() if pair[1] is not None}
    total = sum(n * costs.get(true, {}).get(answer, float(true != answer)) for (true, answer), n in answered.items())
    return ratio(total, sum(answered.values()))


def least_constant_cost(class_rows: Mapping[Any, int], answers: Sequence[Any], costs: Costs) -> float:
    """The mean cost of always giving the same answer, the one for which it is least."""
    constant = (mean_cost({(true, answer): n for true, n in class_rows.items()}, costs) for answer in answers)
    return min(constant, default=float("nan"))


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


def ratio(part: float, whole: float) -> float:
    """A quotient; NaN if the denominator is 0."""
    return part / whole if whole else float("nan")
