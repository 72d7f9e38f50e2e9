"""How rows are counted for a model, and the rows that were counted.

A plan is all that has to be known of a model to count rows, without its sums. Counted rows are what is added to a model
or subtracted from it; they can be added to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tallybayes.arrays.axis import rough_kind
from tallybayes.columns.label import to_label_type
from tallybayes.columns.readers.date_reader import UnreadDates
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError
from tallybayes.state.model_state import ModelState
from tallybayes.state.settings import Settings
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.state.text_samples import TextSamples

if TYPE_CHECKING:  # a prediction does not need it
    from tallybayes.state.row_sample import RowSample

__all__ = ["CountedRows", "CountingPlan"]


def _no_key(column: str) -> Any:
    return None


@dataclass(frozen=True, eq=False)
class CountingPlan:
    """Schema and settings of a model, label and weight of the rows, and the keys that rows must agree with.

    label, weight: names of columns, or arrays.
    learns: whether the rows are to be added to the model, which takes samples of documents.
    labels: the classes of the model, whose type new labels get; key_of: one category of a column, or None.
    """

    schema: Schema
    settings: Settings
    label: Any
    weight: Any = None
    learns: bool = True
    labels: Sequence[Any] = ()
    key_of: Callable[[str], Any] = _no_key

    @classmethod
    def of(cls, state: ModelState, label: Any, weight: Any, *, learns: bool) -> CountingPlan:
        """The plan to count rows for a model."""
        schema, statistics = state.schema, state.statistics

        def key_of(column: str) -> Any:
            return statistics.any_key(schema.family_of(column), column)

        return cls(schema, state.settings, label, weight, learns, statistics.in_use(), key_of)


@dataclass(eq=False)
class CountedRows:
    """The statistics of rows, the samples drawn from them, and the schema by which they were counted."""

    schema: Schema
    statistics: SufficientStatistics = field(default_factory=SufficientStatistics.empty)
    n_rows: int = 0
    n_missing: int = 0  # of these, rows without a label
    rewritten: dict[str, str] = field(default_factory=dict)  # labels that are written otherwise in the data
    unread_dates: UnreadDates = field(default_factory=UnreadDates)
    text_samples: TextSamples = field(default_factory=TextSamples)
    sample: RowSample | None = None  # of rows, to fit weights on

    @property
    def class_rows(self) -> dict[Any, float]:
        """The rows (or their weight) of each label that was counted."""
        amounts = self.statistics.class_rows.floats().tolist()
        return {label: n for label, n in zip(self.statistics.labels, amounts, strict=True) if n}

    def add(self, other: CountedRows) -> None:
        """Add the rows that another has counted by the same schema; its statistics may be changed."""
        _check_keys(self, other)
        self.add_statistics(other.statistics)
        self.n_rows += other.n_rows
        self.n_missing += other.n_missing
        self.rewritten = self.rewritten | other.rewritten
        self.unread_dates = self.unread_dates.merge(other.unread_dates)
        self.text_samples = self.text_samples.merge(other.text_samples)
        if self.sample is not None and other.sample is not None:
            self.sample = type(self.sample).merge([self.sample, other.sample])

    def add_statistics(self, part: SufficientStatistics) -> None:
        """Add the sums of more rows."""
        is_first = not (self.statistics.labels or self.statistics.blocks)
        self.statistics = part if is_first else self.statistics.combined(part, 1)


def _check_keys(mine: CountedRows, theirs: CountedRows) -> None:
    """Raise a DataError unless labels and categories have the same types; integers beside reals become reals."""
    labels = [rows.statistics.labels for rows in (mine, theirs)]
    if all(labels) and rough_kind(labels[0][0]) == "number":
        real = next((key for keys in labels for key in keys if isinstance(key, float)), None)
        for rows in (mine, theirs) if real is not None else ():
            rows.statistics.labels = to_label_type([real], rows.statistics.labels)
    if all(labels) and rough_kind(labels[0][0]) != rough_kind(labels[1][0]):
        first, second = sorted(labels, key=lambda keys: rough_kind(keys[0]))
        raise DataError(f"labels of one type ({rough_kind(first[0])})", got=second[0], column=mine.schema.label)
    for name, family in mine.schema.families.items():
        keys = [rows.statistics.any_key(family, name) for rows in (mine, theirs)]
        if None not in keys and rough_kind(keys[0]) != rough_kind(keys[1]):
            first, second = sorted(keys, key=rough_kind)
            raise DataError(f"categories of one type ({rough_kind(first)})", got=second, column=name)
