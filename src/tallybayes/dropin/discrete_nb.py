"""The base classes of the classes with a smoothing parameter: alpha, the class prior, and sums of features."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from tallybayes.dropin.drop_in import DropInNB, derived
from tallybayes.families.family import Floats
from tallybayes.tally import Exact

__all__ = ["FeatureCountNB", "SmoothedNB"]


class SmoothedNB(DropInNB):
    """Classes with the smoothing parameter alpha and a class prior."""

    _parameter_constraints = {  # noqa: RUF012
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", None],
        "force_alpha": ["boolean"],
    }
    _accepts_sparse = True

    def __init__(
        self, *, alpha: Any = 1.0, force_alpha: bool = True, fit_prior: bool = True, class_prior: Any = None
    ) -> None:
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.force_alpha = force_alpha

    def _check_alpha(self) -> Any:
        """The smoothing to use: a number, or an array with one for each feature."""
        alpha: Any = self.alpha if isinstance(self.alpha, Real) else np.asarray(self.alpha)
        least = np.min(alpha)
        if isinstance(alpha, np.ndarray):
            if alpha.shape[0] != self.n_features_in_:
                raise ValueError(
                    "When alpha is an array, it should contains `n_features`. "
                    f"Got {alpha.shape[0]} elements instead of {self.n_features_in_}."
                )
            if least < 0:
                raise ValueError("All values in alpha must be greater than 0.")
        lowest = 1e-10
        if least < lowest and not self.force_alpha:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {lowest:.1e}."
                " Use `force_alpha=True` to keep alpha unchanged.",
                stacklevel=6,
            )
            return np.maximum(alpha, lowest)
        return alpha

    def _check_parameters(self) -> None:
        prior = None if self.class_prior is None else np.asarray(self.class_prior, np.float64)
        if prior is not None and len(prior) != len(self.classes_):
            raise ValueError("Number of priors must match number of classes.")
        if prior is not None and not ((prior >= 0) & (prior < np.inf)).all():
            raise ValueError("Priors must be non-negative.")
        self._settings = self._check_alpha(), prior, self.fit_prior

    @derived
    def class_log_prior_(self) -> Floats:
        """Log P(class): given, by frequency, or uniform."""
        _, prior, by_frequency = self._settings
        if prior is None and (not by_frequency or not self.class_count_.any()):
            return np.full(len(self.classes_), -np.log(len(self.classes_)))
        with np.errstate(divide="ignore"):
            return np.log(self.class_count_) - np.log(self.class_count_.sum()) if prior is None else np.log(prior)

    def _log_prior(self) -> Floats:
        return self.class_log_prior_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags


class FeatureCountNB(SmoothedNB):
    """Classes that keep the sum of every feature in every class."""

    def _merge(self, before: Exact, more: Exact) -> Exact:
        return before + more

    @derived
    def feature_count_(self) -> Floats:
        """Sum of every feature in every class, (classes, features); for BernoulliNB the number of rows that have it."""
        return np.asarray(self._sums[1].floats())
