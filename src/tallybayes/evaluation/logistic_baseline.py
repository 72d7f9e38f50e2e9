"""scikit-learn's logistic regression on the columns of a schema, as a baseline for naive Bayes.

Missing numbers (and booleans) are replaced by the median, then numbers are standardised. Categories are one-hot
encoded: a missing value is a category of its own, an unseen category is encoded as zeros. Tags and counts are scaled
by their maximum. Texts are bags of words.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.column import Bag, Codes, Column
from tallybayes.columns.batch import encode_columns, encode_inputs, with_parts
from tallybayes.columns.schema import Schema
from tallybayes.families.family import Floats
from tallybayes.tables.raw_values import is_missing
from tallybayes.tables.table import Table, column_values

__all__ = ["Design", "Logistic"]

Rows = NDArray[np.int64]


class Design:
    """The columns of a table in groups with the same preprocessing: numbers, categories, each bag and each text."""

    def __init__(self, table: Table, schema: Schema) -> None:
        table = with_parts(table, schema)
        texts = [name for name, spec in schema.columns.items() if spec.is_text and name in table.columns]
        specs = schema.columns.items()
        plain = Schema(None, {name: spec for name, spec in specs if not (spec.is_text or spec.reader.inputs)})
        columns = encode_columns(table, plain)
        columns |= {name: col for name, col in encode_inputs(table, schema).items() if name not in columns}
        numbers = [_numbers(c) for c in columns.values() if not isinstance(c, (Codes, Bag))]
        codes = [column.places() for column in columns.values() if isinstance(column, Codes)]
        self.n_rows = table.n_rows
        self.numbers = np.column_stack(numbers) if numbers else np.zeros((table.n_rows, 0))
        self.codes = np.column_stack(codes) if codes else np.zeros((table.n_rows, 0), np.int64)
        self.bags = [_matrix(c) for c in columns.values() if isinstance(c, Bag) and len(c.keys)]
        self.texts = [_texts(table.columns[name]) for name in texts]

    def parts(self) -> list[tuple[Any, Any]]:
        """Each group of columns with a new transformer for it."""
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

        filled = SimpleImputer(strategy="median", keep_empty_features=True)
        return [
            *([(self.numbers, make_pipeline(filled, StandardScaler()))] if self.numbers.shape[1] else []),
            *([(self.codes, OneHotEncoder(handle_unknown="ignore"))] if self.codes.shape[1] else []),
            *((bag, MaxAbsScaler()) for bag in self.bags),
            *((text, CountVectorizer(dtype=np.float64)) for text in self.texts),
        ]


class Logistic:
    """Logistic regression fitted on some rows of a design; `classes` are the codes that occur in them."""

    def __init__(self, design: Design, rows: Rows, codes: NDArray[np.integer[Any]]) -> None:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        self.classes = np.unique(codes[rows]).tolist()
        self._n_rows, self._prepared = design.n_rows, []
        for values, transformer in design.parts():
            with contextlib.suppress(ValueError):  # an empty vocabulary
                self._prepared.append((values, transformer.fit(values[rows])))
        self._regression = None
        if len(self.classes) > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                self._regression = LogisticRegression(max_iter=1000).fit(self._features(rows), codes[rows])

    def log_proba(self, rows: Rows) -> Floats:
        """Log P(class | row) of rows of the same design, (rows, classes)."""
        if self._regression is None:
            return np.zeros((len(rows), len(self.classes)))
        score = self._regression.decision_function(self._features(rows))
        if score.ndim == 1:
            return np.column_stack([-np.logaddexp(0, score), -np.logaddexp(0, -score)])
        return np.asarray(score - np.logaddexp.reduce(score, axis=1, keepdims=True))

    def _features(self, rows: Rows) -> Any:
        from scipy.sparse import csr_array, hstack, issparse

        features = [transformer.transform(values[rows]) for values, transformer in self._prepared]
        if any(map(issparse, features)):
            return hstack([csr_array(part) for part in features], format="csr")
        return np.hstack(features) if features else np.zeros((len(rows), 1))


def _numbers(column: Column) -> Floats:
    """Numbers, and booleans as 0 and 1; NaN where missing."""
    values = column.values.astype(np.float64)  # type: ignore[union-attr]
    return values if column.values.dtype.kind == "f" else np.where(values < 0, np.nan, values)  # type: ignore[union-attr]


def _matrix(bag: Bag) -> Any:
    """A bag as a sparse matrix of amounts."""
    from scipy.sparse import csr_array

    bag = bag.expanded()
    amounts = np.ones(len(bag.indices)) if bag.amounts is None else bag.amounts.astype(np.float64)
    return csr_array((amounts, bag.indices, bag.indptr), shape=(len(bag), len(bag.keys)))


def _texts(raw: Any) -> NDArray[np.object_]:
    return np.array(["" if is_missing(value) else str(value) for value in column_values(raw)], object)
