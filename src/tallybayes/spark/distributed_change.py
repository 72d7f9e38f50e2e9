"""Let a model learn or forget the rows of a DataFrame, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from tallybayes import engines
from tallybayes.columns.label_spec import check_label
from tallybayes.model.model import Change, Model
from tallybayes.spark.data_frame import SparkRows
from tallybayes.spark.distributed_fit import count_rows, with_late_columns
from tallybayes.spark.tree import WIDTHS
from tallybayes.spark.vector_columns import forms_of_sample, forms_of_schema, with_vectors
from tallybayes.tables.table import to_table

__all__ = ["forget", "learn"]


def learn(
    model: Model, df: Any, *, label: str | None = None, sample_weight: str | None = None, widths: Sequence[int] = WIDTHS
) -> Change:
    """Add the rows of a DataFrame to a model, as `Model.learn`; new labels, categories and columns are added too.

    label, sample_weight: names of columns, if they are not those that the model was fitted with.
    widths: how many partial sums are left after each level of the tree that combines them.
    """
    return _change(model, df, "learn", label, sample_weight, widths)


def forget(
    model: Model, df: Any, *, label: str | None = None, sample_weight: str | None = None, widths: Sequence[int] = WIDTHS
) -> Change:
    """Subtract the rows of a DataFrame from a model, as `Model.forget`."""
    return _change(model, df, "forget", label, sample_weight, widths)


def _change(
    model: Model, df: Any, verb: Literal["learn", "forget"], label: Any, sample_weight: Any, widths: Sequence[int]
) -> Change:
    rows, schema = SparkRows(df), model.schema
    forms, data = forms_of_schema(schema, rows.vectors), None
    plan = engines.plan_change(model, label=label, sample_weight=sample_weight, verb=verb)
    if isinstance(plan.counting.label, str):
        check_label(plan.counting.label, rows.types)
    if verb == "learn":
        known = {name for name, spec in schema.columns.items() if not spec.is_undecided}
        apart = {*known, plan.counting.label, plan.counting.weight, schema.label, schema.weight}
        new = [name for name in rows.types if name not in apart and not forms.get(name)]
        rows.check_types(new)
        if new:
            sample = rows.sample({*new, plan.counting.label}, vectors=new)
            forms |= forms_of_sample(sample, [name for name in new if name in forms])
            data = to_table(with_vectors(sample, {name: form for name, form in forms.items() if name in new}))
            plan = engines.plan_change(model, data, label=label, sample_weight=sample_weight, verb=verb)
            plan = with_late_columns(plan, rows, new, are_new=True)
    return engines.apply(model, plan, count_rows(rows, plan, forms, widths=widths), verb=verb)
