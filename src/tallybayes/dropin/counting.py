"""MultinomialNB, ComplementNB and BernoulliNB: sums of the features per class.

All three keep the exact sum of every feature in every class, `feature_count_`, and score a row as a weighted sum of
its features. They differ in the weights: see `feature_log_prob_` of each.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils._param_validation import Interval

from tallybayes import kernels
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Bag
from tallybayes.dropin.base import NaiveBayes, derived
from tallybayes.errors import DataError
from tallybayes.families.base import Codes32, Floats, Score
from tallybayes.families.multinomial import fractional_sums
from tallybayes.tally import Exact

__all__ = ["BernoulliNB", "ComplementNB", "Discrete", "MultinomialNB"]

_LEAST = 5e-324  # the smallest double above zero
_LOOK = 64  # rows looked at to guess what the rest is like


class Discrete(NaiveBayes):
    """What the classes with a smoothing parameter share: alpha and the class prior."""

    _parameter_constraints = {  # noqa: RUF012
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", None],
        "force_alpha": ["boolean"],
    }
    _accepts_sparse = True

    def __init__(
        self, alpha: Any = 1.0, fit_prior: bool = True, class_prior: Any = None, force_alpha: bool = True
    ) -> None:
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.force_alpha = force_alpha

    def _check_alpha(self) -> Any:
        """The smoothing to be used: a number, or an array of one per feature."""
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

    def _check_settings(self) -> None:
        given = None if self.class_prior is None else np.asarray(self.class_prior, np.float64)
        if given is not None and len(given) != len(self.classes_):
            raise ValueError("Number of priors must match number of classes.")
        if given is not None and not ((given >= 0) & (given < np.inf)).all():
            raise ValueError("Priors must be non-negative.")
        alpha = self._check_alpha()
        self._settings = alpha, given, self.fit_prior

    @derived
    def class_log_prior_(self) -> Floats:
        """Log P(class): as given, by frequency, or uniform."""
        _, given, by_frequency = self._settings
        if given is None and (not by_frequency or not self.class_count_.any()):
            return np.full(len(self.classes_), -np.log(len(self.classes_)))
        with np.errstate(divide="ignore"):
            return np.log(self.class_count_) - np.log(self.class_count_.sum()) if given is None else np.log(given)

    def _log_prior(self) -> Floats:
        return self.class_log_prior_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags


class Summing(Discrete):
    """Classes that keep the sum of every feature in every class."""

    def _together(self, before: Exact, more: Exact) -> Exact:
        return before + more

    @derived
    def feature_count_(self) -> Floats:
        """Sum of every feature in every class, (classes, features); of BernoulliNB the rows that have it."""
        return np.asarray(self._sums[1].floats())


class Weighing(Summing):
    """Classes that score a row by weights of its features."""

    def _observe(self, X: Any, codes: Codes32, weights: Floats | None) -> Exact:
        return feature_sums(X, codes, len(self.classes_), weights)

    @derived
    def _weights(self) -> Floats:
        """What one unit of a feature adds to the score, (features, classes)."""
        return np.ascontiguousarray(self.feature_log_prob_.T)

    def _scores(self, X: Any) -> Score:
        return weigh(X, self._weights)


class MultinomialNB(Weighing):
    """Multinomial naive Bayes, for counts and fractional counts (tf-idf).

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Laplace's or Lidstone's smoothing; 0 is maximum likelihood, with honest zeros.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is set to 1e-10.
    fit_prior : bool, default=True
        Whether the class prior is learned; if not, it is uniform.
    class_prior : array-like of shape (n_classes,), default=None
        The class prior, if it is given.

    Attributes
    ----------
    class_count_ : ndarray of shape (n_classes,)
        Rows, or their weight, of each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log probability of each class.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Sum of each feature in each class.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Log P(feature | class).
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had any.

    Examples
    --------
    >>> clf = MultinomialNB().fit([[2, 0], [0, 1]], ["cash", "lunch"])
    >>> clf.predict([[1, 0]]).tolist(), clf.feature_count_.tolist()
    (['cash'], [[2.0, 0.0], [0.0, 1.0]])
    """

    _whom = "MultinomialNB (input X)"

    def __init__(
        self, *, alpha: Any = 1.0, force_alpha: bool = True, fit_prior: bool = True, class_prior: Any = None
    ) -> None:
        super().__init__(alpha=alpha, fit_prior=fit_prior, class_prior=class_prior, force_alpha=force_alpha)

    @derived
    def feature_log_prob_(self) -> Floats:
        """Log of (n + alpha) / sum of the same; a class without any count and alpha = 0 is silent."""
        smoothed = smoothed_counts(self._sums[1], self._settings[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            log_prob = np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True))
        return np.where(np.isnan(log_prob), 0.0, log_prob)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class ComplementNB(Weighing):
    """Complement naive Bayes (Rennie et al. 2003): each class is scored by what the others lack.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Laplace's or Lidstone's smoothing.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is set to 1e-10.
    fit_prior : bool, default=True
        Used only if there is a single class.
    class_prior : array-like of shape (n_classes,), default=None
        Used only if there is a single class.
    norm : bool, default=False
        Whether the weights of each class are divided by their sum.

    Attributes
    ----------
    class_count_ : ndarray of shape (n_classes,)
        Rows, or their weight, of each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log probability of each class; the score does not use it.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    feature_all_ : ndarray of shape (n_features,)
        Sum of each feature.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Sum of each feature in each class.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Weights of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had any.

    Examples
    --------
    >>> ComplementNB().fit([[2, 0], [0, 1]], ["cash", "lunch"]).predict([[1, 0]]).tolist()
    ['cash']
    """

    _parameter_constraints = {**Discrete._parameter_constraints, "norm": ["boolean"]}  # noqa: RUF012
    _whom = "ComplementNB (input X)"

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

    def _check_settings(self) -> None:
        super()._check_settings()
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
        weight = -np.log(np.maximum(smoothed / np.where(total > 0, total, 1.0), _LEAST))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True) if self._norm and weight.any() else weight)

    def _log_prior(self) -> Floats:
        return self.class_log_prior_ if len(self.classes_) == 1 else np.zeros(len(self.classes_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class BernoulliNB(Summing):
    """Bernoulli naive Bayes: features are there or not.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Laplace's or Lidstone's smoothing; 0 is maximum likelihood, with honest zeros.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is set to 1e-10.
    binarize : float or None, default=0.0
        A feature is there if it is greater than this; None: X holds 0 and 1 (or shares in between) already.
    fit_prior : bool, default=True
        Whether the class prior is learned; if not, it is uniform.
    class_prior : array-like of shape (n_classes,), default=None
        The class prior, if it is given.

    Attributes
    ----------
    class_count_ : ndarray of shape (n_classes,)
        Rows, or their weight, of each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log probability of each class.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Rows of each class that have each feature.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Log P(feature | class).
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had any.

    Examples
    --------
    >>> clf = BernoulliNB().fit([[2, 0], [0, 1]], ["cash", "lunch"])
    >>> clf.predict([[1, 0]]).tolist(), clf.feature_count_.tolist()
    (['cash'], [[1.0, 0.0], [0.0, 1.0]])
    """

    _parameter_constraints = {  # noqa: RUF012
        **Discrete._parameter_constraints,
        "binarize": [None, Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        super().__init__(alpha=alpha, fit_prior=fit_prior, class_prior=class_prior, force_alpha=force_alpha)
        self.binarize = binarize

    def _observe(self, X: Any, codes: Codes32, weights: Floats | None) -> Exact:
        if self.binarize is None:
            return feature_sums(X, codes, len(self.classes_), weights, negative=True)
        if hasattr(X, "tocsr"):
            return feature_sums(self._there(X), codes, len(self.classes_), weights)
        return count_flags(X, self.binarize, codes, len(self.classes_), weights)

    def _there(self, X: Any) -> Any:
        """Which features of a sparse matrix are there, 0 or 1."""
        flags = to_flags(X.data, float(self.binarize or 0.0)).astype(np.int32)
        return type(X)((flags, X.indices, X.indptr), shape=X.shape)

    @derived
    def feature_log_prob_(self) -> Floats:
        """Log P(feature is there | class): (n + alpha) / (N + 2 alpha)."""
        return self._log_presence[0]

    @derived
    def _log_presence(self) -> tuple[Floats, Floats]:
        """Log probability that a feature is there and that it is not, (classes, features); silent without rows."""
        rows, there = self._sums
        alpha, total = self._settings[0], self.class_count_[:, None]
        absent = np.maximum((Exact(rows.digits[:, None], rows.low) - there).floats(), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = [np.log(n + alpha) - np.log(total + 2 * np.asarray(alpha)) for n in (there.floats(), absent)]
        return tuple(np.where(np.isnan(part), 0.0, part) for part in parts)  # type: ignore[return-value]

    @derived
    def _tables(self) -> tuple[Floats, Floats]:
        """Log P(there) and log P(not there), (features, classes)."""
        yes, no = self._log_presence
        return np.ascontiguousarray(yes.T), np.ascontiguousarray(no.T)

    def _scores(self, X: Any) -> Score:
        yes, no = self._tables
        if np.isfinite(yes).all() and np.isfinite(no).all() and (self.binarize is None or hasattr(X, "tocsr")):
            absent = no.sum(axis=0)
            weighed = weigh(X if self.binarize is None else self._there(X), yes - no)

            def add(out: Floats, start: int, stop: int) -> None:
                out[start:stop] += absent
                weighed(out, start, stop)

            return add
        if self.binarize is None:

            def add_shares(out: Floats, start: int, stop: int) -> None:
                part = X[start:stop].toarray() if hasattr(X, "tocsr") else X[start:stop].astype(np.float64)
                for share, table in ((part, yes), (1 - part, no)):
                    weigh(share, table)(out[start:stop], 0, stop - start)

            return add_shares
        threshold = float(self.binarize)
        as_it_is = _is_binary(X[:_LOOK], threshold)

        def score(out: Floats, start: int, stop: int) -> None:
            part = X[start:stop].toarray() if hasattr(X, "tocsr") else X[start:stop]
            before, n_rows = out[start:stop].copy(), stop - start
            if as_it_is and _is_finite(part):
                if kernels.active.add_flags(part, no, yes, out[start:stop], 0, n_rows) < 0:
                    return
                out[start:stop] = before  # not only 0 and 1 after all
            kernels.active.add_flags(to_flags(part, threshold), no, yes, out[start:stop], 0, n_rows)

        return score


def _is_binary(X: Any, threshold: float) -> bool:
    """Whether real numbers are 0 and 1, so that they need not be compared with the threshold."""
    if hasattr(X, "tocsr") or X.dtype not in (np.float32, np.float64) or threshold >= 1:
        return False
    return bool(((X == 0) | (X == 1)).all())


def _is_finite(X: Any) -> bool:
    return X.dtype.kind != "f" or bool(np.isfinite(X.sum()) or np.isfinite(X).all())


def to_flags(X: Any, threshold: float) -> NDArray[np.int8]:
    """Whether numbers are greater than a threshold, 0 or 1."""
    if not _is_finite(X):
        raise DataError("finite numbers")
    return np.asarray(np.greater(X, threshold)).view(np.int8)


def count_flags(X: Any, threshold: float, codes: Codes32, n_classes: int, weights: Floats | None) -> Exact:
    """Rows of every class, or their weight, in which a feature exceeds a threshold, (classes, features)."""
    as_it_is = weights is None and _is_binary(X[:_LOOK], threshold)

    def chunk(start: int, stop: int) -> Exact:
        part, own, n_rows = X[start:stop], codes[start:stop], stop - start
        if as_it_is:
            no, yes, bad = kernels.active.flags(part, own, n_classes, 0, n_rows)
            if bad < 0 and no.sum() + yes.sum() == part.size:  # NaN is neither
                return Exact.whole(yes.T)
        flags = to_flags(part, threshold)
        if weights is None:
            return Exact.whole(kernels.active.flags(flags, own, n_classes, 0, n_rows)[1].T)
        row, feature = np.nonzero(flags)
        groups = own[row].astype(np.int64) * X.shape[1] + feature
        return Exact.summed(weights[start:stop][row], groups, n_classes * X.shape[1]).reshaped(n_classes, X.shape[1])

    return add_exact(in_threads(chunk, len(X), size=max(64, min(16384, 2**20 // X.shape[1]))))


def add_exact(parts: Sequence[Exact]) -> Exact:
    """The sum of several arrays."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total.trimmed()


