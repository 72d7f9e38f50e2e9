"""Rows into sums, batch by batch: what `learn` and `forget` add or take away.

Every batch is read, checked and counted into one running total that is apart from the model, so that whatever goes
wrong, in the first batch or the last, leaves the model as it was. Sums are exact: the batches do not show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tallybayes.arrays.axis import kind_of, merged, rough_kind
from tallybayes.arrays.column import Flags, Reals
from tallybayes.data.batch import check_kinds, converted, read_batch
from tallybayes.data.infer import NO_VALUES
from tallybayes.data.label import label_column
from tallybayes.data.schema import Schema
from tallybayes.data.source import Kind, Source, Whole
from tallybayes.data.table import Table
from tallybayes.errors import DataError, ParameterError
from tallybayes.model.text_samples import Samples
from tallybayes.state.settings import Settings
from tallybayes.state.statistics import SufficientStatistics

__all__ = ["NEW_COLUMN", "Learning", "own_kind", "wanted_kinds"]

NEW_COLUMN = "new column"  # how the reason of a column begins that came after the first rows


@dataclass(eq=False)
class Learning:
    """Counting rows beside a model: its schema (which grows), its settings, and the total it has so far."""

    schema: Schema
    settings: Settings
    known: SufficientStatistics
    label: Any
    weight: Any
    grows: bool  # whether new columns are welcome
    total: SufficientStatistics | None = None
    samples: Samples = field(default_factory=Samples)
    n_rows: int = 0
    n_missing: int = 0

    def count(self, source: Source) -> None:
        """All rows of a source."""
        whole = isinstance(source, Whole)
        if not whole:
            if not isinstance(self.label, str) or not (self.weight is None or isinstance(self.weight, str)):
                raise ParameterError("label and weight as names of columns, for data that comes in batches")
            source.missing = self.schema.missing if source.missing is None else source.missing
            self._grow(source.head())
        wanted = None if whole else self.wanted()
        for table in source.batches(wanted):
            self._grow(table)
            for part, (total, n_missing) in source.good(table, self._counted):
                self._add(total)
                self.n_rows += part.n_rows
                self.n_missing += n_missing

    def _counted(self, table: Table) -> tuple[SufficientStatistics, int]:
        """The sums of one table, over the labels known so far and its own."""
        batch = read_batch(table, self.schema, self.label, self.weight)
        check_kinds(batch.columns, self._known_key, from_file=table.is_from_file)
        keys = own_kind(self._own_labels(), batch.labels.keys, from_file=table.is_from_file)
        labels = merged(self._labels(), keys)
        if self.grows:
            self.samples.add(batch, keys, self.schema.families, self.settings)
        return SufficientStatistics.observed(batch, keys, labels, self.schema), batch.labels.n_missing

    def _add(self, part: SufficientStatistics) -> None:
        if self.total is None:
            self.total = part
        else:
            labels = merged(self.total.labels, part.labels)
            self.total = self.total.aligned(labels)
            self.total.add(part.aligned(labels), 1)
        if self.grows:
            self.total.bound()

    def _labels(self) -> list[Any]:
        return self.known.labels if self.total is None else self.total.labels

    def _own_labels(self) -> list[Any]:
        return self.known.in_use() or ([] if self.total is None else self.total.in_use())

    def _known_key(self, name: str) -> Any:
        """One category met so far in a column, or None."""
        family = self.schema.families.get(name)
        key = self.known.any_key(family, name)
        return key if key is not None or self.total is None else self.total.any_key(family, name)

    def _grow(self, table: Table) -> None:
        """Make room in the schema for the columns that are new in a table."""
        if not self.grows:
            return
        apart = {_column(self.schema.label, table), self.schema.weight, _column(self.label, table), self.weight_name}
        grown = None
        for name, raw in table.columns.items():
            known = self.schema.fields.get(name)
            if name in apart or (known is not None and known.reason != NO_VALUES):
                continue
            if table.tells_origin(name):
                continue
            found = self.settings.propose(name, raw)
            if found.reason != NO_VALUES:
                grown = grown or self.schema.copy()
                found = replace(found, reason=f"{NEW_COLUMN}; {found.reason}")
                grown.fields[name] = found
        self.schema = grown or self.schema

    @property
    def weight_name(self) -> str | None:
        """The column of weights, if there is one."""
        return self.weight if isinstance(self.weight, str) else None

    def wanted(self) -> dict[str, Kind | None]:
        """The columns to be read, and as what."""
        kinds = wanted_kinds(self.schema)
        kinds[self.label] = None
        for i, sign in enumerate(self.label):
            if sign == "=":  # "rating=R" may be the column rating, of any type
                kinds.setdefault(self.label[:i], None)
        if self.weight_name is not None:
            kinds[self.weight_name] = "number"
        return kinds


def wanted_kinds(schema: Schema) -> dict[str, Kind | None]:
    """As what the columns of a schema are to be read; None: as they come."""
    kinds: dict[type, Kind] = {Reals: "number", Flags: "flag"}
    return {name: kinds.get(family.column) for name, family in schema.families.items()}


def own_kind(own: Sequence[Any], labels: Sequence[Any], *, from_file: bool = False) -> list[Any]:
    """Labels in the type of a model's own; 1 and 1.0 are one label, other types are refused.

    Labels that come from a file are taken for what they are written as: "1" for 1, "true" for yes.
    """
    if not own or not labels or kind_of(labels[0]) == kind_of(own[0]):
        return list(labels)
    if from_file and rough_kind(own[0]) != rough_kind(labels[0]):
        labels = [converted(label, own[0]) for label in labels]
        return own_kind(own, labels)
    kinds = (kind_of(own[0]), kind_of(labels[0]))
    if kinds == ("number", "whole number"):
        return [float(label) for label in labels]
    odd = [label for label in labels if not (isinstance(label, float) and label.is_integer())]
    if kinds == ("whole number", "number") and not odd:
        return [int(label) for label in labels]
    raise DataError(f"labels of one type ({kinds[0]})", got=(odd or list(labels))[0])


def _column(label: Any, table: Table) -> str | None:
    """The column of a label, if it is one by name."""
    return label_column(label, table.columns)[0] if isinstance(label, str) else None
