"""Groups of columns with one joint likelihood: those that the user names, or all columns of numbers.

A group is one derived column. Its members are read as numbers and are its inputs; they are not scored by themselves, so
that nothing counts twice. The order of the names does not matter: inputs are sorted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallybayes.arrays.column import Reals, Vectors
from tallybayes.columns.column_spec import SPECIFIED, ColumnSpec, Origin, Status
from tallybayes.columns.readers.number_input import NumberInput
from tallybayes.columns.readers.vector_reader import VectorReader
from tallybayes.columns.schema import Schema
from tallybayes.doubts import doubt
from tallybayes.errors import ParameterError
from tallybayes.families import Family, Gaussian, JointGaussian
from tallybayes.formatting import rows_of
from tallybayes.state.statistics import SufficientStatistics

__all__ = ["Groups", "doubt_incomplete_rows", "split_groups", "with_all_numbers", "with_group", "with_groups"]

Groups = Mapping[tuple[str, ...], Family]

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
    members: dict[str, Family] = {}
    for names, family in families.items():
        if not isinstance(names, tuple):
            continue
        if not isinstance(family, Family) or family.column is not Vectors:
            expected = "a family of several columns (joint_gaussian)"
            raise ParameterError(expected, got=str(family), column=",".join(names))
        if len(names) < 2:
            hint = f'families={{"{names[0]}": "gaussian"}}' if names else None
            raise ParameterError("two or more columns in a group", got=list(names), hint=hint)
        for name in names:
            if name in members or name in single:
                raise ParameterError("every column in one group, or by itself", got=name)
            members[name] = Gaussian()
        groups[tuple(sorted(names))] = family
    return {**single, **members}, groups


def with_groups(schema: Schema, groups: Groups) -> Schema:
    """The schema in which the members of groups are inputs of derived columns."""
    for names, family in groups.items():
        for name in names:
            if schema.columns[name].family is None:
                raise ParameterError("columns of numbers in a group", got=schema.family_name(name), column=name)
        schema = with_group(schema, names, family, Origin.SPECIFIED)
    return schema


def with_all_numbers(schema: Schema) -> Schema:
    """The schema in which all columns of numbers are one group; itself if it has derived columns."""
    if schema.derived:
        return schema
    names = tuple(name for name, family in schema.families.items() if family.column is Reals)
    if len(names) < 2:
        raise ParameterError("two or more columns of numbers for dependence 'gaussian'", got=list(names))
    return with_group(schema, names, JointGaussian(), Origin.INFERRED)


def with_group(schema: Schema, names: tuple[str, ...], family: Family, origin: Origin) -> Schema:
    """The schema in which some columns are the inputs of one derived column."""
    result = schema.copy()
    group = group_name(names)
    while group in result.columns:
        group += "_"
    for name in names:
        result.columns[name] = schema.columns[name].without_family(Status.INPUT, f"input of {group!r}")
    reason = SPECIFIED if origin is Origin.SPECIFIED else "columns of numbers depend on each other"
    reason = "found by tuning" if origin is Origin.TUNED else reason
    reader = VectorReader(tuple(NumberInput(name) for name in names))
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
    for tally in statistics.blocks.values():
        for name, n_rows in tally.incomplete_rows().items():
            text = f"{rows_of(n_rows)} with some of its values: counted by column only, not for correlations"
            doubt("rows", text, column=name)
