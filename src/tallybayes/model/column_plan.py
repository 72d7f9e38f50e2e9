"""The family of every column of a table, and the reason: specified by the user, from a schema, or inferred.

A column of dates gets no family; its parts (`signup.weekday`) do. Derived columns come from a schema only. What is
doubtful about the way in which numbers and missing values are read is said (`doubts.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tallybayes.arrays.column import Flags, Reals
from tallybayes.cells.date_format import DATE_PARTS, DateFormat
from tallybayes.cells.missing_words import MissingWords
from tallybayes.columns.column_doubts import (
    doubt_exclusions,
    doubt_large_integers,
    doubt_missing_words,
    doubt_numbers,
    doubt_numbers_like_dates,
)
from tallybayes.columns.column_spec import SPECIFIED, ColumnSpec, Origin, Status
from tallybayes.columns.inference import with_readings
from tallybayes.columns.label_spec import check_label, label_column
from tallybayes.columns.numbers_in_categories import doubt_numbers_in_categories
from tallybayes.columns.readers.date_reader import DateReader, part_name
from tallybayes.columns.readers.word_reader import WORD_PART
from tallybayes.columns.schema import Schema
from tallybayes.errors import ParameterError, did_you_mean, shorten
from tallybayes.families import Family, Text
from tallybayes.state.settings import Settings
from tallybayes.tables.table import Table

__all__ = ["plan_columns"]

_NUMBERS = (Reals, Flags)

Families = Mapping[str, Family | DateFormat]


def plan_columns(
    head: Table,
    label: Any,
    sample_weight: Any,
    settings: Settings,
    *,
    families: Families | Family | DateFormat | None = None,
    ignore: list[str] | None = None,
    only: list[str] | None = None,
    schema: Schema | None = None,
    group: str | None = None,
    words: MissingWords | None = None,
    signs: Mapping[str, str | None] = MappingProxyType({}),
) -> dict[str, ColumnSpec]:
    """The columns of a table by name, given its first rows.

    families: of some columns, or of all; ignore: columns to exclude; only: columns to use; schema: of another model.
    group: the column of groups, which is used only if the user gives it a family or names it among those to use.
    words: those for missing values with which the rows were read; signs: decimal and thousands of numbers, as given.

    >>> from tallybayes.tables.table import to_table
    >>> table = to_table({"height": [1.7, 1.8], "pet": ["cat", "dog"], "y": ["a", "b"]})
    >>> print(Schema("y", plan_columns(table, "y", None, Settings(), ignore=["pet"])))
    label: y
    height   histogram   real numbers
    pet      excluded    excluded by the user
    """
    named = [*(families if isinstance(families, Mapping) else ()), *(ignore or ()), *(only or ())]
    head = head.with_names([*named, *(() if schema is None else schema.columns)])
    column, _ = label_column(label, head.columns)
    if column is not None and head.columns:
        check_label(label, head.columns)
    reserved = {name for name in (column, sample_weight) if isinstance(name, str)}
    names = [name for name in head.columns if name not in reserved]
    if group is not None:
        _check_group(group, head, reserved)
    if families is not None and not isinstance(families, Mapping):
        families = dict.fromkeys([name for name in names if name != group], families)
    chosen: Families = {} if families is None else families
    plan = _ColumnPlan(head, names, settings, chosen, ignore or (), only, schema, group, words, signs)
    plan.add_columns()
    plan.check_names(reserved)
    plan.add_derived_columns()
    plan.doubt_columns(column)
    return plan.columns


def _check_group(group: Any, head: Table, reserved: Collection[str]) -> None:
    """Raise a ParameterError unless the group is a column beside the label and the weight."""
    if not isinstance(group, str):
        raise ParameterError("the group as the name of a column, for this data", got=type(group).__name__)
    if group in reserved:
        raise ParameterError("a group that is neither the label nor the weight", got=group)
    if group not in head.columns:
        hint = did_you_mean(group, head.columns, "columns")
        raise ParameterError("group: the name of a column", got=group, hint=hint)


class _ColumnPlan:
    """The columns planned so far."""

    def __init__(
        self,
        head: Table,
        names: list[str],
        settings: Settings,
        chosen: Families,
        ignored: Collection[str],
        only: Collection[str] | None,
        schema: Schema | None,
        group: str | None,
        words: MissingWords | None,
        signs: Mapping[str, str | None],
    ) -> None:
        self.columns: dict[str, ColumnSpec] = {}
        self._names, self._settings, self._chosen, self._words = names, settings, chosen, words
        self._inference, self._group = settings.inference, group
        self._ignored, self._only = set(ignored), None if only is None else set(only)
        every = {} if schema is None else schema.columns
        self._has_schema = schema is not None
        self._derived = {name: spec for name, spec in every.items() if spec.reader.inputs}
        changed = {*ignored, *chosen}  # columns whose parts in the schema are not those of what they are now
        self._given = {
            name: spec
            for name, spec in every.items()
            if not spec.reader.inputs and (spec.reader.part is None or spec.reader.part.column not in changed)
        }
        self._inferred = {name for name in names if name not in self._given and name not in self._ignored}
        self._inferred -= {group} - set(only or ())  # its cells are not interpreted
        texts = {name for name, family in chosen.items() if isinstance(family, Family) and family.tokeniser is not None}
        wanted = {name: isinstance(one, Family) and one.column in _NUMBERS for name, one in chosen.items()}
        self._head = head
        if settings.infer != "type":
            self._head = with_readings(head, self._inferred - texts, wanted, **signs)

    def add_columns(self) -> None:
        """Plan the columns of the table, and the parts of dates."""
        for name in self._names:
            spec, raw = self._field(name), self._head.columns[name]
            if name not in self._chosen or self._chosen[name] == type(self._chosen[name])():
                spec = self._inference.with_unseen(spec)  # unless the user has given options of the family
            if spec.reader.dates is None:
                self._add_numbers(self._inference.with_values(spec, raw))
            else:
                self._add_dates(spec)
        absent = {name: spec for name, spec in self._given.items() if spec.reader.dates is not None}
        self.columns |= {name: spec for name, spec in absent.items() if name not in self._head.columns}

    def _field(self, name: str) -> ColumnSpec:
        if name in self._chosen:
            family = self._chosen[name]
            if isinstance(family, DateFormat):
                return ColumnSpec(name, None, SPECIFIED, DateReader(family), origin=Origin.SPECIFIED)
            spec = ColumnSpec(name, family, "", origin=Origin.SPECIFIED)
            return replace(self._inference.with_format(spec, self._head.readings.get(name)), reason=SPECIFIED)
        if name != self._group and self._is_excluded(name) and not self._named_parts(name):
            return ColumnSpec.unused(name, Status.BY_USER)
        if name in self._given:
            return self._given[name]
        if name == self._group and name not in (self._only or ()):
            reason = f"group: its rows are held out together; --as {name}=categorical uses it as a column too"
            return ColumnSpec.unused(name, Status.GROUP, reason)
        if self._has_schema:
            return ColumnSpec.unused(name, Status.NOT_IN_SCHEMA)
        return self._inferred_field(name)

    def _inferred_field(self, name: str) -> ColumnSpec:
        if self._head.tells_origin(name):
            return ColumnSpec.unused(name, Status.ROW_ORIGIN)
        reading = self._head.readings.get(name)
        proposed = self._inference.propose(name, self._head.columns[name], reading)
        if name in self._head.remarks:
            proposed = replace(proposed, reason=f"{proposed.reason}; {self._head.remarks[name]}")
        if self._head.holds_documents:
            if proposed.reader.dates is not None:
                return ColumnSpec.unused(name, Status.MAIL_DATE, f"date of a mail; --as {name}=date uses it")
            if self._head.holds_prose(name):
                return proposed if proposed.is_text else ColumnSpec(name, Text(), "texts of files")
        return proposed

    def _add_numbers(self, spec: ColumnSpec) -> None:
        """Plan a column of any kind but dates, and the words among its numbers."""
        name = spec.name
        planned = self._inference.with_parts(spec, self._head.columns[name], reading=self._head.readings.get(name))
        if name in self._given:
            planned = {name: spec} | self._given_parts(name)
        is_wanted = not self._is_excluded(name) or name in self._chosen
        for part, part_spec in planned.items():
            if part == name:
                is_unused = spec.family is None or is_wanted
                self.columns[name] = spec if is_unused else spec.without_family(Status.BY_USER)
            elif part not in self._head.columns:
                self.columns[part] = self._part_field(part_spec)

    def _given_parts(self, name: str) -> dict[str, ColumnSpec]:
        """The parts of a column in the schema that was given."""
        parts = ((spec, spec.reader.part) for spec in self._given.values())
        return {spec.name: spec for spec, part in parts if part is not None and part.column == name}

    def _add_dates(self, dates: ColumnSpec) -> None:
        """Plan a column of dates and its parts: those of the schema, or those that vary or are named by the user."""
        name = dates.name
        if self._given.get(name) is dates:
            planned = {name: dates, **self._given_parts(name)}
        else:
            planned = self._inference.with_parts(dates, self._head.columns[name], self._named_parts(name))
        for part, part_spec in planned.items():
            if part == name or part not in self._head.columns:
                self.columns[part] = part_spec if part_spec.reader.part is None else self._part_field(part_spec)

    def _part_field(self, known: ColumnSpec) -> ColumnSpec:
        """A part of a date, as the user wants it."""
        if known.name in self._chosen:
            family = self._chosen[known.name]
            if isinstance(family, DateFormat):
                raise ParameterError("a family of a part of a date", got=str(family), column=known.name)
            return known.with_family(family, status=Status.USED, origin=Origin.SPECIFIED, reason=SPECIFIED)
        part = known.reader.part
        source = part.column if part is not None else known.name
        is_used = self._only is None or known.name in self._only or source in self._only
        return known if is_used and known.name not in self._ignored else known.without_family(Status.BY_USER)

    def _is_excluded(self, name: str) -> bool:
        return name in self._ignored or (self._only is not None and name not in self._only)

    def _named_parts(self, name: str) -> list[str]:
        """The parts of a column of dates that the user names; none if the column itself is ignored."""
        if name in self._ignored:
            return []
        only = self._only or ()
        parts = (*DATE_PARTS, WORD_PART)
        return [part for part in parts if (column := part_name(name, part)) in self._chosen or column in only]

    def check_names(self, reserved: Collection[str]) -> None:
        """Raise a ParameterError if a name that the user gives is not that of a column."""
        columns = self._head.columns
        for name in self._derived:
            if name in columns:
                raise ParameterError("a derived column with a name of its own", got=name)
        inputs = [cell_input.column for spec in self._derived.values() for cell_input in spec.reader.inputs]
        by_column = (self._settings.smoothing, self._settings.missing_as_value)
        options = [name for values in by_column if isinstance(values, Mapping) for name in values]
        for name in (*self._chosen, *self._ignored, *(self._only or ()), *self._given, *inputs, *options):
            is_derived = name in self._derived and name not in self._chosen
            if name not in columns and name not in self.columns and not is_derived:
                hint = did_you_mean(name, self._names) or f"the columns are {shorten(list(columns), 200)}"
                raise ParameterError("the name of a column", got=name, hint=hint)
            if name in reserved:
                raise ParameterError("a column that is neither the label nor the weight", got=name)

    def add_derived_columns(self) -> None:
        """Add the derived columns of the schema, without inputs that are excluded, the label or the weight."""
        usable = {name for name, spec in self.columns.items() if spec.status is not Status.BY_USER} - self._ignored
        for name, spec in self._derived.items():
            if inputs := tuple(cell_input for cell_input in spec.reader.inputs if cell_input.column in usable):
                self.columns[name] = replace(spec, reader=spec.reader.with_inputs(inputs))

    def doubt_columns(self, label: str | None) -> None:
        """Say what was assumed about numbers and missing values, and which columns are not used."""
        unsettled = self._inferred - self._chosen.keys()  # what the user has decided is no doubt
        inferred = [
            name for name in self._names if name in unsettled and self.columns[name].status is not Status.BY_USER
        ]
        for name in inferred if self._head.readings else ():
            doubt_numbers(self.columns[name], self._head.readings.get(name))
        specs = [self.columns[name] for name in inferred]
        doubt_large_integers(specs, self._head)
        doubt_numbers_like_dates(specs, self._head)
        doubt_missing_words(self._head, self._words, inferred, label)
        readings = self._head.readings.items()
        said: set[str | None] = {name for name, reading in readings if reading.doubts}
        about = {name for name, reading in readings if not reading.is_numeric and reading.all_doubts(name)}
        doubt_numbers_in_categories((spec for spec in specs if spec.name not in about), self._head)
        said |= {one.column for one in self._head.doubts if one.kind == "file"}  # what is nested, and how to reach it
        doubt_exclusions((self.columns[name] for name in inferred if name not in said), self._head)
