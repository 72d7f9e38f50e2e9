"""Test-then-learn metrics of a hosted model: accuracy and log loss over windows of the last rows, and over all.

The scores are those of `prequential_scores.py`, which are stored with the events. Undoing an event does not change
them: they tell how the model answered at that time. After a restart the windows are read from the log, the totals and
the warnings (`drift_watch.py`) from the snapshot; without one, everything is read from the log, which keeps the scores
of events that were folded into the base.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tallybayes.formatting import shown
from tallybayes.server.events.event import Event
from tallybayes.server.live.drift_watch import DriftWatch
from tallybayes.server.live.prequential_scores import SCORED, Scores
from tallybayes.state.model_state import ModelState

__all__ = ["WINDOWS", "StreamMetrics"]

WINDOWS = (100, 1_000, 10_000)  # rows

_SHARES = 1_000  # rows whose labels are the recent class shares, at least
_POINT = 100  # rows whose mean is a point of the curve
_SERIES = 500  # points of the curve, at most
_RATE = 60.0  # seconds over which the rate is measured
_NONE: Scores = np.zeros(0, np.float32)


class StreamMetrics:
    """Scores of the last rows and totals over all rows; can be read while events are added."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: Scores = _NONE
        self._totals: dict[str, Any] = {"rows": 0, "correct": 0, "with_loss": 0, "loss": 0.0}
        self._series: deque[dict[str, Any]] = deque(maxlen=_SERIES)
        self._drift = DriftWatch()
        self._times: deque[tuple[float, int, int]] = deque()

    def add(self, events: Sequence[Event]) -> None:
        """Add the scores that are stored with events."""
        scored = [event for event in events if event.scores]
        if not scored:
            return
        parts = [_scores_of(event) for event in scored]
        with self._lock:
            every = np.concatenate(parts)
            for name, value in _summary(every).items():
                self._totals[name] += value
            self._add_points(scored, parts)
            losses = np.abs(every).astype(np.float64)
            has_gaps, start = bool(np.isnan(losses).any()), 0
            for event, part in zip(scored, parts, strict=True):
                event_losses = losses[start : start + len(part)]
                start += len(part)
                self._drift.add(
                    event.id, event_losses[~np.isnan(event_losses)] if has_gaps else event_losses, event.labels or {}
                )

    def count(self, events: Sequence[Event]) -> None:
        """Count events of this moment, for the rate."""
        with self._lock:
            self._times.append((time.monotonic(), len(events), sum(event.n_rows for event in events)))
            self._forget_times()

    def _add_points(self, events: Sequence[Event], parts: Sequence[Scores]) -> None:
        """Add the scores to the window, and a point to the curve for each event."""
        every = np.concatenate([self._last, *parts])
        events, parts = events[-_SERIES:], parts[-_SERIES:]
        sizes = np.array([len(part) for part in parts])
        ends = len(every) - np.append(np.cumsum(sizes[::-1])[:-1][::-1], 0)
        starts = np.maximum(ends - _POINT, 0)
        has_loss = ~np.isnan(every)
        columns = (~np.signbit(every), has_loss, np.where(has_loss, np.abs(every), 0.0))
        sums = [np.concatenate([[0.0], np.cumsum(column, dtype=np.float64)]) for column in columns]
        facts = zip(*((total[ends] - total[starts]).tolist() for total in sums), (ends - starts).tolist(), strict=True)
        for event, (correct, with_loss, loss, n) in zip(events, facts, strict=True):
            means = _means({"rows": n, "correct": correct, "with_loss": with_loss, "loss": loss})
            self._series.append({"event": event.id, "time": event.time} | means)
        self._last = every[-SCORED:]

    def _forget_times(self) -> None:
        while self._times and self._times[0][0] < time.monotonic() - _RATE:
            self._times.popleft()

    # Restarts

    def state(self) -> dict[str, Any]:
        """What is stored with a snapshot."""
        with self._lock:
            return {"totals": dict(self._totals), "drift": self._drift.state()}

    def restore(self, state: dict[str, Any], newest_first: Iterable[Event]) -> None:
        """Continue from a snapshot; newest_first: the events up to it."""
        scored: list[Event] = []
        n_rows = 0
        for event in newest_first:
            if event.scores:
                scored.append(event)
                n_rows += len(event.scores) // 4
            if n_rows >= SCORED + _POINT:
                break
        scored.reverse()
        with self._lock:
            if scored:
                self._add_points(scored, [_scores_of(event) for event in scored])
            self._totals |= state["totals"]
            self._drift.restore(state["drift"], _losses(self._last))

    # Reading

    def to_dict(self, state: ModelState) -> dict[str, Any]:
        """Windows, curve, class shares, warnings and rate, for JSON; state: of the model at present."""
        with self._lock:
            self._forget_times()
            windows = [_means(_summary(self._last[-n:])) | {"window": n} for n in WINDOWS]
            windows.append(_means(self._totals) | {"window": None})
            span = time.monotonic() - self._times[0][0] if self._times else 0.0
            n_events, n_rows = (sum(line[i] for line in self._times) for i in (1, 2))
            per_second = 1 / max(span, 1.0)
            return {
                "windows": windows,
                "series": list(self._series),
                "class_shares": self._class_shares(state),
                "drift": [warning.to_dict() for warning in self._drift.warnings.values()],
                "rate": {"events_per_second": n_events * per_second, "rows_per_second": n_rows * per_second},
            }

    def _class_shares(self, state: ModelState) -> dict[str, Any]:
        recent, known = self._drift.recent_labels(_SHARES), state.class_counts
        n_recent, n_model = sum(recent.values()), sum(known.values())
        return {
            "classes": list(known),
            "recent": [recent.get(shown(label), 0) / n_recent if n_recent else None for label in known],
            "recent_rows": n_recent,
            "model": [n / n_model if n_model else None for n in known.values()],
        }


def _scores_of(event: Event) -> Scores:
    return np.frombuffer(event.scores or b"", "<f4")


def _losses(scores: Scores) -> Any:
    """The log losses of rows whose label the model had."""
    return np.abs(scores[~np.isnan(scores)]).astype(np.float64)


def _summary(scores: Scores) -> dict[str, Any]:
    has_loss = ~np.isnan(scores)
    loss = float(np.abs(scores[has_loss]).sum(dtype=np.float64))
    return {
        "rows": len(scores),
        "correct": int((~np.signbit(scores)).sum()),
        "with_loss": int(has_loss.sum()),
        "loss": loss,
    }


def _means(summary: dict[str, Any]) -> dict[str, Any]:
    rows, n = summary["rows"], summary["with_loss"]
    accuracy = summary["correct"] / rows if rows else None
    return {"rows": rows, "accuracy": accuracy, "log_loss": summary["loss"] / n if n else None}
