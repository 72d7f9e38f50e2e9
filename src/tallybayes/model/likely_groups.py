"""Whether the rows of some data seem to be in groups that nobody has named, from the first rows (`group_detection.py`).

Then a doubt says so, with the option that names the column, and estimates are shown with whole groups held out beside
those that were asked for.
"""

from __future__ import annotations

import shlex
from typing import Any

from tallybayes.arrays.column import Codes, Reals
from tallybayes.columns.column_spec import ColumnSpec, Status
from tallybayes.columns.group_detection import GroupColumn, group_columns
from tallybayes.columns.label_spec import label_column
from tallybayes.columns.schema import Schema
from tallybayes.doubts import doubt
from tallybayes.errors import TallyError
from tallybayes.tables.source import HEAD
from tallybayes.tables.table import Table

__all__ = ["find_likely_group", "tell_likely_group"]

_UNUSED = (Status.IDENTIFIER, Status.NUMBER_IDENTIFIER, Status.BY_USER, Status.BY_TUNING, Status.NOT_IN_SCHEMA)


def find_likely_group(head: Table, schema: Schema, label: Any) -> GroupColumn | None:
    """The column that the rows seem to be grouped by; None if there is none, or the schema names the groups.

    head: the first rows, or all of them; label: the name of a column, or an array.
    """
    if schema.group is not None:
        return None
    column, _ = label_column(label, head.columns)
    apart = {column, schema.weight, *head.elsewhere}
    if column in head.elsewhere:
        return None
    names = [name for name in head.columns if name not in apart and _may_name(schema, name)]
    if column is not None:
        head = head.only([column, *names]).part(0, min(HEAD, head.n_rows))
    try:
        codes = schema.label_spec.read(head, label).codes
    except TallyError:  # learning says what is wrong
        return None
    found = group_columns(head, names, codes)
    return found[0] if found else None


def _may_name(schema: Schema, name: str) -> bool:
    """Whether a column may name groups: identifiers, categories, whole numbers and what is not used."""
    spec = schema.columns.get(name) or ColumnSpec.unused(name, Status.NOT_IN_SCHEMA)
    if spec.family is None:
        return spec.status in _UNUSED
    return spec.family.column in (Codes, Reals) and spec.reader.format is None and spec.reader.part is None


def tell_likely_group(column: GroupColumn) -> None:
    """Say that rows seem to be in groups."""
    name, about = column.name, f"{column.n_values:,} values in {column.n_rows:,} rows"
    text = f"rows with the same value mostly have the same label ({about}), so they look like rows of one group"
    typed = f"group={name!r} (--group {shlex.quote(name)})"
    hint = f"if new rows will have new values: {typed} holds rows of a group out together"
    doubt("groups", text, column=name, hint=hint)
