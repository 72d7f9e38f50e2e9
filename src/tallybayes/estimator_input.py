"""The input X of `NaiveBayesClassifier`: texts, frames, dense and sparse matrices, checked as scikit-learn does.

Later calls may give X in another form than `fit` did. scikit-learn's checks have then warned or raised where the
columns differ; here the data takes the form that the model was fitted on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array
from sklearn.utils.validation import validate_data

from tallybayes.cells.arrow import is_text_type
from tallybayes.columns.readers.number_reader import as_reals
from tallybayes.sklearn_input import check_matrix, small_numeric_frame
from tallybayes.tables.input_kind import is_frame
from tallybayes.tables.raw_values import is_missing
from tallybayes.tables.table import Table, to_table

__all__ = ["TEXT", "InputForm", "read_input"]

TEXT = "text"  # the name of the column that a list of texts becomes


@dataclass(frozen=True)
class InputForm:
    """What X was in `fit`; `names` are the columns of a frame.

    A list of texts is one column, a sparse matrix is one bag, and a dense matrix has the columns x0, x1, ...
    """

    kind: Literal["texts", "frame", "matrix", "sparse matrix"]
    names: tuple[str, ...] = ()


def read_input(estimator: Any, X: Any, fitted: InputForm | None = None) -> tuple[Any, InputForm]:
    """X as a table or matrix, and its form: that of `fitted`, or its own if the estimator is being fitted."""
    texts = _texts(X)
    if texts is not None and (fitted is None or fitted.kind == "texts"):
        if fitted is None:
            estimator.n_features_in_ = 1
            vars(estimator).pop("feature_names_in_", None)
        return Table(len(texts), {TEXT: texts}), InputForm("texts")
    if fitted is not None and fitted.kind == "frame" and (few := small_numeric_frame(estimator, X)) is not None:
        return Table(len(few), dict(zip(fitted.names, few.T, strict=True)), matrix=few), fitted
    data = _check(estimator, X, reset=fitted is None)
    form = _form(data)
    return (data, form) if fitted is None else (_convert(estimator, data, form, fitted), fitted)


def _texts(X: Any) -> Any:
    """A list, series or array of texts as a column; None if X is something else."""
    if isinstance(X, (pa.Array, pa.ChunkedArray)):
        return X if is_text_type(X.type) else None
    if getattr(X, "ndim", 1) != 1 or not hasattr(X, "__len__") or isinstance(X, (str, bytes, Mapping)):
        return None
    if not isinstance(X, (list, tuple)):
        if not hasattr(X, "tolist") and not hasattr(X, "to_list"):
            return None
        X = X.tolist() if hasattr(X, "tolist") else X.to_list()
    present = [value for value in X if not is_missing(value)]
    return list(X) if present and all(isinstance(value, str) for value in present) else None


def _check(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as a matrix or a table; the number and the names of its columns are stored (`reset`) or compared."""
    if is_frame(X):
        return _check_frame(estimator, X, reset=reset)
    if isinstance(X, (list, tuple)) and np.asarray(X).dtype.kind in "US":
        X = np.asarray(X, object)  # numbers among texts stay numbers
    return check_matrix(estimator, X, reset=reset, sparse=True, dtype=None)[0]


def _check_frame(estimator: Any, X: Any, *, reset: bool) -> Table:
    X = pa.Table.from_batches([X]) if isinstance(X, pa.RecordBatch) else X
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    table = to_table(X)
    if not table.n_rows or not table.columns:
        n, what = (table.n_rows, "sample") if table.columns else (0, "feature")
        shape = (table.n_rows, len(table.columns))
        raise ValueError(
            f"Found array with {n} {what}(s) (shape={shape}) while a minimum of 1 is required by"
            f" {type(estimator).__name__}."
        )
    return table


def _form(data: Any) -> InputForm:
    if isinstance(data, Table):
        return InputForm("frame", tuple(data.columns))
    return InputForm("matrix" if isinstance(data, np.ndarray) else "sparse matrix")


def _convert(estimator: Any, data: Any, form: InputForm, fitted: InputForm) -> Any:
    """Data in the form that the estimator was fitted on; columns of frames with the same names match by name."""
    if fitted.kind == "texts":
        raise ValueError(f"{type(estimator).__name__} was fitted on texts: expected a list of texts, got a {form.kind}")
    if form.kind == fitted.kind and sorted(form.names) == sorted(fitted.names):
        return data
    if fitted.kind == "sparse matrix":
        if isinstance(data, Table):
            data = np.column_stack([as_reals(name, column).values for name, column in data.columns.items()])
        return csr_array(data)
    table = data if form.kind == "frame" else to_table(data if form.kind == "matrix" else data.toarray())
    names = fitted.names or [f"x{j}" for j in range(len(table.columns))]
    return Table(table.n_rows, dict(zip(names, table.columns.values(), strict=True)))
