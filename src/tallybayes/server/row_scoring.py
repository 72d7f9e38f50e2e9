"""Probabilities of the rows of a request, by the fast path for few rows where it can be taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.errors import DataError
from tallybayes.families.family import Floats
from tallybayes.scoring.snapshot import Snapshot

__all__ = ["FEW", "proba_of_few", "require_classes"]

FEW = 64  # rows that are scored one by one


def require_classes(snapshot: Snapshot) -> None:
    """Refuse to score with a model that has not learned anything."""
    if not snapshot.classes:
        raise DataError("the model has not learned any row yet")


def proba_of_few(snapshot: Snapshot, rows: list[dict[str, Any]]) -> Floats | None:
    """P(class | row) of a few rows, (rows, classes); None if a row needs the general path.

    Equal to `snapshot.proba(rows)`, bit for bit, and a hundred times as fast for a single row.
    """
    if not 0 < len(rows) <= FEW:
        return None
    scorer, small = snapshot.scorer, snapshot.small_batches
    parts = []
    for row in rows:
        found = small.row(row, scorer)
        if found is None:
            return None
        parts.append(found)
    log_joint = parts[0] if len(parts) == 1 else np.concatenate(parts)
    snapshot.posterior.write_proba(log_joint, 0, len(log_joint))
    return log_joint
