"""Prequential scores: of rows before they are learned, which tell how well the model predicts new rows.

Rows are scored by the published model, which clients use, at the time that the writer applies them: it has learned none
of the rows of their group. The score of a row is -log P(its label), with a minus sign if the answer was wrong; it is
stored with the event as a 32-bit float, so that windows survive a restart. A row of a label that the model did not have
yet is a wrong answer without a log loss (NaN). Of an event with more than 10,000 rows, the last 10,000 are scored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import TallyError
from tallybayes.families.family import Floats
from tallybayes.formatting import shown
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.server.events.event_rows import EventData, n_rows_of
from tallybayes.tables.table import Table, to_table

__all__ = ["SCORED", "RowScores", "Scores", "score_rows"]

SCORED = 10_000  # rows of an event that are scored, at most
_MOST_LOSS = 1e6  # of a row whose label the model rules out

Scores = NDArray[np.float32]
_NO_SCORES: Scores = np.zeros(0, np.float32)


@dataclass(frozen=True)
class RowScores:
    """The scores of the rows of one event, and its rows per label."""

    scores: Scores
    labels: dict[str, int] | None = None

    def to_bytes(self) -> bytes | None:
        """The scores as bytes; None if there are none."""
        return self.scores.astype("<f4").tobytes() if len(self.scores) else None


def score_rows(snapshot: Snapshot, parts: Sequence[EventData | None]) -> list[RowScores]:
    """The scores of the rows of several events by a model that has not learned them; None: not to be scored."""
    result = [RowScores(_NO_SCORES)] * len(parts)
    small = [i for i, data in enumerate(parts) if isinstance(data, list) and 0 < len(data) <= 1000]
    together = [row for i in small for row in parts[i] or ()]
    scored = _scores(snapshot, together) if together else None
    if scored is not None:
        scores, names = scored
        start = 0
        for i in small:
            stop = start + len(parts[i] or ())
            result[i] = _row_scores(scores[start:stop], names[start:stop])
            start = stop
    for i, data in enumerate(parts):
        if data is not None and n_rows_of(data) and (i not in small or scored is None):
            last = data[-SCORED:] if isinstance(data, list) else data.slice(max(len(data) - SCORED, 0))
            last_scores = _scores(snapshot, last)
            result[i] = RowScores(_NO_SCORES) if last_scores is None else _row_scores(*last_scores)
    return result


def _row_scores(scores: Scores, names: Sequence[str | None]) -> RowScores:
    labels: dict[str, int] = {}
    for name in names:
        if name is not None:
            labels[name] = labels.get(name, 0) + 1
    if None in names:
        scores = scores[np.array([name is not None for name in names], bool)]
    return RowScores(scores, labels)


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
    return np.concatenate(scores) if scores else _NO_SCORES, names


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
