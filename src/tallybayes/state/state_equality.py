"""When two models are equal: they hold the same sums, read rows in the same way and turn sums into the same answers.

Compared are the sums, the schema (families, how cells are read, label) and the settings. Not compared is what only says
how a model came about: reasons and origins of columns, the rows that something was fitted or selected on, the words of
a constraint, rows that were skipped. Nor is a column without any value yet, which is as good as unknown; of an excluded
column, that it is excluded, not why.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tallybayes.columns.column_spec import ColumnSpec, Origin, Status
from tallybayes.columns.schema import Schema
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.decision import Decision
from tallybayes.state.settings import Settings

__all__ = ["same_schema", "same_settings"]

_COUNTED = (Status.USED, Status.INPUT)


def same_schema(left: Schema, right: Schema) -> bool:
    """Whether two schemas read rows in the same way, whatever the reasons for their families.

    >>> a, b = (Schema("y", {"x": ColumnSpec.unused("x", Status.BY_USER, why)}) for why in ("", "no use"))
    >>> same_schema(a, b), same_schema(a, Schema("y"))
    (True, False)
    """
    return left == right or _without_notes(left) == _without_notes(right)


def same_settings(left: Settings, right: Settings) -> bool:
    """Whether two settings give the same answers from the same sums, whatever rows they were fitted on.

    >>> fitted = [Settings(column_weights=ColumnWeights({"x": 0.5}, fitted_on=n, model_rows=n)) for n in (0, 10, 20)]
    >>> same_settings(*fitted[1:]), same_settings(*fitted[:2])
    (True, False)
    """
    return left == right or _without_rows(left) == _without_rows(right)


def _without_notes(schema: Schema) -> Schema:
    columns = {name: _reading(spec) for name, spec in schema.columns.items() if not spec.is_undecided}
    return schema.with_columns(columns)


def _reading(spec: ColumnSpec) -> ColumnSpec:
    """A column without its history; all that are excluded for any cause are alike."""
    if spec.status not in _COUNTED:
        return ColumnSpec.unused(spec.name, Status.BY_USER, "")
    return replace(spec, reason="", origin=Origin.INFERRED, selected_on=0.0)


def _without_rows(settings: Settings) -> Settings:
    """Settings without the rows that they were fitted on; rules that do nothing are None."""
    weights, corrections = settings.column_weights, settings.token_corrections
    calibration, decision = settings.calibration, settings.decision
    fitted: dict[str, Any] = {
        # whether weights were fitted matters beside new classes and columns, on how many rows does not
        "column_weights": weights and replace(weights, model_rows=0.0, fitted_on=float(weights.fitted_on > 0)),
        "token_corrections": corrections and replace(corrections, model_rows=0.0, fitted_on=0.0),
        "calibration": calibration and replace(calibration, model_rows=0.0, fitted_on=0.0),
        "decision": decision and replace(decision, model_rows=0.0, constraint=""),
    }
    nothing = {"column_weights": ColumnWeights(), "decision": Decision()}
    kept: dict[str, Any] = {name: None if rule == nothing.get(name) else rule for name, rule in fitted.items()}
    return replace(settings, **kept)
