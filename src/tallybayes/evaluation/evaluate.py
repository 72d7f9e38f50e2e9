"""A model judged: on data that it has not seen, or on what it has learned, each row by the model without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tallybayes.data.label import Labels, find_labels
from tallybayes.data.source import Source, to_source
from tallybayes.data.table import Table
from tallybayes.errors import DataError, ParameterError
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.families.family import Floats
from tallybayes.model import Model

__all__ = ["add", "evaluate", "scored"]


def evaluate(
    model: Model, data: Any, label: Any = None, *, leave_one_out: bool = False, weight: Any = None
) -> Evaluation:
    """How good a model is on labelled data that it has not seen.

    label: the name of a column or an array, if it is not the one the model was fitted with.
    leave_one_out: the data is what the model has learned from: each row is scored by the model without that row.
    weight: with leave_one_out, the weight that each row was learned with: a column or an array.

    Probabilities are calibrated and answers decided as by `predict`.

    >>> import tallybayes as tb
    >>> model = tb.fit({"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}, label="ill")
    >>> tb.evaluate(model, {"fever": [1, 0, 0, 0], "ill": ["yes", "no", "no", "yes"]}).accuracy
    0.75
    """
    if not model.classes:
        raise DataError("the model has not learned any row yet")
    if weight is not None and not leave_one_out:
        raise ParameterError("weight= only with leave_one_out=True: rows are judged alike")
    source, judged = to_source(data), Evaluation()
    label = model.label_for(label)
    rows = model.left_out(source, label=label, weight=weight) if leave_one_out else _normalised(model, source, label)
    for table, log_proba in rows:
        add(judged, model, log_proba, find_labels(table, label), from_file=table.is_from_file)
    judged.bad = 0 if source.bad is None else source.bad.count
    if not judged.n_rows:
        raise DataError("no row has a label")
    return judged


def _normalised(model: Model, source: Source, label: Any) -> Iterator[tuple[Table, Floats]]:
    """Batches with log P(class | row)."""
    for table, log_joint in model.scored(source, label=label):
        yield table, model.log_proba(log_joint)


def scored(model: Model, label: Any, table: Table) -> tuple[Floats, Labels]:
    """Log P(class | row) of a table, and its labels."""
    return next(iter(_normalised(model, to_source(table), None)))[1], find_labels(table, label)


def add(judged: Evaluation, model: Model, log_proba: Floats, labels: Labels, *, from_file: bool) -> None:
    """Add scored rows to an evaluation, with the answers of the model; those without a label are only counted."""
    rows = np.flatnonzero(labels.codes >= 0)
    judged.skipped += len(log_proba) - len(rows)
    keys = model.own_labels(labels.keys, from_file=from_file)
    own, log_p = [keys[code] for code in labels.codes[rows].tolist()], log_proba[rows]
    judged.add(model.classes, own, log_p, None if model.settings.decision is None else model.answered(log_p))
