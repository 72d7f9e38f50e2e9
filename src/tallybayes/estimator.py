"""The scikit-learn estimator: one naive Bayes classifier for tables as they are.

Data frames of any kind, NumPy and sparse matrices go in without preprocessing; categories, text, gaps and numbers stay
in place, and every column gets its own likelihood. Behind it is a `tallybayes.Model`, which is there as `model_`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from tallybayes.arrays.axis import merged, positions, sort_keys
from tallybayes.data.encode import as_reals, is_missing
from tallybayes.data.infer import propose
from tallybayes.data.label import Labels
from tallybayes.data.table import Table, to_table
from tallybayes.families import Histogram, Text
from tallybayes.families.family import Floats
from tallybayes.model import Model, fit
from tallybayes.scoring.posterior import Posterior
from tallybayes.sklearn_input import (
    all_or_nothing,
    check_matrix,
    check_weights,
    few_numbers,
    find_classes,
    is_plain,
    refuse_labels,
)
from tallybayes.state.options import OPTIONS, FitOptions, complete, with_options

__all__ = ["NaiveBayesClassifier"]

_TEXT = "text"  # the name of the column that a list of texts is

_STRINGS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


def _texts(X: Any) -> Any:
    """A list, series or array of texts, as a column; None if it is something else."""
    if isinstance(X, (pa.Array, pa.ChunkedArray)):
        return X if any(is_kind(X.type) for is_kind in _STRINGS) else None
    if getattr(X, "ndim", 1) != 1 or not hasattr(X, "__len__") or isinstance(X, (str, bytes, Mapping)):
        return None
    if not isinstance(X, (list, tuple)):
        if not hasattr(X, "tolist") and not hasattr(X, "to_list"):
            return None
        X = X.tolist() if hasattr(X, "tolist") else X.to_list()
    there = [value for value in X if not is_missing(value)]
    return list(X) if there and all(isinstance(value, str) for value in there) else None


@with_options()
class NaiveBayesClassifier(ClassifierMixin, BaseEstimator):
    """Naive Bayes for mixed columns, with gaps, learned by exact counting.

    Parameters
    ----------
    {options}
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the weights of the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_count_ : ndarray of shape (n_classes,)
        Rows, or their weight, of each class.
    model_ : Model
        The model: explain, save, merge and forget with it.
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
    _names: list[str] | int | str | None

    def __init__(self, *, class_weight: Any = None, **options: Unpack[FitOptions]) -> None:
        self.__dict__.update(complete(options), class_weight=class_weight)

    # Learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table and its labels, forgetting what was learned before."""
        with all_or_nothing(self):
            X = self._checked(X, reset=True)
            self.classes_, labels = self._labels(X, y)
            self._declared = False
            self._check_class_weight()
            self.model_ = self._fitted(X, labels, sample_weight)
        if not self.model_.schema.families:
            warnings.warn(f"no column is used:\n{self.model_.schema}", UserWarning, stacklevel=2)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows. New labels are accepted unless `classes` was given in the first call.

        With small batches, infer="type" is the safer choice: the families do not depend on the values that happen to
        be in the first batch.
        """
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight 'balanced' is not supported for partial_fit, which does not see all labels."
                " Give a dict, or weights of your own as sample_weight."
            )
        with all_or_nothing(self):
            return self._partial_fit(X, y, classes, sample_weight)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        first = "model_" not in vars(self)
        X = self._checked(X, reset=first)
        if classes is not None:
            self._declared = _check_partial_fit_first_call(self, classes) or self._declared
        found, labels = self._labels(X, y)
        if first and classes is None:
            self.classes_, self._declared = found, False
        known = self.classes_.tolist()
        new = positions(labels.keys, known) < 0
        if new.any() and self._declared:
            refuse_labels(found[new], self.classes_)
        if new.any():
            self.classes_ = np.asarray(merged(known, labels.keys), np.result_type(self.classes_, found))
        if first:
            self.model_ = self._fitted(X, labels, sample_weight)
        else:
            self.model_.learn(X, label=labels, weight=self._weights(labels, sample_weight))
        return self

    def _fitted(self, X: Any, labels: Labels, sample_weight: Any) -> Model:
        options = {name: getattr(self, name) for name in OPTIONS}
        if self._names == _TEXT and options["families"] is None and options["schema"] is None:
            found = propose(_TEXT, X.columns[_TEXT], Histogram())
            options["families"] = {_TEXT: found.family if found.is_text else Text()}
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
        """Weights of the rows, those of their classes included; None where all are one."""
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
        own: NDArray[np.float64] = by_class.astype(np.float64)[labels.codes]
        return own if weights is None else own * weights

    def _check_class_weight(self) -> None:
        """Refuse weights of labels that are not there."""
        named = set(self.class_weight) if isinstance(self.class_weight, Mapping) else set()
        if unknown := named - set(self.classes_.tolist()):
            raise ValueError(f"class_weight has labels that are not in y: {sort_keys(unknown)}")

    def _checked(self, X: Any, *, reset: bool = False) -> Any:
        """What the model takes: a matrix or a table; its columns are remembered, or compared."""
        if (texts := _texts(X)) is not None and (reset or self._names == _TEXT):
            if reset:
                self._names, self.n_features_in_ = _TEXT, 1
                self.__dict__.pop("feature_names_in_", None)
            return Table(len(texts), {_TEXT: texts})
        if is_plain(X, sparse=True):
            return self._as_fitted(check_matrix(self, X, reset=reset, sparse=True)[0], reset=reset)
        if not reset and (few := few_numbers(self, X)) is not None and isinstance(self._names, list):
            return Table(len(few), dict(zip(self._names, few.T, strict=True)), matrix=few)
        is_frame = hasattr(X, "columns") or hasattr(X, "__arrow_c_stream__") or isinstance(X, pa.RecordBatch)
        if is_frame and len(getattr(X, "shape", (0, 0))) == 2:
            return self._checked_frame(X, reset=reset)
        if isinstance(X, (list, tuple)) and np.asarray(X).dtype.kind in "US":
            X = np.asarray(X, object)  # numbers among words stay numbers
        return self._as_fitted(check_matrix(self, X, reset=reset, sparse=True, dtype=None)[0], reset=reset)

    def _checked_frame(self, X: Any, *, reset: bool) -> Any:
        X = pa.Table.from_batches([X]) if isinstance(X, pa.RecordBatch) else X
        validate_data(self, X, reset=reset, skip_check_array=True)
        table = to_table(X)
        if not table.n_rows or not table.columns:
            n, what = (table.n_rows, "sample") if table.columns else (0, "feature")
            shape = (table.n_rows, len(table.columns))
            raise ValueError(
                f"Found array with {n} {what}(s) (shape={shape}) while a minimum of 1 is required by"
                f" {type(self).__name__}."
            )
        return self._as_fitted(table, reset=reset)

    def _as_fitted(self, X: Any, *, reset: bool) -> Any:
        """Data of the kind and with the names of the first: scikit-learn's checks have warned where they differ.

        A sparse matrix is one bag, a dense one has columns x0, x1, ..., a frame has names of its own.
        """
        if not reset and self._names == _TEXT:
            raise ValueError(f"{type(self).__name__} was fitted on texts: it wants a list of texts")
        names = None if hasattr(X, "tocsr") else list(X.columns) if isinstance(X, Table) else X.shape[1]
        if reset:
            self._names = names
        if names == self._names or (isinstance(names, list) and sorted(names) == self._sorted_names()):
            return X  # by name
        if self._names is None:
            return csr_array(
                X
                if not isinstance(X, Table)
                else np.column_stack([as_reals(name, column).values for name, column in X.columns.items()])
            )
        table = X if isinstance(X, Table) else to_table(X.toarray() if names is None else X)
        own = self._names if isinstance(self._names, list) else [f"x{j}" for j in range(len(table.columns))]
        return Table(table.n_rows, dict(zip(own, table.columns.values(), strict=True)))

    def _sorted_names(self) -> list[str] | None:
        return sorted(self._names) if isinstance(self._names, list) else None

    # Scoring

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable label of every row (ties go to the first), or what `model_.decision` says."""
        posterior = Posterior(self.classes_.tolist(), np.zeros(0), decision=self._known_model().settings.decision)
        codes = posterior.answer_codes(self.predict_proba(X))
        labels = self.classes_[codes]
        if (codes < 0).any():
            labels = labels.astype(object)
            labels[codes < 0] = None
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row) of every row, (rows, classes)."""
        return self._placed(self._known_model().predict_proba(self._checked(X)), 0.0)

    def predict_log_proba(self, X: Any) -> Floats:
        """Log P(class | row) of every row, (rows, classes)."""
        model = self._known_model()
        joint = model.log_joint(self._checked(X))
        return self._placed(model.snapshot().posterior.log_proba(joint), -np.inf)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Log P(class, row) of every row, (rows, classes)."""
        return self._placed(self._known_model().log_joint(self._checked(X)), -np.inf)

    def score_samples(self, X: Any) -> Floats:
        """Log p(row) of every row: low for rows unlike anything learned."""
        return self._known_model().log_marginal(self._checked(X))

    def _known_model(self) -> Model:
        if "model_" not in vars(self):
            check_is_fitted(self)
        return self.model_

    def _placed(self, scores: Floats, nothing: float) -> Floats:
        """Scores of the model's classes among all classes: those named to `partial_fit` may have no rows yet."""
        if scores.shape[1] == len(self.classes_):
            return scores
        result = np.full((len(scores), len(self.classes_)), nothing)
        result[:, positions(self.model_.classes, self.classes_.tolist())] = scores
        return result

    @property
    def class_count_(self) -> Floats:
        """Rows, or their weight, of each class."""
        counts = self._known_model().class_counts
        return np.array([counts.get(label, 0) for label in self.classes_.tolist()], np.float64)

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags
