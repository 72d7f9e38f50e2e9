"""Rows into statistics: what `learn` and `forget` add or subtract, and `merge`.

The rows of all batches are counted into statistics of their own first, so that an error in any batch leaves the model
unchanged. Sums are exact: the result does not depend on how rows are divided into batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tallybayes.arrays.axis import merged, rough_kind
from tallybayes.data.batch import columns_to_read, read_batch, to_known_types
from tallybayes.data.date_parts import UnreadDates, with_date_parts
from tallybayes.data.infer import NO_VALUES, with_key_form
from tallybayes.data.label import label_column, to_label_type
from tallybayes.data.number_columns import tell_doubts, with_format, with_readings
from tallybayes.data.schema import Schema
from tallybayes.data.source import Source, Whole
from tallybayes.data.table import Table
from tallybayes.data.whole_numbers import with_whole
from tallybayes.errors import DataError, Described, ForgetError, ParameterError
from tallybayes.state.model_state import ModelState
from tallybayes.state.row_sample import RowSample
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.state.text_samples import TextSamples, is_open, select_text_variants

__all__ = ["CountedRows", "add_rows", "change_notes", "merge_states", "subtract_rows", "with_text_selected"]

NEW_COLUMN = "new column"  # how the reason of a column begins that was not in the first rows


@dataclass(eq=False)
class CountedRows:
    """Rows counted beside a model: their statistics, and the schema and text samples with what they add to them."""

    state: ModelState
    label: Any
    weight: Any
    grows: bool  # whether new columns are added to the schema
    sample: RowSample | None = None  # to which the rows are added
    schema: Schema = field(init=False)
    text_samples: TextSamples = field(init=False)
    statistics: SufficientStatistics = field(default_factory=SufficientStatistics.empty)
    n_rows: int = 0
    n_missing: int = 0  # of these, rows without a label
    rewritten: dict[str, str] = field(default_factory=dict)  # labels that are written otherwise in the data
    unread_dates: UnreadDates = field(default_factory=UnreadDates)

    def __post_init__(self) -> None:
        self.schema = self.state.schema
        self.text_samples = self.state.text_samples.copy()

    def count(self, source: Source) -> None:
        """Count all rows of a source."""
        columns = None
        if not isinstance(source, Whole):
            if not isinstance(self.label, str) or not (self.weight is None or isinstance(self.weight, str)):
                raise ParameterError(
                    "label and weight as names of columns, for data in batches", got=(self.label, self.weight)
                )
            source.missing = self.schema.missing if source.missing is None else source.missing
            self._grow(source.head())
            columns = columns_to_read(self.schema, self.label, self.weight)
        for given in source.batches(columns):
            self._grow(given)
            table = with_date_parts(given, self.schema, self.unread_dates)
            for part, (statistics, n_missing) in source.good(table, self._counted):
                self._add(statistics)
                self.n_rows += part.n_rows
                self.n_missing += n_missing
        self.unread_dates.warn()

    @property
    def class_rows(self) -> dict[Any, float]:
        """The rows (or their weight) of each label that was counted."""
        amounts = self.statistics.class_rows.floats().tolist()
        return {label: n for label, n in zip(self.statistics.labels, amounts, strict=True) if n}

    def add(self, other: CountedRows) -> None:
        """Add the rows that another has counted."""
        self._add(other.statistics)
        self.n_rows += other.n_rows
        self.n_missing += other.n_missing
        if self.sample is not None and other.sample is not None:
            self.sample = RowSample.merged([self.sample, other.sample])

    def _counted(self, table: Table) -> tuple[SufficientStatistics, int]:
        """The statistics of one table, over all labels so far."""
        known = self.state.statistics.in_use() or self.statistics.in_use()
        batch = read_batch(table, self.schema, self.label, self.weight, known=known)
        to_known_types(batch.columns, self.schema, self._known_key)
        keys = batch.labels.keys
        self.rewritten |= batch.labels.rewritten
        labels = merged(self.statistics.labels or self.state.statistics.labels, keys)
        if self.grows:
            self.text_samples.add(batch, keys, self.schema.families, self.state.settings)
        found = SufficientStatistics.observed(batch, keys, labels, self.schema)
        if self.sample is not None:
            self.sample.add(table, batch, keys)
        return found, batch.labels.n_missing

    def _add(self, part: SufficientStatistics) -> None:
        if self.statistics.labels or self.statistics.blocks:
            labels = merged(self.statistics.labels, part.labels)
            self.statistics = self.statistics.aligned(labels)
            self.statistics.add(part.aligned(labels), 1)
        else:
            self.statistics = part
        if self.grows:
            self.statistics.bound()

    def _known_key(self, name: str) -> Any:
        """One category counted so far in a column, or None."""
        family = self.schema.family_of(name)
        key = self.state.statistics.any_key(family, name)
        return self.statistics.any_key(family, name) if key is None else key

    def _grow(self, table: Table) -> None:
        """Add the new columns of a table to the schema."""
        if not self.grows:
            return
        apart = {_column(self.schema.label, table), self.schema.weight, _column(self.label, table)}
        apart |= {self.weight} if isinstance(self.weight, str) else set()
        grown = None
        for name in table.columns:
            known = self.schema.fields.get(name)
            if name in apart or (known is not None and known.reason != NO_VALUES) or table.tells_origin(name):
                continue
            read = table if self.state.settings.infer == "type" else with_readings(table.only([name]), [name])
            reading, raw = table.readings.get(name) or read.readings.get(name), read.columns[name]
            found = with_format(self.state.settings.propose(name, raw), reading)
            if found.reason != NO_VALUES:
                found = with_key_form(found, raw) if self.state.settings.infer == "data" else found
                tell_doubts(found, reading)
                grown = grown or self.schema.copy()
                new = self.state.settings.with_parts(with_whole(found, raw), raw)
                grown.fields |= {
                    own: replace(field, reason=f"{NEW_COLUMN}; {field.reason}")
                    for own, field in new.items()
                    if own == name or own not in grown.fields
                }
        self.schema = grown or self.schema


def add_rows(state: ModelState, counted: CountedRows) -> ModelState:
    """The state with counted rows added. Its statistics are changed in place, unless an error is raised."""
    for label in counted.statistics.in_use():
        _check_prior(state, label)
    statistics = _changed(state.statistics, counted.statistics, 1)
    statistics.bound()
    return with_text_selected(
        replace(
            state,
            statistics=statistics,
            schema=counted.schema,
            text_samples=counted.text_samples,
            skipped=state.skipped + counted.n_missing,
        )
    )


def subtract_rows(state: ModelState, counted: CountedRows) -> ModelState:
    """The state with counted rows taken back. Its statistics are changed in place, unless an error is raised."""
    for label in counted.statistics.in_use():
        if label not in state.statistics.labels:
            raise ForgetError("a label that was learned", got=label)
    statistics = _changed(state.statistics, counted.statistics, -1)
    statistics.free()
    schema, settings = _without_unused(state.schema, statistics), state.settings
    if settings.column_weights is not None:
        weights = settings.column_weights.only(schema.families, statistics.in_use())
        settings = replace(settings, column_weights=weights)
    if settings.token_corrections is not None:
        corrections = settings.token_corrections.only(schema.families, statistics.in_use())
        settings = replace(settings, token_corrections=corrections)
    # The text samples may hold documents that are forgotten now, so they start anew.
    return replace(state, statistics=statistics, schema=schema, settings=settings, text_samples=TextSamples())


def merge_states(left: ModelState, right: ModelState) -> ModelState:
    """The state with the sums of both, the settings of the left one; neither is changed."""
    if left.schema.label != right.schema.label:
        raise DataError(f"a model with the label {left.schema.label!r}", got=right.schema.label)
    mine, theirs = left.schema.fields, right.schema.fields
    for name in sorted(mine.keys() & theirs.keys()):
        _check_mergeable(left, right, name)
    for one, other in ((left, right), (right, left)):
        for name, derived in one.schema.derived.items():
            if name not in other.schema.derived and any(own.column in other.schema.fields for own in derived.inputs):
                hint = "give the second fit the schema of the first"
                raise DataError(
                    "the same derived columns in both models", got=Described("none"), column=name, hint=hint
                )
    for label in right.statistics.in_use():
        _check_prior(left, label)
    keys = to_label_type(left.statistics.in_use(), right.statistics.in_use())
    labels = merged(left.statistics.labels, keys)
    statistics = left.statistics.copy().aligned(labels)
    statistics.add(right.statistics.copy().aligned(labels), 1)
    statistics.bound()
    kept = {
        name: field
        for name, field in mine.items()
        if field.reason != NO_VALUES
        and not (name in theirs and is_open(field.family, left.settings, name) and theirs[name].family != field.family)
    }
    schema = left.schema.copy()
    schema.fields = {**mine, **theirs, **kept}
    for name in mine.keys() & theirs.keys():
        if mine[name].is_whole != theirs[name].is_whole and NO_VALUES not in (mine[name].reason, theirs[name].reason):
            schema.fields[name] = replace(schema.fields[name], is_whole=False)
    return with_text_selected(
        replace(
            left,
            statistics=statistics,
            schema=schema,
            skipped=left.skipped + right.skipped,
            text_samples=left.text_samples.merged(right.text_samples),
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


def _changed(statistics: SufficientStatistics, part: SufficientStatistics, sign: int) -> SufficientStatistics:
    labels = merged(statistics.labels, part.labels)
    result = statistics.aligned(labels)
    result.add(part.aligned(labels), sign)
    return result


def _check_prior(state: ModelState, label: Any) -> None:
    """Refuse a label that a given class prior does not contain."""
    if isinstance(state.settings.prior, Mapping) and label not in state.settings.prior:
        raise ParameterError("a prior probability for every label", got=Described(f"none for {label!r}"))


def _check_mergeable(left: ModelState, right: ModelState, name: str) -> None:
    """Raise an error if a column is not counted in the same way in both states."""
    mine, theirs = left.schema.fields[name], right.schema.fields[name]
    a, b = (field.family and field.family.counted for field in (mine, theirs))
    if a != b and NO_VALUES not in (mine.reason, theirs.reason):
        shown = [family.display_name() if family else "excluded" for family in (a, b)]
        hint = "give both fits the same families= and ignore="
        if shown[0] == shown[1]:
            hint = "the keys of their hashes differ: give the second fit the schema of the first"
        raise DataError(f"the same family in both models ({shown[0]})", got=shown[1], column=name, hint=hint)
    if (mine.dates, mine.part) != (theirs.dates, theirs.part) and NO_VALUES not in (mine.reason, theirs.reason):
        shown = [one.schema.family_name(name) for one in (left, right)]
        hint = "give the second fit the schema of the first"
        raise DataError(f"dates read in the same way in both models ({shown[0]})", got=shown[1], column=name, hint=hint)
    if mine.inputs != theirs.inputs:
        hint = "give the second fit the schema of the first"
        got = Described("other ones")
        raise DataError("the same inputs and cells of a derived column in both models", got=got, column=name, hint=hint)
    keys = [one.statistics.any_key(one.schema.family_of(name), name) for one in (left, right)]
    if None not in keys and rough_kind(keys[0]) != rough_kind(keys[1]):
        raise DataError(f"{rough_kind(keys[0])} in both models", got=keys[1], column=name)


def _without_unused(schema: Schema, statistics: SufficientStatistics) -> Schema:
    """The schema without columns that were added with rows which are all forgotten now."""
    new = {name for name, field in schema.fields.items() if field.reason.startswith(NEW_COLUMN)}
    if not new:
        return schema
    used = {
        name
        for tally in statistics.blocks.values()
        for name, here in zip(tally.features, tally.rows_seen().nonzero(), strict=True)
        if here.any()
    }
    dates = {part.column for name in used if name in schema.fields and (part := schema.fields[name].part) is not None}
    result = schema.copy()
    result.fields = {name: field for name, field in schema.fields.items() if name not in new or name in used | dates}
    return result


def _column(label: Any, table: Table) -> str | None:
    """The column of a label that is given by name."""
    return label_column(label, table.columns)[0] if isinstance(label, str) else None
