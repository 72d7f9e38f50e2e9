"""Rows sampled from the model: a class from the prior, then every column given the class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.columns.readers.word_reader import NUMBER_KEY
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, check_integer
from tallybayes.scoring.snapshot import Snapshot

__all__ = ["sample"]


def sample(snapshot: Snapshot, n: int, rng: np.random.Generator) -> Any:
    """N rows of a generative model as a pyarrow Table, the label last."""
    scorer, schema = snapshot.scorer, snapshot.state.schema
    n = check_integer("n", n, at_least=0)
    if not scorer.classes:
        raise DataError("the model has not learned any row yet")
    prior = np.exp(scorer.log_prior)
    codes = rng.choice(len(prior), size=n, p=prior / prior.sum())
    used = {*schema.columns_counted}
    columns: dict[str, list[Any]] = {name: [None] * n for name in schema.columns if name in used}
    for code in range(len(scorer.classes)):
        rows = np.flatnonzero(codes == code)
        for predictive in scorer.predictives:
            drawn = predictive.sample(rng, code, len(rows))
            for number, (name, values) in enumerate(zip(predictive.features, drawn, strict=True)):
                if (
                    name in schema.columns
                    and schema.columns[name].reader.is_whole
                    and not predictive.samples_are_counted(number)
                ):
                    values = np.round(np.asarray(values, np.float64))
                for column, column_values in _by_column(schema, name, values):
                    for row, value in zip(rows.tolist(), column_values, strict=True):
                        columns[column][row] = _plain(value)
    _remove_numbers(columns, schema)
    for name, values in columns.items():
        if schema.columns[name].reader.is_whole and all(value is None or _is_whole(value) for value in values):
            columns[name] = [None if value is None else int(value) for value in values]
    arrays = {name: pa.array(_entries(values)) for name, values in columns.items()}
    label = schema.label or "label"
    while label in arrays:
        label += "_"
    arrays[label] = pa.array([scorer.classes[code] for code in codes])
    return pa.table(arrays)


def _remove_numbers(columns: dict[str, list[Any]], schema: Schema) -> None:
    """Leave out the numbers of rows in which a word was drawn: a cell is one of both."""
    for name in schema.divided & columns.keys():
        for part in schema.parts[name].keys() & columns.keys():
            pairs = zip(columns[name], columns[part], strict=True)
            columns[name] = [value if word == NUMBER_KEY else None for value, word in pairs]


def _by_column(schema: Schema, name: str, values: Any) -> list[tuple[str, Any]]:
    """Values of a column of the table; cells of a derived column as values of its inputs, numbers in words."""
    inputs = schema.columns[name].reader.inputs if name in schema.columns else ()
    if not inputs:
        return [(name, values)]
    return [(part.column, [part.value(cell) for cell in values[:, i].tolist()]) for i, part in enumerate(inputs)]


def _is_whole(value: Any) -> bool:
    """Whether a number is whole and has a place in 64 bits."""
    return isinstance(value, (int, float)) and abs(value) < 2**63 and value == int(value)


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and np.isnan(value) else value


def _entries(values: list[Any]) -> Any:
    """Dicts of amounts as an Arrow map, anything else as it is."""
    if not any(isinstance(value, dict) for value in values):
        return values
    keys = [key for value in values if value for key in value]
    kind = pa.array(keys).type if keys else pa.string()
    return pa.array([None if v is None else list(v.items()) for v in values], pa.map_(kind, pa.int64()))
