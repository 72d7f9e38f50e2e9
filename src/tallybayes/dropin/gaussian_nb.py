"""GaussianNB: a mean and a variance per feature and class, from exact sums of x and x*x.

`var_` is the variance plus `epsilon_`, as in scikit-learn. But `epsilon_` is derived from all rows seen, so that it
depends neither on the batches nor on their order, and there is one per feature:

    epsilon_j = var_smoothing * min(largest variance of all features, 1e7 * variance of feature j)

A feature measured in large units cannot dominate the others: by default at most a hundredth of its own variance is
added to each. The result is that of scikit-learn if the variances of the features are within a factor of 1e7.

Arrays of other libraries are accepted by scikit-learn's array API dispatch, and results are returned in the library of
the input. Sums are kept on the CPU; input and results are copied.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils._param_validation import Interval

from tallybayes.arrays.column import Reals
from tallybayes.dropin.drop_in import DropInNB, derived
from tallybayes.errors import DataError
from tallybayes.families.family import Codes32, Floats, Score
from tallybayes.families.numbers.gaussian import Gaussian
from tallybayes.families.numbers.gaussian_predictive import GaussianPredictive, moments_of, pool_moments
from tallybayes.sklearn_input import NO_TARGET, refuse_matrix
from tallybayes.tally import Sums

__all__ = ["GaussianNB"]

_SPREAD = 1e7  # the largest variance counts as at most so many times the variance of a feature


class GaussianNB(DropInNB):
    """Gaussian naive Bayes.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes, used instead of their frequencies.
    var_smoothing : float, default=1e-9
        Portion of the largest variance of all features that is added to the variances.

    Attributes
    ----------
    {fitted}
    class_prior_ : ndarray of shape (n_classes,)
        Probability of each class.
    epsilon_ : ndarray of shape (n_features,)
        The constants added to the variances; scikit-learn has one for all features.
    theta_ : ndarray of shape (n_classes, n_features)
        Means.
    var_ : ndarray of shape (n_classes, n_features)
        Variances, `epsilon_` included.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> clf = GaussianNB().fit(X, [1, 1, 1, 2, 2, 2])
    >>> clf.predict([[-0.8, -1]]).tolist(), clf.theta_.tolist()
    ([1], [[-2.0, -1.3333333333333333], [2.0, 1.3333333333333333]])
    """

    _parameter_constraints = {  # noqa: RUF012
        "priors": ["array-like", None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing

    def _check_parameters(self) -> None:
        self._smoothing = float(self.var_smoothing)
        self._given_prior = None
        if self.priors is not None:
            priors = np.asarray(self.priors, np.float64)
            if len(priors) != len(self.classes_):
                raise ValueError("Number of priors must match number of classes.")
            if not np.isclose(priors.sum(), 1.0):
                raise ValueError("The sum of the priors should be 1.")
            if (priors < 0).any():
                raise ValueError("Priors must be non-negative.")
            self._given_prior = priors

    def _check_input(self, X: Any, y: Any = NO_TARGET, *, reset: bool = False) -> tuple[Any, Any]:
        if reset:
            self._data_like = X[:0, ...] if _is_foreign(X) else None
            self._labels_like = y[:0] if _is_foreign(y) else None
        X, y = super()._check_input(_to_numpy(X), _to_numpy(y), reset=reset)
        if reset:
            self._dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        return X, y

    def _learn(self, X: Any, codes: Codes32, sample_weight: Any, before: Any) -> Self:
        return super()._learn(X, codes, _to_numpy(sample_weight), before)

    def _like_input(self, result: Floats, X: Any, checked: Any) -> Any:
        return _like(result.astype(np.float32) if checked.dtype == self._dtype == np.float32 else result, X)

    def predict(self, X: Any) -> Any:
        """The most probable class of every row; ties go to the first."""
        labels = super().predict(X)
        return labels if self._labels_like is None else _like(labels, X)

    def _attribute(self, values: Floats) -> Any:
        """A fitted attribute in the precision and the library of the data."""
        return _like(values.astype(self._dtype), self._data_like)

    def _observe(self, X: Any, codes: Codes32, weights: Floats | None) -> Sums:
        features = tuple(map(str, range(X.shape[1])))
        values = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        if weights is not None and not np.isfinite(X).all():
            raise DataError("finite numbers")  # also in rows of weight zero
        sums = Gaussian().observe(features, [Reals(x) for x in values.T], codes, len(self.classes_), weights)
        if weights is None and sums["n"].digits.sum() != X.size:  # the family takes NaN for a missing value
            raise DataError("finite numbers")
        return sums

    # Fitted attributes

    @derived
    def class_prior_(self) -> Any:
        """Probability of each class."""
        return self._attribute(self._prior)

    @derived
    def _prior(self) -> Floats:
        if self._given_prior is not None:
            return np.asarray(self._given_prior)
        count = self._sums[0].floats()
        return np.asarray(count / count.sum() if count.any() else np.full(len(count), 1 / len(count)))

    @derived
    def class_count_(self) -> Any:
        """Number of rows of each class, or their total weight."""
        return self._attribute(self._sums[0].floats())

    @derived
    def theta_(self) -> Any:
        """Mean of each feature per class."""
        return self._attribute(np.ldexp(self._moments[0], self._pooled[0][:, None]).T)

    @derived
    def var_(self) -> Any:
        """Variance of each feature per class, `epsilon_` included."""
        with np.errstate(over="ignore"):
            variance = self._moments[2] + self._epsilon[:, None]
            return self._attribute(np.ldexp(variance, 2 * self._pooled[0][:, None]).T)

    @derived
    def epsilon_(self) -> Any:
        """The constant added to the variances of each feature."""
        with np.errstate(over="ignore"):
            return self._attribute(np.ldexp(self._epsilon, 2 * self._pooled[0]))

    # Moments, each feature in its own unit: a power of two near its root mean square

    @derived
    def _pooled(self) -> tuple[NDArray[np.int64], Floats]:
        """The exponents of the units; mean (high and low part) and variance over all classes, (3, features)."""
        return pool_moments(self._sums[1])

    @derived
    def _moments(self) -> Floats:
        """Mean (high and low part) and variance of each class, (3, features, classes)."""
        return moments_of(self._sums[1], self._pooled[0])

    @derived
    def _epsilon(self) -> Floats:
        """`epsilon_` in the units of each feature."""
        units, (_, _, variance) = self._pooled
        if not variance.any():
            return np.zeros_like(variance)
        with np.errstate(divide="ignore", over="ignore"):
            largest = np.argmax(np.log2(variance) + 2 * units)
            most = np.ldexp(variance[largest], 2 * np.clip(units[largest] - units, -1000, 1000))
            return np.asarray(self._smoothing * np.where(variance > 0, np.minimum(most, _SPREAD * variance), most))

    @derived
    def _predictive(self) -> GaussianPredictive:
        """The normal densities; a class without rows has the moments of all rows."""
        sums, (units, pooled) = self._sums[1], self._pooled
        n = sums["n"].floats()
        moments = np.where(n > 0, self._moments, pooled[..., None])
        with np.errstate(over="ignore"):
            variance = moments[2] + self._epsilon[:, None]
        constant = (pooled[2] == 0)[:, None]  # contributes nothing, whatever the value
        return GaussianPredictive.normal(sums.features, units, moments, variance, np.where(constant, 0.0, n))

    @derived
    def _log_prior(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self._prior)

    def _scores(self, X: Any) -> Score:
        values = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        add = self._predictive.bind_arrays(values)

        def score(out: Floats, start: int, stop: int) -> None:
            add(out, start, stop)
            if not np.isfinite(values[start:stop].sum()) and np.isnan(values[start:stop]).any():
                refuse_matrix(self, X)

        return score

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    @staticmethod
    def _update_mean_variance(
        n_past: float, mu: Any, var: Any, X: NDArray[Any], sample_weight: Any = None
    ) -> tuple[Any, Any]:
        """Mean and variance after more rows, as scikit-learn computes them; the estimator does not use it."""
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        n_new = float(weights.sum())
        if np.isclose(n_new, 0.0):
            return mu, var
        new_mu = weights @ X / n_new
        new_var = weights @ (X - new_mu) ** 2 / n_new
        share = n_new / (n_past + n_new)
        return mu + share * (new_mu - mu), (1 - share) * (var + share * (mu - new_mu) ** 2) + share * new_var


def _is_foreign(X: Any) -> bool:
    """Whether an array belongs to another library, and scikit-learn's array API dispatch is on.

    >>> _is_foreign(np.zeros(3))
    False
    """
    if isinstance(X, (np.ndarray, list, tuple)) or not get_config()["array_api_dispatch"]:
        return False
    from sklearn.utils._array_api import get_namespace

    return bool(get_namespace(X)[1]) and hasattr(X, "__dlpack__")


def _to_numpy(X: Any) -> Any:
    """The array as a NumPy array if it is foreign, unchanged otherwise."""
    if not _is_foreign(X):
        return X
    from sklearn.utils._array_api import move_to

    return move_to(X, xp=np, device="cpu")


def _like(result: Any, model: Any) -> Any:
    """A result in the library and on the device of another array."""
    if model is None or not _is_foreign(model):
        return result
    from sklearn.utils._array_api import get_namespace_and_device, move_to

    xp, _, device = get_namespace_and_device(model)
    return move_to(np.ascontiguousarray(result), xp=xp, device=device)
