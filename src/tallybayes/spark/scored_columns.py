"""Scoring on the workers: new columns of a DataFrame by an Arrow function of some of its columns.

All other columns stay as they are. A worker loads a model once and keeps it, by the digest of its bytes.

Spark may give such a function the columns of a reader (Parquet, a cached table) without making rows of them. That path
fails if any column of the DataFrame, or the result, is of a type of its own, as the vectors of Spark ML are. Then the
rows are filtered by a condition that all of them meet, which makes Spark pass rows instead of columns.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import pyarrow as pa

from tallybayes.model.model import Model
from tallybayes.model.saved_model import dumps, loads
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.spark.data_frame import SIMPLE_TYPES, SparkRows, quote
from tallybayes.spark.vector_columns import Forms, with_vectors

__all__ = ["WorkerModel", "with_scored_columns"]

_MODELS = 4  # that a worker keeps

_LEAST_HASH = -(2**31)
_HASHED = 3  # columns: more than one, as Spark would compute the condition beforehand if a column were a constant
_PASSED = SIMPLE_TYPES - {"void"}  # in columns, by the names of the types


class WorkerModel:
    """A model for the workers: its bytes, which are compared by their digest."""

    def __init__(self, model: Model) -> None:
        self.data = dumps(model)
        self._digest = hashlib.sha256(self.data).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WorkerModel) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    @contextmanager
    def scoring(self) -> Iterator[Snapshot]:
        """The snapshot of the model, loaded once per worker; nobody reads the warnings of a worker."""
        os.environ["TALLYBAYES_THREADS"] = "1"  # Spark runs a task on each core
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield _load(self)


@lru_cache(maxsize=_MODELS)
def _load(model: WorkerModel) -> Snapshot:
    return loads(model.data).snapshot()


def with_scored_columns(
    rows: SparkRows,
    used: Mapping[str, str],
    forms: Forms,
    model: Model,
    score: Callable[[Snapshot, pa.RecordBatch], pa.StructArray],
    *,
    kind: Any,
    names: Mapping[str, str],
) -> Any:
    """A DataFrame with the fields of the structure that `score` returns for the columns `used` of a batch.

    used, forms: as `SparkRows.scored` returns them.
    kind: the type of the structure, as text if its fields are of simple types.
    names: the name of the new column of each field.
    """
    from pyspark.sql import functions

    worker_model, columns = WorkerModel(model), list(used.values())

    def score_cells(cells: pa.Array) -> pa.Array:
        batch = pa.RecordBatch.from_arrays(cells.flatten(), names=columns)
        with worker_model.scoring() as snapshot:
            return score(snapshot, with_vectors(batch, forms))

    score_cells.__annotations__ = {"cells": pa.Array, "return": pa.Array}  # not as text: Spark reads them
    scorer = functions.arrow_udf(score_cells, kind)  # type: ignore[attr-defined] # missing in its types
    whole = "tallybayes"
    while whole.lower() in {name.lower() for name in rows.types}:
        whole += "_"
    results = [] if isinstance(kind, str) else [kind]
    passed = all(_is_passed_in_columns(column_type) for column_type in [*rows.types.values(), *results])
    df = rows.df if passed else rows.df.where(_always(rows, list(used)))
    scored = df.withColumn(whole, scorer(functions.struct(*rows.columns(used))))
    return scored.withColumns({name: functions.col(whole).getField(part) for part, name in names.items()}).drop(whole)


def _always(rows: SparkRows, used: list[str]) -> Any:
    """A condition that every row meets, which Spark cannot know before it reads the row."""
    from pyspark.sql import functions

    columns = [(functions.col(quote(name)), rows.types[name].typeName()) for name in used[:_HASHED]]
    hashed = functions.hash(*[functions.size(column) if kind == "map" else column for column, kind in columns])
    return hashed >= functions.lit(_LEAST_HASH)


def _is_passed_in_columns(kind: Any) -> bool:
    """Whether Spark can pass values of a type in columns."""
    name = kind.typeName()
    if name == "struct":
        return all(_is_passed_in_columns(field.dataType) for field in kind.fields)
    if name == "array":
        return _is_passed_in_columns(kind.elementType)
    if name == "map":
        return _is_passed_in_columns(kind.keyType) and _is_passed_in_columns(kind.valueType)
    return name in _PASSED
