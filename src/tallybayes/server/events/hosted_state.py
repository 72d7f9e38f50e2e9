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

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, Protocol

from tallybayes.arrays.column import Codes
from tallybayes.columns.schema import Schema
from tallybayes.doubts import collect_doubts
from tallybayes.errors import TallyError
from tallybayes.io.read import to_source
from tallybayes.model.joint_columns import incomplete_row_notes
from tallybayes.model.label_plan import label_notes
from tallybayes.model.row_counter import RowCounter
from tallybayes.model.update import add_rows, change_notes, subtract_rows
from tallybayes.server.events.event import Event
from tallybayes.server.events.event_rows import EventData
from tallybayes.server.events.known_values import GroupTypes, KnownValues
from tallybayes.server.events.settings_change import with_event
from tallybayes.state.counting import CountedRows, CountingPlan
from tallybayes.state.model_state import ModelState
from tallybayes.state.text_samples import TextSamples

__all__ = ["Done", "HostedState", "RowChange"]

RowCheck = Callable[[EventData, Schema], None]  # raises an error for rows that are not to be learned

_GROUP_ROWS = 20_000  # rows that are counted together, at most


class RowChange(Protocol):
    """Rows to learn or to forget: an event, or the request for one."""

    @property
    def kind(self) -> str:
        """Learn or forget."""

    @property
    def data(self) -> EventData:
        """The rows."""


class Done(NamedTuple):
    """What a change did. settings: of calibrate and decide (`settings_change.py`)."""

    rows: int = 0
    skipped: int = 0
    notes: tuple[str, ...] = ()
    is_formative: bool = False
    settings: dict[str, Any] | None = None


class HostedState:
    """A state that is changed in place: nobody else has its statistics."""

    def __init__(self, state: ModelState) -> None:
        state.require_learned("learn")
        self.state = replace(state, statistics=state.statistics.copy(), text_samples=TextSamples(), selects_text=False)
        self._known: KnownValues | None = None

    def change_rows(
        self, changes: Sequence[RowChange], *, group_rows: int = _GROUP_ROWS, check: RowCheck | None = None
    ) -> list[Done | TallyError]:
        """Apply changes in order, each all or nothing; what each of them did, or why it was refused.

        group_rows: how many rows are counted together, at most; 1: one change after the other.
        check: is made of rows to learn, unless they are counted together: these need no check.
        """
        results: list[Done | TallyError] = []
        while len(results) < len(changes):
            start = len(results)
            if group_rows > 1 and (group := self._joining(changes, start, group_rows)):
                results += self._learn_group(group)
            else:
                results.append(self._change_alone(changes[start], check))
        return results

    def _joining(self, changes: Sequence[RowChange], start: int, group_rows: int) -> Sequence[RowChange]:
        """The changes from a place on that may be counted together; none if the first must be applied alone."""
        types, group, n_rows = GroupTypes(), list[RowChange](), 0
        with contextlib.suppress(TallyError):  # rows that cannot be read
            for change in islice(changes, start, None):
                if n_rows >= group_rows or change.kind != "learn" or not self.may_join(change.data, types):
                    break
                group.append(change)
                n_rows += len(change.data)
        return group

    def _learn_group(self, group: Sequence[RowChange]) -> list[Done | TallyError]:
        """Learn the rows of several changes together; if they are refused, those of each half."""
        try:
            with collect_doubts() as found:
                self.learn_together([row for change in group for row in change.data])
        except TallyError as error:
            half = len(group) // 2
            return [*self._learn_group(group[:half]), *self._learn_group(group[half:])] if half else [error]
        label = self.state.schema.label
        missing = [[row.get(label) for row in change.data].count(None) for change in group]
        notes = [self._doubts(change.data) if found else () for change in group]
        return [Done(len(change.data) - n, n, more) for change, n, more in zip(group, missing, notes, strict=True)]

    def _change_alone(self, change: RowChange, check: RowCheck | None) -> Done | TallyError:
        try:
            if check is not None and change.kind == "learn":
                check(change.data, self.state.schema)
            return self.change(change.data, 1 if change.kind == "learn" else -1)
        except TallyError as error:
            return error

    def change(self, data: EventData, sign: int) -> Done:
        """Learn (1) or forget (-1) the rows of one event, all or nothing."""
        before = self._decisions()
        with collect_doubts() as found:
            counted = self._count(data, grows=sign > 0)
        labels = self.state.statistics.in_use() if sign > 0 else []
        incomplete = incomplete_row_notes(counted.statistics) if sign > 0 else ()
        self._replace((add_rows if sign > 0 else subtract_rows)(self.state, counted))
        notes = (*map(str, found), *incomplete, *change_notes(self.state.statistics, sign))
        if sign > 0:
            notes += label_notes(labels, counted.class_rows, counted.rewritten)
        rows = counted.n_rows - counted.n_missing
        return Done(rows, counted.n_missing, notes, self._decisions() != before)

    def learn_together(self, rows: list[dict[str, Any]]) -> None:
        """Learn rows that may be learned together."""
        known = self._known
        self._replace(add_rows(self.state, self._count(rows, grows=True)))
        self._known = known  # such rows add nothing to it

    def take_back(self, event: Event) -> None:
        """Undo learning or forgetting the rows of an event that was not formative."""
        before = self.state
        counted = self._count(event.data, grows=False)
        self._replace((subtract_rows if event.kind == "learn" else add_rows)(before, counted))
        skipped = event.skipped if event.kind == "learn" else 0  # forgetting does not count rows without a label
        after = replace(self.state, schema=before.schema, settings=before.settings)  # columns without counts stay
        self.state = replace(after, skipped=before.skipped - skipped)

    def put_back(self, event: Event) -> bool:
        """Learn the rows of an event again that was undone; False if its place among the events would matter."""
        return not self.change(event.data, 1).is_formative and self.is_exact()

    def is_exact(self) -> bool:
        """Whether taking rows back gives the state in which they were never learned, bit for bit."""
        limited = any(tally.is_limited for tally in self.state.statistics.blocks.values())
        return not limited and not change_notes(self.state.statistics, -1)

    def set(self, **settings: Any) -> None:
        """Change settings."""
        self.state = replace(self.state, settings=replace(self.state.settings, **settings))

    def set_rule(self, kind: str, stored: Mapping[str, Any] | None) -> None:
        """Apply a calibrate or decide event, given by what is stored with it."""
        self.state = replace(self.state, settings=with_event(self.state.settings, kind, stored or {"set": {}}))

    def may_join(self, rows: EventData, types: GroupTypes) -> bool:
        """Whether rows may be learned together with others that have values of these types, which are updated."""
        if self._known is None:
            self._known = KnownValues(self.state)
        return isinstance(rows, list) and not self._tells_incomplete and self._known.may_join(rows, types)

    @property
    def _tells_incomplete(self) -> bool:
        """Whether the notes about rows depend on each of them: rows of a group of columns may lack some values."""
        return any(tally.incomplete_rows_are for tally in self.state.statistics.blocks.values())

    # Details

    def _count(self, data: EventData, *, grows: bool) -> CountedRows:
        schema = self.state.schema
        plan = CountingPlan.of(self.state, schema.label, schema.weight, learns=grows)
        counted = RowCounter(plan, grows=grows).count(to_source(data))
        counted.unread_dates.tell()
        return counted

    def _doubts(self, data: EventData) -> tuple[str, ...]:
        """What is doubtful about some of the rows that were counted together."""
        with collect_doubts() as found:
            self._count(data, grows=True)
        return tuple(map(str, found))

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