def smoothed_counts(sums: Exact, alpha: Any) -> Floats:
    """Counts plus alpha; where they leave the range of doubles, all of it over 2**1024, which cancels in shares."""
    smoothed = sums.floats() + alpha
    if not np.isfinite(smoothed.sum()):
        smoothed = Exact(sums.wide().digits, sums.wide().low - 32).floats() + np.asarray(alpha) * 2.0**-1024
    return np.asarray(smoothed)


def feature_sums(X: Any, codes: Codes32, n_classes: int, weights: Floats | None, *, negative: bool = False) -> Exact:
    """Exact sum of every feature (times the weight of the row) in every class, (classes, features)."""
    if hasattr(X, "tocsr"):
        if len(X.data) and not (np.isfinite(least := _least(X.data)) and (negative or least >= 0)):
            raise DataError("finite amounts")
        bag = Bag(X.indptr, X.indices, X.data, range(X.shape[1]))
        return _counted(bag, codes, n_classes, weights)
    if not (np.isfinite(least := _least(X)) and (negative or least >= 0)):
        raise DataError("finite amounts")
    values = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if X.dtype == np.int64 and np.abs(values).max() >= 2.0**53:  # not every whole number is a double
        return feature_sums(csr_array(X), codes, n_classes, weights, negative=negative)
    columns = list(values.T)
    parts = in_threads(
        lambda start, stop: kernels.active.sums(columns, codes, n_classes, weights, 1, start, stop), len(codes)
    )
    if any(part[3] >= 0 for part in parts):
        raise DataError("finite amounts")
    total = add_exact([Exact(*part[1]) for part in parts])
    return Exact(np.ascontiguousarray(np.swapaxes(total.digits, 0, 1)), total.low)


