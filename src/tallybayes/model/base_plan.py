"""A model that is given as the base of another one: what a plan takes from it, and what it refuses.

Schema and settings are those of the base unless they are given. Columns that the data lacks stay those of the base;
columns of the base that the model does not use are no part of its sums.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, Described, ParameterError, UnsupportedError
from tallybayes.model.saved_model import load
from tallybayes.state.model_state import BaseSums, ModelState
from tallybayes.state.options import OPTIONS, SETTINGS, FitOptions
from tallybayes.state.settings import Settings
from tallybayes.tables.table import Table

__all__ = ["base_state", "base_sums", "check_base_label", "columns_in", "options_on"]


def base_state(options: FitOptions) -> ModelState | None:
    """The state of the model that is given as a base."""
    base = OPTIONS["base_model"].domain.check("base_model", options.get("base_model"))
    if base is None:
        if "base_strength" in options and options["base_strength"] != OPTIONS["base_strength"].default:
            raise ParameterError("base_strength with a base_model", got=options["base_strength"])
        return None
    state: ModelState = (load(base) if isinstance(base, str | os.PathLike) else base).snapshot().state
    state.require_learned("base_model")
    if any(tally.is_limited for tally in state.statistics.blocks.values()):
        got = Described("a text with max_tokens")
        raise UnsupportedError("a base_model whose vocabularies have no limit, so that sums are exact", got=got)
    return state


def options_on(base: ModelState, options: FitOptions) -> FitOptions:
    """Options with the schema and settings of a base where none are given."""
    settings = {name: getattr(base.settings, name) for name in SETTINGS}
    return {**settings, "schema": base.schema, **options}  # type: ignore[typeddict-item]


def check_base_label(base: ModelState, label: str | None) -> None:
    """Raise a ParameterError if a base has a label of another name."""
    if None not in (label, base.schema.label) and label != base.schema.label:
        raise ParameterError(f"a base_model with the label {label!r}", got=base.schema.label)


def columns_in(schema: Schema, head: Table) -> Schema:
    """The schema of the columns that are in the data, with what is derived from them; an error if there are none.

    Data that has the label alone is no error.
    """
    there = head.with_names(schema.columns).columns

    def is_there(name: str, spec: ColumnSpec) -> bool:
        part = spec.reader.part
        sources = {name} if part is None else {part.column}
        return all(one in there for one in {cell.column for cell in spec.reader.inputs} or sources)

    result = schema.with_columns({name: spec for name, spec in schema.columns.items() if is_there(name, spec)})
    if schema.families and not result.families and set(there) - {schema.label}:
        raise ParameterError("a base_model that shares columns with the data", got=list(schema.families))
    return result


def base_sums(base: ModelState, strength: float, schema: Schema, settings: Settings) -> BaseSums:
    """The sums of a base for a model with this schema; raises an error if they are of another kind."""
    mine, theirs = schema.label_spec, base.schema.label_spec
    if mine.bins != theirs.bins:
        raise ParameterError("the same bins of the label as in the base_model", got=Described("others"))
    for name, family in base.families.items():
        other = schema.families.get(name)
        if other is not None and other.counted != family.counted:
            hint = "leave families= to the base, or fit it with the same"
            expected = f"the family of the base model ({family.display_name()})"
            raise DataError(expected, got=other.display_name(), column=name, hint=hint)
    for label in base.classes:
        if isinstance(settings.class_prior, Mapping) and label not in settings.class_prior:
            raise ParameterError(
                "a prior probability for every label", got=Described(f"none for {label!r} of the base")
            )
    kept = [name for name in base.families if name in schema.families]
    try:
        return BaseSums.of(base.statistics.only(kept), strength)
    except ValueError as error:
        raise ParameterError("a base_strength by which counts stay within 64 bits", got=strength) from error
