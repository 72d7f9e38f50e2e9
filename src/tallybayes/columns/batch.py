"""A table encoded for a model: the columns of the schema, labels and weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.chunks import SMALL, in_threads
from tallybayes.arrays.column import Codes, Column, Flags, Reals
from tallybayes.arrays.sparse_matrix import is_sparse
from tallybayes.columns.date_parts import with_date_parts
from tallybayes.columns.derived_columns import derived_columns, in_known_type, source_tasks
from tallybayes.columns.encode import empty_column, encode
from tallybayes.columns.label import Labels, find_labels, find_weights, label_column
from tallybayes.columns.number_columns import with_numbers
from tallybayes.columns.schema import Schema
from tallybayes.tables.source import Kind
from tallybayes.tables.table import Table

__all__ = ["Batch", "columns_to_read", "encode_columns", "read_batch", "to_known_types"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Encoded columns with labels and weights.

    sources: inputs of derived columns that are not columns of the model themselves.
    """

    n_rows: int
    columns: dict[str, Column]
    labels: Labels
    weights: NDArray[np.float64] | None
    sources: dict[str, Column] = field(default_factory=dict)


def columns_to_read(schema: Schema, label: Any = None, weight: Any = None) -> dict[str, Kind | None]:
    """The columns that a model needs of a source of batches, and the type to read each as; None: as it is."""
    kinds: dict[type, Kind] = {Reals: "number", Flags: "flag"}
    derived = schema.derived
    families = {name: family for name, family in schema.families.items() if name not in derived}
    result = {name: schema.columns[name].format or kinds.get(family.column) for name, family in families.items()}
    for own in (own for derivation in derived.values() for own in derivation.inputs):
        known = schema.columns.get(own.column)
        result.setdefault(own.column, (known.format if known is not None else None) or kinds.get(own.kind))
    result |= dict.fromkeys(schema.date_parts)
    if isinstance(label, str):
        result[label] = None if schema.bins is None else "number"
        for i, sign in enumerate(label):
            if sign == "=":  # "rating=R" may be the column rating, of any type
                result.setdefault(label[:i], None)
    if isinstance(weight, str):
        result[weight] = "number"
    return result


def encode_columns(
    table: Table, schema: Schema, lexicons: Mapping[str, Any], *, scored: bool = False
) -> dict[str, Column]:
    """The columns of the schema, encoded; columns absent from the table are missing throughout.

    lexicons: of columns of text, to look tokens up in; scored: without tokens that are counted but not scored.
    """
    table = with_date_parts(with_numbers(table, schema), schema)
    families, derived = schema.families, schema.derived
    plain = {name: family for name, family in families.items() if name not in derived}
    absent = {
        name: empty_column(family.column, table.n_rows) for name, family in plain.items() if name not in table.columns
    }
    tasks: dict[Any, Callable[[], Any]] = {
        name: partial(encode, name, table.columns[name], family, lexicons.get(name), scored=scored)
        for name, family in plain.items()
        if name not in absent
    }
    tasks |= source_tasks(table, schema, set())
    encoded = _side_by_side(table, tasks, schema)
    columns = {name: absent[name] if name in absent else encoded[name] for name in plain}
    if not derived:
        return columns
    columns |= derived_columns(table, schema, columns, encoded, set())
    return {name: columns[name] for name in families}


def read_batch(table: Table, schema: Schema, label: Any, weight: Any, *, known: Sequence[Any] = ()) -> Batch:
    """A table to learn from: only the schema's columns that are there; known: the labels learned so far."""
    table = with_date_parts(with_numbers(table, schema), schema)
    weights = find_weights(table, weight)
    if weights is not None and np.all(weights == 1):
        weights = None
    families = schema.families
    apart: set[str | None] = {weight} if isinstance(weight, str) else set()
    apart |= {label_column(label, table.columns)[0]} if isinstance(label, str) else set()
    derived = schema.derived
    names = [name for name in families if name in table.columns and name not in apart and name not in derived]
    tasks: dict[Any, Callable[[], Any]] = {None: partial(find_labels, table, label, schema, known=known)}
    tasks |= {name: partial(encode, name, table.columns[name], families[name]) for name in names}
    tasks |= source_tasks(table, schema, apart)
    found = _side_by_side(table, tasks, schema)
    labels, columns = found.pop(None), {name: found.pop(name) for name in names}
    if derived:
        columns |= derived_columns(table, schema, columns, found, apart, learns=True)
    sources = {name: column for (name, _), column in found.items() if name not in columns}
    return Batch(table.n_rows, columns, labels, weights, sources)


def _side_by_side(table: Table, tasks: Mapping[Any, Callable[[], Any]], schema: Schema) -> dict[Any, Any]:
    """Tasks by column, in threads where that pays; sparse matrices and texts use threads themselves."""
    if table.n_rows <= SMALL:
        return {name: task() for name, task in tasks.items()}
    fields = schema.columns
    alone = {n for n in tasks if (n in fields and fields[n].is_text) or is_sparse(table.columns.get(n))}
    names = [name for name in tasks if name not in alone]
    done = in_threads(lambda start, stop: tasks[names[start]](), len(names), size=1, small=0) if names else []
    first = dict(zip(names, done, strict=True))
    return {name: first[name] if name in first else task() for name, task in tasks.items()}


def to_known_types(columns: dict[str, Column], schema: Schema, known: Callable[[str], Any]) -> None:
    """Convert categories to the type of those learned so far, or refuse them; `known` gives one of these, or None."""
    for name, column in columns.items():
        if isinstance(column, Codes) and len(column.keys):
            columns[name] = in_known_type(name, column, known(name), schema.columns[name].key_form)
