"""The base class of the five classes: checks labels and weights, keeps the sums, computes log P(class, row).

A subclass defines how a matrix is counted (`_observe`) and scored (`_scores`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted

from tallybayes.errors import DataError
from tallybayes.families.family import Codes32, Floats, Score
from tallybayes.scoring.posterior import Posterior, warn_ruled_out
from tallybayes.scoring.scorer import Finish, add_up
from tallybayes.sklearn_input import (
    NO_TARGET,
    all_or_nothing,
    check_matrix,
    check_weights,
    class_codes,
    find_classes,
    refuse_matrix,
)
from tallybayes.tally import Exact

__all__ = ["DropInNB", "derived"]

Value = TypeVar("Value")

_SHARED_DOCS = {  # parts of the docstrings of the classes, for lines such as {fitted}
    "smoothing": """
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive (Laplace or Lidstone) smoothing; 0 is maximum likelihood. CategoricalNB takes a float only.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is set to 1e-10.""",
    "prior": """
    fit_prior : bool, default=True
        Whether to estimate the class prior; if False, it is uniform.
    class_prior : array-like of shape (n_classes,), default=None
        The class prior, instead of an estimate.""",
    "fitted": """
    class_count_ : ndarray of shape (n_classes,)
        Number of rows of each class, or their total weight.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had any.""",
}


class derived(Generic[Value]):  # noqa: N801
    """A fitted attribute: derived from the sums on first access, and cached until they change."""

    def __init__(self, work: Callable[[Any], Value]) -> None:
        self._work = work
        self._name = work.__name__
        self.__doc__ = work.__doc__

    def __get__(self, estimator: Any, owner: type) -> Value:
        if estimator is None:
            return self  # type: ignore[return-value]
        known = vars(estimator).get("_derived")
        if known is None:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")
        if self._name not in known:
            known[self._name] = value = self._work(estimator)
            for array in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(array, np.ndarray):
                    array.flags.writeable = False
        return known[self._name]  # type: ignore[no-any-return]

    def __set__(self, estimator: Any, value: object) -> NoReturn:
        raise AttributeError(f"{self._name} is derived from the sums and cannot be set")


class DropInNB(ClassifierMixin, BaseEstimator, ABC):
    """A naive Bayes classifier whose state is a sum: rows per class, and a tally of the features."""

    _parameter_constraints: dict[str, list[Any]]
    _accepts_sparse = False
    _checked_as: str | None = None  # the name in the error for negative numbers; None: they are accepted
    classes_: NDArray[Any]
    n_features_in_: int
    _sums: tuple[Exact, Any]  # rows per class; sums per feature and class
    _derived: dict[str, Any]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, text in _SHARED_DOCS.items():
            cls.__doc__ = cls.__doc__ and cls.__doc__.replace(f"\n    {{{name}}}", text)

    @abstractmethod
    def _observe(self, X: Any, codes: Codes32, weights: Floats | None) -> Any:
        """Count a matrix; a DataError if it holds NaN, infinity or other values that cannot be counted."""

    @abstractmethod
    def _scores(self, X: Any) -> Score:
        """A function that adds the log likelihood of rows of a matrix to (rows, classes)."""

    @property
    @abstractmethod
    def _log_prior(self) -> Floats:
        """Log P(class)."""

    def _merge(self, before: Any, more: Any) -> Any:
        """The sum of both; `before` may be changed, but only as the last step."""
        before.prepare(more, 1)()
        return before

    def _check_parameters(self) -> None:
        """Check the parameters against the number of classes and features, and keep them."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to a matrix and its labels; earlier data is discarded."""
        with all_or_nothing(self):
            X, y = self._check_input(X, y, reset=True)
            self.classes_, labels = find_classes(y)
            return self._learn(X, labels.codes, sample_weight, None)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; the first call must be given all classes."""
        with all_or_nothing(self):
            X, y = self._check_input(X, y, reset="classes_" not in vars(self))
            first = _check_partial_fit_first_call(self, classes)
            if not first and classes is not None and len(classes) != len(self.classes_):  # a class is given twice
                raise ValueError(
                    f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}"
                )
            return self._learn(X, class_codes(y, self.classes_), sample_weight, None if first else self._sums)

    def _learn(self, X: Any, codes: Codes32, sample_weight: Any, before: tuple[Exact, Any] | None) -> Self:
        weights, n_classes = check_weights(sample_weight, X.shape[0]), len(self.classes_)
        self._check_parameters()
        rows = (
            Exact.whole(np.bincount(codes, minlength=n_classes))
            if weights is None
            else Exact.summed(weights, codes.astype(np.int64), n_classes)
        )
        try:
            tally = self._observe(X, codes, weights)
        except DataError:
            refuse_matrix(self, X, self._checked_as)
        if before is not None:
            rows, tally = before[0] + rows, self._merge(before[1], tally)
        self._sums = (rows, tally)
        self._derived = {}
        return self

    def _check_input(self, X: Any, y: Any = NO_TARGET, *, reset: bool = False) -> tuple[Any, Any]:
        return check_matrix(self, X, y, reset=reset, sparse=self._accepts_sparse)

    # Scoring

    def _input(self, X: Any) -> Any:
        """A checked matrix; a NotFittedError before `fit`."""
        if "_sums" not in vars(self):
            check_is_fitted(self)
        return self._check_input(X)[0]

    def _joint(self, X: Any, finish: Finish | None = None) -> tuple[Floats, int]:
        """Log P(class, row) of a checked matrix, transformed by `finish`, and the sum of the values it returns."""
        try:
            return add_up(self._log_prior, [self._scores(X)], X.shape[0], finish)
        except DataError:
            refuse_matrix(self, X, self._checked_as)

    def _posterior(self) -> Posterior:
        return Posterior(self.classes_.tolist(), self._log_prior)

    def _like_input(self, result: Floats, X: Any, checked: Any) -> Any:
        """Scores in the precision and the library of the input."""
        return result

    def predict_joint_log_proba(self, X: Any) -> Any:
        """Log P(class, row) of every row, (rows, classes)."""
        checked = self._input(X)
        return self._like_input(self._joint(checked)[0], X, checked)

    def predict_log_proba(self, X: Any) -> Any:
        """Log P(class | row) of every row, (rows, classes)."""
        checked = self._input(X)
        return self._like_input(self._joint(checked, self._posterior().write_log_proba)[0], X, checked)

    def predict_proba(self, X: Any) -> Any:
        """P(class | row) of every row, (rows, classes)."""
        checked = self._input(X)
        proba, n_ruled_out = self._joint(checked, self._posterior().write_proba)
        warn_ruled_out(n_ruled_out, len(proba))
        return self._like_input(proba, X, checked)

    def predict(self, X: Any) -> Any:
        """The most probable class of every row; ties go to the first."""
        log_joint, _ = self._joint(self._input(X))
        return self.classes_[self._posterior().most_probable_codes(log_joint)]

    @derived
    def class_count_(self) -> Floats:
        """Number of rows of each class, or their total weight."""
        return self._sums[0].floats()

    def __sklearn_is_fitted__(self) -> bool:
        return "_sums" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.positive_only = self._checked_as is not None
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return state | {"_derived": {}} if "_derived" in state else state
