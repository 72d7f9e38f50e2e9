"""From the sum of all pieces to a model."""

from __future__ import annotations

import warnings
from typing import Any, Literal

from tallybayes.engines.partial_sums import combine_sums
from tallybayes.engines.plan import Plan
from tallybayes.errors import DataError, DataWarning
from tallybayes.io.read import to_source
from tallybayes.model.fit import finish_fit
from tallybayes.model.learning_steps import apply_counted
from tallybayes.model.model import Change, Model
from tallybayes.state.counted_rows import CountedRows
from tallybayes.state.model_state import ModelState
from tallybayes.storage.partial_content import PartialSum
from tallybayes.tables.source import TableSource
from tallybayes.tables.table import Table

__all__ = ["apply", "counted_rows", "fitted"]


def fitted(plan: Plan, part: bytes | PartialSum, *, data: Any = None) -> Model:
    """The model of a plan of `plan_fit` and the sum of all pieces.

    data: the rows that the plan was made from, which are shown in errors about the label.
    """
    counted, counting = counted_rows(plan, part), plan.counting
    model = Model(ModelState(counting.schema, counting.settings))
    sample = counted.sample
    change = apply_counted(model, counted, 1)
    source = TableSource(Table(0, {})) if data is None else to_source(data)
    return finish_fit(model, counting.label, plan.weights, sample, change, source)


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
    """The counted rows of a partial sum of this plan, with a warning for each doubt about them."""
    total = part if isinstance(part, PartialSum) else combine_sums(part)
    if total.plan != plan.fingerprint:
        raise DataError("a partial sum of this plan", got=total.plan)
    for text in total.warnings:
        warnings.warn(text, DataWarning, stacklevel=3)
    return total.counted
