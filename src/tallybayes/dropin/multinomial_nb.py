"""MultinomialNB and ComplementNB: a row is scored by the weights of its features.

Both keep the exact sum of every feature in every class, `feature_count_`. They differ in the weights: see
`feature_log_prob_` of each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.dropin.discrete_nb import FeatureCountNB, SmoothedNB, feature_sums, smoothed_counts, weigh
from tallybayes.dropin.drop_in import derived
from tallybayes.families.family import Codes32, Floats, Score
from tallybayes.tally import Exact

__all__ = ["ComplementNB", "MultinomialNB"]

_SMALLEST_DOUBLE = 5e-324  # the smallest double above zero


class FeatureWeightNB(FeatureCountNB):
    """Classes that score a row by a weighted sum of its features."""

    def _observe(self, X: Any, codes: Codes32, weights: Floats | None) -> Exact:
        return feature_sums(X, codes, len(self.classes_), weights)

    @derived
    def _weights(self) -> Floats:
        """The weight of each feature in the score, (features, classes)."""
        return np.ascontiguousarray(self.feature_log_prob_.T)

    def _scores(self, X: Any) -> Score:
        return weigh(X, self._weights)


class MultinomialNB(FeatureWeightNB):
    """Multinomial naive Bayes, for counts and fractional counts (tf-idf).

    Parameters
    ----------
    {smoothing}
    {prior}

    Attributes
    ----------
    {fitted}
    class_log_prior_ : ndarray of shape (n_classes,)
        Log P(class).
    feature_count_ : ndarray of shape (n_classes, n_features)
        Sum of each feature in each class.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Log P(feature | class).

    Examples
    --------
    >>> clf = MultinomialNB().fit([[2, 0], [0, 1]], ["cash", "lunch"])
    >>> clf.predict([[1, 0]]).tolist(), clf.feature_count_.tolist()
    (['cash'], [[2.0, 0.0], [0.0, 1.0]])
    """

    _checked_as = "MultinomialNB (input X)"

    @derived
    def feature_log_prob_(self) -> Floats:
        """Log of (n + alpha) / (sum of n + alpha); 0 for a class without any count if alpha is 0."""
        smoothed = smoothed_counts(self._sums[1], self._settings[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            log_prob = np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True))
        return np.where(np.isnan(log_prob), 0.0, log_prob)


class ComplementNB(FeatureWeightNB):
    """Complement naive Bayes (Rennie et al. 2003): each class is scored by the counts of all other classes.

    Parameters
    ----------
    {smoothing}
    fit_prior : bool, default=True
        Used only if there is a single class.
    class_prior : array-like of shape (n_classes,), default=None
        Used only if there is a single class.
    norm : bool, default=False
        Whether the weights of each class are divided by their sum.

    Attributes
    ----------
    {fitted}
    class_log_prior_ : ndarray of shape (n_classes,)
        Log P(class); the score does not use it.
    feature_all_ : ndarray of shape (n_features,)
        Sum of each feature.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Sum of each feature in each class.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Weights of the features.

    Examples
    --------
    >>> ComplementNB().fit([[2, 0], [0, 1]], ["cash", "lunch"]).predict([[1, 0]]).tolist()
    ['cash']
    """

    _parameter_constraints = {**SmoothedNB._parameter_constraints, "norm": ["boolean"]}  # noqa: RUF012
    _checked_as = "ComplementNB (input X)"

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
    ) -> None:
        super().__init__(alpha=alpha, fit_prior=fit_prior, class_prior=class_prior, force_alpha=force_alpha)
        self.norm = norm

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._norm = self.norm

    @derived
    def feature_all_(self) -> Floats:
        """Sum of every feature."""
        return np.asarray(self._sums[1].sum(axis=0).floats())

    @derived
    def feature_log_prob_(self) -> Floats:
        """Minus the log probability of a feature in all other classes; never infinite."""
        with np.errstate(over="ignore", invalid="ignore"):
            smoothed = self.feature_all_ - self.feature_count_ + self._settings[0]
        if not np.isfinite(smoothed.sum()):
            smoothed = smoothed_counts(self._sums[1].sum(axis=0)[None] - self._sums[1], self._settings[0])
        total = smoothed.sum(axis=1, keepdims=True)
        weight = -np.log(np.maximum(smoothed / np.where(total > 0, total, 1.0), _SMALLEST_DOUBLE))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True) if self._norm and weight.any() else weight)

    @property
    def _log_prior(self) -> Floats:
        return self.class_log_prior_ if len(self.classes_) == 1 else np.zeros(len(self.classes_))
