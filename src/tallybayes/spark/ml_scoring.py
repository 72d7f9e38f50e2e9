"""Scores as Spark ML has them: vectors of the classes, and an answer of the type of the label.

The vectors are written by Python in the form in which Spark keeps them, so that no row is converted twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.ml.linalg import VectorUDT
from pyspark.sql.types import BinaryType, BooleanType, DataType, DoubleType, StringType, StructField, StructType

from tallybayes.errors import DataError, ParameterError, shorten
from tallybayes.families.family import Floats
from tallybayes.model.model import Model
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.spark.data_frame import SparkRows
from tallybayes.spark.scored_columns import with_scored_columns

__all__ = ["ClassLayout", "with_scores"]

_MOST_INDICES = 100  # as in Spark ML: labels that are whole numbers below it are positions in the vectors
_DENSE = 1  # the type of a dense vector in the form in which Spark keeps it


_LABEL_TYPES = {
    float: (DoubleType(), pa.float64()),
    bool: (BooleanType(), pa.bool_()),
    bytes: (BinaryType(), pa.binary()),
    str: (StringType(), pa.string()),
}


class ClassLayout:
    """The position of each class in the vectors.

    As in Spark ML, label i is at position i if the labels are whole numbers from 0 to 99; a label that is not a class
    of the model has the probability 0. Other labels are in ascending order.

    label_type: the type of an answer, a double for numbers, else the type of the labels, or text.

    >>> ClassLayout(["cat", "dog"]).labels, ClassLayout([0.0, 2.0]).labels
    (['cat', 'dog'], [0.0, 1.0, 2.0])
    """

    def __init__(self, classes: Sequence[Any]) -> None:
        self.classes = list(classes)
        kinds = {type(label) for label in classes}
        are_numbers = bool(classes) and kinds <= {int, float}
        self._kind: Any = float if are_numbers else kinds.pop() if kinds in ({bool}, {bytes}) else str
        self.label_type: DataType = _LABEL_TYPES[self._kind][0]
        self.are_indices = are_numbers and all(label in range(_MOST_INDICES) for label in classes)

    @property
    def labels(self) -> list[Any]:
        """The label at each position."""
        return [float(i) for i in range(int(max(self.classes)) + 1)] if self.are_indices else self.classes

    def place(self, scores: Floats, absent: float) -> Floats:
        """Scores by class, (rows, classes), as scores by position."""
        if len(self.labels) == len(self.classes):
            return scores
        result = np.full((len(scores), len(self.labels)), absent)
        result[:, [int(label) for label in self.classes]] = scores
        return result

    def answers(self, codes: NDArray[np.int64]) -> pa.Array:
        """The labels by their codes, null for -1."""
        values = pa.array(map(self._kind, self.classes), _LABEL_TYPES[self._kind][1])
        return values.take(pa.array(codes, pa.int64(), mask=codes < 0))


def score_fields(model: Model, names: Sequence[str]) -> list[StructField]:
    """The fields of rawPrediction, probability and prediction by their names; none where the name is empty."""
    types = (VectorUDT(), VectorUDT(), ClassLayout(model.classes).label_type)
    return [StructField(name, kind) for name, kind in zip(names, types, strict=True) if name]


def score_columns(snapshot: Snapshot, batch: Any, wanted: Sequence[bool]) -> Iterator[pa.Array]:
    """The wanted ones of rawPrediction, probability and prediction of the rows of a batch."""
    layout, posterior = ClassLayout(snapshot.classes), snapshot.posterior
    log_score = snapshot.log_score(batch)
    if wanted[0]:
        yield _vectors(layout.place(posterior.log_proba(log_score), -np.inf))
    posterior.write_proba(log_score, 0, len(log_score))
    if wanted[1]:
        yield _vectors(layout.place(log_score, 0.0))
    if wanted[2]:
        yield layout.answers(posterior.answer_codes(log_score))


def _vectors(values: Floats) -> pa.Array:
    """Rows of a matrix as dense vectors."""
    n, width = values.shape
    ends = np.arange(0, n * width + 1, max(width, 1), dtype=np.int32) if width else np.zeros(n + 1, np.int32)
    lists = pa.ListArray.from_arrays(pa.array(ends), pa.array(np.ascontiguousarray(values).ravel()))
    columns = [pa.array(np.full(n, _DENSE, np.int8)), pa.nulls(n, pa.int32()), pa.nulls(n, pa.list_(pa.int32())), lists]
    return pa.StructArray.from_arrays(columns, ["type", "size", "indices", "values"])


def with_scores(dataset: Any, model: Model, names: Sequence[str], renamed: Mapping[str, str]) -> Any:
    """A DataFrame with rawPrediction, probability and prediction by their names; without it where the name is empty.

    renamed: columns of the DataFrame whose names in the model are others.
    """
    rows, fields = SparkRows(dataset, may_stream=True), score_fields(model, names)
    for field in fields:
        if field.name.lower() in map(str.lower, rows.types):
            raise ParameterError("the name of a new column", got=field.name, hint="drop that column, or rename one")
    if not fields:
        return dataset
    used, forms = rows.scored(model.schema, renamed=renamed)
    if not used:
        raise DataError(f"columns of the model ({shorten(model.schema.columns_in_use)})", got=list(rows.types))
    wanted = [bool(name) for name in names]

    def score(snapshot: Snapshot, batch: Any) -> pa.StructArray:
        return pa.StructArray.from_arrays([*score_columns(snapshot, batch, wanted)], [field.name for field in fields])

    new = {field.name: field.name for field in fields}
    return with_scored_columns(rows, used, forms, model, score, kind=StructType(fields), names=new)
