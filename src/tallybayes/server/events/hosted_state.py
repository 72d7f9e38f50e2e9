"""The state of a hosted model while events are applied to it, one by one or in groups with the same result.

Sums are exact, so that any number of learn events may be counted together, as long as each row means the same alone as
in the company of the others. It does (`may_join`) where nothing is decided by the rows: their columns are known, their
labels are known, the values of a column are of one type, and no vocabulary is limited. All other events are applied
alone. So the state is a function of the base and the events, whatever the groups were.

An event is *formative* if it changed more than sums: the schema, the set of labels, the type of categories, or fitted
settings. Later events may have been read differently because of it.

The variant of a text column that is still to be selected stays open while a model is hosted: the documents that the
selection needs are not in the model file, so that it would depend on when the model was loaded last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tallybayes.arrays.column import Codes
from tallybayes.columns.label_spec import label_column
from tallybayes.errors import DataError
from tallybayes.io.read import to_source
from tallybayes.model.label_plan import label_notes
from tallybayes.model.row_counter import RowCounter
from tallybayes.model.update import add_rows, change_notes, subtract_rows
from tallybayes.server.events.event import Event
from tallybayes.server.events.event_rows import EventData, read_rows
from tallybayes.server.events.known_values import GroupTypes, KnownValues
from tallybayes.state.counting import CountedRows, CountingPlan
from tallybayes.state.model_state import ModelState
from tallybayes.state.text_samples import TextSamples

__all__ = ["HostedState", "RowsDone"]


@dataclass(frozen=True)
class RowsDone:
    """What learning or forgetting the rows of an event did."""

    rows: int
    skipped: int
    notes: tuple[str, ...] = ()
    is_formative: bool = False


class HostedState:
    """A state that is changed in place: nobody else has its statistics."""

    def __init__(self, state: ModelState) -> None:
        state.require_learned("learn")
        self.state = replace(state, statistics=state.statistics.copy(), text_samples=TextSamples(), selects_text=False)
        self._known: KnownValues | None = None

    def change(self, data: EventData, sign: int) -> RowsDone:
        """Learn (1) or forget (-1) the rows of one event, all or nothing."""
        before = self._decisions()
        counted = self._count(data, grows=sign > 0)
        labels = self.state.statistics.in_use() if sign > 0 else []
        self._replace((add_rows if sign > 0 else subtract_rows)(self.state, counted))
        notes = change_notes(self.state.statistics, sign)
        if sign > 0:
            notes += label_notes(labels, counted.class_rows, counted.rewritten)
        rows = counted.n_rows - counted.n_missing
        return RowsDone(rows, counted.n_missing, notes, self._decisions() != before)

    def learn_together(self, rows: list[dict[str, Any]]) -> None:
        """Learn rows that may be learned together."""
        known = self._known
        self._replace(add_rows(self.state, self._count(rows, grows=True)))
        self._known = known  # such rows add nothing to it

    def take_back(self, event: Event) -> None:
        """Undo learning or forgetting the rows of an event that was not formative."""
        before = self.state
        counted = self._count(_rows_of(event), grows=False)
        self._replace((subtract_rows if event.kind == "learn" else add_rows)(before, counted))
        skipped = event.skipped if event.kind == "learn" else 0  # forgetting does not count rows without a label
        after = replace(self.state, schema=before.schema, settings=before.settings)  # columns without counts stay
        self.state = replace(after, skipped=before.skipped - skipped)

    def put_back(self, event: Event) -> bool:
        """Learn the rows of an event again that was undone; False if its place among the events would matter."""
        return not self.change(_rows_of(event), 1).is_formative and self.is_exact()

    def is_exact(self) -> bool:
        """Whether taking rows back gives the state in which they were never learned, bit for bit."""
        limited = any(tally.is_limited for tally in self.state.statistics.blocks.values())
        return not limited and not change_notes(self.state.statistics, -1)

    def set(self, **settings: Any) -> None:
        """Change settings."""
        self._replace(replace(self.state, settings=replace(self.state.settings, **settings)))

    def may_join(self, rows: EventData, types: GroupTypes) -> bool:
        """Whether rows may be learned together with others that have values of these types, which are updated."""
        if self._known is None:
            self._known = KnownValues(self.state)
        return isinstance(rows, list) and self._known.may_join(rows, types)

    def lacks_label(self, data: EventData) -> bool:
        """Whether the column of the label is in none of the rows, which are dicts."""
        if not isinstance(data, list) or self.state.schema.label is None:
            return False
        names = set().union(*data)
        return label_column(self.state.schema.label, names)[0] not in names

    def skip(self, n_rows: int) -> None:
        """Count rows as skipped that have no label."""
        self.state = replace(self.state, skipped=self.state.skipped + n_rows)

    # Details

    def _count(self, data: EventData, *, grows: bool) -> CountedRows:
        schema = self.state.schema
        plan = CountingPlan.of(self.state, schema.label, schema.weight, learns=grows)
        counted = RowCounter(plan, grows=grows).count(to_source(data))
        counted.unread_dates.warn()
        return counted

    def _replace(self, state: ModelState) -> None:
        self._known = None
        self.state = replace(state, text_samples=TextSamples())

    def _decisions(self) -> tuple[Any, ...]:
        """What rows have decided so far beside sums: two results differ if an event was formative."""
        statistics = self.state.statistics
        keys = tuple(
            statistics.any_key(family, name) is None
            for name, family in self.state.schema.families.items()
            if family.column is Codes
        )
        settings = self.state.settings
        return self.state.schema, statistics.in_use(), keys, settings.column_weights, settings.token_corrections


def _rows_of(event: Event) -> EventData:
    if event.rows is None:
        raise DataError(f"the rows of event {event.id} are not in the log any more")
    return read_rows(event.rows, event.media_type)