def _least(values: Any) -> float:
    """The least of all numbers; NaN if one is, and infinity if one is infinite."""

    def chunk(start: int, stop: int) -> tuple[float, float]:
        return float(values[start:stop].min()), float(values[start:stop].max())

    ends = np.array(in_threads(chunk, len(values), size=65536))
    return float(ends[:, 0].min()) if np.isfinite(ends[:, 1]).all() else float(ends[:, 1].max())


def _counted(bag: Bag, codes: Codes32, n_classes: int, weights: Floats | None) -> Exact:
    """Amounts of tokens in whole numbers, where they are whole."""
    if weights is None:
        parts = in_threads(
            lambda start, stop: kernels.active.bag_table(
                bag.indptr, bag.indices, bag.amounts, codes, n_classes, len(bag.keys), start, stop
            ),
            len(codes),
        )
        if all(part is not None for part in parts):
            return Exact(np.swapaxes(add_exact([Exact.whole(part) for part in parts]).digits, 0, 1))
    return fractional_sums(bag, codes, n_classes, weights)


def weigh(X: Any, table: Floats) -> Score:
    """Get ready to add X @ table, (rows, features) @ (features, classes); 0 times an infinite weight is nothing."""
    if hasattr(X, "tocsr"):

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
    """Refuse a matrix that is not finite, which its scores show."""
    suspicious = not (out.max() < np.inf and out.min() > -np.inf)  # NaN is neither
    if suspicious and not np.isfinite(X).all():
        raise DataError("finite numbers")
