"""Checks of X, y and weights with the results and errors of scikit-learn's own checks, but faster.

For a plain NumPy or CSR matrix of numbers only type and shape are checked; the kernels detect NaN and infinity while
they count. Everything else, and every matrix that a kernel rejects, goes through scikit-learn's checks, which raise
the errors that its users know.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_array, check_non_negative, validate_data

from tallybayes.arrays.axis import positions
from tallybayes.arrays.sparse_matrix import check_csr, is_sparse
from tallybayes.columns.label import Labels, encode_labels
from tallybayes.tables.input_kind import is_pandas_frame

__all__ = [
    "INTEGERS",
    "NO_TARGET",
    "NUMBERS",
    "all_or_nothing",
    "check_matrix",
    "check_weights",
    "class_codes",
    "find_classes",
    "is_plain",
    "refuse_matrix",
    "small_numeric_frame",
]

NO_TARGET = "no_validation"  # scikit-learn's value for "X only"; None is an error, since y is missing

INTEGERS = frozenset(map(np.dtype, ("i8", "i4", "i2", "i1", "u1")))
NUMBERS = INTEGERS | frozenset(map(np.dtype, ("f8", "f4", "u2", "u4", "?")))
_FEW_ROWS = 256  # rows of a frame that scikit-learn takes longer to check than the model to score
_SPARSE = frozenset(map(np.dtype, ("f8", "f4", "i8", "i4")))


def is_plain(X: Any, *, sparse: bool = False, plain: frozenset[np.dtype[Any]] = NUMBERS) -> bool:
    """Whether scikit-learn's checks would return a matrix unchanged, NaN and infinity aside.

    >>> is_plain(np.zeros((2, 3))), is_plain([[0.0]]), is_plain(np.zeros(3)), is_plain(np.zeros((0, 3)))
    (True, False, False, False)
    """
    if type(X) is np.ndarray:
        return X.ndim == 2 and X.dtype in plain and X.shape[0] > 0 and X.shape[1] > 0
    return sparse and is_sparse(X) and X.format == "csr" and X.dtype in _SPARSE and 0 not in X.shape


def check_matrix(
    estimator: Any,
    X: Any,
    y: Any = NO_TARGET,
    *,
    reset: bool,
    sparse: bool = False,
    plain: frozenset[np.dtype[Any]] = NUMBERS,
    **options: Any,
) -> tuple[Any, Any]:
    """X (and y, if given) as arrays; the number and the names of the features are stored (`reset`) or compared.

    plain: the dtypes that need no conversion.
    options: for scikit-learn's `validate_data`, if it is needed; it accepts NaN and infinity by default.
    """
    if sparse and is_sparse(X):
        X = check_csr(X)
    if is_plain(X, sparse=sparse, plain=plain) and (y is NO_TARGET or _is_plain_target(y, X.shape[0])):
        if reset:
            estimator.n_features_in_ = X.shape[1]
            vars(estimator).pop("feature_names_in_", None)
            return X, y
        known = vars(estimator)
        if known.get("n_features_in_") == X.shape[1] and "feature_names_in_" not in known:
            return X, y
    few = None if reset else small_numeric_frame(estimator, X)
    if few is not None and few.dtype in plain and (y is NO_TARGET or _is_plain_target(y, len(few))):
        return few, y
    options = {"ensure_all_finite": False, "accept_sparse": "csr" if sparse else False} | options
    checked = validate_data(estimator, X, y, reset=reset, **options)
    X, y = (checked, y) if y is NO_TARGET else checked
    if is_sparse(X) and X.dtype not in _SPARSE:
        X = X.astype(np.int64 if np.can_cast(X.dtype, np.int64) else np.float64)
    return X, y


def small_numeric_frame(estimator: Any, X: Any) -> NDArray[Any] | None:
    """The matrix of a pandas frame with few rows, one type of numbers and the column names of the estimator, or None.

    scikit-learn's checks would give the same, but take longer than scoring the rows.
    """
    if not is_pandas_frame(X) or not 0 < len(X) <= _FEW_ROWS:
        return None
    names, kinds = vars(estimator).get("feature_names_in_"), set(X.dtypes)
    if names is None or len(kinds) != 1 or kinds.pop() not in NUMBERS or X.columns.tolist() != names.tolist():
        return None
    return np.ascontiguousarray(X.to_numpy())


def _is_plain_target(y: Any, n_rows: int) -> bool:
    return type(y) is np.ndarray and y.ndim == 1 and len(y) == n_rows and y.dtype.kind in "iubU"


def refuse_matrix(estimator: Any, X: Any, name: str | None = None) -> NoReturn:
    """Raise the error for a matrix with NaN or infinity, or negative numbers if `name` is given."""
    check_array(X, accept_sparse=True, input_name="X", estimator=estimator)
    if name is not None:
        check_non_negative(X, name)
    raise ValueError("X holds numbers that cannot be counted")


def check_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Non-negative weights of the rows; None if all are one."""
    if sample_weight is None:
        return None
    rows = np.broadcast_to(0.0, (n_rows, 1))
    weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
    return None if np.all(weights == 1) else np.ascontiguousarray(weights)


@contextlib.contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Restore the attributes of an estimator after an error."""
    before = estimator.__dict__.copy()
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def find_classes(y: NDArray[Any]) -> tuple[NDArray[Any], Labels]:
    """The classes in y, sorted and of its dtype, and the codes of its rows."""
    labels = encode_labels("y", y)
    if labels.n_missing:
        raise ValueError("Input y contains NaN.")
    if any(isinstance(key, float) and not key.is_integer() for key in labels.keys):
        check_classification_targets(np.array(labels.keys))
    are_texts = y.dtype == object and all(isinstance(key, str) for key in labels.keys)
    return np.asarray(labels.keys, str if are_texts else y.dtype.newbyteorder("=")), labels


def refuse_labels(new: NDArray[Any], classes: NDArray[Any]) -> NoReturn:
    """Raise the error for labels that were not given to the first call of `partial_fit`."""
    raise ValueError(f"The target label(s) {new} in y do not exist in the initial classes {classes}")


def class_codes(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int32]:
    """The position of each row's label among the classes."""
    labels_of_rows, labels = find_classes(y)
    where = positions(labels_of_rows.tolist(), classes.tolist())
    if (where < 0).any():
        refuse_labels(labels_of_rows[where < 0], classes)
    if len(labels_of_rows) == len(classes):
        return labels.codes
    return where.astype(np.int32)[labels.codes]
