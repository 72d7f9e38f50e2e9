"""Fitting a calibration and choosing a threshold, on rows that the model has not seen.

These are rows that it has learned, each scored by leave-one-out; or new ones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes.arrays.axis import positions
from tallybayes.data.label import find_weights
from tallybayes.data.table import Table
from tallybayes.errors import NONE, DataError, Described, ParameterError
from tallybayes.families.family import Codes32, Floats
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.calibration import Calibration
from tallybayes.state.decision import Decision
from tallybayes.state.threshold_choice import best_threshold

__all__ = ["choose_threshold", "fit_calibration", "marked_stale"]


def fit_calibration(
    snapshot: Snapshot, data: Any, method: Any, *, label: Any, weight: Any, leave_one_out: bool
) -> Calibration:
    """The calibration fitted on some rows."""
    log_proba, codes, weights = _scores(snapshot, data, label, weight, leave_one_out, calibrated=False)
    codes = np.where(codes < len(snapshot.classes), codes, -1).astype(np.int32)
    found = Calibration.fit(method, log_proba, codes, snapshot.classes, weights)
    return replace(found, model_rows=_n_rows(snapshot))


def choose_threshold(
    snapshot: Snapshot, data: Any, answer: Any, *, label: Any, weight: Any, leave_one_out: bool, **constraint: Any
) -> Decision:
    """The threshold for an answer that satisfies a constraint on some rows, or is best on them.

    constraint: one of false_negatives, false_positives, maximise and costs. An unknown label is another class.
    """
    given = {name: value for name, value in constraint.items() if value is not None}
    if len(given) != 1:
        got = ", ".join(given) or NONE
        raise ParameterError("one of false_negatives, false_positives, maximise and costs", got=Described(got))
    log_proba, codes, _ = _scores(snapshot, data, label, weight, leave_one_out, calibrated=True)
    choose = best_threshold if given.keys() & {"maximise", "costs"} else Decision.with_constraint
    found = choose(np.exp(log_proba), codes, snapshot.classes, answer, **given)
    return replace(found, model_rows=_n_rows(snapshot))


def marked_stale(fitted: Any) -> Any:
    """A calibration or decision marked as fitted under other probabilities; what was set by hand stays."""
    return replace(fitted, model_rows=-1.0) if fitted is not None and fitted.model_rows else fitted


def _n_rows(snapshot: Snapshot) -> float:
    return float(sum(snapshot.state.class_counts.values()))


def _scores(
    snapshot: Snapshot, data: Any, label: Any, weight: Any, leave_one_out: bool, *, calibrated: bool
) -> tuple[Floats, Codes32, Floats | None]:
    """Log P(class | row) of labelled rows, the codes of their classes and their weights."""
    label = snapshot.label_or_default(label)
    weight = snapshot.state.schema.weight if weight is None and leave_one_out else weight
    if leave_one_out:
        from tallybayes.model.training_scores import log_proba_of_training_rows

        batches = log_proba_of_training_rows(snapshot, data, label=label, weight=weight, calibrated=calibrated)
    else:
        batches = snapshot.log_proba_batches(data, label=label, calibrated=calibrated)
    parts = [(log_proba, _codes(snapshot, table, label), find_weights(table, weight)) for table, log_proba in batches]
    if not parts:
        raise DataError("rows with labels", got=NONE)
    log_proba, codes = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    weights = None if parts[0][2] is None else np.concatenate([part[2] for part in parts if part[2] is not None])
    return log_proba, codes, weights


def _codes(snapshot: Snapshot, table: Table, label: Any) -> Codes32:
    """Codes of the labels of a table: -1 if missing, the number of classes for a label that is not a class."""
    labels = snapshot.labels(table, label)
    place = positions(labels.keys, snapshot.classes)
    codes = np.append(np.where(place < 0, len(snapshot.classes), place), -1)[labels.codes]
    return np.asarray(codes, np.int32)
