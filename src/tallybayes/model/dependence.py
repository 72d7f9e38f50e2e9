"""The option `dependence` of `fit`: a schema in which columns depend on the class and on one other column.

The columns of numbers, booleans and categories become the inputs of one derived column of the family `one_dependence`
and are not scored by themselves. Their cells are cut once, from the first rows, before anything is counted: the laws
hold given the schema. Bags and texts are scored by themselves, as without dependence.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.arrays.array_types import Codes32
from tallybayes.arrays.column import Codes, Column, Flags, Reals
from tallybayes.columns.batch import encode_columns, with_date_parts
from tallybayes.columns.cell_cuts import coarse_inputs
from tallybayes.columns.column_spec import ColumnSpec, Status
from tallybayes.columns.readers.cells_reader import CellsReader
from tallybayes.columns.readers.date_reader import UnreadDates
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, ParameterError
from tallybayes.families import OneDependence
from tallybayes.families.together.cell_pair_family import check_pairs
from tallybayes.tables.source import BadRows, Source, TableSource
from tallybayes.tables.table import Table, concatenate_tables

__all__ = ["with_one_dependence"]

_NAME = "all columns"  # of the derived column
_ROWS = 20_000  # from which cells are cut
_KINDS = (Reals, Flags, Codes)


def with_one_dependence(schema: Schema, source: Source, label: Any) -> Schema:
    """The schema with the columns in one derived column; itself if it has derived columns already."""
    if schema.derived:
        return schema
    head = with_date_parts(source.head(), schema, UnreadDates())
    specs = {name: spec for name, spec in schema.columns.items() if spec.family and spec.family.column in _KINDS}
    columns, codes = _encode(source, head, Schema(None, specs), label)
    inputs = tuple(coarse_inputs(columns, codes).values())
    if not (codes >= 0).any():
        raise DataError("rows with a label, to cut columns into cells for dependence 'one'", got=0)
    if len(inputs) < 2:
        got = [cell_input.column for cell_input in inputs]
        raise ParameterError("two or more columns of numbers, booleans or categories for dependence 'one'", got=got)
    name = _NAME
    while name in head.columns:
        name += "_"
    check_pairs(name, sum(cell_input.n_cells for cell_input in inputs), int(codes.max()) + 1)
    result = schema.copy()
    for cell_input in inputs:
        result.columns[cell_input.column] = specs[cell_input.column].without_family(Status.INPUT, f"input of {name!r}")
    reason = "each column depends on the class and one other column"
    result.columns[name] = ColumnSpec(name, OneDependence(), reason, CellsReader(inputs))
    return result


def _encode(source: Source, head: Table, schema: Schema, label: Any) -> tuple[dict[str, Column], Codes32]:
    """The columns and classes of at most 20,000 rows, evenly spaced; bad rows are left out if the source skips them."""
    codes = schema.label_spec.read(head, label).codes
    at = np.arange(head.n_rows) if head.n_rows <= _ROWS else np.linspace(0, head.n_rows - 1, _ROWS).astype(np.int64)
    rows = TableSource(Table(len(at), head.take(at).columns, head.origin, at))  # errors name rows by `at`
    rows.bad = None if source.bad is None else BadRows()
    parts = [part for part, _ in rows.work_on_good_rows(rows.head(), lambda part: encode_columns(part, schema))]
    if not parts:
        return {}, codes[:0]
    kept = np.concatenate([part.rows for part in parts if part.rows is not None])
    return encode_columns(concatenate_tables(parts), schema), codes[kept]
