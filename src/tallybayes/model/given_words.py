"""The words among the numbers of columns whose family was given: counted and said while a model is fitted.

The family says that the cells are numbers, not that the others may be dropped in silence. What is counted is all rows,
so the number is exact. Frequent words that are a column of their own (`word_reader.py`) are not dropped.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.readers.flag_reader import FlagReader
from tallybayes.columns.readers.number_reader import NumberReader
from tallybayes.columns.schema import Schema
from tallybayes.model.fit_plan import Plan
from tallybayes.model.model import Model

__all__ = ["with_said_words", "without_said_words"]


def with_said_words(plan: Plan, names: Collection[Any]) -> Plan:
    """The plan whose readers of some columns count and say the words among the numbers.

    names: the columns whose family was given; groups of columns are none.
    """
    schema, changed = plan.schema, dict[str, ColumnSpec]()
    for name in names:
        if name in schema.columns and isinstance(reader := schema.columns[name].reader, (NumberReader, FlagReader)):
            parts = schema.parts.get(name, {})
            counted = {word for part in parts for word in schema.columns[part].reader.words}
            if reader.format is not None:
                said = tuple(word for word in reader.format.words if word not in counted)
                changed[name] = _saying(schema.columns[name], said, keeps_unit=True)
    return replace(plan, counting=replace(plan.counting, schema=_with(schema, changed))) if changed else plan


def without_said_words(model: Model) -> Model:
    """The fitted model, to which these words are missing values that it knows, and numbers without a unit are usual."""
    state = model.snapshot().state
    changed = {name: _saying(spec, (), keeps_unit=False) for name, spec in state.schema.columns.items() if _says(spec)}
    return Model(replace(state, schema=_with(state.schema, changed))) if changed else model


def _with(schema: Schema, changed: dict[str, ColumnSpec]) -> Schema:
    result = schema.copy()
    result.columns.update(changed)
    return result


def _says(spec: ColumnSpec) -> bool:
    form = spec.reader.format
    return form is not None and (bool(form.said) or form.expects_unit)


def _saying(spec: ColumnSpec, words: tuple[str, ...], *, keeps_unit: bool) -> ColumnSpec:
    reader = spec.reader
    assert isinstance(reader, (NumberReader, FlagReader))
    assert reader.format is not None
    form = replace(reader.format, said=words, expects_unit=keeps_unit and reader.format.expects_unit)
    return replace(spec, reader=replace(reader, format=form))
