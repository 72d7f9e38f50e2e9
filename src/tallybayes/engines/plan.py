"""What comes before and after counting the pieces of a table: the plan, from a few rows, and the model of their sum."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Unpack

from tallybayes.doubts import tell_doubts, tell_together
from tallybayes.engines.partial_sums import combine_sums
from tallybayes.errors import DataError, ParameterError
from tallybayes.io.read import to_source
from tallybayes.model.fit import apply_counted, finish_fit, keep_doubts
from tallybayes.model.fit_plan import Plan
from tallybayes.model.model import Change, Model
from tallybayes.model.row_counter import grow_schema
from tallybayes.state.counting import CountedRows, CountingPlan
from tallybayes.state.options import LABELLED, FitOptions, with_options
from tallybayes.storage.partial_content import PartialSum
from tallybayes.tables.source import TableSource
from tallybayes.tables.table import Table
from tallybayes.typing import LabelLike, TableLike, WeightLike

__all__ = ["apply", "counted_rows", "fitted", "plan_change", "plan_fit"]


@with_options(LABELLED)
def plan_fit(
    data: TableLike, label: LabelLike = None, *, sample_weight: WeightLike = None, **options: Unpack[FitOptions]
) -> Plan:
    """The plan to fit a model in pieces.

    data: some rows of the table, or all of them, from which families are inferred as `fit` does from its first rows.
    label, sample_weight: names of columns.
    {options}

    A column that has no value in these rows is not counted.
    """
    return _check(Plan.of(to_source(data), label, options, sample_weight=sample_weight))


def plan_change(
    model: Model,
    data: TableLike | None = None,
    *,
    label: LabelLike = None,
    sample_weight: WeightLike = None,
    verb: Literal["learn", "forget"] = "learn",
) -> Plan:
    """The plan to let a model learn or forget rows in pieces.

    data: some of the rows, in which columns that are new to the model are found if it is to learn.
    label, sample_weight: names of columns, if they are not those that the model was fitted with.
    """
    if verb not in ("learn", "forget"):
        raise ParameterError("the verb learn or forget", got=verb)
    snapshot = model.snapshot()
    snapshot.state.require_learned(verb)
    sample_weight = snapshot.state.schema.weight if sample_weight is None else sample_weight
    plan = CountingPlan.of(snapshot.state, snapshot.label_or_default(label), sample_weight, learns=verb == "learn")
    if data is not None and plan.learns:
        plan = replace(plan, schema=grow_schema(plan.schema, to_source(data).head(), plan))
    return _check(Plan(plan))


def fitted(plan: Plan, part: bytes | PartialSum, *, data: Any = None) -> Model:
    """The model of a plan of `plan_fit` and the sum of all pieces.

    data: the rows that the plan was made from, which are shown in errors about the label.
    """
    with tell_together() as doubts:
        counted, model = counted_rows(plan, part), plan.empty_model()
        sample = counted.sample
        change = apply_counted(model, counted, 1)
        source = TableSource(Table(0, {})) if data is None else to_source(data)
        finish_fit(model, plan, sample, change, source)
        keep_doubts(model, doubts)
    return model


def apply(model: Model, plan: Plan, part: bytes | PartialSum, *, verb: Literal["learn", "forget"] = "learn") -> Change:
    """Let a model learn or forget the sum of all pieces, all or nothing; the plan is one of `plan_change`."""
    counted = counted_rows(plan, part)
    columns, counted_by = model.schema.columns, plan.schema.columns
    for name, spec in columns.items():
        if not spec.is_undecided and counted_by.get(name) != spec:
            hint = "the model has changed since the plan was made: make a new plan and count again"
            raise DataError("the column as in the plan", got=str(spec.family), column=name, hint=hint)
    return apply_counted(model, counted, 1 if verb == "learn" else -1)


def counted_rows(plan: Plan, part: bytes | PartialSum) -> CountedRows:
    """The counted rows of a partial sum of this plan, whose doubts are told."""
    total = part if isinstance(part, PartialSum) else combine_sums(part)
    if total.plan != plan.fingerprint:
        raise DataError("a partial sum of this plan", got=total.plan)
    tell_doubts(total.doubts)
    return total.counted


def _check(plan: Plan) -> Plan:
    """The plan, if pieces can be counted by it."""
    for name in ("label", "weight"):
        column = getattr(plan.counting, name)
        if not isinstance(column, str) and (name == "label" or column is not None):
            raise ParameterError(f"the {name} as the name of a column, to count in pieces", got=type(column).__name__)
    return plan
