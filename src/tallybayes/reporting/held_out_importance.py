"""Importance of columns on held-out rows: the measures of `tallybayes.importance`, summed over batches.

    information   the mean over rows of log P(y | x_j) / P(y), the column alone
    gain          the mean over rows of log P(y | x) / P(y | x without x_j)

For training rows `tallybayes.importance` computes them by leave-one-out.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.family import Floats
from tallybayes.model import Model
from tallybayes.scoring.posterior import normalise_log_scores
from tallybayes.tuning.importance import ColumnImportance

__all__ = ["HeldOutImportance"]

_IMPOSSIBLE = -1e6  # replaces the log-likelihood -inf, so that it can be subtracted again
_MOST_NATS = 700.0  # nats that a single row contributes at most


class HeldOutImportance:
    """Sums over rows, by column."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._information: dict[str, float] = {}
        self._gain: dict[str, float] = {}

    def add(self, model: Model, evidence: Mapping[str, Floats], codes: NDArray[np.int64]) -> None:
        """Add rows with the log-likelihoods of every column, and their classes."""
        log_prior, row = model.snapshot().scorer.log_prior, np.arange(len(codes))
        parts = {name: np.maximum(part, _IMPOSSIBLE) for name, part in evidence.items()}
        joint = np.maximum(log_prior, _IMPOSSIBLE) + sum(parts.values(), np.zeros((len(codes), len(log_prior))))
        posterior = model.snapshot().posterior
        whole = posterior.log_proba(joint)[row, codes]
        for name, part in parts.items():
            alone = normalise_log_scores(log_prior + part)[row, codes] - log_prior[codes]
            lost = whole - posterior.log_proba(joint - part)[row, codes]
            for sums, values in ((self._information, alone), (self._gain, lost)):
                sums[name] = sums.get(name, 0.0) + float(np.clip(np.nan_to_num(values), -_MOST_NATS, _MOST_NATS).sum())
        self.n_rows += len(codes)

    def columns(self, model: Model) -> list[ColumnImportance]:
        """The importance of every column, without the Bayes factor."""
        families, n = model.schema.families, max(self.n_rows, 1)
        return [
            ColumnImportance(name, families[name].display_name(), total / n, self._gain[name] / n, None)
            for name, total in self._information.items()
        ]
