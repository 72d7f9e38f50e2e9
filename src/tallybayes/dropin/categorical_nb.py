"""CategoricalNB: features that hold the codes 0, 1, 2, ... of categories.

    P(v | c) = (n_vc + alpha) / (n_c + alpha V)

with V, `n_categories_`, one more than the largest code seen in any batch (or `min_categories`, if that is more). An
unseen code, V or larger, which is an error in scikit-learn, is scored as one more category without counts. Counts are
kept per code that occurred, so that a code of 2**40 costs no more than any other.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from tallybayes import kernels
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Codes
from tallybayes.columns.readers.key_reader import as_codes
from tallybayes.dropin.discrete_nb import SmoothedNB
from tallybayes.dropin.drop_in import derived
from tallybayes.errors import DataError
from tallybayes.families import Categorical
from tallybayes.families.block_arrays import score_codes
from tallybayes.families.family import Codes32, Floats, Score
from tallybayes.kernels.densities import laplace
from tallybayes.sklearn_input import INTEGERS, NO_TARGET, check_matrix
from tallybayes.tally import Counts

__all__ = ["CategoricalNB"]

_MOST_ENTRIES = 2**28  # largest number of entries of a fitted attribute
_MOST_KEPT = 2**20  # largest table of all categories, (categories of all features) x classes, that is kept for scoring


class CategoricalNB(SmoothedNB):
    """Categorical naive Bayes.

    Parameters
    ----------
    {smoothing}
    {prior}
    min_categories : int or array-like of shape (n_features,), default=None
        The minimum number of categories of each feature.

    Attributes
    ----------
    category_count_ : list of arrays of shape (n_classes, n_categories of the feature)
        Rows of each class that have each category.
    {fitted}
    class_log_prior_ : ndarray of shape (n_classes,)
        Log P(class).
    feature_log_prob_ : list of arrays of shape (n_classes, n_categories of the feature)
        Log P(category | class).
    n_categories_ : ndarray of shape (n_features,)
        Number of categories of each feature.

    Examples
    --------
    >>> clf = CategoricalNB().fit([[0, 2], [1, 0]], ["a", "b"])
    >>> clf.predict([[0, 7]]).tolist(), clf.n_categories_.tolist()
    (['a'], [2, 3])
    """

    _parameter_constraints = {  # noqa: RUF012
        **SmoothedNB._parameter_constraints,
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }
    _accepts_sparse = False
    _checked_as = "CategoricalNB (input X)"

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
    ) -> None:
        super().__init__(alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior)
        self.min_categories = min_categories

    def _check_parameters(self) -> None:
        super()._check_parameters()
        least = np.array(1 if self.min_categories is None else self.min_categories)
        if not np.issubdtype(least.dtype, np.signedinteger):
            raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.shape not in ((), (self.n_features_in_,)):
            raise ValueError(
                f"'min_categories' should have shape ({self.n_features_in_},) when an array-like is provided."
                f" Got {least.shape} instead."
            )
        self._least = np.broadcast_to(least.astype(np.int64), self.n_features_in_)

    def _check_input(self, X: Any, y: Any = NO_TARGET, *, reset: bool = False) -> tuple[Any, Any]:
        return check_matrix(self, X, y, reset=reset, plain=INTEGERS, dtype="int", ensure_all_finite=True)

    def _observe(self, X: Any, codes: Codes32, weights: Floats | None) -> Counts:
        features = tuple(map(str, range(X.shape[1])))
        columns = category_columns(X)
        return Categorical().observe(features, columns, codes, len(self.classes_), weights)

    @derived
    def n_categories_(self) -> NDArray[np.int64]:
        """One more than the largest code of each feature, or `min_categories`."""
        tally = self._sums[1]
        largest = [max(tally.keys(name), default=0) for name in sorted(tally.features, key=int)]
        return np.maximum(np.array([min(code + 1, 2**63 - 1) for code in largest], np.int64), self._least)

    @derived
    def category_count_(self) -> list[Floats]:
        """Rows of every class that have each category, (classes, categories) for each feature."""
        return [self._counts(j, range(n)).T for j, n in enumerate(self._table_sizes())]

    @derived
    def feature_log_prob_(self) -> list[Floats]:
        """Log P(category | class), (classes, categories) for each feature."""
        return [self._table(j, range(n)).T for j, n in enumerate(self._table_sizes())]

    def _table_sizes(self) -> list[int]:
        """The number of categories of each feature; an AttributeError if tables of them would be too large."""
        total = sum(self.n_categories_.tolist())
        if total * len(self.classes_) > _MOST_ENTRIES:
            raise AttributeError(f"a table of {total} categories is too large; predictions do not need it")
        return self.n_categories_.tolist()  # type: ignore[no-any-return]

    def _counts(self, feature: int, categories: Any) -> Floats:
        return self._sums[1].table(str(feature), categories)  # type: ignore[no-any-return]

    def _table(self, feature: int, categories: Any) -> Floats:
        """Log P(category | class), (categories, classes), of any codes."""
        known, alpha = int(self.n_categories_[feature]), float(self._settings[0])
        n_values = known + (np.asarray(categories)[:, None] >= known).astype(np.float64)
        return laplace(self._counts(feature, categories), self._sums[1].totals[str(feature)].floats(), alpha, n_values)

    @derived
    def _tables(self) -> tuple[Floats, NDArray[np.int64], Floats] | None:
        """Log P(category | class) of all features, the offset of each feature, and those of unseen codes.

        None if there are too many categories for a table.
        """
        if (self.n_categories_ > _MOST_KEPT // len(self.classes_)).any() or self.n_categories_.sum() > _MOST_KEPT:
            return None
        known = self.n_categories_.tolist()
        listed = np.concatenate([self._table(j, range(n)) for j, n in enumerate(known)])
        unseen = np.concatenate([self._table(j, [n]) for j, n in enumerate(known)])
        return listed, np.cumsum([0, *known]), unseen

    def _scores(self, X: Any) -> Score:
        if self._tables is None:
            return self._scores_of_many(X)
        table, offsets, unseen = self._tables
        arrays, origins, fewest = list(X.T), np.zeros(X.shape[1], np.int64), self.n_categories_.min()

        def score(out: Floats, start: int, stop: int) -> None:
            part = X[start:stop]
            if X.dtype.kind == "i" and part.min(initial=0) < 0:
                raise DataError("codes of at least 0")
            if part.max(initial=0) >= fewest:
                row, feature = np.nonzero(part >= self.n_categories_)
                np.add.at(out[start:stop], row, unseen[feature])
            kernels.active.add_codes(arrays, origins, offsets, table, out, start, stop)

        return score

    def _scores_of_many(self, X: Any) -> Score:
        """Score with a table of the categories in X, instead of all."""
        columns = [column.with_keys_in_use() for column in category_columns(X)]
        tables = [self._table(j, column.keys) for j, column in enumerate(columns)]
        return score_codes(columns, tables, len(self.classes_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def category_columns(X: NDArray[np.integer]) -> list[Codes]:
    """The columns of a matrix of codes; a DataError if one is negative."""
    if X.dtype.kind == "i" and min(in_threads(lambda start, stop: X[start:stop].min(initial=0), len(X))) < 0:
        raise DataError("codes of at least 0")
    return [as_codes(str(j), x) for j, x in enumerate(X.T)]
