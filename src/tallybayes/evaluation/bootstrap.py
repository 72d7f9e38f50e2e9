"""Bootstrap intervals of metrics: how much they would vary with another sample of evaluation rows.

Every replicate draws as many rows as there are, with replacement, which is a weighting of the rows. The interval lies
between two quantiles of the replicates (Efron 1979). The model is held fixed: the intervals describe the variation of
the evaluation rows, not of the training rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tallybayes.errors import ParameterError, check_integer
from tallybayes.evaluation.ranking_metrics import auc_classes, mean_auc, rank_rows, ratios
from tallybayes.evaluation.scores import Scores
from tallybayes.families.family import Floats

__all__ = ["METRICS", "intervals"]

METRICS = ("accuracy", "balanced_accuracy", "log_loss", "brier", "auc")
_WEIGHTS_AT_ONCE = 2**20  # weights held at a time: 8 MB


def intervals(scores: Scores, n: int, *, seed: int, level: float) -> dict[str, tuple[float, float]]:
    """The interval of every metric; NaN where it is undefined."""
    n = check_integer("n", n, at_least=1)
    check_integer("seed", seed, at_least=0)
    if not 0 < level < 1:
        raise ParameterError("level between 0 and 1, the share of replicates within the interval", got=level)
    if not len(scores):
        return dict.fromkeys(METRICS, (np.nan, np.nan))
    metrics = _WeightedMetrics(scores)
    parts = [metrics(weights) for weights in _weights(len(scores), n, np.random.default_rng(seed))]
    return {name: _quantiles(np.concatenate([part[name] for part in parts]), level) for name in METRICS}


def _weights(n_rows: int, n: int, rng: np.random.Generator) -> Iterator[Floats]:
    """How often each replicate draws each row, (rows, replicates), some replicates at a time."""
    at_once = max(1, _WEIGHTS_AT_ONCE // n_rows)
    for start in range(0, n, at_once):
        weights = np.empty((min(at_once, n - start), n_rows))
        for replicate in weights:
            replicate[:] = np.bincount(rng.integers(0, n_rows, n_rows, dtype=np.int32), minlength=n_rows)
        yield np.ascontiguousarray(weights.T)


class _WeightedMetrics:
    """The metrics of rows under weights."""

    def __init__(self, scores: Scores) -> None:
        self._ranked = rank_rows(scores, auc_classes(scores.classes))
        right, answered, known = scores.right, scores.answered, scores.known
        with np.errstate(divide="ignore"):
            log_loss = np.where(known, -np.log(scores.true_proba), 0.0)
        squares = np.einsum("ij,ij->i", scores.proba, scores.proba) - 2 * scores.true_proba + 1
        ruled_out = np.isinf(log_loss)
        finite_loss, brier = np.where(ruled_out, 0.0, log_loss), np.where(known, squares, 0.0)
        self._values = np.array([right, answered, finite_loss, brier, known, ruled_out], np.float64)
        self._answered = np.flatnonzero(answered)[np.argsort(scores.codes[answered], kind="stable")]
        codes = scores.codes[self._answered]
        self._starts = np.flatnonzero(np.diff(codes, prepend=-1))  # the first predicted row of each class
        self._right = right[self._answered, None]

    def __call__(self, weights: Floats) -> dict[str, Floats]:
        """Every metric for each column of weights."""
        right, answered, log_loss, brier, known, ruled_out = self._values @ weights
        aucs = [ranked.aucs(weights) for ranked in self._ranked.values()]
        return {
            "accuracy": ratios(right, answered),
            "balanced_accuracy": self._balance(weights),
            "log_loss": ratios(np.where(ruled_out > 0, np.inf, log_loss), known),
            "brier": ratios(brier, known),
            "auc": np.broadcast_to(mean_auc(aucs), right.shape),
        }

    def _balance(self, weights: Floats) -> Floats:
        """The mean recall of the classes that occur in the replicate."""
        if not len(self._starts):
            return np.full(weights.shape[1], np.nan)
        rows = weights[self._answered]
        whole = np.add.reduceat(rows, self._starts, axis=0)
        right = np.add.reduceat(rows * self._right, self._starts, axis=0)
        recalls = np.divide(right, whole, out=np.zeros_like(whole), where=whole > 0)
        return ratios(recalls.sum(axis=0), (whole > 0).sum(axis=0))


def _quantiles(values: Floats, level: float) -> tuple[float, float]:
    """The bounds of the interval, ignoring replicates in which the metric is undefined."""
    values = values[~np.isnan(values)]
    if not len(values):
        return np.nan, np.nan
    ends = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(values, ends, method="inverted_cdf").tolist()  # interpolating inf gives NaN
    return low, high
