"""The state after some events: those that nobody has undone, in order, counted in groups where that is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from tallybayes.columns.label_spec import label_column
from tallybayes.errors import FileError, TallyError
from tallybayes.server.events.event import Event, read_together
from tallybayes.server.events.hosted_state import HostedState
from tallybayes.state.model_state import ModelState
from tallybayes.storage.model_file import state_from_bytes

__all__ = ["OnEvents", "Replay", "ReplayError"]

OnEvents = Callable[[list[Event]], None]


class ReplayError(FileError):
    """An event of a log cannot be applied."""

    def __init__(self, number: int, cause: TallyError) -> None:
        self.number, self.cause = number, str(cause).partition("\n")[0]
        super().__init__(f"event {number} of the log cannot be applied: {self.cause}")


@dataclass
class Replay:
    """Applies events that are in a log to a state.

    formative: the numbers of events that changed more than sums (`hosted_state.py`); forgets: those of forget events.
    """

    hosted: HostedState
    formative: list[int] = field(default_factory=list)
    forgets: list[int] = field(default_factory=list)

    def run(
        self,
        batches: Iterable[list[Event]],
        undone: Mapping[int, int],
        on_events: OnEvents | None = None,
        **options: Any,
    ) -> ModelState:
        """Apply those events that are not undone, and return the state.

        on_events: called with each batch. options: as in `HostedState.change_rows`.
        """
        for batch in batches:
            live = [event for event in batch if event.kind != "undo" and event.id not in undone]
            for is_by_rows, events in groupby(live, lambda event: event.kind in ("learn", "forget")):
                if is_by_rows:
                    self._change_rows(list(events), **options)
                else:
                    for event in events:
                        self._change_model(event)
            if on_events is not None:
                on_events(batch)
        return self.hosted.state

    def _change_rows(self, events: list[Event], **options: Any) -> None:
        read_together(events)
        for event, done in zip(events, self.hosted.change_rows(events, **options), strict=True):
            if isinstance(done, TallyError):
                if not self._was_skipped(event):
                    raise ReplayError(event.id, done) from done
                state = self.hosted.state
                self.hosted.state = replace(state, skipped=state.skipped + event.skipped)
                continue
            if done.is_formative:
                self.formative.append(event.id)
            if event.kind == "forget":
                self.forgets.append(event.id)

    def _was_skipped(self, event: Event) -> bool:
        """Whether a learn event is of rows without the column of the label, all of which were skipped.

        A log may have such events, which were counted together with others; now they are refused.
        """
        label = self.hosted.state.schema.label
        if event.kind != "learn" or event.n_rows or label is None or event.rows is None:
            return False
        rows = event.row_values()
        names = set().union(*rows)
        return event.skipped == len(rows) and label_column(label, names)[0] not in names

    def _change_model(self, event: Event) -> None:
        """Apply a calibration, a decision rule, or another model."""
        try:
            if event.kind != "replace":
                self.hosted.set_rule(event.kind, event.settings)
                return
            self.hosted = HostedState(state_from_bytes(event.stored_rows(), f"the model of event {event.id}"))
            self.formative.append(event.id)
        except TallyError as error:
            raise ReplayError(event.id, error) from error
