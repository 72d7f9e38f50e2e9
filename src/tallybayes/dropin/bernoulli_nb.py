"""BernoulliNB: a feature is there or not, and its absence counts as well.

Real matrices of 0 and 1 are counted as they are; other numbers are compared with the threshold, a part at a time.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from tallybayes import kernels
from tallybayes.arrays.chunks import in_threads
from tallybayes.dropin.discrete_nb import Discrete, Summing
from tallybayes.dropin.drop_in import derived
from tallybayes.dropin.matrix_sums import feature_sums, is_finite, weigh
from tallybayes.errors import DataError
from tallybayes.families.family import Codes32, Floats, Score
from tallybayes.tally import Exact

__all__ = ["BernoulliNB"]

_LOOK = 64  # rows looked at to guess what the rest is like


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
            if as_it_is and is_finite(part):
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


def to_flags(X: Any, threshold: float) -> NDArray[np.int8]:
    """Whether numbers are greater than a threshold, 0 or 1."""
    if not is_finite(X):
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

    return Exact.added(in_threads(chunk, len(X), size=max(64, min(16384, 2**20 // X.shape[1]))))
