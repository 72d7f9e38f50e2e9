"""Fitting a calibration and choosing a threshold, on rows that the model has not seen.

These are rows that it has learned, each scored by leave-one-out; or new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from tallybayes.arrays.axis import positions
from tallybayes.columns.batch import find_weights
from tallybayes.errors import NONE, DataError, Described, ParameterError, warn
from tallybayes.families.family import Codes32, Floats
from tallybayes.io.read import to_source
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.calibration import Calibration
from tallybayes.state.decision import Decision
from tallybayes.tables.source import as_columns
from tallybayes.tables.table import Table

__all__ = ["choose_threshold", "fit_calibration", "marked_stale"]


def fit_calibration(
    snapshot: Snapshot, data: Any, method: Any, label: Any, sample_weight: Any, *, leave_one_out: bool
) -> Calibration:
    """The calibration fitted on some rows."""
    log_proba, codes, weights = _scores(
        snapshot, data, label, sample_weight, leave_one_out, calibrated=False, in_deals=True
    )
    codes = np.where(codes < len(snapshot.classes), codes, -1).astype(np.int32)
    calibration = Calibration.fit(method, log_proba, codes, snapshot.classes, weights)
    return replace(calibration, model_rows=_n_rows(snapshot))


def choose_threshold(
    snapshot: Snapshot,
    data: Any,
    positive: Any,
    *,
    label: Any,
    sample_weight: Any,
    leave_one_out: bool,
    **constraint: Any,
) -> Decision:
    """The threshold for an answer that satisfies a constraint on some rows, or is best on them.

    constraint: one of false_negatives, false_positives, maximise, costs and budget. An unknown label is another class.
    """
    chosen = {name: value for name, value in constraint.items() if value is not None}
    if len(chosen) != 1:
        got = ", ".join(chosen) or NONE
        raise ParameterError("one of false_negatives, false_positives, maximise, costs and budget", got=Described(got))
    from tallybayes.state.threshold_choice import best_threshold, threshold_by_budget

    log_proba, codes, _ = _scores(snapshot, data, label, sample_weight, leave_one_out, calibrated=True, in_deals=False)
    limits = Decision.with_constraint
    by: dict[str, Callable[..., Decision]] = {"false_negatives": limits, "false_positives": limits}
    by |= {"maximise": best_threshold, "costs": best_threshold, "budget": threshold_by_budget}
    (name,) = chosen
    decision = by[name](np.exp(log_proba), codes, snapshot.classes, positive, **chosen)
    return replace(decision, model_rows=_n_rows(snapshot))


def marked_stale(fitted: Any) -> Any:
    """A calibration or decision marked as fitted under other probabilities; what was set by hand stays."""
    return replace(fitted, model_rows=-1.0) if fitted is not None and fitted.model_rows else fitted


def _n_rows(snapshot: Snapshot) -> float:
    return float(sum(snapshot.state.class_counts.values()))


def _scores(
    snapshot: Snapshot,
    data: Any,
    label: Any,
    sample_weight: Any,
    leave_one_out: bool,
    *,
    calibrated: bool,
    in_deals: bool,
) -> tuple[Floats, Codes32, Floats | None]:
    """Log P(class | row) of labelled rows, the codes of their classes and their weights.

    in_deals: training rows are dealt to folds by their content, few of them several times, with weights that add up.
    """
    source, label, n_deals = to_source(data), snapshot.label_or_default(label), 1
    scored: Iterable[tuple[Table, Floats]]
    if leave_one_out:
        from tallybayes.model.training_scores import log_proba_of_training_rows, order_rows_for_folds

        sample_weight = snapshot.state.schema.weight if sample_weight is None else sample_weight
        source, label, sample_weight = as_columns(source, label, sample_weight)
        deals = order_rows_for_folds(snapshot, source, label, sample_weight) if in_deals else [source]
        n_deals, facts = len(deals), {"label": label, "sample_weight": sample_weight, "calibrated": calibrated}
        scored = chain.from_iterable(log_proba_of_training_rows(snapshot, deal, **facts) for deal in deals)
    else:
        from tallybayes.model.learned_rows import LearnedRows

        learned = LearnedRows(snapshot, source, label)
        scored = learned.watch(snapshot.log_proba_batches(source, label=label, calibrated=calibrated))
    parts = [
        (log_proba, _codes(snapshot, table, label), find_weights(table, sample_weight)) for table, log_proba in scored
    ]
    if not parts:
        raise DataError("rows with labels", got=NONE)
    if not leave_one_out and learned.are_all():
        hint = "leave_one_out=True (no --new) scores each row by a model without it"
        warn("the model has learned these rows, so its probabilities for them are too good", hint=hint)
    log_proba, codes = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    weights = None if parts[0][2] is None else np.concatenate([part[2] for part in parts if part[2] is not None])
    if n_deals > 1:
        weights = (np.ones(len(codes)) if weights is None else weights) / n_deals
    return log_proba, codes, weights


def _codes(snapshot: Snapshot, table: Table, label: Any) -> Codes32:
    """Codes of the labels of a table: -1 if missing, the number of classes for a label that is not a class."""
    labels = snapshot.labels(table, label)
    place = positions(labels.keys, snapshot.classes)
    codes = np.append(np.where(place < 0, len(snapshot.classes), place), -1)[labels.codes]
    return np.asarray(codes, np.int32)
