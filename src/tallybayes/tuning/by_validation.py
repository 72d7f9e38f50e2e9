"""Tuning as textbooks do it: rows in three parts, and the last one touched once.

A model learns from the first part; every k of a grid is judged on the second; the best one then learns from both, and
how good it is is told by the third, which has had no say in anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes.data.label import find_labels
from tallybayes.data.source import Source, Whole
from tallybayes.errors import DataError
from tallybayes.evaluation import Evaluation, evaluate
from tallybayes.model import Model
from tallybayes.tuning.candidate import grid
from tallybayes.tuning.tuning_result import Step, Tuning

__all__ = ["by_validation"]

_SHARES = (0.6, 0.2)  # of the rows, to learn from and to choose by; the rest is to test


def by_validation(
    source: Source, like: Model, label: Any, *, strengths: int, seed: int, tell: Callable[[str, float], None]
) -> Tuning:
    """The model whose k is best on rows kept apart; `like` says what it is to be like."""
    parts = _Parts(source, like, label, seed)
    train, both = (Model(like.schema, like.settings) for _ in range(2))
    for number, table in parts:
        if number == 0:
            train.learn(table, label=label)
        if number < 2:
            both.learn(table, label=label)
    if len(train.classes) < 2:
        raise DataError("rows of at least two classes in the part to learn from", got=train.classes)
    names = [name for name, family in like.schema.families.items() if family.takes_smoothing]
    tried = [("as it was", like.settings)]
    told = {name: like.settings.smoothing_of(name) for name in like.schema.families}
    tried += [
        (f"{k:.3g}", replace(like.settings, smoothing={**told, **dict.fromkeys(names, k)})) for k in grid(strengths)
    ]
    losses = []
    for i, (_, settings) in enumerate(tried):
        tell("smoothing", i / len(tried))
        train._settings, train._scorer, train._few = settings, None, None
        judged = parts.judged(train, 1)
        losses.append(judged.log_loss)
    best = int(np.argmin(losses))
    both._settings = tried[best][1]
    curve = [{"k": k, "log_loss": loss} for k, loss in zip(grid(strengths), losses[1:], strict=True)]
    choice = tried[best][0] if best == 0 else f"k = {tried[best][0]} for all"
    step = Step("one k for all columns", len(tried) - 1, choice, losses[0], losses[best])
    n_rows = judged.n_rows
    return Tuning(both, [step], curve, (losses[0], losses[best]), n_rows, "validation", parts.judged(both, 2))


class _Parts:
    """The rows in three parts, drawn one by one: the same for any batches."""

    def __init__(self, source: Source, like: Model, label: Any, seed: int) -> None:
        self._source, self._like, self._label, self._seed = source, like, label, seed

    def __iter__(self) -> Any:
        draw, source = np.random.default_rng(self._seed), self._source
        wanted = None if isinstance(source, Whole) else self._like.wanted(self._label, self._like.schema.weight)
        for table in source.batches() if wanted is None else source.batches(wanted):
            part = np.searchsorted(np.cumsum(_SHARES), draw.random(table.n_rows), side="right")
            for number in range(3):
                rows = np.flatnonzero(part == number)
                if len(rows):
                    yield number, table.take(rows)

    def judged(self, model: Model, part: int) -> Evaluation:
        """A model on one of the parts."""
        total = Evaluation()
        for number, table in self:
            if number == part and (find_labels(table, self._label).codes >= 0).any():
                total = total + evaluate(model, table, label=self._label)
        return total
