"""Derived columns computed from the columns of the same table.

Every input is encoded as the kind of column that its cells are made of; where a column of the model is of this kind,
it is used as it is, so that nothing is encoded twice. An input that is absent from the table is missing throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from tallybayes.arrays.axis import rough_kind
from tallybayes.arrays.chunks import SMALL, in_threads
from tallybayes.arrays.column import Cells, Codes, Column, Flags, Reals
from tallybayes.cells.key_form import KeyForm, to_key_type
from tallybayes.columns.coarse_cells import CellInput
from tallybayes.columns.encode import as_codes, as_flags, as_reals, empty_column
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError
from tallybayes.tables.table import Table

__all__ = ["Sources", "derived_columns", "in_known_type", "source_tasks"]

Sources = dict[tuple[str, type[Column]], Column]  # encoded inputs by name and kind

_ENCODERS: dict[type[Column], Callable[[str, Any], Column]] = {Reals: as_reals, Flags: as_flags, Codes: as_codes}


def source_tasks(table: Table, schema: Schema, apart: set[str | None]) -> dict[Any, Callable[[], Column]]:
    """What is to be encoded for derived columns besides the columns of the model, by name and kind.

    apart: columns that are not values of the rows (the label, the weight); as inputs they are missing.
    """
    families, tasks = schema.families, dict[Any, Callable[[], Column]]()
    for field in schema.derived.values():
        for own in field.inputs:
            name = own.column
            is_there = name in table.columns and name not in apart
            if is_there and not (name in families and families[name].column is own.kind):
                tasks[name, own.kind] = partial(_ENCODERS[own.kind], name, table.columns[name])
    return tasks


def derived_columns(
    table: Table,
    schema: Schema,
    columns: Mapping[str, Column],
    sources: Sources,
    apart: set[str | None],
    *,
    learns: bool = False,
) -> dict[str, Column]:
    """The derived columns of a table, from the encoded columns of the model and other encoded inputs."""
    derived = schema.derived
    inputs = list(dict.fromkeys(own for field in derived.values() for own in field.inputs))

    def cells(start: int, _: int) -> Any:
        own = inputs[start]
        found = sources.get((own.column, own.kind))
        if found is None and own.column not in apart:
            found = columns.get(own.column)
        if found is None:
            found = empty_column(own.kind, table.n_rows)
        return own.cells(_in_type(own, found), learns=learns)

    small = len(inputs) if table.n_rows <= SMALL else 0
    parts = in_threads(cells, len(inputs), size=1, small=small) if inputs else []
    cells_of = dict(zip(inputs, parts, strict=True))
    return {
        name: Cells(
            np.ascontiguousarray(np.stack([cells_of[own] for own in field.inputs], axis=1)),
            tuple(own.n_cells for own in field.inputs),
        )
        for name, field in derived.items()
    }


def _in_type(own: CellInput, column: Column) -> Column:
    """Categories in the type of those in the schema."""
    if not own.keys or not isinstance(column, Codes) or not len(column.keys):
        return column
    return in_known_type(own.column, column, own.keys[0], KeyForm.of(own.keys))


def in_known_type(name: str, column: Codes, like: Any, form: KeyForm | None) -> Codes:
    """Categories in the type of a known one (None: there is none yet) and in their form; others are refused."""
    first = column.keys[0]
    like = first if like is None else like
    is_same = rough_kind(like) == rough_kind(first)
    if is_same and (form is None or not isinstance(like, str)):
        return column
    keys = [to_key_type(key, like, form) for key in column.keys]
    if is_same and keys == list(column.keys):
        return column
    for code, (key, new) in enumerate(zip(column.keys, keys, strict=True)):
        if rough_kind(new) != rough_kind(like):
            rows = np.flatnonzero(column.codes == code + column.origin)
            if len(rows):
                raise DataError(f"{rough_kind(like)}, as learned before", got=key, column=name, row=int(rows[0]))
    number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    places = np.array([*(number[key] for key in keys), -1], np.int32)
    codes = column.codes.astype(np.int64) - column.origin
    return Codes(places[np.where((codes < 0) | (codes >= len(keys)), -1, codes)], list(number))
