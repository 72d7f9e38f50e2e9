"""Evaluate a model on new data, or on its training data by leave-one-out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tallybayes.data.label import Labels, find_labels
from tallybayes.data.source import Source, to_source
from tallybayes.data.table import Table
from tallybayes.errors import DataError, ParameterError, UnsupportedError
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.families.family import Floats
from tallybayes.model import Model

__all__ = ["add_rows", "evaluate", "score_table"]


def evaluate(
    model: Model, data: Any, label: Any = None, *, leave_one_out: bool = False, weight: Any = None
) -> Evaluation:
    """Evaluate a model on labelled data that it was not trained on.

    label: the name of a column or an array, if it is not the one the model was fitted with.
    leave_one_out: the data is the training data: each row is scored by the model without that row.
    weight: with leave_one_out, the training weight of each row: a column or an array.

    Probabilities are calibrated and predictions decided as by `predict`.

    >>> import tallybayes as tb
    >>> model = tb.fit({"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}, label="ill")
    >>> tb.evaluate(model, {"fever": [1, 0, 0, 0], "ill": ["yes", "no", "no", "yes"]}).accuracy
    0.75
    """
    if not model.classes:
        raise DataError("a model with training rows", got="none")
    if weight is not None and not leave_one_out:
        raise ParameterError("weight= only with leave_one_out=True", hint="otherwise all rows count alike")
    source, evaluation = to_source(data), Evaluation()
    label = model.label_for(label)
    rows = model.left_out(source, label=label, weight=weight) if leave_one_out else _normalised(model, source, label)
    for table, log_proba in rows:
        add_rows(evaluation, model, log_proba, find_labels(table, label), from_file=table.is_from_file)
    evaluation.bad = 0 if source.bad is None else source.bad.count
    if not evaluation.n_rows:
        raise DataError("rows with a label", got="none")
    return evaluation


def _normalised(model: Model, source: Source, label: Any) -> Iterator[tuple[Table, Floats]]:
    """Batches with log P(class | row)."""
    for table, log_joint in model.scored(source, label=label):
        yield table, model.log_proba(log_joint)


def score_table(model: Model, label: Any, table: Table) -> tuple[Floats, Labels]:
    """Log P(class | row) of a table, and the labels of its rows."""
    return next(iter(_normalised(model, to_source(table), None)))[1], find_labels(table, label)


def add_rows(evaluation: Evaluation, model: Model, log_proba: Floats, labels: Labels, *, from_file: bool) -> None:
    """Add scored rows to an evaluation, with the predictions of the model; rows without a label are only counted."""
    rows = np.flatnonzero(labels.codes >= 0)
    evaluation.skipped += len(log_proba) - len(rows)
    keys = model.own_labels(labels.keys, from_file=from_file)
    own, log_p = [keys[code] for code in labels.codes[rows].tolist()], log_proba[rows]
    predicted = None if model.settings.decision is None else model.answered(log_p)
    evaluation.add(model.classes, own, log_p, predicted, log_prior=log_class_shares(model))


def log_class_shares(model: Model) -> Floats:
    """Log of the share of each class among the training rows; the class prior of a model from given probabilities."""
    try:
        rows = np.array(list(model.class_counts.values()), np.float64)
    except UnsupportedError:
        return model.log_prior()
    return np.asarray(np.log(rows / rows.sum()))
