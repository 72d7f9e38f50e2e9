"""Groups of columns with one joint likelihood: those that the user names, or all columns of a kind.

A group is one derived column. Its members are its inputs, read as numbers or cut into cells; they are not scored by
themselves, so that nothing counts twice. The order of the names does not matter: inputs are sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.arrays.column import Cells, Codes, Flags, Reals, Vectors
from tallybayes.cells.arrow import is_text_type
from tallybayes.columns.column_spec import SPECIFIED, ColumnSpec, Origin, Status
from tallybayes.columns.inference import with_readings
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.columns.readers.cells_reader import CellsReader
from tallybayes.columns.readers.number_input import NumberInput
from tallybayes.columns.readers.reader import Reader
from tallybayes.columns.readers.vector_reader import VectorReader
from tallybayes.columns.schema import Schema
from tallybayes.doubts import doubt
from tallybayes.errors import Described, ParameterError, did_you_mean
from tallybayes.families import Family, Gaussian, JointGaussian
from tallybayes.formatting import rows_of
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.tables.raw_values import is_missing
from tallybayes.tables.table import Raw, Table

__all__ = [
    "CELL_KINDS",
    "Groups",
    "check_members",
    "doubt_incomplete_rows",
    "incomplete_row_notes",
    "split_groups",
    "with_all_numbers",
    "with_group",
    "with_groups",
    "with_numbers_together",
]

Groups = Mapping[tuple[str, ...], Family]
Cut = Callable[[Schema, Collection[str]], tuple[tuple[CellInput, ...], int]]  # cells of columns; how many classes

CELL_KINDS = (Reals, Flags, Codes)  # columns that can be cut into cells
_CELL_COLUMNS = "columns of numbers, booleans or categories in a group"

_LONG = 60  # characters of the name of a group, beyond which it is shortened


def split_groups(families: Any) -> tuple[Any, Groups]:
    """The families of single columns, with those of the members of groups; and the groups.

    >>> split_groups({("weight", "height"): JointGaussian()})[1]
    {('height', 'weight'): JointGaussian(covariance='class', kappa=3.0, nu=5.0)}
    """
    if not isinstance(families, Mapping):
        return families, {}
    groups: dict[tuple[str, ...], Family] = {}
    single = {name: family for name, family in families.items() if not isinstance(name, tuple)}
    members: dict[str, Family | None] = {}  # None: inferred
    for names, family in families.items():
        if not isinstance(names, tuple):
            continue
        if not isinstance(family, Family) or family.column not in (Vectors, Cells) or family.is_correction:
            expected = "a family of several columns (joint_gaussian, full_joint, one_dependence)"
            raise ParameterError(expected, got=str(family), column=",".join(names))
        if len(names) < 2:
            hint = f'families={{"{names[0]}": "gaussian"}}' if names and family.column is Vectors else None
            raise ParameterError("two or more columns in a group", got=list(names), hint=hint)
        for name in names:
            if name in members or name in single:
                raise ParameterError("every column in one group, or by itself", got=name)
            members[name] = Gaussian() if family.column is Vectors else None
        groups[tuple(sorted(names))] = family
    return single | {name: family for name, family in members.items() if family is not None}, groups


def check_members(groups: Groups, head: Table, label: Any, signs: Mapping[str, str | None]) -> None:
    """Raise a ParameterError if a column of texts that are no numbers is in a group of numbers."""
    for names, family in groups.items():
        if family.column is not Vectors:
            continue
        head = with_readings(head, set(names) & head.columns.keys(), dict.fromkeys(names, True), **signs)
        for name in head.columns.keys() & set(names) - ({label} if isinstance(label, str) else set()):
            if name not in head.readings and _holds_texts(head.columns[name]):
                expected = f"columns of numbers in the group {group_name(names)!r} ({family.name})"
                raise ParameterError(expected, got=Described("texts"), column=name)


def _holds_texts(raw: Raw) -> bool:
    """Whether a column has texts for values."""
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        return is_text_type(raw.type) and raw.null_count < len(raw)
    if isinstance(raw, np.ndarray) and raw.dtype.kind not in "OU":
        return False
    return isinstance(next((value for value in raw if not is_missing(value)), None), str)


def with_groups(schema: Schema, groups: Groups, cut: Cut | None = None) -> Schema:
    """The schema in which the members of groups are inputs of derived columns.

    cut: how columns are cut into cells; None where there are no rows yet.
    """
    for names, family in groups.items():
        takes_numbers = family.column is Vectors
        if cut is None and not takes_numbers:
            expected = "a group of numbers (joint_gaussian) where there are no rows yet, to cut columns into cells"
            raise ParameterError(expected, got=family.display_name(), column=group_name(names))
        expected = "columns of numbers in a group" if takes_numbers else _CELL_COLUMNS
        for name in names:
            if name not in schema.columns:
                raise ParameterError("the name of a column", got=name, hint=did_you_mean(name, schema.columns))
            member = schema.columns[name].family
            if member is None or member.column not in ((Reals,) if takes_numbers else CELL_KINDS):
                raise ParameterError(expected, got=schema.family_name(name), column=name)
        numbers = VectorReader(tuple(NumberInput(name) for name in names))
        reader = numbers if cut is None or takes_numbers else _cells_reader(schema, names, family, cut)
        schema = with_group(schema, reader, group_name(names), family, SPECIFIED, Origin.SPECIFIED)
    return schema


def _cells_reader(schema: Schema, names: tuple[str, ...], family: Family, cut: Cut) -> CellsReader:
    """The cells of the members of a group."""
    inputs, n_classes = cut(schema, names)
    for name in names:
        if name not in {cell_input.column for cell_input in inputs}:
            raise ParameterError("two or more values of a column of a group", got=Described("fewer"), column=name)
    family.check_inputs(group_name(names), [cell_input.n_cells for cell_input in inputs], n_classes)
    return CellsReader(inputs)


def with_all_numbers(schema: Schema) -> Schema:
    """The schema in which all columns of numbers are one group; itself if it has derived columns."""
    if schema.derived:
        return schema
    names = tuple(name for name, family in schema.families.items() if family.column is Reals)
    if len(names) < 2:
        raise ParameterError("two or more columns of numbers for dependence 'gaussian'", got=list(names))
    reason = "columns of numbers depend on each other"
    return with_numbers_together(schema, names, JointGaussian(), reason, Origin.INFERRED)


def with_numbers_together(
    schema: Schema, names: tuple[str, ...], family: Family, reason: str, origin: Origin
) -> Schema:
    """The schema in which some columns of numbers are the inputs of one derived column."""
    reader = VectorReader(tuple(NumberInput(name) for name in names))
    return with_group(schema, reader, group_name(names), family, reason, origin)


def with_group(schema: Schema, reader: Reader, group: str, family: Family, reason: str, origin: Origin) -> Schema:
    """The schema in which the inputs of a reader are one derived column; its name is a new one."""
    result = schema.copy()
    while group in result.columns:
        group += "_"
    for one in reader.inputs:
        result.columns[one.column] = schema.columns[one.column].without_family(Status.INPUT, f"input of {group!r}")
    result.columns[group] = ColumnSpec(group, family, reason, reader, origin=origin)
    return result


def group_name(names: tuple[str, ...]) -> str:
    """The name of the derived column of a group.

    >>> group_name(("height", "weight"))
    'height,weight'
    """
    name = ",".join(names)
    return name if len(name) <= _LONG else f"{names[0]},...,{names[-1]} ({len(names)} columns)"


def doubt_incomplete_rows(statistics: SufficientStatistics) -> None:
    """Say how many rows of groups lack some of their values."""
    for name, text in _incomplete_rows(statistics):
        doubt("rows", text, column=name)


def incomplete_row_notes(statistics: SufficientStatistics) -> tuple[str, ...]:
    """The same of rows that are learned or forgotten later."""
    return tuple(f"column {name!r}: {text}" for name, text in _incomplete_rows(statistics))


def _incomplete_rows(statistics: SufficientStatistics) -> Iterator[tuple[str, str]]:
    for tally in statistics.blocks.values():
        for name, n_rows in tally.incomplete_rows().items():
            yield name, f"{rows_of(n_rows)} with some of its values: {tally.incomplete_rows_are}"
