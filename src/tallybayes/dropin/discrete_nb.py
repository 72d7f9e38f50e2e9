"""The base classes of the classes with a smoothing parameter: alpha, the class prior, and sums of features.

Matrices of amounts are dense or CSR; here are their exact sums by class, and their weighted sums by row.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils._param_validation import Interval

from tallybayes import kernels
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Bag
from tallybayes.arrays.sparse_matrix import is_sparse
from tallybayes.dropin.drop_in import DropInNB, derived
from tallybayes.errors import DataError, warn
from tallybayes.families.block_arrays import sum_columns
from tallybayes.families.family import Codes32, Floats, Score
from tallybayes.families.tokens.bag_counts import dense_tables, fractional_sums
from tallybayes.tally import Exact

__all__ = ["FeatureCountNB", "SmoothedNB", "feature_sums", "is_finite", "smoothed_counts", "weigh"]


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
            text = f"alpha too small will result in numeric errors, setting alpha = {lowest:.1e}."
            warn(f"{text} Use `force_alpha=True` to keep alpha unchanged.", category=UserWarning)
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

    @property
    def _log_prior(self) -> Floats:
        return self.class_log_prior_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
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


def feature_sums(X: Any, codes: Codes32, n_classes: int, weights: Floats | None, *, negative: bool = False) -> Exact:
    """Exact sum of every feature (times the weight of the row) in every class, (classes, features)."""
    if is_sparse(X):
        if len(X.data) and not (np.isfinite(least := _least(X.data)) and (negative or least >= 0)):
            raise DataError("finite amounts")
        bag = Bag(X.indptr, X.indices, X.data, range(X.shape[1]))
        return _count(bag, codes, n_classes, weights)
    if not (np.isfinite(least := _least(X)) and (negative or least >= 0)):
        raise DataError("finite amounts")
    values = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if X.dtype == np.int64 and np.abs(values).max() >= 2.0**53:  # not every integer is a double
        return feature_sums(csr_array(X), codes, n_classes, weights, negative=negative)
    (_, total), place = sum_columns(list(values.T), codes, n_classes, weights, 1)
    if place >= 0:
        raise DataError("finite amounts")
    return Exact(np.ascontiguousarray(np.swapaxes(total.digits, 0, 1)), total.low)


def _least(values: Any) -> float:
    """The minimum; NaN if a value is NaN, infinity if one is infinite."""

    def chunk(start: int, stop: int) -> tuple[float, float]:
        return float(values[start:stop].min()), float(values[start:stop].max())

    ends = np.array(in_threads(chunk, len(values), size=65536))
    return float(ends[:, 0].min()) if np.isfinite(ends[:, 1]).all() else float(ends[:, 1].max())


def _count(bag: Bag, codes: Codes32, n_classes: int, weights: Floats | None) -> Exact:
    """Amounts of tokens, summed as integers if they are integers."""
    if weights is None:
        tables, _ = dense_tables(bag, codes, n_classes)
        if tables is not None:
            return Exact(np.swapaxes(Exact.added([Exact.whole(table) for table in tables]).digits, 0, 1))
    return fractional_sums(bag, codes, n_classes, weights)


def weigh(X: Any, table: Floats) -> Score:
    """A function that adds X @ table, (rows, features) @ (features, classes); 0 times an infinite weight is 0."""
    if is_sparse(X):

        def add(out: Floats, start: int, stop: int) -> None:
            kernels.active.add_bags(X.indptr, X.indices, X.data, table, out, start, stop)
            _check_scores(X.data, out[start:stop])

        return add
    impossible = np.isneginf(table) if table.min() == -np.inf else None
    finite = table if impossible is None else np.where(impossible, 0.0, table)

    def score(out: Floats, start: int, stop: int) -> None:
        part = X[start:stop].astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            out[start:stop] += part @ finite
        _check_scores(part, out[start:stop])
        if impossible is not None:
            out[start:stop][part @ impossible > 0] = -np.inf

    return score


def _check_scores(X: Any, out: Floats) -> None:
    """Raise a DataError if a matrix is not finite; it is searched only if its scores are not."""
    suspicious = not (out.max() < np.inf and out.min() > -np.inf)  # NaN is neither
    if suspicious and not np.isfinite(X).all():
        raise DataError("finite numbers")


def smoothed_counts(sums: Exact, alpha: Any) -> Floats:
    """Counts plus alpha; divided by 2**1024, which cancels in shares, if they exceed the range of doubles."""
    smoothed = sums.floats() + alpha
    if not np.isfinite(smoothed.sum()):
        smoothed = Exact(sums.wide().digits, sums.wide().low - 32).floats() + np.asarray(alpha) * 2.0**-1024
    return np.asarray(smoothed)


def is_finite(X: Any) -> bool:
    """Whether a matrix holds neither NaN nor infinity."""
    return X.dtype.kind != "f" or bool(np.isfinite(X.sum()) or np.isfinite(X).all())
