"""Rows without a label in a fit: where they come from, and what becomes of them.

They are the table `unlabelled`, and the rows of the data itself whose label is missing if `missing_labels="em"`. Each
round of expectation-maximisation is one pass over them (`unlabelled/rounds.py`); a table in memory is encoded once.
Afterwards they are counted by the families of the model, with the shares of the last round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from tallybayes.arrays.axis import positions
from tallybayes.columns.batch import (
    Batch,
    columns_to_read,
    encode_columns,
    encode_inputs,
    find_groups,
    find_weights,
    names_to_find,
    with_parts,
)
from tallybayes.columns.column_doubts import doubt_absent_columns, doubt_bad_rows
from tallybayes.columns.label import Labels, encode_labels
from tallybayes.columns.readers.reader import Purpose
from tallybayes.columns.schema import Schema
from tallybayes.doubts import doubt
from tallybayes.errors import DataError, Described, ParameterError, UnsupportedError, shorten
from tallybayes.formatting import number, rows_of
from tallybayes.io.read import to_source
from tallybayes.model.fit_plan import Plan
from tallybayes.model.model import Model
from tallybayes.model.update import with_text_selected
from tallybayes.state.model_state import ModelState
from tallybayes.state.options import UNLABELLED, FitOptions
from tallybayes.state.row_sample import RowSample
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.state.unlabelled_sums import UnlabelledSums
from tallybayes.tables.source import Source, Stream, TableSource
from tallybayes.tables.table import Table
from tallybayes.unlabelled.round_columns import RoundColumns
from tallybayes.unlabelled.rounds import Division, EncodedRows, run_rounds
from tallybayes.unlabelled.row_weight import SampledForms, WeightTrial, choose_weight
from tallybayes.unlabelled.soft_counts import count_shares, round_weight
from tallybayes.weights.weight_selection import LEAST_ROWS

__all__ = ["UnlabelledRows"]

_NO_LABEL = [""]  # the label of unlabelled rows in their sample
Progress = Callable[[str, float | None], None]  # the name of a step, and the share of it that is done


@dataclass(frozen=True, eq=False)
class UnlabelledRows:
    """The unlabelled rows of a fit: a table of them, rows of the data without a label, and how much each counts."""

    table: Source | None
    has_missing_labels: bool
    weight: float | str
    progress: Progress

    @classmethod
    def of(cls, options: FitOptions, progress: Progress | None) -> UnlabelledRows | None:
        """What the options of `fit` ask for; None if there are no unlabelled rows."""
        checked = {
            name: option.domain.check(name, options.get(name, option.default)) for name, option in UNLABELLED.items()
        }
        table = None if checked["unlabelled"] is None else to_source(checked["unlabelled"])
        uses_missing = checked["missing_labels"] == "em"
        if table is None and not uses_missing:
            if checked["unlabelled_weight"] != UNLABELLED["unlabelled_weight"].default:
                raise ParameterError("unlabelled_weight with unlabelled rows", got=checked["unlabelled_weight"])
            return None
        return cls(table, uses_missing, checked["unlabelled_weight"], progress or (lambda step, share: None))

    def check(self, source: Source) -> None:
        """Raise an error if rows that are read again in every round can be read only once."""
        for data in filter(None, (source, self.table)):
            if isinstance(data, Stream):
                hint = "give a table in memory, or write the rows to a file and give its path"
                raise UnsupportedError("rows that can be read again in every round", got="a stream", hint=hint)

    def divide(self, model: Model, source: Source, plan: Plan) -> Model:
        """The model with the unlabelled rows divided among its classes; source: of the labelled rows."""
        state = model.snapshot().state
        if state.base is not None:
            raise UnsupportedError("unlabelled rows, or a base_model", got=Described("both"))
        if len(state.classes) < 2:
            hint = "unlabelled rows can only be divided among classes that have labelled rows"
            raise DataError("labelled rows of at least two classes", got=state.classes, hint=hint)
        counting, is_weighted = plan.counting, isinstance(plan.weights, str)
        return _Dividing(self, model, source, counting.label, counting.weight, is_weighted).run()


@dataclass(frozen=True, eq=False)
class _Dividing:
    """One run: the model after its labelled rows, and all rows."""

    rows: UnlabelledRows
    model: Model
    source: Source
    label: Any
    weight: Any
    is_weighted: bool  # whether column weights are fitted afterwards, if there are enough rows
    _kept: list[EncodedRows] = field(default_factory=list)  # all rows in the forms of the rounds, if they are in memory

    def run(self) -> Model:
        """The model with the unlabelled rows, or as it was if they are not used."""
        self.rows.progress("reading unlabelled rows", 0.0)
        if self.rows.table is not None:
            self._check_table(self.rows.table)
        survey = _Survey(self.state.schema, self.classes)
        for table, batch in self._read_all(is_survey=True):
            rows = self._encode(table, batch)
            survey.add(table, batch, rows, self.columns.schema)
            if self._is_in_memory:
                self._kept.append(rows)
        if self.rows.table is not None:
            doubt_bad_rows(self.rows.table.bad)
        if not survey.n_unlabelled:
            doubt("unlabelled rows", "there are no unlabelled rows")
            return self.model
        labelled_rows = self._sampled(survey.labelled_sample)
        columns = self.columns.with_temperatures(survey.labelled, labelled_rows.rows.columns, labelled_rows.rows.codes)
        weight = self._choose(columns, survey, labelled_rows)
        if not weight:
            return self.model
        weight = round_weight(weight)
        division = run_rounds(columns, survey.labelled, self._encoded, self.classes, weight=weight, step=self._step)
        self.rows.progress("counting unlabelled rows", 0.0)
        labelled = float(sum(self.state.class_counts.values()))
        soft = self._count(division, weight)
        added = UnlabelledSums(soft, survey.n_unlabelled, weight, labelled, division.objective)
        statistics = self.state.statistics.copy().combined(soft.copy(), 1)
        skipped = 0 if self.rows.has_missing_labels else self.state.skipped
        state = replace(self._joined(), statistics=statistics, unlabelled=added, skipped=skipped)
        return Model(state)

    def _joined(self) -> ModelState:
        """The state after the labelled rows, with the families by which columns are scored with unlabelled rows."""
        schema = self.state.schema.copy()
        for name, family in schema.families.items():
            if (joined := family.with_unlabelled) is not family:
                reason = f"{schema.columns[name].reason}; as unlabelled rows were divided"
                schema.columns[name] = replace(schema.columns[name], family=joined, reason=reason)
        return replace(self.state, schema=schema)

    def _check_table(self, table: Source) -> None:
        """Raise an error if unlabelled rows have none of the columns; say which they lack, and if they have labels."""
        schema, head = self.state.schema, table.head()
        columns = head.with_names(schema.columns).columns
        if head.n_rows and schema.families and not set(schema.columns_in_use) & columns.keys():
            raise DataError("a table that shares columns with the data", got=list(columns), hint=_columns_hint(schema))
        if head.n_rows:
            doubt_absent_columns(head.with_names(names_to_find(schema)), schema)
        if isinstance(self.label, str) and self.label in columns:
            n = len(encode_labels(self.label, columns[self.label]).keys)
            if n:
                doubt("unlabelled rows", "the unlabelled rows have labels, which are not used", column=self.label)

    @property
    def state(self) -> ModelState:
        """The state of the model after its labelled rows."""
        return self.model.snapshot().state

    @property
    def classes(self) -> list[Any]:
        """The classes of the labelled rows."""
        return self.model.classes

    @cached_property
    def columns(self) -> RoundColumns:
        """The forms of the columns in the rounds."""
        plain = self.state.plain()
        return RoundColumns.of(
            plain.schema, plain.settings, ((batch.columns, batch.weights) for _, batch in self._read_all())
        )

    def _step(self, number: int, objective: float | None) -> None:
        known = "" if objective is None else f", objective {objective:,.1f}"
        self.rows.progress(f"unlabelled rows, round {number + 1}{known}", None)

    def _choose(self, columns: RoundColumns, survey: _Survey, labelled_rows: SampledForms) -> float:
        """The weight of an unlabelled row; 0 if the model does better without them, which is said."""
        if not isinstance(self.rows.weight, str):
            return self.rows.weight
        unlabelled_rows = self._sampled(survey.unlabelled_sample)
        trial = WeightTrial(
            columns,
            with_text_selected(self.state, now=True),
            self._joined(),
            survey.labelled,
            labelled_rows,
            unlabelled_rows,
            survey.n_unlabelled / unlabelled_rows.rows.total_weight,
            self.is_weighted and sum(self.state.class_counts.values()) >= LEAST_ROWS,
        )
        choice = choose_weight(trial, partial(self.rows.progress, "weight of unlabelled rows"))
        if choice is None:
            text = "too few labelled rows to tell whether rows without a label help: they are used with weight 1"
            doubt("unlabelled rows", text, hint="unlabelled_weight=1 (--unlabelled-weight 1) says that it is meant")
            return 1.0
        if not choice.weight:
            least = min(loss for weight, loss in choice.losses.items() if weight)
            text = (
                f"{rows_of(survey.n_unlabelled)} without a label are not used: the log loss of labelled rows that were"
                f" held out is {number(choice.losses[0.0], 4)} without them, and {number(least, 4)} with them"
            )
            hint = "unlabelled_weight=1 (--unlabelled-weight 1) uses them all the same"
            doubt("unlabelled rows", text, hint=hint)
        return choice.weight

    def _count(self, division: Division, weight: float) -> SufficientStatistics:
        """The unlabelled rows by the families of the model."""
        total = SufficientStatistics.empty()
        for table, batch in self._read_all():
            at = np.flatnonzero(batch.labels.codes < 0)
            if not len(at):
                continue
            table, batch = _take(table, batch, at) if len(at) < table.n_rows else (table, batch)
            rows = division.columns.encode(table, batch.columns)
            shares = division.shares(rows, len(at), self.classes, weight)
            sums = count_shares(batch.columns, shares, batch.weights, self.classes, self.state.schema)
            total = sums if not total.labels else total.combined(sums, 1)
        total.is_shared = True
        return total

    # Reading

    def _encoded(self) -> Iterable[EncodedRows]:
        """All rows in the forms of the rounds, batch by batch; rows in memory were encoded once."""
        return self._kept or (self._encode(table, batch) for table, batch in self._read_all())

    def _encode(self, table: Table, batch: Batch) -> EncodedRows:
        return EncodedRows(self.columns.encode(table, batch.columns), batch.labels.codes, batch.weights)

    def _sampled(self, sample: RowSample) -> SampledForms:
        """Sampled rows in the forms of the rounds and of the model."""
        rows = sample.rows()
        assert rows is not None
        columns = encode_columns(rows.table, self.state.schema, known_key=self._known_key)
        codes = positions(rows.labels, self.classes).astype(np.int32)
        in_rounds = EncodedRows(self.columns.encode(rows.table, columns), codes, rows.counts * rows.weights)
        return SampledForms(in_rounds, columns, rows.signatures)

    def _known_key(self, name: str) -> Any:
        return self.state.statistics.any_key(self.state.schema.family_of(name), name)

    @property
    def _is_in_memory(self) -> bool:
        return all(isinstance(source, TableSource) for source in filter(None, (self.source, self.rows.table)))

    def _read_all(self, *, is_survey: bool = False) -> Iterator[tuple[Table, Batch]]:
        """All rows by the schema of the model: those of the data, with codes of the classes, then the others.

        is_survey: whether bad rows of the others are counted.
        """
        with self.source.read_again():
            yield from self._read(self.source, self.label, self.weight)
        if self.rows.table is not None:
            with nullcontext() if is_survey else self.rows.table.read_again():
                yield from self._read(self.rows.table, None, self.state.schema.weight)

    def _read(self, source: Source, label: Any, weight: Any) -> Iterator[tuple[Table, Batch]]:
        """The rows of a source; without a label they are all unlabelled."""
        schema = self.state.schema
        source.use_words(schema.missing)
        source.look_for([*schema.columns, label])
        names = names_to_find(schema, label, weight)
        in_memory = isinstance(source, TableSource)
        encode = partial(self._encode_table, label=label, weight=weight)
        for table in source.batches() if in_memory else source.batches(columns_to_read(schema, label, weight)):
            for _, result in source.work_on_good_rows(table.with_names(names), encode):
                yield result

    def _encode_table(self, table: Table, label: Any, weight: Any) -> tuple[Table, Batch]:
        """Rows by the schema of the model; rows that are neither learned nor unlabelled ones are dropped."""
        schema, is_unlabelled = self.state.schema, label is None
        table = with_parts(table, schema)
        columns = encode_columns(table, schema, known_key=self._known_key, purpose=Purpose.LEARN)
        weights = find_weights(table, weight if not isinstance(weight, str) or weight in table.columns else None)
        if is_unlabelled:
            codes = np.full(table.n_rows, -1, np.int32)
        else:
            found = schema.label_spec.read(table, label, known=self.classes)
            codes = np.append(positions(found.keys, self.classes), -1).astype(np.int32)[found.codes]
        is_used = np.ones(len(codes), bool) if weights is None else weights > 0
        if not is_unlabelled and not self.rows.has_missing_labels:
            is_used &= codes >= 0
        batch = Batch(
            table.n_rows,
            columns,
            Labels(self.classes, codes, np.bincount(codes[codes >= 0], minlength=len(self.classes))),
            weights,
            encode_inputs(table, schema),
            find_groups(table, schema.group),
        )
        return (table, batch) if is_used.all() else _take(table, batch, np.flatnonzero(is_used))


def _columns_hint(schema: Schema) -> str:
    return f"the columns are {shorten(schema.columns_in_use, 200)}"


def _take(table: Table, batch: Batch, rows: Any) -> tuple[Table, Batch]:
    """Some rows of a table and of what it was encoded to."""
    columns, sources = (
        {name: column.take(rows) for name, column in part.items()} for part in (batch.columns, batch.sources)
    )
    codes = batch.labels.codes[rows]
    labels = Labels(batch.labels.keys, codes, np.bincount(codes[codes >= 0], minlength=len(batch.labels.keys)))
    weights = None if batch.weights is None else batch.weights[rows]
    groups = None if batch.groups is None else batch.groups.take(rows)
    return table.take(rows), Batch(len(rows), columns, labels, weights, sources, groups)


class _Survey:
    """What is found out about all rows in one pass: the sums of the labelled ones, samples, the unlabelled rows."""

    def __init__(self, schema: Schema, classes: list[Any]) -> None:
        self.schema, self.classes = schema, classes
        self.labelled = SufficientStatistics.empty()
        self.labelled_sample, self.unlabelled_sample = RowSample.of(schema), RowSample.of(schema)
        self.n_unlabelled = 0

    def add(self, table: Table, batch: Batch, rows: EncodedRows, forms: Schema) -> None:
        """Add a batch, in the forms of the model and in those of the rounds, which have a schema of their own."""
        codes = batch.labels.codes
        at = np.flatnonzero(codes >= 0)
        if len(at):
            part = rows.take(at)
            sums = count_shares(part.columns, np.eye(len(self.classes))[part.codes], part.weights, self.classes, forms)
            self.labelled = self.labelled.combined(sums, 1) if self.labelled.labels else sums
            self.labelled_sample.add(table, batch, self.classes, self.schema)
        if len(at) < len(codes):
            open_codes = np.where(codes < 0, 0, -1).astype(np.int32)
            labels = Labels(_NO_LABEL, open_codes, np.array([len(codes) - len(at)]))
            self.unlabelled_sample.add(table, replace(batch, labels=labels), _NO_LABEL, self.schema)
            self.n_unlabelled += len(codes) - len(at)
