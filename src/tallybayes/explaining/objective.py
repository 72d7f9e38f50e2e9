"""The objective of the lectures: the negative log likelihood and its parts.

    E = - sum over rows of log P(y) - sum over columns, sum over rows of log P(x_j | y)

The parts share no parameters, which is why each can be fitted on its own by counting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.columns.label import Labels
from tallybayes.errors import DataError
from tallybayes.families.family import Floats
from tallybayes.scoring.scorer import Scorer
from tallybayes.scoring.snapshot import Snapshot

__all__ = ["Objective", "objective"]


@dataclass(frozen=True)
class Objective:
    """Negative log likelihood (natural logs) of labelled rows: a part for the prior and a part per column."""

    prior: float
    columns: dict[str, float]

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return self.prior + sum(self.columns.values())

    def __add__(self, other: Objective) -> Objective:
        names = sorted({*self.columns, *other.columns})
        parts = {name: self.columns.get(name, 0.0) + other.columns.get(name, 0.0) for name in names}
        return Objective(self.prior + other.prior, parts)


def objective(snapshot: Snapshot, data: Any, label: Any = None) -> Objective:
    """The objective of labelled data under a generative model; rows without a label are ignored."""
    label = snapshot.label_or_default(label)
    total = Objective(0.0, {})
    for table, parts in snapshot.evidence_batches(data, label=label):
        total += _objective(snapshot.scorer, parts, snapshot.labels(table, label))
    return total


def _objective(scorer: Scorer, parts: dict[str, Floats], labels: Labels) -> Objective:
    """The sum for labelled rows, given the contributions of their columns; rows without a label are ignored."""
    index = {label: code for code, label in enumerate(scorer.classes)}
    for label in labels.keys:
        if label not in index:
            raise DataError("a label of the model", got=label)
    kept = np.flatnonzero(labels.codes >= 0)
    codes = np.array([index[label] for label in labels.keys], np.int64)[labels.codes[kept]]
    return Objective(
        float(-scorer.log_prior[codes].sum()),
        {name: float(-part[kept, codes].sum()) for name, part in sorted(parts.items())},
    )
