"""The plan by which the pieces of a table are counted, made once, from a few rows, before anything is counted.

Everything that depends on the data before counting is decided here: families, forms of labels and categories, cells of
derived columns, new columns. So no two pieces can decide differently.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Literal, Unpack

from tallybayes.columns.schema import Schema
from tallybayes.errors import ParameterError
from tallybayes.io.read import to_source
from tallybayes.model.fit_plan import FitPlan
from tallybayes.model.learning_steps import Weighting
from tallybayes.model.model import Model
from tallybayes.model.row_counter import grow_schema
from tallybayes.state.counting_plan import CountingPlan
from tallybayes.state.options import FitOptions, with_options
from tallybayes.storage.plan_content import plan_to_bytes
from tallybayes.tables.source import Source
from tallybayes.typing import LabelLike, TableLike, WeightLike

__all__ = ["Plan", "plan_change", "plan_fit"]


@dataclass(frozen=True, eq=False)
class Plan:
    """How rows are counted, and how their sum becomes a model. Print its `schema`.

    weights: the option of `fit`; rows are sampled only if the weights are to be fitted.
    """

    counting: CountingPlan
    weights: Weighting = None

    @property
    def schema(self) -> Schema:
        """The family of every column and the reason for it."""
        return self.counting.schema

    def to_bytes(self) -> bytes:
        """The plan for `partial`."""
        return plan_to_bytes(self.counting, draws=isinstance(self.weights, str))

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of its bytes, which every partial sum carries."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


@with_options()
def plan_fit(
    data: TableLike, label: LabelLike = None, *, sample_weight: WeightLike = None, **options: Unpack[FitOptions]
) -> Plan:
    """The plan to fit a model in pieces.

    data: some rows of the table, or all of them, from which families are inferred as `fit` does from its first rows.
    label, sample_weight: names of columns.
    {options}

    A column that has no value in these rows is not counted.
    """
    plan = FitPlan.of(to_source(data), label, options, sample_weight=sample_weight)
    return _check(Plan(plan.counting, plan.column_weights))


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
        source: Source = to_source(data)
        plan = replace(plan, schema=grow_schema(plan.schema, source.head(), plan))
    return _check(Plan(plan))


def _check(plan: Plan) -> Plan:
    """The plan, if pieces can be counted by it."""
    for name in ("label", "weight"):
        column = getattr(plan.counting, name)
        if not isinstance(column, str) and (name == "label" or column is not None):
            raise ParameterError(f"the {name} as the name of a column, to count in pieces", got=type(column).__name__)
    return plan
