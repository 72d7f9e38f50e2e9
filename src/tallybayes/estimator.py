"""The scikit-learn estimator: one naive Bayes classifier for tables without preprocessing.

X is a data frame of any kind, a NumPy or sparse matrix, or a list of texts. Categories, texts, numbers and missing
values stay as they are; every column has its own likelihood. The fitted `tallybayes.Model` is the attribute `model_`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from tallybayes.arrays.axis import merged, positions, sort_keys
from tallybayes.columns.infer import propose
from tallybayes.columns.label import Labels
from tallybayes.estimator_input import TEXT, InputForm, read_input
from tallybayes.families import Histogram, Text
from tallybayes.families.family import Floats
from tallybayes.model import Model
from tallybayes.model.fit import fit
from tallybayes.scoring.posterior import Posterior
from tallybayes.sklearn_input import all_or_nothing, check_weights, find_classes, refuse_labels
from tallybayes.state.options import OPTIONS, FitOptions, complete, with_options
from tallybayes.tuning.tune import LEAST_ROWS, tune

__all__ = ["NaiveBayesClassifier"]


# scikit-learn's class_weight is a factor of the weights of the rows, that of `fit` a factor of the class prior
_OPTIONS = {name: option for name, option in OPTIONS.items() if name != "class_weight"}


@with_options(_OPTIONS)
class NaiveBayesClassifier(ClassifierMixin, BaseEstimator):
    """Naive Bayes for mixed columns with missing values, fitted by exact counting.

    Parameters
    ----------
    {options}
    class_weight : dict or "balanced", default=None
        Weights of the classes, by which the weights of the rows are multiplied.
    tune : bool, default=False
        Whether `fit` selects corrections, interactions and dependence as `tallybayes.tune` does. It takes longer, and
        predicts better where columns interact.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_count_ : ndarray of shape (n_classes,)
        Number of rows of each class, or their total weight.
    model_ : Model
        The fitted model, which also explains, saves, merges and forgets.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X had any.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"colour": ["red", "red", "yellow", None], "size": [3.1, 2.9, None, 5.2]})
    >>> clf = NaiveBayesClassifier().fit(X, ["apple", "apple", "banana", "banana"])
    >>> clf.predict(pd.DataFrame({"colour": [None, "red"], "size": [5.0, 3.0]})).tolist()
    ['banana', 'apple']

    A list of texts is one column of text:

    >>> clf = NaiveBayesClassifier().fit(["cash prize", "win cash", "lunch today", "see you at lunch"], [1, 1, 0, 0])
    >>> clf.predict(["cash", "lunch"]).tolist()
    [1, 0]
    """

    classes_: NDArray[Any]
    model_: Model
    n_features_in_: int
    _form: InputForm
    _classes_given: bool  # whether `partial_fit` was given all classes, so that others are errors

    def __init__(  # type: ignore[misc]  # class_weight is scikit-learn's, in the place of the option
        self, *, class_weight: Any = None, tune: bool = False, **options: Unpack[FitOptions]
    ) -> None:
        self.__dict__.update(complete(options, _OPTIONS), class_weight=class_weight, tune=tune)

    # Learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a new model to a table and its labels."""
        with all_or_nothing(self):
            X, self._form = read_input(self, X)
            self.classes_, labels = self._labels(X, y)
            self._classes_given = False
            self._check_class_weight()
            is_tuned = self._is_tuned(labels, sample_weight)
            self.model_ = self._fitted(X, labels, sample_weight, self.weights, is_tuned=is_tuned)
        if not self.model_.schema.families:
            warnings.warn(f"no column is used:\n{self.model_.schema}", UserWarning, stacklevel=2)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows. New labels are accepted unless `classes` was given in the first call.

        Column weights are not fitted to batches: weights="auto" means none here.

        With small batches, infer="type" is the safer choice: the families do not depend on the values that happen to
        be in the first batch.
        """
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight 'balanced' is not supported for partial_fit, which does not see all labels."
                " Use a dict, or sample_weight."
            )
        with all_or_nothing(self):
            return self._partial_fit(X, y, classes, sample_weight)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        first = "model_" not in vars(self)
        X, self._form = read_input(self, X, None if first else self._form)
        if classes is not None:
            self._classes_given = _check_partial_fit_first_call(self, classes) or self._classes_given
        found, labels = self._labels(X, y)
        if first and classes is None:
            self.classes_ = found
            self._classes_given = False
        known = self.classes_.tolist()
        new = positions(labels.keys, known) < 0
        if new.any() and self._classes_given:
            refuse_labels(found[new], self.classes_)
        if new.any():
            self.classes_ = np.asarray(merged(known, labels.keys), np.result_type(self.classes_, found))
        if first:
            self.model_ = self._fitted(
                X, labels, sample_weight, None if isinstance(self.weights, str) else self.weights
            )
        else:
            self.model_.learn(X, label=labels, weight=self._weights(labels, sample_weight))
        return self

    def _is_tuned(self, labels: Labels, sample_weight: Any) -> bool:
        """Whether to tune: if asked for, and if there are enough rows and classes."""
        if not isinstance(self.tune, bool | np.bool_):
            raise ValueError(f"tune: expected True or False, got {self.tune!r}")
        if self.tune and not isinstance(self.weights, str):
            raise ValueError(f"tune=True selects the column weights: expected weights='auto', got {self.weights!r}")
        if not self.tune:
            return False
        weights = self._weights(labels, sample_weight)
        codes = labels.codes if weights is None else labels.codes[weights > 0]
        return len(codes) >= LEAST_ROWS and len(np.unique(codes)) > 1

    def _fitted(self, X: Any, labels: Labels, sample_weight: Any, weights: Any, *, is_tuned: bool = False) -> Model:
        options = {name: getattr(self, name) for name in _OPTIONS} | {"weights": weights}
        if self._form.kind == "texts" and options["families"] is None and options["schema"] is None:
            found = propose(TEXT, X.columns[TEXT], Histogram())
            options["families"] = {TEXT: found.family if found.is_text else Text()}
        if is_tuned:
            del options["weights"]
            own = np.asarray(labels.keys)[labels.codes]
            return tune(X, own, weight=self._weights(labels, sample_weight), **options).model
        return fit(X, labels, weight=self._weights(labels, sample_weight), **options)

    def _labels(self, X: Any, y: Any) -> tuple[NDArray[Any], Labels]:
        """The classes in y, and y as codes."""
        if not (type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iubU"):
            if y is None:
                raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
            y = column_or_1d(y, warn=True)
            assert_all_finite(y, input_name="y")
        n_rows = X.n_rows if hasattr(X, "n_rows") else X.shape[0]
        if n_rows != len(y):
            check_consistent_length(np.empty(n_rows), y)
        return find_classes(y)

    def _weights(self, labels: Labels, sample_weight: Any) -> NDArray[np.float64] | None:
        """Weights of the rows times those of their classes; None if all are one."""
        weights = check_weights(sample_weight, len(labels.codes))
        if self.class_weight is None:
            return weights
        if self.class_weight == "balanced":
            by_class = labels.counts.sum() / (len(labels.keys) * labels.counts)
        elif isinstance(self.class_weight, Mapping):
            by_class = np.array([self.class_weight.get(label, 1.0) for label in labels.keys])
            if not (by_class >= 0).all():
                raise ValueError(f"class_weight: expected numbers that are not negative, got {self.class_weight!r}")
        else:
            raise ValueError(f"class_weight: expected 'balanced', a dict by label or None, got {self.class_weight!r}")
        class_weights: NDArray[np.float64] = by_class.astype(np.float64)[labels.codes]
        return class_weights if weights is None else class_weights * weights

    def _check_class_weight(self) -> None:
        """Raise a ValueError if class_weight names labels that are not in y."""
        named = set(self.class_weight) if isinstance(self.class_weight, Mapping) else set()
        if unknown := named - set(self.classes_.tolist()):
            raise ValueError(f"class_weight has labels that are not in y: {sort_keys(unknown)}")

    def _read(self, X: Any) -> Any:
        """X for scoring, in the form that the estimator was fitted on."""
        return read_input(self, X, self._form)[0]

    # Scoring

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of every row by `model_.decision`: by default the most probable one (ties: the first)."""
        proba = self.predict_proba(X)
        decision = self.model_.settings.decision
        codes = Posterior(self.classes_.tolist(), np.zeros(0), decision=decision).answer_codes(proba)
        labels = self.classes_[codes]
        if (codes < 0).any():
            labels = labels.astype(object)
            labels[codes < 0] = None
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row) of every row, (rows, classes)."""
        return self._placed(self._known_model().predict_proba(self._read(X)), 0.0)

    def predict_log_proba(self, X: Any) -> Floats:
        """Log P(class | row) of every row, (rows, classes)."""
        return self._placed(self._known_model().predict_log_proba(self._read(X)), -np.inf)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Log P(class, row) of every row, (rows, classes), without column weights, as in scikit-learn."""
        return self._placed(self._known_model().log_joint(self._read(X)), -np.inf)

    def score_samples(self, X: Any) -> Floats:
        """Log p(row) of every row: low for rows that are unlike the training rows."""
        return self._known_model().log_marginal(self._read(X))

    def _known_model(self) -> Model:
        if "model_" not in vars(self):
            check_is_fitted(self)
        return self.model_

    def _placed(self, scores: Floats, absent: float) -> Floats:
        """Scores by the classes of the estimator: some that `partial_fit` was given may have no rows yet."""
        if scores.shape[1] == len(self.classes_):
            return scores
        result = np.full((len(scores), len(self.classes_)), absent)
        result[:, positions(self.model_.classes, self.classes_.tolist())] = scores
        return result

    @property
    def class_count_(self) -> Floats:
        """Number of rows of each class, or their total weight."""
        counts = self._known_model().class_counts
        return np.array([counts.get(label, 0) for label in self.classes_.tolist()], np.float64)

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags
