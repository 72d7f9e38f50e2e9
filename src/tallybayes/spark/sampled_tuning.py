"""Tune on a sample of a DataFrame, then count all of its rows by what was selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tallybayes.engines.plan import counted_rows
from tallybayes.errors import check_integer
from tallybayes.model.fit import apply_counted
from tallybayes.model.fit_plan import Plan
from tallybayes.model.model import Model
from tallybayes.spark.data_frame import SparkRows
from tallybayes.spark.distributed_fit import (
    columns_in_question,
    count_rows,
    for_elements,
    vector_forms,
    with_late_columns,
)
from tallybayes.spark.tree import WIDTHS
from tallybayes.spark.vector_columns import with_vectors
from tallybayes.state.counting import CountingPlan
from tallybayes.state.model_state import ModelState
from tallybayes.tables.table import to_table
from tallybayes.tuning import tune as tune_table
from tallybayes.tuning.tuning_result import Tuning
from tallybayes.weights.weight_selection import select_weights

__all__ = ["tune"]


def tune(
    df: Any,
    label: str | None = None,
    *,
    sample_weight: str | None = None,
    sample: int = 50_000,
    seed: int = 0,
    widths: Sequence[int] = WIDTHS,
    **options: Any,
) -> Tuning:
    """Select weights, corrections, interactions and hyperparameters on a sample, and count all rows by them.

    label, sample_weight: names of columns.
    sample: how many rows are drawn at random and sent to the driver, to tune on.
    options: those of `tallybayes.tune`.

    The steps and losses of the result are those of the sample. Its model has the sums of all rows, with column weights
    fitted anew on a sample of these; other corrections are those of the sample.
    """
    check_integer("sample", sample, at_least=10)
    rows = SparkRows(df)
    rows.check_types(columns_in_question(rows, label, sample_weight, options))
    drawn = rows.random_rows(sample, seed)
    forms = vector_forms(rows, drawn, options)
    head = to_table(with_vectors(drawn, forms))
    tuning: Tuning = tune_table(head, label, sample_weight=sample_weight, seed=seed, **for_elements(options, forms))
    state = tuning.model.snapshot().state
    settings = replace(state.settings, column_weights=None)
    counting = CountingPlan(state.schema, settings, state.schema.label, state.schema.weight)
    plan = Plan(counting, "auto" if state.settings.column_weights is not None else None)
    plan = with_late_columns(plan, rows, plan.schema.columns, are_new=False)
    part = counted_rows(plan, count_rows(rows, plan, forms, widths=widths))
    model = Model(ModelState(plan.schema, settings))
    drawn_rows = part.sample
    apply_counted(model, part, 1)
    if state.settings.column_weights is not None:
        weights = select_weights(model.snapshot().state, drawn_rows, like=state.settings.column_weights)
        if weights is not None:
            model.column_weights = weights
    return replace(tuning, model=model)
