"""Prequential (test-then-learn) metrics of a hosted model: accuracy and log loss of rows before they are learned.

Rows are scored by the published model, which clients use, at the time that the writer applies them: it has learned none
of the rows of their group. The score of a row is -log P(its label), with a minus sign if the answer was wrong; it is
stored with the event as a 32-bit float, so that windows survive a restart. A row of a label that the model did not have
yet is a wrong answer without a log loss (NaN). Of an event with more than 10,000 rows, the last 10,000 are scored.

The metrics are over windows of the last rows, and over all. Undoing an event does not change the scores: they tell how
the model answered at that time. After a restart the windows are read from the log, the totals and the warnings
(`drift_watch.py`) from the snapshot; without one, everything is read from the log, which keeps the scores of events
that were folded into the base.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import TallyError
from tallybayes.families.family import Floats
from tallybayes.formatting import shown
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.server.events.event import Event
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.events.event_rows import EventData
from tallybayes.server.events.snapshot_file import SnapshotFacts
from tallybayes.server.live.drift_watch import DriftWatch
from tallybayes.state.model_state import ModelState
from tallybayes.tables.table import Table, to_table

__all__ = ["WINDOWS", "RowScores", "StreamMetrics", "score_rows"]

WINDOWS = (100, 1_000, 10_000)  # rows

_SCORED = 10_000  # rows of an event that are scored, at most
_SMALL = 1_000  # rows of an event that are scored together with those of others, at most
_MOST_LOSS = 1e6  # of a row whose label the model rules out
_SHARES = 1_000  # rows whose labels are the recent class shares, at least
_POINT = 100  # rows whose mean is a point of the curve
_SERIES = 500  # points of the curve, at most
_RATE = 60.0  # seconds over which the rate is measured

Scores = NDArray[np.float32]
_NONE: Scores = np.zeros(0, np.float32)


@dataclass(frozen=True)
class RowScores:
    """The scores of the rows of one event, and its rows per label."""

    scores: Scores
    labels: dict[str, int] | None = None

    def to_bytes(self) -> bytes | None:
        """The scores as bytes; None if there are none."""
        return self.scores.astype("<f4").tobytes() if len(self.scores) else None


def score_rows(snapshot: Snapshot, parts: Sequence[EventData]) -> list[RowScores]:
    """The scores of the rows of several events by a model that has not learned them; None: not to be scored."""
    joined = [row for data in parts if _is_small(data) for row in data]
    together = _scores(snapshot, joined) if joined else None
    result, start = [RowScores(_NONE)] * len(parts), 0
    for i, data in enumerate(parts):
        if together is not None and _is_small(data):
            stop = start + len(data)
            result[i] = _row_scores(together[0][start:stop], together[1][start:stop])
            start = stop
        elif data is not None and len(data):
            last = data[-_SCORED:] if isinstance(data, list) else data.slice(max(len(data) - _SCORED, 0))
            if (alone := _scores(snapshot, last)) is not None:
                result[i] = _row_scores(*alone)
    return result


def _is_small(data: EventData) -> bool:
    """Whether rows are scored together with those of other events."""
    return isinstance(data, list) and 0 < len(data) <= _SMALL


def _row_scores(scores: Scores, names: Sequence[str | None]) -> RowScores:
    labels = Counter(name for name in names if name is not None)
    if None in names:
        scores = scores[np.array([name is not None for name in names], bool)]
    return RowScores(scores, dict(labels))


def _scores(snapshot: Snapshot, data: EventData) -> tuple[Scores, list[str | None]] | None:
    """The score and the name of the label of every row (None: it has none); None if the rows cannot be scored."""
    if not snapshot.classes:
        return None
    label, known = snapshot.state.schema.label, {key: code for code, key in enumerate(snapshot.classes)}
    scores, names = [], []
    try:
        for table, log_score in _score_tables(snapshot, data):
            labels = snapshot.labels(table, label)
            codes = np.array([known.get(key, -1) for key in labels.keys] + [-1])[labels.codes]
            scores.append(_of_log_score(snapshot, log_score, codes))
            texts = [*(shown(key) for key in labels.keys), None]
            names += [texts[code] for code in labels.codes.tolist()]
    except TallyError:
        return None
    return np.concatenate(scores) if scores else _NONE, names


def _score_tables(snapshot: Snapshot, data: EventData) -> Iterator[tuple[Table, Floats]]:
    """The rows in parts, each with the log score; without warnings, which nobody would read."""
    if isinstance(data, list) and (log_score := snapshot.log_score_of_few(data)) is not None:
        yield to_table(data), log_score
        return
    for source, table in snapshot.batches(data, snapshot.state.schema.label):
        yield from snapshot.map_parts(source, table, snapshot.scorer.log_score)


def _of_log_score(snapshot: Snapshot, log_score: Floats, codes: NDArray[np.int64]) -> Scores:
    """The scores of rows from the log score and the codes of their labels, -1 for a label that is not a class."""
    log_p = snapshot.posterior.log_proba(log_score)
    answers = snapshot.posterior.answer_codes(np.exp(log_p))
    loss = np.where(codes >= 0, np.clip(-log_p[np.arange(len(codes)), codes], 0.0, _MOST_LOSS), np.nan)
    return np.copysign(loss, np.where((codes >= 0) & (answers == codes), 1.0, -1.0)).astype(np.float32)


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
        every, start = np.concatenate(parts), 0
        losses = np.abs(every, dtype=np.float64)
        has_gaps = bool(np.isnan(losses).any())
        with self._lock:
            for name, value in _summary(every).items():
                self._totals[name] += value
            self._add_points(scored, parts)
            for event, part in zip(scored, parts, strict=True):
                stop = start + len(part)
                own = _losses(part) if has_gaps else losses[start:stop]  # slices, because most events are of one row
                self._drift.add(event.id, own, event.labels or {})
                start = stop

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
        self._last = every[-_SCORED:]

    def _forget_times(self) -> None:
        while self._times and self._times[0][0] < time.monotonic() - _RATE:
            self._times.popleft()

    # Restarts

    def state(self) -> dict[str, Any]:
        """What is stored with a snapshot."""
        with self._lock:
            return {"totals": dict(self._totals), "drift": self._drift.state()}

    def restore(self, facts: SnapshotFacts, log: EventLog) -> None:
        """Continue from a snapshot, or from the base and the events that were folded into it."""
        if not facts.stream:
            for batch in log.after(0, upto=facts.event):
                self.add(batch)
            return
        scored: list[Event] = []
        n_rows = 0
        for event in log.newest_first(facts.event):
            if event.scores:
                scored.append(event)
                n_rows += len(event.scores) // 4
            if n_rows >= _SCORED + _POINT:
                break
        scored.reverse()
        with self._lock:
            if scored:
                self._add_points(scored, [_scores_of(event) for event in scored])
            self._totals |= facts.stream["totals"]
            self._drift.restore(facts.stream["drift"], _losses(self._last))

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
                "drift": list(self._drift.warnings.values()),
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


def _losses(scores: Scores) -> Floats:
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
