"""The current state of a model, shared between threads.

Any number of threads may read while others change the model. A reader works on the snapshot that was current when it
began. A writer counts its rows apart, and then changes the statistics in place if no reader uses them, or else a copy
of them; the new snapshot replaces the old one at once. Writers take turns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from tallybayes.errors import Described, ParameterError
from tallybayes.families.family import Floats
from tallybayes.io.read import to_source
from tallybayes.model.in_place_learner import InPlaceLearner
from tallybayes.model.joint_columns import incomplete_row_notes
from tallybayes.model.label_plan import label_notes
from tallybayes.model.update import add_rows, change_notes, subtract_rows
from tallybayes.scoring.rows import n_few_rows
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.counting import CountedRows, CountingPlan
from tallybayes.state.model_state import ModelState
from tallybayes.tables.table import small_frame

if TYPE_CHECKING:  # a prediction does not need it
    from tallybayes.state.row_sample import RowSample

__all__ = ["ONE_ROW", "Change", "CurrentState", "Reading"]

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Change:
    """What `learn` or `forget` did: rows counted, rows without a label, notes, bad rows that were skipped."""

    rows: int
    skipped: int = 0
    notes: tuple[str, ...] = ()
    bad: int = 0


ONE_ROW = Change(1)


class _Turn:
    """The turn of a writer: one change at a time, which may begin another one itself."""

    __slots__ = ("_lock", "n_taken")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.n_taken = 0  # how often by the one that has it: single rows look here instead of taking a second lock

    def __enter__(self) -> None:
        self._lock.acquire()
        self.n_taken += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.n_taken -= 1
        self._lock.release()


class CurrentState:
    """The current snapshot of a model, and the ways to read and to replace it."""

    def __init__(self, state: ModelState) -> None:
        self.snapshot = Snapshot(state)
        self.lock = threading.Lock()  # guards the current snapshot and the number of its readers
        self._writing = _Turn()
        self._row_learner: InPlaceLearner | None = None
        self.n_changes = 0  # of sums and settings: who has derived something sees whether it still holds

    def share(self) -> Snapshot:
        """The current snapshot, to be kept: its statistics are never changed in place again."""
        with self.lock:
            self.settle()
            self.snapshot.state.statistics.is_shared = True
            return self.snapshot

    def settle(self) -> None:
        """Count rows that are waiting to be counted; the caller holds `lock`."""
        if self._row_learner is not None:
            self._row_learner.settle()

    def set(self, **settings: Any) -> None:
        """Change settings; the statistics stay."""
        with self._writing, self.lock:
            state = self.snapshot.state
            self.snapshot = Snapshot(replace(state, settings=replace(state.settings, **settings)))
            self.n_changes += 1

    def learn(self, data: Any, label: Any, sample_weight: Any) -> Change:
        """Add rows, all or nothing."""
        data = small_frame(data)
        change = self._learn_few(data, label) if sample_weight is None else None
        return self.change(data, label, sample_weight, 1) if change is None else change

    def _learn_few(self, data: Any, label: Any) -> Change | None:
        """Learn a dict with its label, or a few rows, by the fast path; None if the general path is needed."""
        if type(data) is dict and label is None:
            name = self.snapshot.state.schema.label
            if name is None or not self.learn_row(data, data.get(name), InPlaceLearner.learn_dict):
                return None
            return ONE_ROW
        if (n_rows := n_few_rows(data)) and label is not None and not isinstance(label, str):
            return Change(n_rows) if self.learn_row(data, label, InPlaceLearner.learn_rows) else None
        return None

    def learn_row(
        self, row: Any, label: Any, learn: Callable[..., bool] = InPlaceLearner.learn, has_turn: bool = False
    ) -> bool:
        """Learn a dict, or rows, by the fast path; False, with nothing changed, if the general path is needed."""
        with self.lock:
            if has_turn or not self._writing.n_taken:
                snapshot = self.snapshot
                statistics = snapshot.state.statistics
                if statistics.n_readers or statistics.is_shared:
                    return False
                if (learner := self._row_learner) is None:
                    self._row_learner = learner = InPlaceLearner(snapshot.state)
                if not learn(learner, row, label):
                    return False
                self.n_changes += 1
                if snapshot.is_used:
                    self.snapshot = Snapshot(snapshot.state, snapshot)
                return True
        with self._writing:
            return self.learn_row(row, label, learn, has_turn=True)

    def answer(
        self, data: Any, finish: Callable[[Snapshot, Floats], Answer], *, calibrated: bool = True, is_row: bool = False
    ) -> Answer:
        """What `finish(snapshot, proba)` makes of P(class | row), (rows, classes); is_row: data is a single row.

        All predictions of a model are made here. That of a dict is made while the lock is held if it takes
        microseconds: this is faster than counting readers.
        """
        if type(data) is dict:
            with self.lock:
                self.settle()
                snapshot = self.snapshot
                proba = snapshot.proba_if_ready(data, calibrated=calibrated, is_row=is_row)
                if proba is not None:
                    return finish(snapshot, proba)
        with Reading(self) as snapshot:
            return finish(snapshot, snapshot.proba(data, calibrated=calibrated, is_row=is_row))

    def change(self, data: Any, label: Any, sample_weight: Any, sign: int, sample: RowSample | None = None) -> Change:
        """Add (1) or subtract (-1) rows, all or nothing; sample: to which the rows are added."""
        with self._writing:
            with self.lock:
                self.settle()
            snapshot, n_changes = self.snapshot, self.n_changes
            state = snapshot.state
            state.require_learned("learn" if sign > 0 else "forget")
            source = to_source(data)
            sample_weight = state.schema.weight if sample_weight is None else sample_weight
            from tallybayes.model.row_counter import RowCounter  # a prediction does not need it

            plan = CountingPlan.of(state, snapshot.label_or_default(label), sample_weight, learns=sign > 0)
            counted = RowCounter(plan, grows=sign > 0, sample=sample).count(source)
            if self.snapshot is not snapshot or self.n_changes != n_changes:
                raise ParameterError(
                    "data that does not change the model while it is read", got=Described("a changed model")
                )
            change = self.apply(counted, sign)
        return change if source.bad is None else replace(change, bad=source.bad.count)

    def apply(self, counted: CountedRows, sign: int) -> Change:
        """Add (1) or subtract (-1) rows that were counted, all or nothing; their statistics may be changed."""
        apply = add_rows if sign > 0 else subtract_rows
        counted.unread_dates.tell()
        incomplete = incomplete_row_notes(counted.statistics) if sign > 0 else ()
        with self._writing:
            with self.lock:  # single rows that began before this turn are learned now, others after it
                self.settle()
                state = self.snapshot.state
                before = state.statistics.in_use() if sign > 0 else []
                in_place = state.statistics.may_change
                if in_place:
                    self.snapshot = Snapshot(apply(state, counted))
            if not in_place:
                changed = Snapshot(apply(replace(state, statistics=state.statistics.copy()), counted))
                with self.lock:
                    self.snapshot = changed
            self._row_learner = None
            self.n_changes += 1
            notes = incomplete + change_notes(self.snapshot.state.statistics, sign)
            if sign > 0:
                notes += label_notes(before, counted.class_rows, counted.rewritten)
        return Change(counted.n_rows - counted.n_missing, counted.n_missing, notes)


class Reading:
    """A context with the current snapshot, whose statistics are not changed in place meanwhile."""

    __slots__ = ("_current", "_snapshot")

    def __init__(self, current: CurrentState) -> None:
        self._current = current

    def __enter__(self) -> Snapshot:
        with self._current.lock:
            self._current.settle()
            self._snapshot = self._current.snapshot
            self._snapshot.state.statistics.n_readers += 1
        return self._snapshot

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._current.lock:
            self._snapshot.state.statistics.n_readers -= 1
