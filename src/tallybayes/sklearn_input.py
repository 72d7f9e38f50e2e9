"""X, y and weights as scikit-learn checks them, at the speed of a look.

A plain NumPy or CSR matrix of numbers needs no more than a look at its type and shape; whether every number is finite
is found out by the kernels on the way. Everything else takes scikit-learn's own way, and so does whatever turns out to
be wrong: its checks word the errors that its users know.
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
from tallybayes.arrays.sparse_matrix import checked_csr, is_sparse
from tallybayes.data.label import Labels, encode_labels

__all__ = [
    "NO_LABELS",
    "NUMBERS",
    "WHOLE",
    "all_or_nothing",
    "check_matrix",
    "check_weights",
    "class_codes",
    "few_numbers",
    "find_classes",
    "is_plain",
    "refuse_matrix",
]

NO_LABELS = "no_validation"  # scikit-learn's word for it; None is a missing y, and an error

WHOLE = frozenset(map(np.dtype, ("i8", "i4", "i2", "i1", "u1")))
NUMBERS = WHOLE | frozenset(map(np.dtype, ("f8", "f4", "u2", "u4", "?")))
_FEW = 64
_SPARSE = frozenset(map(np.dtype, ("f8", "f4", "i8", "i4")))


def is_plain(X: Any, *, sparse: bool = False, plain: frozenset[np.dtype[Any]] = NUMBERS) -> bool:
    """Whether a matrix is of the kind that scikit-learn's checks would let pass as it is, but for NaN and infinity.

    >>> is_plain(np.zeros((2, 3))), is_plain([[0.0]]), is_plain(np.zeros(3)), is_plain(np.zeros((0, 3)))
    (True, False, False, False)
    """
    if type(X) is np.ndarray:
        return X.ndim == 2 and X.dtype in plain and X.shape[0] > 0 and X.shape[1] > 0
    return sparse and is_sparse(X) and X.format == "csr" and X.dtype in _SPARSE and 0 not in X.shape


def check_matrix(
    estimator: Any,
    X: Any,
    y: Any = NO_LABELS,
    *,
    reset: bool,
    sparse: bool = False,
    plain: frozenset[np.dtype[Any]] = NUMBERS,
    **options: Any,
) -> tuple[Any, Any]:
    """X (and y, if given) as arrays; the number and the names of the features are remembered, or compared.

    plain: the dtypes that need no conversion.
    options: for scikit-learn's `validate_data`, where it is needed; there NaN and infinity are let pass by default.
    """
    if sparse and is_sparse(X):
        X = checked_csr(X)
    if is_plain(X, sparse=sparse, plain=plain) and (y is NO_LABELS or _is_plain_target(y, X.shape[0])):
        if reset:
            estimator.n_features_in_ = X.shape[1]
            vars(estimator).pop("feature_names_in_", None)
            return X, y
        known = vars(estimator)
        if known.get("n_features_in_") == X.shape[1] and "feature_names_in_" not in known:
            return X, y
    if y is NO_LABELS and not reset and (few := few_numbers(estimator, X)) is not None and few.dtype in plain:
        return few, y
    options = {"ensure_all_finite": False, "accept_sparse": "csr" if sparse else False} | options
    found = validate_data(estimator, X, y, reset=reset, **options)
    X, y = (found, y) if y is NO_LABELS else found
    if is_sparse(X) and X.dtype not in _SPARSE:
        X = X.astype(np.int64 if np.can_cast(X.dtype, np.int64) else np.float64)
    return X, y


def few_numbers(estimator: Any, X: Any) -> NDArray[Any] | None:
    """The matrix in a pandas frame of a few rows of numbers, if its names are those that the estimator knows.

    scikit-learn's checks would give the same, but take longer than scoring the rows.
    """
    if not type(X).__module__.startswith("pandas") or not hasattr(X, "columns") or not 0 < len(X) <= _FEW:
        return None
    names, kinds = vars(estimator).get("feature_names_in_"), set(X.dtypes)
    if names is None or len(kinds) != 1 or kinds.pop() not in NUMBERS or X.columns.tolist() != names.tolist():
        return None
    return np.ascontiguousarray(X.to_numpy())


def _is_plain_target(y: Any, n_rows: int) -> bool:
    return type(y) is np.ndarray and y.ndim == 1 and len(y) == n_rows and y.dtype.kind in "iubU"


def refuse_matrix(estimator: Any, X: Any, whom: str | None = None) -> NoReturn:
    """The error for a matrix with NaN or infinity (or negative numbers, if `whom` does not like them)."""
    check_array(X, accept_sparse=True, input_name="X", estimator=estimator)
    if whom is not None:
        check_non_negative(X, whom)
    raise ValueError("X holds numbers that cannot be counted")


def check_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Row weights, not negative; None where all are one."""
    if sample_weight is None:
        return None
    rows = np.broadcast_to(0.0, (n_rows, 1))
    weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
    return None if np.all(weights == 1) else np.ascontiguousarray(weights)


@contextlib.contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was if something goes wrong: nothing is half done."""
    known = estimator.__dict__.copy()
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(known)
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
    """The error for labels that the first call of `partial_fit` did not name."""
    raise ValueError(f"The target label(s) {new} in y do not exist in the initial classes {classes}")


def class_codes(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int32]:
    """Where each row's label stands among the classes."""
    found, labels = find_classes(y)
    where = positions(found.tolist(), classes.tolist())
    if (where < 0).any():
        refuse_labels(found[where < 0], classes)
    if len(found) == len(classes):
        return labels.codes
    return where.astype(np.int32)[labels.codes]
