"""The scikit-learn estimator: one naive Bayes classifier for tables without preprocessing.

X is a data frame of any kind, a NumPy or sparse matrix, or a list of texts. Categories, texts, numbers and missing
values stay as they are; every column has its own likelihood. The fitted `tallybayes.Model` is the attribute `model_`.
"""

from __future__ import annotations

from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from tallybayes.arrays.axis import merge_keys, positions
from tallybayes.columns.family_rules import propose
from tallybayes.columns.label import Labels
from tallybayes.errors import warn
from tallybayes.estimator_input import TEXT, InputForm, read_input
from tallybayes.families import Histogram, Text
from tallybayes.families.family import Floats
from tallybayes.model import Model
from tallybayes.model.fit import fit
from tallybayes.scoring.posterior import answer_codes
from tallybayes.sklearn_input import all_or_nothing, check_weights, find_classes, refuse_labels
from tallybayes.state.options import OPTIONS, FitOptions, check_names, with_options
from tallybayes.tables.raw_values import is_missing
from tallybayes.tuning.tune import LEAST_ROWS, tune

__all__ = ["NaiveBayesClassifier"]


@with_options(OPTIONS)
class NaiveBayesClassifier(ClassifierMixin, BaseEstimator):
    """Naive Bayes for mixed columns with missing values, fitted by exact counting.

    Parameters
    ----------
    {options}
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

    def __init__(self, *, tune: bool = False, **options: Unpack[FitOptions]) -> None:
        check_names(options)
        self.__dict__.update({name: option.default for name, option in OPTIONS.items()} | options, tune=tune)

    # Learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit a new model to a table and its labels.

        groups: of the rows, whose column weights are fitted with the rows of a group held out together; in pipelines
        and searches with metadata routing, `set_fit_request(groups=True)` hands them on.
        """
        with all_or_nothing(self):
            X, self._form = read_input(self, X)
            self.classes_, labels = self._labels(X, y)
            self._classes_given = False
            weights = check_weights(sample_weight, len(labels.codes))
            changes = {} if groups is None else {"group": self._groups(groups, len(labels.codes))}
            self.model_ = self._fit_model(X, labels, weights, is_tuned=self._is_tuned(labels, weights), **changes)
            self._add_classes(self.model_.classes)
        if not self.model_.schema.families:
            warn(f"no column is used:\n{self.model_.schema}", category=UserWarning)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows. New labels are accepted unless `classes` was given in the first call.

        Column weights are not fitted to batches: column_weights="auto" means none here.

        With small batches, infer="type" is the safer choice: the families do not depend on the values that happen to
        be in the first batch.
        """
        with all_or_nothing(self):
            return self._partial_fit(X, y, classes, sample_weight)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        first = "model_" not in vars(self)
        X, self._form = read_input(self, X, None if first else self._form)
        if classes is not None:
            self._classes_given = _check_partial_fit_first_call(self, classes) or self._classes_given
        classes_of_rows, labels = self._labels(X, y)
        if first and classes is None:
            self.classes_ = classes_of_rows
            self._classes_given = False
        known = self.classes_.tolist()
        new = positions(labels.keys, known) < 0
        if new.any() and self._classes_given:
            refuse_labels(classes_of_rows[new], self.classes_)
        if new.any():
            self.classes_ = np.asarray(merge_keys(known, labels.keys), np.result_type(self.classes_, classes_of_rows))
        weights = check_weights(sample_weight, len(labels.codes))
        if first:
            column_weights = None if isinstance(self.column_weights, str) else self.column_weights
            model = self._fit_model(X, labels, weights, column_weights=column_weights, class_weight=None)
            self.model_ = model.with_settings(class_weight=self.class_weight)  # of classes that may appear later
            self._add_classes(self.model_.classes)
        else:
            label: Any = labels  # a private kind of array, which has its classes already
            self.model_.learn(X, label=label, sample_weight=weights)
        return self

    def _is_tuned(self, labels: Labels, weights: Floats | None) -> bool:
        """Whether to tune: if asked for, and if there are enough rows and classes."""
        if not isinstance(self.tune, bool | np.bool_):
            raise ValueError(f"tune: expected True or False, got {self.tune!r}")
        if self.tune and not isinstance(self.column_weights, str):
            raise ValueError(
                f"tune=True selects the column weights: expected column_weights='auto', got {self.column_weights!r}"
            )
        if not self.tune:
            return False
        codes = labels.codes if weights is None else labels.codes[weights > 0]
        return len(codes) >= LEAST_ROWS and len(np.unique(codes)) > 1

    def _fit_model(
        self, X: Any, labels: Labels, sample_weight: Floats | None, *, is_tuned: bool = False, **changes: Any
    ) -> Model:
        """A model with the options of the estimator, some of them changed; a default gives way to the preset."""
        options = {name: getattr(self, name) for name in OPTIONS}
        options = {name: value for name, value in options.items() if value is not OPTIONS[name].default} | changes
        if self._form.kind == "texts" and self.families is None and self.schema is None:
            proposal = propose(TEXT, X.columns[TEXT], Histogram())
            options["families"] = {TEXT: proposal.family if proposal.is_text else Text()}
        if options.get("unlabelled") is not None:
            options["unlabelled"] = self._read(options["unlabelled"])
        if is_tuned:
            options.pop("column_weights", None)
            y = np.asarray(labels.keys)[labels.codes]
            return tune(X, y, sample_weight=sample_weight, **options).model
        label: Any = labels
        return fit(X, label, sample_weight=sample_weight, **options)

    def _groups(self, groups: Any, n_rows: int) -> NDArray[Any]:
        """The groups of the rows, checked."""
        if self.group is not None:
            raise ValueError(f"groups or the parameter group: expected one of them, got both (group={self.group!r})")
        groups = column_or_1d(groups)
        check_consistent_length(groups, np.empty(n_rows))
        return np.asarray(groups)

    def _labels(self, X: Any, y: Any) -> tuple[NDArray[Any], Labels]:
        """The classes in y, and y as codes; with missing_labels="em" None, NaN and -1 are no labels."""
        if self.missing_labels != "skip":
            return self._labels_with_gaps(X, y)
        if not (type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iubU"):
            if y is None:
                raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
            y = column_or_1d(y, warn=True)
            assert_all_finite(y, input_name="y")
        n_rows = X.n_rows if hasattr(X, "n_rows") else X.shape[0]
        if n_rows != len(y):
            check_consistent_length(np.empty(n_rows), y)
        return find_classes(y)

    def _labels_with_gaps(self, X: Any, y: Any) -> tuple[NDArray[Any], Labels]:
        """The same where rows may have no label, as in scikit-learn's semi-supervised classifiers."""
        values = np.asarray(y).ravel().tolist() if y is not None else [None] * len(X)
        check_consistent_length(X if hasattr(X, "shape") else np.empty(X.n_rows), values)
        is_known = np.array(
            [not (is_missing(value) or (type(value) in (int, float) and value == -1)) for value in values]
        )
        known = [value for value, here in zip(values, is_known.tolist(), strict=True) if here]
        if not known:
            raise ValueError("y: expected labels for some rows; None, NaN and -1 mean that a row has none")
        classes, labels = find_classes(column_or_1d(np.array(known)))
        codes = np.full(len(values), -1, np.int32)
        codes[is_known] = labels.codes
        return classes, Labels(labels.keys, codes, labels.counts)

    def _read(self, X: Any) -> Any:
        """X for scoring, in the form that the estimator was fitted on."""
        return read_input(self, X, self._form)[0]

    # Scoring

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of every row by `model_.decision`: by default the most probable one (ties: the first)."""
        proba = self.predict_proba(X)
        codes = answer_codes(proba, self.classes_.tolist(), self.model_.settings.decision)
        labels = self.classes_[codes]
        if (codes < 0).any():
            labels = labels.astype(object)
            labels[codes < 0] = None
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row) of every row, (rows, classes)."""
        return self._place(self._known_model().predict_proba(self._read(X)), 0.0)

    def predict_log_proba(self, X: Any) -> Floats:
        """Log P(class | row) of every row, (rows, classes)."""
        return self._place(self._known_model().predict_log_proba(self._read(X)), -np.inf)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Log P(class, row) of every row, (rows, classes), without column weights, as in scikit-learn."""
        return self._place(self._known_model().log_joint(self._read(X)), -np.inf)

    def score_samples(self, X: Any) -> Floats:
        """Log p(row) of every row: low for rows that are unlike the training rows."""
        return self._known_model().log_marginal(self._read(X))

    def _known_model(self) -> Model:
        if "model_" not in vars(self):
            check_is_fitted(self)
        return self.model_

    def _add_classes(self, labels: list[Any]) -> None:
        """Add the classes that a base model has beside those of the rows."""
        known = self.classes_.tolist()
        if (positions(labels, known) < 0).any():
            self.classes_ = np.asarray(merge_keys(known, labels), np.result_type(self.classes_, np.asarray(labels)))

    def _place(self, scores: Floats, absent: float) -> Floats:
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
