"""Predictions as columns of a DataFrame, by an Arrow function of the columns that the model needs.

Only these columns go through Python; all others stay where they are, of whatever type, and so does the order of the
rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.arrays.array_types import Floats
from tallybayes.arrays.axis import kind_of
from tallybayes.errors import DataError, ParameterError
from tallybayes.formatting import DECIBANS, shown
from tallybayes.model.model import Model
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.spark.data_frame import SparkRows
from tallybayes.spark.scored_columns import with_scored_columns
from tallybayes.spark.tree import on_driver
from tallybayes.tables.table import to_table

__all__ = ["predict"]

_TYPES = {  # of labels by their kind, in Spark and in Arrow
    "text": ("string", pa.string()),
    "integer": ("bigint", pa.int64()),
    "number": ("double", pa.float64()),
    "boolean": ("boolean", pa.bool_()),
    "bytes": ("binary", pa.binary()),
}
_NUMBERS = "map<string,double>"


def predict(
    model: Model,
    df: Any,
    *,
    prediction: str = "prediction",
    probability: str | None = "probability",
    probabilities: str | None = None,
    explanation: str | None = None,
) -> Any:
    """A DataFrame with the predictions of a model as further columns.

    prediction: the name of the column with the answer, as `Model.predict` gives it; null where the model abstains.
    probability: the name of the column with the probability of the answer; None: without it.
    probabilities: the name of a column with the probability of every class, a map by class.
    explanation: the name of a column with the evidence for the answer against the most probable other class, in
    decibans, a map by column of the model; the entry with the empty name is the class prior.

    Other columns and the order of the rows stay as they are. The DataFrame may be a stream.
    """
    rows = SparkRows(df, may_stream=True)
    names = {"prediction": prediction, "probability": probability}
    names |= {"probabilities": probabilities, "explanation": explanation}
    wanted = {part: name for part, name in names.items() if name is not None}
    _check_names(wanted, rows)
    classes = model.classes
    if not classes:
        raise DataError("the model has not learned any row yet")
    used, forms = rows.scored(model.schema)
    if not used:
        raise DataError(f"columns of the model ({', '.join(model.schema.columns_in_use[:5])})", got=list(rows.types))
    label_type, arrow_type = _TYPES[kind_of(classes[0])]
    types = {"prediction": label_type, "probability": "double", "probabilities": _NUMBERS, "explanation": _NUMBERS}
    kind = "struct<" + ", ".join(f"{part}: {types[part]}" for part in wanted) + ">"
    score = partial(_score, parts=tuple(wanted), label_type=arrow_type)
    with on_driver():
        return with_scored_columns(rows, used, forms, model, score, kind=kind, names=wanted)


def _check_names(wanted: Mapping[str, str], rows: SparkRows) -> None:
    taken = {name.lower() for name in rows.types}
    for part, name in wanted.items():
        if name.lower() in taken:
            hint = f"give another name: {part}=..."
            raise ParameterError("new columns with names of their own", got=name, hint=hint)
        taken.add(name.lower())


def _score(snapshot: Snapshot, batch: Any, parts: tuple[str, ...], label_type: Any) -> pa.Array:
    """The columns that are asked for, of a batch."""
    table = to_table(batch)
    proba = snapshot.proba(table)
    codes = snapshot.posterior.answer_codes(proba)
    answered, classes = codes >= 0, snapshot.classes
    result: dict[str, Any] = {}
    if "prediction" in parts:
        result["prediction"] = pa.array(classes, label_type).take(pa.array(codes, mask=~answered))
    if "probability" in parts:
        result["probability"] = pa.array(proba[np.arange(len(proba)), codes], mask=~answered)
    if "probabilities" in parts:
        result["probabilities"] = _maps([shown(label) for label in classes], proba)
    if "explanation" in parts:
        result["explanation"] = _explanations(snapshot, table, proba, codes)
    return pa.StructArray.from_arrays(list(result.values()), names=list(result))


def _explanations(snapshot: Snapshot, table: Any, proba: Floats, codes: Any) -> pa.Array:
    """The evidence of each column for the answer (or the most probable class) against the next class, in decibans."""
    ((_, evidence),) = snapshot.evidence_batches(table)
    rows, n_classes = np.arange(len(proba)), proba.shape[1]
    best = np.where(codes >= 0, codes, proba.argmax(axis=1))
    others = proba.copy()
    others[rows, best] = -1.0
    second = others.argmax(axis=1) if n_classes > 1 else best
    lines = {"": np.broadcast_to(snapshot.scorer.log_prior, proba.shape)} | evidence
    with np.errstate(invalid="ignore"):
        values = [(part[rows, best] - part[rows, second]) * DECIBANS for part in lines.values()]
    return _maps(list(lines), np.nan_to_num(np.array(values).T, nan=0.0, posinf=np.inf, neginf=-np.inf))


def _maps(names: list[str], values: Floats) -> pa.Array:
    """Maps with the same keys, (rows, keys)."""
    keys = pa.DictionaryArray.from_arrays(np.tile(np.arange(len(names), dtype=np.int32), len(values)), names)
    offsets = np.arange(0, values.size + 1, max(len(names), 1), dtype=np.int32)
    return pa.MapArray.from_arrays(pa.array(offsets), keys.dictionary_decode(), pa.array(values.ravel()))
