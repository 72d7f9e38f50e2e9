"""Predictions as an answer: of a few rows at once, of many in a thread."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tallybayes.scoring.snapshot import Snapshot
from tallybayes.server.http.answer import Answer
from tallybayes.server.http.service import Service
from tallybayes.server.live.predicted_rows import PredictedRows
from tallybayes.tables.source import Source

__all__ = ["answer_predictions"]


async def answer_predictions(
    service: Service,
    snapshot: Snapshot,
    few: list[dict[str, Any]] | None,
    opened: Callable[[], AbstractContextManager[Source]],
    answer: Callable[[PredictedRows], Answer],
    *,
    level: float | None = None,
    keeps_proba: bool,
) -> Answer:
    """Score rows, and begin the answer when all are scored, so that an error is answered as one.

    few: the rows, if they may be few enough to be scored at once; opened: the rows as a source, in a thread.
    """
    predicted = None if few is None else PredictedRows.of_few(snapshot, few)
    if predicted is not None:
        return answer(predicted)

    def work() -> Answer:
        """Score many rows and begin the answer."""
        with opened() as source:
            return answer(PredictedRows.of(snapshot, source, level, keeps_proba=keeps_proba))

    return await service.in_thread(work)
