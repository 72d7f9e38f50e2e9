"""Each row scored by the model that never saw it.

A model is a sum, so that the model without a row is the model minus the row; every family has that in closed form
(`tallybayes.families.left_out` has the definition). Axes, grids and strengths chosen by evidence are held, so are
weights of columns and a calibration. What is left of a class without any other rows stays a class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.base import Codes32, Floats, Score
from tallybayes.families.left_out import never_learned
from tallybayes.model.scorer import Columns, Scorer, add_up, log_class_prior, log_normalised
from tallybayes.model.settings import Settings

__all__ = ["LeftOut"]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The sums of a model, ready to score rows that are in them."""

    scorer: Scorer
    settings: Settings
    class_rows: Floats

    def log_joint(self, columns: Columns, codes: Codes32, weights: Floats | None) -> Floats:
        """Log P(class, row) of every row without itself, (rows, classes)."""
        scores = list(self.scores(columns, codes, weights).values())
        return add_up(self.log_prior(codes, weights), scores, len(codes))

    def log_proba(self, columns: Columns, codes: Codes32, weights: Floats | None) -> Floats:
        """Log P(class | row) of every row without itself, (rows, classes)."""
        return log_normalised(self.log_joint(columns, codes, weights), self.log_prior(codes, weights))

    def log_prior(self, codes: Codes32, weights: Floats | None) -> Floats:
        """Log P(class) without each row, (rows, classes)."""
        own = np.ones(len(codes)) if weights is None else weights
        pairs, line = np.unique(np.stack([codes.astype(np.float64), own], axis=1), axis=0, return_inverse=True)
        line = line.reshape(-1)
        table = np.zeros((len(pairs), len(self.class_rows)))
        for i, (code, weight) in enumerate(pairs.tolist()):
            rows = self.class_rows.copy()
            rows[int(code)] -= weight
            if rows[int(code)] < -1e-9 * weight:
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
        return result

    def evidence(self, columns: Columns, codes: Codes32, weights: Floats | None) -> dict[str, Floats]:
        """The same worked out: (rows, classes) by column."""
        result = {}
        for name, score in self.scores(columns, codes, weights).items():
            score(out := np.zeros((len(codes), len(self.class_rows))), 0, len(codes))
            result[name] = out
        return result


def in_classes(codes: NDArray[np.integer], keys: list[Any], classes: Mapping[Any, int]) -> Codes32:
    """Codes of labels as codes of a model's classes; a label it does not know is an error, none stays -1."""
    for code, key in enumerate(keys):
        if key not in classes and (codes == code).any():
            raise never_learned("", int(np.argmax(codes == code)))
    place = np.array([*(classes.get(key, -1) for key in keys), -1], np.int32)
    return np.asarray(place[codes], np.int32)
