"""The steps of fitting a model, for what takes them one by one: `fit`, `tune`, engines and evaluations.

Rows are learned, and sampled if column weights are to be fitted (`learn_and_sample`), or were counted elsewhere and are
added (`apply_counted`). Then the variants of texts are selected (`with_text_selection`) and the column weights are set
(`set_column_weights`): fitted on the sample, given, or none.
"""

from __future__ import annotations

from typing import Any, Literal

from tallybayes.model.model import Change, Model
from tallybayes.model.update import with_text_selected
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.counted_rows import CountedRows
from tallybayes.state.row_sample import RowSample
from tallybayes.weights.weight_selection import select_weights

__all__ = ["Weighting", "apply_counted", "learn_and_sample", "sample_for", "set_column_weights", "with_text_selection"]

Weighting = Literal["auto"] | ColumnWeights | None


def sample_for(weights: Weighting) -> RowSample | None:
    """The sample that learning has to draw for these weights; None if they need none."""
    return RowSample() if isinstance(weights, str) else None


def learn_and_sample(
    model: Model, sample: RowSample | None, data: Any, *, label: Any, sample_weight: Any = None
) -> Change:
    """Let a model learn rows, as `Model.learn`, and add them to a sample."""
    return model._current.change(data, label, sample_weight, 1, sample)


def apply_counted(model: Model, counted: CountedRows, sign: int) -> Change:
    """Let a model learn (1) or forget (-1) rows that were counted for it, all or nothing."""
    return model._current.apply(counted, sign)


def with_text_selection(model: Model, *, now: bool) -> Model:
    """A copy of the model that selects the variants of its text columns now and later, or not until it is told to."""
    return Model(with_text_selected(model.snapshot().state, now=now))


def set_column_weights(
    model: Model,
    weights: Weighting,
    sample: RowSample | None,
    *,
    is_part: bool = False,
    warns: bool = False,
    of_rows: float | None = None,
) -> Model:
    """Set the column weights of a model: given ones, or fitted on a sample of the rows that it has learned; return it.

    is_part: the model has learned a part of the data, which may lack columns and classes that have a weight.
    warns: whether to warn of columns that may be leaks, which is known where weights are fitted.
    of_rows: how many rows there are in all, if the model stands for one of all rows (`select_weights`).
    """
    if weights is None:
        return model
    if isinstance(weights, ColumnWeights):
        selected: ColumnWeights | None = weights.only(model.schema.families, model.classes) if is_part else weights
    else:
        selected = select_weights(model.snapshot().state, sample, warns=warns, of_rows=of_rows)
    if selected is not None:
        model.column_weights = selected
    return model
