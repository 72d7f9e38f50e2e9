"""Counting in pieces: two pure functions over bytes, for any engine that can map and reduce.

    partial(batches, plan) -> bytes     the rows of one piece, counted by a plan
    combine(part, part, ...) -> bytes   the rows of several pieces

`plan_fit` and `plan_change` make the plan from a few rows, `fitted` and `apply` turn the sum of all pieces into a
model. However the rows are divided and the pieces combined, the model is the same, bit for bit.

>>> import tallybayes as tb
>>> from tallybayes import engines
>>> rows = {"colour": ["red", "red", "green", "green"], "fruit": ["apple", "apple", "pear", "pear"]}
>>> plan = engines.plan_fit(rows, label="fruit")
>>> pieces = [{name: cells[i : i + 1] for name, cells in rows.items()} for i in range(4)]
>>> parts = [engines.partial(piece, plan.to_bytes()) for piece in pieces]
>>> engines.fitted(plan, engines.combine(*parts)) == tb.fit(rows, label="fruit")
True
"""

from tallybayes.engines.partial_sums import combine, partial
from tallybayes.engines.plan import apply, fitted, plan_change, plan_fit
from tallybayes.model.fit_plan import Plan

__all__ = ["Plan", "apply", "combine", "fitted", "partial", "plan_change", "plan_fit"]
