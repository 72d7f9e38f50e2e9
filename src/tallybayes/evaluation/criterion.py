"""Metrics as criteria of a choice: which direction is better, and what each row contributes to a metric.

    value_i = metric + W d metric / d w_i       w_i: the weight of a row, W: the sum of all weights

No metric changes when all weights are multiplied by the same number, so the weighted mean of the values is the metric
(Euler), and its standard error is that of the mean of the values (infinitesimal jackknife, Efron 1982; for the AUC that
is DeLong 1988). Two candidates are compared on the same rows by the differences of their values. Accuracy, log loss and
Brier score are means over rows, whose values they are.

A ranking metric is that of the second of two classes, or the mean over several, as in `evaluate`. The rows in
descending order of P(class), equal ones as one step, have the weights r (h of the class) and cumulative weights R (H):

    average precision   sum of h/H_all * H/R;  lift: H at a tenth of the rows / (a tenth of H_all), linear in a step
    KS                  largest |H/H_all - (R-H)/(R_all-H_all)|;  AUC: mean of the share of other rows that come later
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Codes32, Floats
from tallybayes.errors import ParameterError, did_you_mean
from tallybayes.evaluation.ranking_metrics import auc_classes
from tallybayes.weights.weight_fit import greatest, losses_of

__all__ = ["CRITERIA", "LOG_LOSS", "Criterion"]

_BINS = 10  # of the calibration error, as in `metrics.py`
_TOP = 0.1  # of the rows, for lift


@dataclass(frozen=True, eq=False)
class _WeightedRows:
    """Rows with P(class | row), true classes and weights."""

    proba: Floats
    codes: Codes32
    weights: Floats

    @property
    def right(self) -> Floats:
        """1 for rows whose most probable class is the true one."""
        return np.asarray(self.proba.argmax(axis=1) == self.codes, np.float64)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())


def _brier(rows: _WeightedRows) -> Floats:
    true = rows.proba[np.arange(len(rows.codes)), rows.codes]
    return np.asarray(np.einsum("ij,ij->i", rows.proba, rows.proba) - 2 * true + 1)


def _balanced_accuracy(rows: _WeightedRows) -> Floats:
    """The mean of the recalls of the classes that have rows."""
    whole = np.bincount(rows.codes, rows.weights, rows.proba.shape[1])
    hits, has_rows = np.bincount(rows.codes, rows.weights * rows.right, len(whole)), whole > 0
    recall = np.divide(hits, whole, out=np.zeros_like(hits), where=has_rows)
    share = np.divide(rows.total, whole * has_rows.sum(), out=np.zeros_like(hits), where=has_rows)
    return np.asarray(recall[has_rows].mean() + (rows.right - recall[rows.codes]) * share[rows.codes])


def _mcc(rows: _WeightedRows) -> Floats:
    """The Matthews correlation coefficient: a function of the confusion matrix, whose gradient is of its cells."""
    n, predicted = rows.proba.shape[1], rows.proba.argmax(axis=1)
    matrix = np.bincount(rows.codes * n + predicted, rows.weights, n * n).reshape(n, n)
    of_true, of_answer, total, right = matrix.sum(axis=1), matrix.sum(axis=0), rows.total, np.trace(matrix)
    covariance = right * total - of_true @ of_answer
    spread, spread_of_answers = total**2 - of_true @ of_true, total**2 - of_answer @ of_answer
    if min(spread, spread_of_answers) <= 0:
        return np.full(len(rows.codes), np.nan)
    scale = np.sqrt(spread) * np.sqrt(spread_of_answers)
    slope = total * np.eye(n) + right - of_answer[:, None] - of_true
    slope -= covariance * ((total - of_true)[:, None] / spread + (total - of_answer) / spread_of_answers)
    return np.asarray((covariance + total * slope[rows.codes, predicted]) / scale)


def _ece(rows: _WeightedRows) -> Floats:
    """The expected calibration error: in each bin of confidence, the rows that make it larger or smaller."""
    confidence = rows.proba.max(axis=1)
    which = np.searchsorted(np.linspace(0, 1, _BINS + 1)[1:-1], confidence)
    off = confidence - rows.right
    return np.asarray(np.sign(np.bincount(which, rows.weights * off, _BINS))[which] * off)


@dataclass(frozen=True, eq=False)
class _Ranking:
    """The steps of one class: the step of each row, and the weights of the steps; see the head of the module."""

    step: NDArray[np.int64]
    is_own: Floats
    rows: Floats
    hits: Floats

    @classmethod
    def of(cls, rows: _WeightedRows, code: int) -> _Ranking:
        """The ranking by P of a class."""
        is_own = np.asarray(rows.codes == code, np.float64)
        step = np.unique(-rows.proba[:, code], return_inverse=True)[1]
        sums = (np.asarray(np.bincount(step, part), np.float64) for part in (rows.weights, rows.weights * is_own))
        return cls(step, is_own, *sums)

    @property
    def is_defined(self) -> bool:
        """Whether some rows are of the class, and others are not."""
        return bool(0 < self.hits.sum() < self.rows.sum())

    def _of_sides(self, own: Floats, other: Floats) -> Floats:
        """Values of a metric whose contributions are means over the rows of the class, and over the others."""
        metric, n, n_own = float((own * self.hits).sum() / self.hits.sum()), self.rows.sum(), self.hits.sum()
        away = self.is_own * (own[self.step] - metric) / n_own
        centre = float((other * (self.rows - self.hits)).sum() / (n - n_own))
        return np.asarray(metric + n * (away + (1 - self.is_own) * (other[self.step] - centre) / (n - n_own)))

    def auc(self) -> Floats:
        """The AUC, ties counting one half."""
        others, n_own = self.rows - self.hits, self.hits.sum()
        later = (others.sum() - np.cumsum(others) + others / 2) / others.sum()
        return self._of_sides(later, (np.cumsum(self.hits) - self.hits / 2) / n_own)

    def ks(self) -> Floats:
        """The Kolmogorov-Smirnov distance."""
        others, n_own = self.rows - self.hits, self.hits.sum()
        distance = np.cumsum(self.hits) / n_own - np.cumsum(others) / others.sum()
        at = int(np.abs(distance).argmax())
        before = np.asarray(np.arange(len(distance)) <= at, np.float64)
        values = self._of_sides(before, -before)
        metric = float(before @ self.hits / n_own)
        return np.asarray(np.sign(distance[at]) * (values - metric + distance[at]))

    def average_precision(self) -> Floats:
        """The mean precision at the rows of the class."""
        n_own, rows, hits = self.hits.sum(), np.cumsum(self.rows), np.cumsum(self.hits)
        precision = np.divide(hits, rows, out=np.zeros_like(hits), where=rows > 0)
        per_row = np.divide(self.hits, rows, out=np.zeros_like(hits), where=rows > 0)
        gain, loss = (np.cumsum(part[::-1])[::-1] for part in (per_row, per_row * precision))  # at all later steps
        metric = float(self.hits @ precision / n_own)
        slope = self.is_own * (precision[self.step] - metric + gain[self.step]) - loss[self.step]
        return np.asarray(metric + self.rows.sum() / n_own * slope)

    def lift(self) -> Floats:
        """Precision in the first tenth of the rows / share of the class."""
        n, n_own, rows = self.rows.sum(), self.hits.sum(), np.cumsum(self.rows)
        cut = int(np.searchsorted(rows, _TOP * n))
        precision = self.hits[cut] / self.rows[cut]
        included = np.asarray(np.arange(len(rows)) < cut, np.float64)
        included[cut] = (_TOP * n - (rows[cut] - self.rows[cut])) / self.rows[cut]
        metric = float(included @ self.hits / (_TOP * n_own))
        slope = (included[self.step] * (self.is_own - precision) / _TOP + precision) - self.is_own * metric
        return np.asarray(metric + n / n_own * slope)


def _mean_ranking(metric: Callable[[_Ranking], Floats]) -> Callable[[_WeightedRows], Floats]:
    """The mean over the classes that `evaluate` averages, of those for which the metric is defined."""

    def values(rows: _WeightedRows) -> Floats:
        rankings = [_Ranking.of(rows, code) for code in auc_classes(range(rows.proba.shape[1]))]
        defined = [metric(ranking) for ranking in rankings if ranking.is_defined]
        return np.mean(defined, axis=0) if defined else np.full(len(rows.codes), np.nan)

    return values


@dataclass(frozen=True)
class Criterion:
    """A metric by which candidates are compared; `name` as in `Evaluation`."""

    name: str
    is_higher_better: bool
    _values: Callable[[Any], Floats] | None = None  # of rows; None: the log loss, which is computed from log scores

    @classmethod
    def of(cls, name: Any) -> Criterion:
        """The criterion of a name.

        >>> Criterion.of("auc").is_higher_better, Criterion.of("brier").is_higher_better
        (True, False)
        """
        if not isinstance(name, str) or name not in CRITERIA:
            hint = did_you_mean(str(name), CRITERIA) or f"one of {', '.join(CRITERIA)}"
            raise ParameterError("criterion: a metric of evaluate", got=name, hint=hint)
        return CRITERIA[name]

    @property
    def words(self) -> str:
        """The name for people."""
        return self.name.replace("_", " ")

    def losses(self, log_score: Floats, codes: Codes32, weights: Floats) -> Floats:
        """The value of every row, such that lower is better, from log scores, (rows, classes).

        Their weighted mean is the metric, or minus it; NaN where it is undefined.

        >>> log_score = np.log([[0.2, 0.8], [0.9, 0.1], [0.6, 0.4]])
        >>> CRITERIA["accuracy"].losses(log_score, np.array([1, 0, 1], np.int32), np.ones(3)).tolist()
        [-1.0, -1.0, -0.0]
        """
        if self._values is None:
            return losses_of(log_score, codes)
        share = np.exp(log_score - greatest(log_score)[:, None])
        values = self._values(
            _WeightedRows(share / share.sum(axis=1, keepdims=True), codes, np.asarray(weights, np.float64))
        )
        return -values if self.is_higher_better else values

    def value(self, loss: float) -> float:
        """The metric of a mean of losses; its inverse too."""
        return -loss if self.is_higher_better else loss


LOG_LOSS = Criterion("log_loss", False)
CRITERIA = {
    criterion.name: criterion
    for criterion in (
        LOG_LOSS,
        Criterion("accuracy", True, lambda rows: rows.right),
        Criterion("balanced_accuracy", True, _balanced_accuracy),
        Criterion("brier", False, _brier),
        Criterion("auc", True, _mean_ranking(_Ranking.auc)),
        Criterion("average_precision", True, _mean_ranking(_Ranking.average_precision)),
        Criterion("ks", True, _mean_ranking(_Ranking.ks)),
        Criterion("lift", True, _mean_ranking(_Ranking.lift)),
        Criterion("mcc", True, _mcc),
        Criterion("ece", False, _ece),
    )
}
