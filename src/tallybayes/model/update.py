"""Counted rows into the state of a model: what `learn` and `forget` add or subtract, and `merge`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tallybayes.arrays.axis import merge_keys, rough_kind
from tallybayes.columns.column_spec import ColumnSpec, Origin
from tallybayes.columns.label import to_label_type
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, Described, ForgetError, ParameterError, UnsupportedError
from tallybayes.state.counting import CountedRows
from tallybayes.state.model_state import ModelState
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.state.text_samples import TextSamples, is_open, select_text_variants

__all__ = ["add_rows", "change_notes", "merge_states", "subtract_rows", "with_text_selected"]


def add_rows(state: ModelState, counted: CountedRows) -> ModelState:
    """The state with counted rows added. Its statistics are changed in place, unless an error is raised."""
    for label in counted.statistics.in_use():
        _check_prior(state, label)
    statistics = state.statistics.combined(counted.statistics, 1)
    statistics.bound()
    return with_text_selected(
        replace(
            state,
            statistics=statistics,
            schema=counted.schema,
            text_samples=state.text_samples.merge(counted.text_samples),
            skipped=state.skipped + counted.n_missing,
        )
    )


def subtract_rows(state: ModelState, counted: CountedRows) -> ModelState:
    """The state with counted rows taken back. Its statistics are changed in place, unless an error is raised."""
    for label in counted.statistics.in_use():
        if label not in state.statistics.labels:
            raise ForgetError("a label that was learned", got=label)
    if state.beneath:  # raises if the rows are not among those that were learned
        state.learned().combined(counted.statistics, -1)
    statistics = state.statistics.combined(counted.statistics, -1)
    statistics.free()
    schema, settings = _without_unused(state.schema, statistics), state.settings
    for name in ("column_weights", "token_corrections"):
        rule = getattr(settings, name)
        kept = rule if rule is None else rule.only(schema.families, statistics.in_use())
        if kept is not None and kept is not rule:  # what a class had is lost, even if its rows are learned again
            settings = replace(settings, **{name: replace(kept, model_rows=-1.0)})
    # The text samples may hold documents that are forgotten now, so they start anew.
    return replace(state, statistics=statistics, schema=schema, settings=settings, text_samples=TextSamples())


def merge_states(left: ModelState, right: ModelState) -> ModelState:
    """The state with the sums of both, the settings of the left one; neither is changed."""
    if left.schema.label != right.schema.label:
        raise DataError(f"a model with the label {left.schema.label!r}", got=right.schema.label)
    mine, theirs = left.schema.columns, right.schema.columns
    for name in sorted(mine.keys() & theirs.keys()):
        _check_mergeable(left, right, name)
    for state, other in ((left, right), (right, left)):
        for name, derived in state.schema.derived.items():
            inputs = {cell_input.column for cell_input in derived.reader.inputs}
            if name not in other.schema.derived and inputs & other.schema.columns.keys():
                hint = "give the second fit the schema of the first"
                raise DataError(
                    "the same derived columns in both models", got=Described("none"), column=name, hint=hint
                )
    _check_bases(left, right)
    for label in right.statistics.in_use():
        _check_prior(left, label)
    keys = to_label_type(left.statistics.in_use(), right.statistics.in_use())
    labels = merge_keys(left.statistics.labels, keys)
    statistics = left.statistics.copy().aligned(labels)
    statistics.add(right.learned().copy().aligned(labels), 1)  # a base that both have counts once
    statistics.bound()
    kept = {
        name: spec
        for name, spec in mine.items()
        if not spec.is_undecided
        and not (name in theirs and is_open(spec.family, left.settings, name) and theirs[name].family != spec.family)
    }
    schema = left.schema.with_columns({**mine, **theirs, **kept})
    schema.doubts = tuple(sorted({*left.schema.doubts, *right.schema.doubts}, key=str))
    for name in mine.keys() & theirs.keys():
        readers = mine[name].reader, theirs[name].reader
        if readers[0].is_whole != readers[1].is_whole and _are_decided(mine[name], theirs[name]):
            schema.columns[name] = replace(schema.columns[name], reader=schema.columns[name].reader.with_fractions())
    return with_text_selected(
        replace(
            left,
            statistics=statistics,
            schema=schema,
            skipped=left.skipped + right.skipped,
            text_samples=left.text_samples.merge(right.text_samples),
        )
    )


def with_text_selected(state: ModelState, *, now: bool | None = None) -> ModelState:
    """The state with the variants of text columns selected, where there are enough documents.

    now: whether variants are selected from now on (None: as before).
    """
    state = state if now is None else replace(state, selects_text=now)
    if not state.selects_text:
        return state
    schema, samples = select_text_variants(state.schema, state.settings, state.statistics, state.text_samples)
    return replace(state, schema=schema, text_samples=samples)


def change_notes(statistics: SufficientStatistics, sign: int) -> tuple[str, ...]:
    """What a change could not do exactly."""
    return tuple(dict.fromkeys(note for tally in statistics.blocks.values() for note in tally.change_notes(sign)))


def _check_prior(state: ModelState, label: Any) -> None:
    """Refuse a label that a given class prior does not contain."""
    if isinstance(state.settings.class_prior, Mapping) and label not in state.settings.class_prior:
        raise ParameterError("a prior probability for every label", got=Described(f"none for {label!r}"))


def _check_bases(left: ModelState, right: ModelState) -> None:
    """Refuse models with different bases: their rows were learned on different sums; and with unlabelled rows."""
    if left.unlabelled is not None or right.unlabelled is not None:
        hint = (
            "merge models of the labelled rows, then fit with the unlabelled rows of both: they would be divided anew"
        )
        got = Described("rows that were divided by one of the models")
        raise UnsupportedError("models without unlabelled rows to merge", got=got, hint=hint)
    if left.base is right.base or (left.base is not None and left.base.same(right.base)):
        return
    if left.base is None or right.base is None:
        raise DataError("two models with the same base, or two without", got=Described("a base in one of them"))
    hint = "fit both with the same base_model and base_strength"
    raise DataError("two models with the same base", got=Described("different bases"), hint=hint)


def _are_decided(*columns: ColumnSpec) -> bool:
    return not any(spec.is_undecided for spec in columns)


def _check_mergeable(left: ModelState, right: ModelState, name: str) -> None:
    """Raise an error if a column is not counted in the same way in both states."""
    mine, theirs = left.schema.columns[name], right.schema.columns[name]
    a, b = (spec.family and spec.family.counted for spec in (mine, theirs))
    if a != b and _are_decided(mine, theirs):
        shown = [family.display_name() if family else "excluded" for family in (a, b)]
        hint = "give both fits the same families= and ignore="
        if shown[0] == shown[1]:
            hint = "the keys of their hashes differ: give the second fit the schema of the first"
        raise DataError(f"the same family in both models ({shown[0]})", got=shown[1], column=name, hint=hint)
    a_date, b_date = ((spec.reader.dates, spec.reader.part) for spec in (mine, theirs))
    if a_date != b_date and _are_decided(mine, theirs):
        shown = [state.schema.family_name(name) for state in (left, right)]
        hint = "give the second fit the schema of the first"
        raise DataError(f"dates read in the same way in both models ({shown[0]})", got=shown[1], column=name, hint=hint)
    if mine.reader.inputs != theirs.reader.inputs:
        hint = "give the second fit the schema of the first"
        got = Described("other ones")
        raise DataError("the same inputs and cells of a derived column in both models", got=got, column=name, hint=hint)
    keys = [state.statistics.any_key(state.schema.family_of(name), name) for state in (left, right)]
    if None not in keys and rough_kind(keys[0]) != rough_kind(keys[1]):
        raise DataError(f"{rough_kind(keys[0])} in both models", got=keys[1], column=name)


def _without_unused(schema: Schema, statistics: SufficientStatistics) -> Schema:
    """The schema without columns that were added with rows which are all forgotten now."""
    new = {name for name, spec in schema.columns.items() if spec.origin is Origin.NEW}
    if not new:
        return schema
    used = {
        name
        for tally in statistics.blocks.values()
        for name, here in zip(tally.features, tally.rows_seen().nonzero(), strict=True)
        if here.any()
    }
    parts = [schema.columns[name].reader.part for name in used if name in schema.columns]
    dates = {part.column for part in parts if part is not None}
    kept = {name: spec for name, spec in schema.columns.items() if name not in new or name in used | dates}
    return schema.with_columns(kept)
