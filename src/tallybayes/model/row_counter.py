"""Rows into counted rows: the one loop over batches behind `fit`, `learn`, `forget` and every engine.

The rows of all batches are counted apart from the model first, so that an error in any batch leaves it unchanged. Sums
are exact: the result does not depend on how rows are divided into batches.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tallybayes.arrays.axis import merge_keys
from tallybayes.columns.batch import columns_to_read, names_to_find, read_batch, with_parts
from tallybayes.columns.column_doubts import doubt_absent_columns, doubt_numbers
from tallybayes.columns.column_spec import Origin
from tallybayes.columns.date_inference import check_later_files, check_order
from tallybayes.columns.inference import with_readings
from tallybayes.columns.label_spec import label_column
from tallybayes.columns.later_dates import LaterDates
from tallybayes.columns.schema import Schema
from tallybayes.doubts import as_family
from tallybayes.errors import DataError, ParameterError
from tallybayes.state.counting import CountedRows, CountingPlan
from tallybayes.state.row_sample import RowSample
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.tables.raw_values import is_number
from tallybayes.tables.source import Source, TableSource, UnexpectedCellError
from tallybayes.tables.table import Table

__all__ = ["RowCounter", "grow_schema"]


class RowCounter:
    """Counts rows by a plan; `rows` are those counted so far.

    grows: whether new columns are added to the schema; sample: to which the rows are added.
    """

    def __init__(self, plan: CountingPlan, *, grows: bool, sample: RowSample | None = None) -> None:
        self._plan, self._grows = plan, grows
        self.rows = CountedRows(plan.schema, sample=sample)

    def count(self, source: Source) -> CountedRows:
        """Count all rows of a source."""
        label, weight, columns = self._plan.label, self._plan.weight, None
        if not isinstance(source, TableSource):
            if not isinstance(label, str) or not (weight is None or isinstance(weight, str)):
                raise ParameterError("label and weight as names of columns, for data in batches", got=(label, weight))
            source.use_words(self.rows.schema.missing)
            source.look_for([*self.rows.schema.columns, label])
            self._grow(source.head())
            columns = columns_to_read(self.rows.schema, label, weight)
        if self._plan.labels:  # of a model that has learned rows; a fit decides by these rows themselves
            head = source.head().with_names(self.rows.schema.columns)
            check_order(head, self.rows.schema)
            if head.is_from_file and self._plan.learns:  # a part of a row is usual among dicts
                doubt_absent_columns(head, self._plan.schema)
        is_fit = not self._plan.labels
        dates = LaterDates(source.head(), self.rows.schema, source.may_begin_again) if is_fit else None
        for batch in check_later_files(source.batches(columns), self.rows.schema):
            self._grow(batch)
            table = batch.with_names(names_to_find(self.rows.schema, label, weight))  # also what is sampled
            if dates is not None:
                dates.check(table, self.rows.schema)
            table = with_parts(table, self.rows.schema, self.rows.unread_dates)
            for part, (statistics, n_missing) in source.work_on_good_rows(table, self._count_table):
                self.rows.add_statistics(statistics)
                if self._plan.learns:
                    self.rows.statistics.bound()
                self.rows.n_rows += part.n_rows
                self.rows.n_missing += n_missing
        if dates is not None:
            self.rows.schema = dates.without_settled(self.rows.schema)
        return self.rows

    def _count_table(self, table: Table) -> tuple[SufficientStatistics, int]:
        """The statistics of one table, and how many rows have no label."""
        try:
            return self._observe(table)
        except DataError as error:
            spec = self.rows.schema.columns.get(str(error.column))
            if spec is None or not spec.reader.only_bits or not is_number(error.got):
                raise
            hint = f"when fitting, {as_family(spec.name, 'histogram')} takes any numbers"
            unexpected = UnexpectedCellError(error.expected, got=error.got, column=spec.name, row=error.row, hint=hint)
            raise unexpected from None

    def _observe(self, table: Table) -> tuple[SufficientStatistics, int]:
        """The statistics of one table, over all labels so far."""
        plan, rows = self._plan, self.rows
        known = plan.labels or rows.statistics.in_use()
        batch = read_batch(table, rows.schema, plan.label, plan.weight, known=known, known_key=self._known_key)
        keys = batch.labels.keys
        rows.rewritten |= batch.labels.rewritten
        labels = merge_keys(rows.statistics.labels or list(plan.labels), keys)
        if plan.learns:
            rows.text_samples.add(batch, keys, rows.schema.families, plan.settings)
        statistics = SufficientStatistics.observe(batch, keys, labels, rows.schema)
        if rows.sample is not None:
            rows.sample.add(table, batch, keys, rows.schema)
        return statistics, batch.labels.n_missing

    def _known_key(self, name: str) -> Any:
        """One category counted so far in a column, or None."""
        key = self._plan.key_of(name)
        return self.rows.statistics.any_key(self.rows.schema.family_of(name), name) if key is None else key

    def _grow(self, table: Table) -> None:
        if self._grows:
            known = table.with_names(names_to_find(self.rows.schema, self._plan.label, self._plan.weight))
            self.rows.schema = grow_schema(self.rows.schema, known, self._plan)


def grow_schema(schema: Schema, table: Table, plan: CountingPlan, *, are_new: bool = True) -> Schema:
    """The schema with the new columns of a table, and those that had no values so far; itself if there are none.

    are_new: whether they came while a model was learning, and leave it when their rows are forgotten.
    """
    apart = {label_column(label, table.columns)[0] for label in (schema.label, plan.label)} | {schema.weight}
    apart |= {plan.weight} if isinstance(plan.weight, str) else set()
    grown, inference = None, plan.settings.inference
    for name in table.columns:
        known = schema.columns.get(name)
        if name in apart or (known is not None and not known.is_undecided) or table.tells_origin(name):
            continue
        read = table if inference.by_type else with_readings(table.only([name]), [name])
        reading, raw = table.readings.get(name) or read.readings.get(name), read.columns[name]
        spec = inference.propose(name, raw, reading)
        if not spec.has_no_value:
            spec = inference.with_values(inference.with_key_form(spec, raw), raw)
            doubt_numbers(spec, reading)
            grown = grown or schema.copy()
            grown.columns |= {
                column: replace(part, origin=Origin.NEW, reason=f"new column; {part.reason}") if are_new else part
                for column, part in inference.with_parts(spec, raw, reading=reading).items()
                if column == name or column not in grown.columns
            }
    return grown or schema
