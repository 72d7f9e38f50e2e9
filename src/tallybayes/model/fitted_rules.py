"""Probabilities put right and thresholds chosen, by rows that the model has not seen.

That are rows it has learned, each left out; or new ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.arrays.axis import positions
from tallybayes.data.label import find_labels, find_weights
from tallybayes.data.table import Table
from tallybayes.errors import DataError
from tallybayes.families.family import Codes32, Floats
from tallybayes.state.calibration import Calibration
from tallybayes.state.decision import Decision

if TYPE_CHECKING:
    from tallybayes.model.model import Model

__all__ = ["calibration_on", "decision_on"]

Scores = tuple[Floats, Codes32, Floats | None]


def calibration_on(
    model: Model, data: Any, method: Any, *, label: Any, weight: Any, leave_one_out: bool
) -> Calibration:
    """The calibration that rows ask for."""
    log_proba, codes, weights = _scores(model, data, label, weight, leave_one_out, calibrated=False)
    found = Calibration.learned(method, log_proba, codes, model.classes, weights)
    return replace(found, rows=_rows(model))


def decision_on(
    model: Model, data: Any, answer: Any, *, label: Any, weight: Any, leave_one_out: bool, **promise: Any
) -> Decision:
    """The threshold for an answer that keeps a promise on rows; a label that the model does not know is another one."""
    log_proba, codes, _ = _scores(model, data, label, weight, leave_one_out, calibrated=True, others=True)
    return replace(Decision.promising(log_proba, codes, model.classes, answer, **promise), rows=_rows(model))


def _rows(model: Model) -> float:
    return float(sum(model.class_counts.values()))


def _scores(
    model: Model, data: Any, label: Any, weight: Any, leave_one_out: bool, *, calibrated: bool, others: bool = False
) -> Scores:
    """Log P(class | row) of labelled rows, their classes (-1: unknown; with `others` a class behind the last)."""
    label = model.label_for(label)
    weight = model.schema.weight if weight is None and leave_one_out else weight
    parts = [
        (log_proba, *_labels(model, table, label, weight, others))
        for table, log_proba in _scored(model, data, label, weight, leave_one_out, calibrated)
    ]
    if not parts:
        raise DataError("rows with labels", got="none")
    log_proba, codes = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    weights = None if parts[0][2] is None else np.concatenate([part[2] for part in parts if part[2] is not None])
    return log_proba, codes, weights


def _scored(
    model: Model, data: Any, label: Any, weight: Any, leave_one_out: bool, calibrated: bool
) -> Iterator[tuple[Table, Floats]]:
    if leave_one_out:
        yield from model.left_out(data, label=label, weight=weight, calibrated=calibrated)
        return
    for table, log_joint in model.scored(data, label=label):
        yield table, model.log_proba(log_joint, calibrated=calibrated)


def _labels(model: Model, table: Table, label: Any, weight: Any, others: bool) -> tuple[Codes32, Floats | None]:
    labels = find_labels(table, label)
    keys = model.own_labels(labels.keys, from_file=table.is_from_file)
    place = positions(keys, model.classes)
    codes = np.append(np.where(place < 0, len(model.classes), place) if others else place, -1)[labels.codes]
    return codes.astype(np.int32), find_weights(table, weight)
