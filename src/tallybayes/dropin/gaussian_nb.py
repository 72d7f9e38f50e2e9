"""GaussianNB: a mean and a variance per feature and class, from exact sums of x and x*x.

`var_` is the variance plus `epsilon_`, as in scikit-learn; but it is worked out from all rows seen, so that it depends
neither on the batches nor on their order, and it is one number per feature,

    epsilon_j = var_smoothing * min(largest variance of all features, 1e7 * variance of feature j)

so that a feature measured in large units cannot drown the others: by default no feature is blurred by more than a
hundredth of its own variance. On data whose variances lie within a factor of 1e7 the two agree.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from tallybayes.arrays.column import Reals
from tallybayes.dropin.array_api import is_foreign, like, to_numpy
from tallybayes.dropin.drop_in import NaiveBayes, derived
from tallybayes.errors import DataError
from tallybayes.families.family import Codes32, Floats, Score
from tallybayes.families.gaussian import Gaussian, GaussianPredictive, moments_of, pooled_units
from tallybayes.sklearn_input import NO_LABELS, refuse_matrix
from tallybayes.tally import Sums

__all__ = ["GaussianNB"]

_SPREAD = 1e7  # by how much the largest variance may exceed a feature's own and still count in full
_LOG_2 = float(np.log(2.0))


class GaussianNB(NaiveBayes):
    """Gaussian naive Bayes.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes, used instead of their frequencies.
    var_smoothing : float, default=1e-9
        Portion of the largest variance of all features that is added to the variances.

    Attributes
    ----------
    class_count_ : ndarray of shape (n_classes,)
        Rows, or their weight, of each class.
    class_prior_ : ndarray of shape (n_classes,)
        Probability of each class.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    epsilon_ : ndarray of shape (n_features,)
        What is added to the variances; scikit-learn has one number for all features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had any.
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

    def _check_settings(self) -> None:
        self._smoothing, self._given_prior = float(self.var_smoothing), None
        if self.priors is not None:
            priors = np.asarray(self.priors, np.float64)
            if len(priors) != len(self.classes_):
                raise ValueError("Number of priors must match number of classes.")
            if not np.isclose(priors.sum(), 1.0):
                raise ValueError("The sum of the priors should be 1.")
            if (priors < 0).any():
                raise ValueError("Priors must be non-negative.")
            self._given_prior = priors

    def _checked(self, X: Any, y: Any = NO_LABELS, *, reset: bool = False) -> tuple[Any, Any]:
        if reset:
            self._home = X[:0, ...] if is_foreign(X) else None
            self._home_of_labels = y[:0] if is_foreign(y) else None
        X, y = super()._checked(to_numpy(X), to_numpy(y), reset=reset)
        if reset:
            self._dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        return X, y

    def _learn(self, X: Any, codes: Codes32, sample_weight: Any, before: Any) -> Self:
        return super()._learn(X, codes, to_numpy(sample_weight), before)

    def _like_input(self, result: Floats, X: Any, checked: Any) -> Any:
        return like(result.astype(np.float32) if checked.dtype == self._dtype == np.float32 else result, X)

    def predict(self, X: Any) -> Any:
        """The most probable class of every row; ties go to the first."""
        labels = super().predict(X)
        return labels if self._home_of_labels is None else like(labels, X)

    def _attribute(self, values: Floats) -> Any:
        """A fitted attribute in the precision and the library of the data."""
        return like(values.astype(self._dtype), self._home)

    def _observe(self, X: Any, codes: Codes32, weights: Floats | None) -> Sums:
        features = tuple(map(str, range(X.shape[1])))
        values = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        if weights is not None and not np.isfinite(X).all():
            raise DataError("finite numbers")  # also in rows of weight zero
        sums = Gaussian().observe(features, [Reals(x) for x in values.T], codes, len(self.classes_), weights)
        if weights is None and sums["n"].digits.sum() != X.size:  # NaN is a gap to the family
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
        """Rows, or their weight, of each class."""
        return self._attribute(self._sums[0].floats())

    @derived
    def theta_(self) -> Any:
        """Mean of each feature per class."""
        mean, _, _, units = self._moments
        return self._attribute(np.ldexp(mean, units[:, None]).T)

    @derived
    def var_(self) -> Any:
        """Variance of each feature per class, `epsilon_` included."""
        _, _, variance, units = self._moments
        with np.errstate(over="ignore"):
            return self._attribute(np.ldexp(variance + self._epsilon[:, None], 2 * units[:, None]).T)

    @derived
    def epsilon_(self) -> Any:
        """What is added to the variances of each feature."""
        with np.errstate(over="ignore"):
            return self._attribute(np.ldexp(self._epsilon, 2 * self._moments[3]))

    # Behind them, every feature in units of its own: a power of two near its root mean square

    @derived
    def _moments(self) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
        """Mean (high and low part) and variance per (feature, class), and the exponents of the units."""
        sums = self._sums[1]
        units = pooled_units(sums)
        return (*moments_of(sums, units), units)

    @derived
    def _pooled(self) -> tuple[Floats, Floats, Floats]:
        """Mean (high and low part) and variance of each feature over all classes, in its units."""
        mean, low, variance = moments_of(self._sums[1].pooled(), self._moments[3])
        return mean[:, 0], low[:, 0], variance[:, 0]

    @derived
    def _epsilon(self) -> Floats:
        """`epsilon_` in the units of each feature."""
        variance, units = self._pooled[2], self._moments[3]
        if not variance.any():
            return np.zeros_like(variance)
        with np.errstate(divide="ignore", over="ignore"):
            largest = np.argmax(np.log2(variance) + 2 * units)
            most = np.ldexp(variance[largest], 2 * np.clip(units[largest] - units, -1000, 1000))
            return np.asarray(self._smoothing * np.where(variance > 0, np.minimum(most, _SPREAD * variance), most))

    @derived
    def _predictive(self) -> GaussianPredictive:
        """The normal densities; a class without rows is taken to look like all classes together."""
        sums, (mean, low, variance, units) = self._sums[1], self._moments
        n = sums["n"].floats()
        pooled = [
            np.where(n > 0, own, all_of_it[:, None])
            for own, all_of_it in zip((mean, low, variance), self._pooled, strict=True)
        ]
        mean, low, variance = pooled
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            spread = variance + self._epsilon[:, None]
            flat = ~((spread > 0) & (spread < np.inf))
            inverse = np.where(flat, 0.0, 1 / np.sqrt(spread))
            log_constant = np.where(flat, 0.0, -0.5 * np.log(2 * np.pi * spread) - units[:, None] * _LOG_2)
        constant = (self._pooled[2] == 0)[:, None]  # says nothing, whatever comes
        return GaussianPredictive(
            sums.features,
            len(self.classes_),
            units,
            mean,
            low,
            inverse,
            None,
            log_constant,
            flat,
            np.where(constant, 0.0, n),
            (mean, low, variance),
        )

    @derived
    def _log_class_prior(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self._prior)

    def _log_prior(self) -> Floats:
        return self._log_class_prior

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
        """Mean and variance after more rows, by the rule for two groups; the estimator itself adds up exact sums."""
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        n_new = float(weights.sum())
        if np.isclose(n_new, 0.0):
            return mu, var
        new_mu = weights @ X / n_new
        new_var = weights @ (X - new_mu) ** 2 / n_new
        share = n_new / (n_past + n_new)
        return mu + share * (new_mu - mu), (1 - share) * (var + share * (mu - new_mu) ** 2) + share * new_var
