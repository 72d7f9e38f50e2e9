"""BernoulliNB: a feature is present or absent, and both contribute to the score.

Real matrices of 0 and 1 are counted directly; other numbers are compared with the threshold, a chunk at a time.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from tallybayes import kernels
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.sparse_matrix import is_sparse
from tallybayes.dropin.discrete_nb import FeatureCountNB, SmoothedNB, feature_sums, is_finite, weigh
from tallybayes.dropin.drop_in import derived
from tallybayes.errors import DataError
from tallybayes.families.family import Codes32, Floats, Score
from tallybayes.tally import Exact

__all__ = ["BernoulliNB"]

_HEAD = 64  # rows that decide whether a matrix is tried as 0 and 1 first


class BernoulliNB(FeatureCountNB):
    """Bernoulli naive Bayes, for features that are present or absent.

    Parameters
    ----------
    {smoothing}
    binarize : float or None, default=0.0
        A feature is present if it is greater than this. None: X holds 0, 1 or fractions between them.
    {prior}

    Attributes
    ----------
    {fitted}
    class_log_prior_ : ndarray of shape (n_classes,)
        Log P(class).
    feature_count_ : ndarray of shape (n_classes, n_features)
        Rows of each class that have each feature.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Log P(feature | class).

    Examples
    --------
    >>> clf = BernoulliNB().fit([[2, 0], [0, 1]], ["cash", "lunch"])
    >>> clf.predict([[1, 0]]).tolist(), clf.feature_count_.tolist()
    (['cash'], [[1.0, 0.0], [0.0, 1.0]])
    """

    _parameter_constraints = {  # noqa: RUF012
        **SmoothedNB._parameter_constraints,
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
        if is_sparse(X):
            return feature_sums(self._presence(X), codes, len(self.classes_), weights)
        return count_flags(X, self.binarize, codes, len(self.classes_), weights)

    def _presence(self, X: Any) -> Any:
        """The features of a sparse matrix as 0 (absent) or 1 (present)."""
        flags = to_flags(X.data, float(self.binarize or 0.0)).astype(np.int32)
        return type(X)((flags, X.indices, X.indptr), shape=X.shape)

    @derived
    def feature_log_prob_(self) -> Floats:
        """Log P(feature is present | class): (n + alpha) / (N + 2 alpha)."""
        return np.ascontiguousarray(self._tables[0].T)

    @derived
    def _tables(self) -> tuple[Floats, Floats]:
        """Log P(present) and log P(absent), (features, classes); 0 for a class without rows if alpha is 0."""
        rows, present = self._sums
        alpha, total = self._settings[0], self.class_count_[:, None]
        absent = np.maximum((Exact(rows.digits[:, None], rows.low) - present).floats(), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = [np.log(n + alpha) - np.log(total + 2 * np.asarray(alpha)) for n in (present.floats(), absent)]
        yes, no = (np.ascontiguousarray(np.where(np.isnan(part), 0.0, part).T) for part in parts)
        return yes, no

    def _scores(self, X: Any) -> Score:
        yes, no = self._tables
        if np.isfinite(yes).all() and np.isfinite(no).all() and (self.binarize is None or is_sparse(X)):
            absent = no.sum(axis=0)
            weighed = weigh(X if self.binarize is None else self._presence(X), yes - no)

            def add(out: Floats, start: int, stop: int) -> None:
                out[start:stop] += absent
                weighed(out, start, stop)

            return add
        if self.binarize is None:

            def add_shares(out: Floats, start: int, stop: int) -> None:
                part = X[start:stop].toarray() if is_sparse(X) else X[start:stop].astype(np.float64)
                for share, table in ((part, yes), (1 - part, no)):
                    weigh(share, table)(out[start:stop], 0, stop - start)

            return add_shares
        threshold = float(self.binarize)
        is_binary = _is_binary(X[:_HEAD], threshold)

        def score(out: Floats, start: int, stop: int) -> None:
            part = X[start:stop].toarray() if is_sparse(X) else X[start:stop]
            before, n_rows = out[start:stop].copy(), stop - start
            if is_binary and is_finite(part):
                if kernels.active.add_flags(part, no, yes, out[start:stop], 0, n_rows) < 0:
                    return
                out[start:stop] = before  # other numbers than 0 and 1 follow later
            kernels.active.add_flags(to_flags(part, threshold), no, yes, out[start:stop], 0, n_rows)

        return score


def _is_binary(X: Any, threshold: float) -> bool:
    """Whether real numbers are 0 and 1, so that they need not be compared with the threshold."""
    if is_sparse(X) or X.dtype not in (np.float32, np.float64) or threshold >= 1:
        return False
    return bool(((X == 0) | (X == 1)).all())


def to_flags(X: Any, threshold: float) -> NDArray[np.int8]:
    """Whether numbers are greater than a threshold, 0 or 1."""
    if not is_finite(X):
        raise DataError("finite numbers")
    return np.asarray(np.greater(X, threshold)).view(np.int8)


def count_flags(X: Any, threshold: float, codes: Codes32, n_classes: int, weights: Floats | None) -> Exact:
    """Rows of every class, or their weight, in which a feature exceeds a threshold, (classes, features)."""
    is_binary = weights is None and _is_binary(X[:_HEAD], threshold)

    def chunk(start: int, stop: int) -> Exact:
        part, part_codes, n_rows = X[start:stop], codes[start:stop], stop - start
        if is_binary:
            no, yes, bad = kernels.active.count_flags(part, part_codes, n_classes, 0, n_rows)
            if bad < 0 and no.sum() + yes.sum() == part.size:  # NaN is neither
                return Exact.whole(yes.T)
        flags = to_flags(part, threshold)
        if weights is None:
            return Exact.whole(kernels.active.count_flags(flags, part_codes, n_classes, 0, n_rows)[1].T)
        row, feature = np.nonzero(flags)
        groups = part_codes[row].astype(np.int64) * X.shape[1] + feature
        return Exact.summed(weights[start:stop][row], groups, n_classes * X.shape[1]).reshaped(n_classes, X.shape[1])

    return Exact.added(in_threads(chunk, len(X), size=max(64, min(16384, 2**20 // X.shape[1]))))
