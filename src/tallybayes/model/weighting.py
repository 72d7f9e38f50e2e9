"""Column weights of a model that has just learned: fitted on a sample of its rows, given, or none."""

from __future__ import annotations

from typing import Any, Literal

from tallybayes.model.model import Change, Model
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.row_sample import RowSample
from tallybayes.weights.weight_selection import select_weights

__all__ = ["Weighting", "learn_sampled", "sample_for", "weighted"]

Weighting = Literal["auto"] | ColumnWeights | None


def sample_for(weights: Weighting) -> RowSample | None:
    """The sample that learning has to draw for these weights; None if they need none."""
    return RowSample() if isinstance(weights, str) else None


def learn_sampled(
    model: Model, sample: RowSample | None, data: Any, *, label: Any, sample_weight: Any = None
) -> Change:
    """Let a model learn rows, as `Model.learn`, and add them to a sample."""
    return model._current.change(data, label, sample_weight, 1, sample)


def weighted(
    model: Model,
    weights: Weighting,
    sample: RowSample | None,
    *,
    is_part: bool = False,
    warns: bool = False,
    of_rows: float | None = None,
) -> Model:
    """The model with its column weights: given ones, or fitted on a sample of the rows that it has learned.

    is_part: the model has learned a part of the data, which may lack columns and classes that have a weight.
    warns: whether to warn of columns that may be leaks, which is known where weights are fitted.
    of_rows: how many rows there are in all, if the model stands for one of all rows (`select_weights`).
    """
    if weights is None:
        return model
    if isinstance(weights, ColumnWeights):
        found: ColumnWeights | None = weights.only(model.schema.families, model.classes) if is_part else weights
    else:
        found = select_weights(model.snapshot().state, sample, warns=warns, of_rows=of_rows)
    if found is not None:
        model.column_weights = found
    return model
