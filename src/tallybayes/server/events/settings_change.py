"""Calibrations and decision rules of a hosted model as events.

What was fitted is stored in the event, not how to fit it: replaying a log sets the same numbers, whatever version of
the library or of SciPy replays it, and whichever other events were undone. Setting a calibration marks a decision rule
that was selected before as stale, as `Model.calibration` does. The names of options, and whether they need rows, are
checked where the request is read (`change_routes.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tallybayes.errors import NONE, ParameterError, did_you_mean
from tallybayes.formatting import shown
from tallybayes.model.fitted_rules import choose_threshold, fit_calibration, marked_stale
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.server.events.event_rows import EventData
from tallybayes.state.calibration import Calibration
from tallybayes.state.decision import Decision
from tallybayes.state.settings import Settings
from tallybayes.storage.fitted_settings import fitted_from_json, fitted_to_json

__all__ = ["calibration_change", "decision_change", "with_event"]

_RULES = ("false_negatives", "false_positives", "maximise", "budget", "costs")


def calibration_change(snapshot: Snapshot, data: EventData | None, request: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings of a calibrate event: what was asked, what was set, and a text.

    request: method ("temperature", "isotonic", or "none" to remove the calibration), leave_one_out (False: new rows).
    """
    options = dict(request or {})
    method = options.get("method", "temperature")
    if method == "none":
        return {"asked": options, "set": {}, "text": "removed the calibration"}
    if data is None:
        raise ParameterError("rows to calibrate on", got=NONE)
    leave_one_out = options.get("leave_one_out", True) is not False
    calibration = fit_calibration(snapshot, data, method, label=None, sample_weight=None, leave_one_out=leave_one_out)
    return {
        "asked": options,
        "set": fitted_to_json(Settings(calibration=calibration)),
        "text": f"calibrated: {calibration}",
    }


def decision_change(snapshot: Snapshot, data: EventData | None, request: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings of a decide event: what was asked, what was set, and a text.

    request: as `tally decide`: positive and threshold, costs, abstain; or positive and one of false_negatives,
    false_positives, maximise, budget and costs, to be selected on rows. Without any, the most probable class is the
    answer.
    """
    options = dict(request or {})
    positive = None if options.get("positive") is None else _find_class(snapshot.classes, options["positive"])
    costs = None if options.get("costs") is None else _named_costs(snapshot.classes, options["costs"])
    if data is not None:
        if positive is None:
            raise ParameterError("positive, the class of the threshold", got=NONE)
        by = {name: options.get(name) for name in _RULES} | {"costs": costs}
        rows = {"label": None, "sample_weight": None, "leave_one_out": options.get("leave_one_out", True) is not False}
        rule = choose_threshold(snapshot, data, positive, **rows, **by)  # type: ignore[arg-type]
    else:
        rule = Decision(positive=positive, threshold=options.get("threshold"), costs=costs or {})
    if options.get("abstain") is not None:
        rule = replace(rule, abstain=options["abstain"])
    rule.check(snapshot.classes)
    is_default = rule == Decision()
    stored = {} if is_default else fitted_to_json(Settings(decision=rule))
    return {"asked": options, "set": stored, "text": f"decision rule: {rule}"}


def with_event(settings: Settings, kind: str, stored: Mapping[str, Any]) -> Settings:
    """The settings after a calibrate or decide event."""
    fitted = fitted_from_json(dict(stored["set"]))
    if kind == "decide":
        decision: Decision | None = fitted.get("decision")
        return replace(settings, decision=decision)
    calibration: Calibration | None = fitted.get("calibration")
    return replace(settings, calibration=calibration, decision=marked_stale(settings.decision))


def _find_class(classes: list[Any], name: Any) -> Any:
    """A class that is given by its value or as text."""
    for label in classes:
        if type(label) is type(name) and label == name:
            return label
    for label in classes:
        if shown(label) == str(name):
            return label
    names = [shown(label) for label in classes]
    raise ParameterError("a class of the model", got=name, hint=did_you_mean(name, names, "classes"))


def _named_costs(classes: list[Any], costs: Any) -> dict[Any, dict[Any, float]]:
    if not isinstance(costs, Mapping) or not all(isinstance(by_answer, Mapping) for by_answer in costs.values()):
        raise ParameterError("costs: {true: {answered: cost}}", got=costs)
    return {
        _find_class(classes, true): {_find_class(classes, answered): cost for answered, cost in by_answer.items()}
        for true, by_answer in costs.items()
    }
