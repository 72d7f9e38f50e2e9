"""Tensors of the Open Inference Protocol as columns, and answers as tensors.

A tensor belongs to the column of its name: shape [rows] or [rows, 1], one value per row; shape [rows, n] gives each row
a list of n values. Data is in the order of rows, flat or nested.
"""

from __future__ import annotations

import math
from typing import Any

from tallybayes.errors import DataError, Described

__all__ = ["columns_of_tensors", "datatype_of"]

_INTEGERS = ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64")
_REALS = ("FP16", "FP32", "FP64", "BF16")
_TYPES: dict[str, tuple[type, ...]] = {
    "BOOL": (bool,),
    "BYTES": (str,),
    **dict.fromkeys(_INTEGERS, (int,)),
    **dict.fromkeys(_REALS, (int, float)),
}


def columns_of_tensors(inputs: Any, most: int) -> tuple[dict[str, list[Any]], int]:
    """The columns of a request by name, and the number of rows.

    >>> columns_of_tensors([{"name": "age", "shape": [2, 1], "datatype": "INT64", "data": [7, 8]}], 10)
    ({'age': [7, 8]}, 2)
    """
    if not isinstance(inputs, list) or not inputs:
        raise DataError("inputs: a list of at least one tensor", got=inputs)
    columns: dict[str, list[Any]] = {}
    n_rows: int | None = None
    for tensor in inputs:
        name, values = _column(tensor, most)
        if name in columns:
            raise DataError("inputs with different names", got=name)
        if n_rows is not None and len(values) != n_rows:
            raise DataError(f"{n_rows} rows, as in the inputs before", got=len(values), column=name)
        columns[name], n_rows = values, len(values)
    return columns, n_rows or 0


def _column(tensor: Any, most: int) -> tuple[str, list[Any]]:
    """The name and the values of one tensor, one per row."""
    if not isinstance(tensor, dict) or not {"name", "shape", "datatype", "data"} <= tensor.keys():
        raise DataError("a tensor with name, shape, datatype and data", got=tensor)
    name, shape, datatype, data = (tensor[key] for key in ("name", "shape", "datatype", "data"))
    if not isinstance(name, str):
        raise DataError("the name of a column", got=name)
    kinds = _TYPES.get(datatype) if isinstance(datatype, str) else None
    if kinds is None:
        raise DataError(f"a datatype ({', '.join(_TYPES)})", got=datatype, column=name)
    if not isinstance(shape, list) or not 1 <= len(shape) <= 2 or not all(type(n) is int and n >= 0 for n in shape):
        raise DataError("a shape of one or two sizes: rows, or rows and values", got=shape, column=name)
    if shape[0] > most:
        raise DataError(f"at most {most:,} rows", got=shape[0], column=name)
    if shape[0] and shape[-1] == 0:  # rows that have no values would cost memory, and nothing to send
        raise DataError("a shape with at least one value per row", got=shape, column=name)
    flat = _flat(data, name)
    if len(flat) != math.prod(shape):
        raise DataError(f"{math.prod(shape)} values for the shape {shape}", got=len(flat), column=name)
    for row, value in enumerate(flat):
        if value is not None and type(value) not in kinds:
            raise DataError(f"values of the type {datatype}, or null", got=value, column=name, row=row)
    width = shape[1] if len(shape) == 2 else 1
    return name, flat if width == 1 else [flat[i * width : (i + 1) * width] for i in range(shape[0])]


def _flat(data: Any, name: str) -> list[Any]:
    """The values in the order of rows."""
    if not isinstance(data, list):
        raise DataError("data: a list of values", got=data, column=name)
    if not any(isinstance(part, list) for part in data):
        if any(isinstance(part, dict) for part in data):
            raise DataError("values of a tensor", got=Described("an object"), column=name)
        return data
    return [value for part in data for value in _flat(part if isinstance(part, list) else [part], name)]


def datatype_of(values: list[Any]) -> str:
    """The datatype of labels.

    >>> datatype_of(["cat", "dog"]), datatype_of([0, 1]), datatype_of([False, True])
    ('BYTES', 'INT64', 'BOOL')
    """
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return "BOOL"
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values):
        return "INT64"
    return "FP64" if kinds and kinds <= {int, float} else "BYTES"
