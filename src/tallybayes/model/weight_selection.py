"""Column weights for a state, fitted on held-out evidence of a sample of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.families.temperature import tempered
from tallybayes.scoring.held_out import held_out_evidence
from tallybayes.scoring.weight_fit import Kind, fitted
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.model_state import ModelState
from tallybayes.state.row_sample import RowSample

__all__ = ["LEAST_ROWS", "MOST_CLASSES", "select_weights"]

LEAST_ROWS = 50  # fewer rows tell little about dependence; on 57 rows weights made the log loss of a table worse
MOST_CLASSES = 1000  # with more, a sample has a few rows of each at best
_PER_ROW = 10  # weights for each row up to which they differ between the classes
_DIGITS = 6  # of fitted weights: what is beyond depends on the last bits of the evidence


def select_weights(state: ModelState, sample: RowSample | None) -> ColumnWeights | None:
    """Weights fitted on held-out evidence; None if there are too few rows, classes or columns.

    Every column has a weight for each class, shrunk to one temperature, or the same weight for all classes if its
    family asks for that or there are few rows. With more columns than rows there is only the temperature. Scores of an
    arbitrary scale, such as those of texts, get a temperature of their own first: their weights are not near 1.
    """
    rows = sample.rows() if sample is not None else None
    if rows is None or rows.counts.sum() < LEAST_ROWS or not state.schema.families:
        return None
    if not 2 <= len(state.classes) <= MOST_CLASSES:
        return None
    held_out = held_out_evidence(state, rows)
    if len(np.unique(held_out.codes[held_out.weights > 0])) < 2:
        return None
    families, names, classes = state.schema.families, held_out.names, state.classes
    shared = np.array([not families[name].takes_class_weights for name in names], bool)
    n_rows, n_weights = len(held_out.codes), len(names) * len(classes)
    kind: Kind = "temperature" if held_out.is_sum else "per class" if n_weights <= _PER_ROW * n_rows else "shared"
    scales = np.ones(len(names))
    for j, name in enumerate(names if not held_out.is_sum else ()):
        if families[name].has_arbitrary_scale:
            own = held_out.log_prior, held_out.evidence[j], held_out.codes, held_out.weights
            scales[j] = tempered(*own).temperature
    evidence = held_out.evidence if held_out.is_sum else held_out.evidence * scales[:, None, None]
    found = fitted(kind, held_out.log_prior, evidence, held_out.codes, held_out.weights, shared=shared)
    table = (np.broadcast_to(found.weights, (len(names), len(classes))) * scales[:, None]).round(_DIGITS)
    weights: dict[str, Any] = {
        name: float(own[0]) if (own == own[0]).all() else dict(zip(classes, own.tolist(), strict=True))
        for name, own in zip(names, table, strict=True)
    }
    offsets = dict(zip(classes, found.offsets.round(_DIGITS).tolist(), strict=True))
    model_rows = float(sum(state.class_counts.values()))
    return ColumnWeights(weights, offsets, model_rows, float(held_out.n_rows))
