"""Each row scored by the model that never saw it.

A model is a sum, so that the model without a row is the model minus the row; every family has that in closed form
(`tallybayes.families.left_out` has the definition). Axes, grids and strengths chosen by evidence are held, so are
weights of columns and a calibration. What is left of a class without any other rows stays a class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.base import Codes32, Floats, Score
from tallybayes.families.left_out import joined, never_learned
from tallybayes.model.scorer import Columns, Scorer, add_up, log_class_prior
from tallybayes.model.settings import Settings
from tallybayes.model.trust import weighted

__all__ = ["LeftOut"]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The sums of a model, ready to score rows that are in them."""

    scorer: Scorer
    settings: Settings
    class_rows: Floats

    def log_joint(self, columns: Columns, codes: Codes32, weights: Floats | None) -> Floats:
        """Log P(class, row) of every row without itself, (rows, classes)."""
        scores = joined(self.scores(columns, codes, weights).values())
        return add_up(self.log_prior(codes, weights), scores, len(codes))

    def log_proba(self, columns: Columns, codes: Codes32, weights: Floats | None) -> Floats:
        """Log P(class | row) of every row without itself, (rows, classes)."""
        log_prior, scores = self.log_prior(codes, weights), joined(self.scores(columns, codes, weights).values())
        return add_up(log_prior, [*scores, partial(_normalise, log_prior)], len(codes))

    def log_prior(self, codes: Codes32, weights: Floats | None) -> Floats:
        """Log P(class) without each row, (rows, classes)."""
        n_classes = len(self.class_rows)
        amounts, number = (np.ones(1), 0) if weights is None else np.unique(weights, return_inverse=True)
        line = np.asarray(number * n_classes + codes, np.int64)
        table = np.zeros((len(amounts) * n_classes, n_classes))
        for i in np.flatnonzero(np.bincount(line, minlength=len(table))).tolist():
            rows, (weight, code) = self.class_rows.copy(), (float(amounts[i // n_classes]), i % n_classes)
            rows[code] -= weight
            if rows[code] < -1e-9 * weight:
                raise never_learned("", int(np.argmax(line == i)))
            rows = np.maximum(rows, 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                log_prior = log_class_prior(self.scorer.classes, rows, self.settings)
            table[i] = np.where(np.isnan(log_prior), 0.0, log_prior)
        return table[line]

    def scores(self, columns: Columns, codes: Codes32, weights: Floats | None) -> dict[str, Score]:
        """What every column adds to log P(class, row), each row by the sums without itself."""
        result: dict[str, Score] = {}
        for block in self.scorer.blocks:
            own = [columns[name] for name in block.tally.features]
            scores = block.family.left_out(block.tally, block.prior(), own, codes, weights)
            result |= dict(zip(block.tally.features, scores, strict=True))
        if self.settings.trust is None:
            return result
        trust = self.settings.trust.table(list(result), self.scorer.classes)
        log_prior = replace(self, settings=replace(self.settings, trust=None)).log_prior(codes, weights)
        pairs = zip(result, trust, strict=True)
        return {name: weighted(result[name], own, log_prior) for name, own in pairs if own.any()}

    def evidence(self, columns: Columns, codes: Codes32, weights: Floats | None) -> dict[str, Floats]:
        """The same worked out: (rows, classes) by column."""
        result = {}
        for name, score in self.scores(columns, codes, weights).items():
            score(out := np.zeros((len(codes), len(self.class_rows))), 0, len(codes))
            result[name] = out
        return result


def _normalise(log_prior: Floats, out: Floats, start: int, stop: int) -> None:
    """Log P(class, row) to log P(class | row), in place; rows that every class rules out get their prior."""
    part = np.ascontiguousarray(out[start:stop].T)
    highest = part.max(axis=0, initial=-np.inf)
    ruled_out = np.isneginf(highest)
    highest[ruled_out] = 0.0
    part -= highest
    with np.errstate(divide="ignore"):
        whole = np.log(np.exp(part).sum(axis=0))
    np.subtract(part, whole, out=out[start:stop].T)
    if ruled_out.any():
        out[start:stop][ruled_out] = log_prior[start:stop][ruled_out]


def in_classes(codes: NDArray[np.integer], keys: list[Any], classes: Mapping[Any, int]) -> Codes32:
    """Codes of labels as codes of a model's classes; a label it does not know is an error, none stays -1."""
    for code, key in enumerate(keys):
        if key not in classes and (codes == code).any():
            raise never_learned("", int(np.argmax(codes == code)))
    place = np.array([*(classes.get(key, -1) for key in keys), -1], np.int32)
    return np.asarray(place[codes], np.int32)
