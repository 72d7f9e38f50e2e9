"""Columns of vectors (VectorUDT of Spark ML) as columns of the data layer.

A column `features` of vectors becomes columns of numbers `features[0]`, `features[1]`, ..., or one bag `features` whose
keys are the numbers of the elements. As for NumPy and SciPy matrices: dense vectors are columns, and a bag is taken if
all vectors of the sample are sparse, as those of word counts are. A row may hold its vector in either form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.cells.arrow import combine_chunks, to_numpy, valid_rows
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, Described

__all__ = ["BAG", "Forms", "element_name", "forms_of_sample", "forms_of_schema", "n_elements", "with_vectors"]

_DENSE = 1  # the value of `type` of a dense vector; 0 is a sparse one
BAG = -1  # instead of the number of columns, for a bag

Forms = Mapping[str, int]  # by column of vectors: how many columns it becomes, or BAG


def element_name(column: str, element: int) -> str:
    """The name of the column of an element.

    >>> element_name("features", 3)
    'features[3]'
    """
    return f"{column}[{element}]"


def forms_of_sample(table: pa.Table, names: list[str]) -> dict[str, int]:
    """What columns of vectors become, given some rows."""
    result = {}
    for name in names:
        parts = _parts(table.column(name))
        there = valid_rows(parts["type"])
        kinds = to_numpy(parts["type"], null=0)[there]
        if len(kinds) and not (kinds == _DENSE).any():
            result[name] = BAG
        else:
            result[name] = n_elements(table, name)
    return result


def n_elements(table: pa.Table, name: str) -> int:
    """The number of elements of the vectors in a column."""
    return int(_sizes(_parts(table.column(name))).max(initial=0))


def forms_of_schema(schema: Schema, names: list[str]) -> dict[str, int]:
    """What columns of vectors become for a model."""
    result = {}
    for name in names:
        pattern = re.compile(re.escape(name) + r"\[(\d+)\]")
        elements = [int(match[1]) for column in schema.columns if (match := pattern.fullmatch(column))]
        result[name] = BAG if name in schema.families else max(elements, default=-1) + 1
    return result


def with_vectors(table: pa.Table | pa.RecordBatch, forms: Forms) -> pa.Table | pa.RecordBatch:
    """A table whose columns of vectors are columns of numbers, or bags."""
    if not forms:
        return table
    columns: dict[str, Any] = {}
    for name in table.schema.names:
        if name not in forms:
            columns[name] = table.column(name)
        elif forms[name] == BAG:
            columns[name] = _bag(_parts(table.column(name)))
        else:
            matrix = _matrix(name, _parts(table.column(name)), forms[name])
            columns |= {element_name(name, i): pa.array(matrix[i]) for i in range(len(matrix))}
    return type(table).from_pydict(columns)


def _parts(column: Any) -> dict[str, Any]:
    """The fields of a column of vectors; `type` is null where there is no vector."""
    array = combine_chunks(column)
    return {field.name: array.field(i) for i, field in enumerate(array.type)}


def _sizes(parts: Mapping[str, Any]) -> np.ndarray:
    """The number of elements of each vector; 0 where there is none."""
    kinds, lengths = to_numpy(parts["type"], null=-1), _lengths(parts["values"])
    sparse = to_numpy(parts["size"], null=0)
    return np.where(kinds == _DENSE, lengths, np.where(kinds == 0, sparse, 0)).astype(np.int64)


def _lengths(lists: Any) -> np.ndarray:
    return np.where(valid_rows(lists), np.diff(to_numpy(lists.offsets)), 0)


def _elements(parts: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, element and value of everything that is in the vectors."""
    kinds = to_numpy(parts["type"], null=-1)
    rows, elements, values = [], [], []
    lengths, starts = _lengths(parts["values"]), to_numpy(parts["values"].offsets)[:-1]
    content = to_numpy(parts["values"].values)
    others, other_starts = to_numpy(parts["indices"].values), to_numpy(parts["indices"].offsets)[:-1]
    for kind in (0, _DENSE):
        places = np.flatnonzero(kinds == kind)
        n = lengths[places]
        within = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        rows.append(np.repeat(places, n))
        values.append(content[np.repeat(starts[places], n) + within])
        elements.append(within if kind == _DENSE else others[np.repeat(other_starts[places], n) + within])
    return np.concatenate(rows), np.concatenate(elements).astype(np.int64), np.concatenate(values).astype(np.float64)


def _matrix(name: str, parts: Mapping[str, Any], size: int) -> np.ndarray:
    """The elements as numbers, (elements, rows), NaN where there is no vector."""
    sizes, there = _sizes(parts), valid_rows(parts["type"])
    wrong = np.flatnonzero(there & (sizes != size))
    if len(wrong):
        got = Described(f"one of {sizes[wrong[0]]}")
        raise DataError(f"a vector of {size} elements", got=got, column=name, row=int(wrong[0]))
    result = np.where(there, 0.0, np.nan) * np.ones((size, 1))
    rows, elements, values = _elements(parts)
    result[elements, rows] = values
    return result


def _bag(parts: Mapping[str, Any]) -> Any:
    """The elements that are not 0, as a map from their numbers to their values."""
    rows, elements, values = _elements(parts)
    kept = values != 0
    rows, elements, values = rows[kept], elements[kept], values[kept]
    order = np.lexsort((elements, rows))
    there = valid_rows(parts["type"])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(there)))]).astype(np.int32)
    entries = pa.StructArray.from_arrays([pa.array(elements[order]), pa.array(values[order])], ["key", "value"])
    bits = pa.py_buffer(np.packbits(there, bitorder="little"))
    kind = pa.map_(pa.int64(), pa.float64())
    return pa.Array.from_buffers(kind, len(there), [bits, pa.py_buffer(offsets)], children=[entries])
