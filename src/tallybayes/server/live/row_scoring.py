"""Scores of the rows of a request: in pieces, or by the fast path for few rows where it can be taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import DataError
from tallybayes.families.family import Floats
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.tables.source import Source

__all__ = ["FEW", "AnsweredRows", "proba_of_few", "require_classes"]

FEW = 64  # rows that are scored one by one
_WIDE = 10_000  # columns of a row, some milliseconds
_SHORT = 4000  # characters of a text, or members of a list: some tenths of a millisecond


@dataclass
class AnsweredRows:
    """The scores of rows in pieces: codes of the answers, and P(class | row) and its intervals, if they are kept."""

    snapshot: Snapshot
    codes: list[NDArray[np.int64]] = field(default_factory=list)
    proba: list[Floats] = field(default_factory=list)
    ends: list[Floats] = field(default_factory=list)

    @classmethod
    def of(cls, snapshot: Snapshot, source: Source, level: float | None = None, *, keeps_proba: bool = True) -> Self:
        """Score all rows of a source; level: of the intervals, if they are asked for."""
        found = cls(snapshot)
        for proba, ends in _scored_pieces(snapshot, source, level):
            found.add(proba, ends, keeps_proba=keeps_proba)
        return found

    @classmethod
    def of_proba(cls, snapshot: Snapshot, proba: Floats) -> Self:
        """From the probabilities of a few rows."""
        found = cls(snapshot)
        found.add(proba)
        return found

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


def _scored_pieces(snapshot: Snapshot, source: Source, level: float | None) -> Iterator[tuple[Floats, Floats | None]]:
    """P(class | row) of every piece, and its intervals if there is a level."""
    scorer, finish = snapshot.scorer, snapshot.posterior.write_proba
    if level is None:
        for _, (proba, _) in snapshot.worked_batches(source, lambda columns, n: scorer.finished(columns, n, finish)):
            yield proba, None
        return
    for _, (log_score, ends) in snapshot.interval_batches(source, level):
        finish(log_score, 0, len(log_score))
        yield log_score, ends


def require_classes(snapshot: Snapshot) -> None:
    """Refuse to score with a model that has not learned anything."""
    if not snapshot.classes:
        raise DataError("the model has not learned any row yet")


def proba_of_few(snapshot: Snapshot, rows: list[dict[str, Any]]) -> Floats | None:
    """P(class | row) of a few rows, (rows, classes); None if a row needs the general path.

    Equal to `snapshot.proba(rows)`, bit for bit. A single row of numbers and categories takes a hundredth of its time,
    one with tags or a short text half of it, which is less than a change of threads.
    """
    if not 0 < len(rows) <= FEW or any(len(row) > _WIDE for row in rows):
        return None
    scorer, small = snapshot.scorer, snapshot.small_batches
    parts = []
    for row in rows:
        found = small.row(row, scorer)
        if found is None:
            return snapshot.proba_of_row(row) if len(rows) == 1 and _is_small(snapshot, row) else None
        parts.append(found)
    log_score = parts[0] if len(parts) == 1 else np.concatenate(parts)
    snapshot.posterior.write_proba(log_score, 0, len(log_score))
    return log_score


def _is_small(snapshot: Snapshot, row: dict[str, Any]) -> bool:
    """Whether a row is scored soon, and has a column of the model (one that has none is an error elsewhere)."""
    schema = snapshot.state.schema
    if row and not any(name in schema.columns or name == schema.label for name in row):
        return False
    return all(len(value) <= _SHORT for value in row.values() if isinstance(value, (str, list, dict)))
