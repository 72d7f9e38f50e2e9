"""How the labels and categories of data to be fitted are written: their forms, found in the first rows.

The first rows of a text file that families are inferred from hold numbers where the cells look like numbers, but labels
and categories are learned as the texts that they are: these are read here.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pyarrow as pa

from tallybayes.arrays.column import Codes
from tallybayes.cells.arrow import is_text_type
from tallybayes.columns.inference import Inference
from tallybayes.columns.label import label_column
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError
from tallybayes.tables.source import BadRows, Source, Stream, Whole
from tallybayes.tables.table import Raw

__all__ = ["add_key_forms", "first_cells"]


def first_cells(schema: Schema, source: Source, label: Any) -> dict[str, Raw]:
    """The label and the columns of categories in the first rows, in the types in which they are learned."""
    head = source.head()
    names = [name for name, family in schema.families.items() if family.column is Codes]
    names += [label_column(label, head.columns)[0]] if isinstance(label, str) else []
    found = {name: head.columns[name] for name in names if name in head.columns}
    if isinstance(source, (Whole, Stream)) or all(map(_is_text, found.values())):
        return found
    bad, source.bad = source.bad, None if source.bad is None else BadRows()  # they are counted when they are learned
    try:
        with contextlib.closing(source.batches(dict.fromkeys(found))) as tables:  # type: ignore[type-var]
            first = next(iter(tables), None)
    except DataError:
        return found  # learning names the line
    finally:
        source.bad = bad
    return found if first is None else {name: first.columns.get(name, raw) for name, raw in found.items()}


def _is_text(raw: Raw) -> bool:
    return isinstance(raw, (pa.Array, pa.ChunkedArray)) and is_text_type(raw.type)


def add_key_forms(schema: Schema, cells: dict[str, Raw], inference: Inference) -> None:
    """Put the forms of categories into a schema."""
    for name, raw in cells.items():
        if name in schema.columns:
            schema.columns[name] = inference.with_key_form(schema.columns[name], raw)
