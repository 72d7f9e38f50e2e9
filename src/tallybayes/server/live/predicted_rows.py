"""The predictions of the rows of a request: of many rows in pieces, of a few at once where that takes no time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.family import Floats
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.tables.source import Source

__all__ = ["FEW_ROWS", "PredictedRows"]

FEW_ROWS = 64  # rows that are scored at once, without a change of threads
_WIDE = 10_000  # columns of a row, some milliseconds
_SHORT = 4000  # characters of a text, or members of a list: some tenths of a millisecond


@dataclass
class PredictedRows:
    """Predictions of rows in pieces: codes of the answers, and P(class | row) and its intervals, if they are kept.

    notes: what was doubtful about the rows.
    """

    snapshot: Snapshot
    codes: list[NDArray[np.int64]] = field(default_factory=list)
    proba: list[Floats] = field(default_factory=list)
    ends: list[Floats] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, snapshot: Snapshot, source: Source, level: float | None = None, *, keeps_proba: bool = True) -> Self:
        """Score all rows of a source; level: of the intervals, if they are asked for."""
        predicted, scorer, finish = cls(snapshot), snapshot.scorer, snapshot.posterior.write_proba
        if level is None:
            pieces = snapshot.map_batches(source, lambda columns, n: scorer.score_and_finish(columns, n, finish))
            for _, (proba, _) in pieces:
                predicted.add(proba, keeps_proba=keeps_proba)
            return predicted
        for _, (log_score, ends) in snapshot.interval_batches(source, level):
            finish(log_score, 0, len(log_score))
            predicted.add(log_score, ends, keeps_proba=keeps_proba)
        return predicted

    @classmethod
    def of_few(cls, snapshot: Snapshot, rows: list[dict[str, Any]]) -> Self | None:
        """Score a few rows; None if that may take longer than a change of threads.

        A row of numbers and categories takes microseconds, one with tags or a short text some tenths of a millisecond.
        """
        if len(rows) > FEW_ROWS or any(len(row) > _WIDE for row in rows):
            return None
        log_score = snapshot.log_score_of_few(rows) if rows else np.zeros((0, len(snapshot.classes)))
        predicted = cls(snapshot)
        if log_score is not None:
            snapshot.posterior.write_proba(log_score, 0, len(log_score))
            predicted.add(log_score)
        elif len(rows) == 1 and _is_short(rows[0]):
            predicted.add(snapshot.proba(rows[0], is_row=True))
        else:
            return None
        return predicted

    def add(self, proba: Floats, ends: Floats | None = None, *, keeps_proba: bool = True) -> None:
        """Add the next rows."""
        self.codes.append(self.snapshot.posterior.answer_codes(proba))
        if keeps_proba:
            self.proba.append(proba)
        if ends is not None:
            self.ends.append(ends)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(map(len, self.codes))

    def answers(self, labels: list[Any]) -> Iterator[list[Any]]:
        """The labels of the answers in pieces, None where the decision rule abstains."""
        for codes in self.codes:
            yield [None if code < 0 else labels[code] for code in codes.tolist()]


def _is_short(row: dict[str, Any]) -> bool:
    """Whether a row is scored soon, whatever path it takes."""
    return all(len(value) <= _SHORT for value in row.values() if isinstance(value, (str, list, dict)))
