"""How the labels and categories of data to be fitted are written: their forms, found in the first rows.

The first rows of a text file that families are inferred from hold numbers where the cells look like numbers, but labels
and categories are learned as the texts that they are: `Table.texts`.
"""

from __future__ import annotations

from typing import Any

from tallybayes.arrays.column import Codes
from tallybayes.columns.inference import Inference
from tallybayes.columns.label import label_column
from tallybayes.columns.schema import Schema
from tallybayes.tables.source import Source
from tallybayes.tables.table import Raw

__all__ = ["add_key_forms", "first_cells"]


def first_cells(schema: Schema, source: Source, label: Any) -> dict[str, Raw]:
    """The label and the columns of categories in the first rows, in the types in which they are learned."""
    head = source.head()
    names = [name for name, family in schema.families.items() if family.column is Codes]
    names += [label_column(label, head.columns)[0]] if isinstance(label, str) else []
    return {name: head.texts.get(name, head.columns[name]) for name in names if name in head.columns}


def add_key_forms(schema: Schema, cells: dict[str, Raw], inference: Inference) -> None:
    """Put the forms of categories into a schema."""
    for name, raw in cells.items():
        if name in schema.columns:
            schema.columns[name] = inference.with_key_form(schema.columns[name], raw)
