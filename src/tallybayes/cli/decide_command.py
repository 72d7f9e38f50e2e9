"""tally calibrate and decide: calibrated probabilities, and the rule that turns them into an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallybayes.cli.messages import note, note_bad_rows, print_result, progress
from tallybayes.cli.model_file_options import IN_PLACE, NEW_MODEL, changed_model, find_class, load_model, note_saved
from tallybayes.cli.shared_options import JSON, MODEL, Reading, argument, flag, option

if TYPE_CHECKING:
    from tallybayes.model import Model

__all__ = ["calibrate", "decide"]

SOME_DATA = argument("[DATA...]", "Rows that the model has learned (leave-one-out), or new rows with --new.", None)
NEW = flag("--new", help="The rows are new: the model has not learned them.")


def calibrate(
    model: str = MODEL,
    data: list[str] | None = SOME_DATA,
    *,
    method: str = option("HOW", "temperature, isotonic, or none to remove the calibration.", "temperature"),
    new: bool = NEW,
    output: str | None = NEW_MODEL,
    in_place: bool = IN_PLACE,
    json: bool = JSON,
    reader: Reading,
) -> None:
    """Calibrate the probabilities of a model.

    Naive Bayes is overconfident where columns depend on each other. The calibrated model is saved by -o MODEL or
    --in-place; without these the calibration is only printed. `tally predict --raw` ignores it.

        tally calibrate films.tally films.csv -o calibrated.tally
        tally calibrate films.tally --method none --in-place
    """
    from tallybayes.errors import NONE, ParameterError

    if method != "none" and not data:
        raise ParameterError("DATA to calibrate on", got=NONE, hint="tally calibrate MODEL DATA")
    if method == "none" and data:
        raise ParameterError("no data for --method none, which removes the calibration", got=data)
    with progress("calibrating") as step, changed_model(model, output, in_place=in_place) as loaded:
        if not data:
            loaded.calibration = None
        else:
            source = reader(data, step)
            loaded.calibrate(source, method, leave_one_out=not new)  # type: ignore[arg-type]
            note_bad_rows(source)
    note_saved(model, output, in_place=in_place)
    calibration = loaded.calibration
    if not json:
        print_result("not calibrated" if calibration is None else str(calibration))
        return
    facts: dict[str, Any] = {
        "model": output or model,
        "calibration": None if calibration is None else calibration.method,
    }
    if calibration is not None and calibration.method == "temperature":
        facts["temperature"] = calibration.temperature
    print_result(facts)


def decide(
    model: str = MODEL,
    data: list[str] | None = SOME_DATA,
    *,
    positive: str | None = option("CLASS", "The class of the threshold."),
    threshold: float | None = option("P", "Answer the class if its probability is at least P."),
    false_negatives: str | None = option("N", "Allow at most N missed rows of the class, or a share such as 2%."),
    false_positives: str | None = option("N", "Allow at most N other rows with this answer, or a share such as 2%."),
    cost: list[str] | None = option(
        "TRUE:ANSWER=COST",
        "The cost of an answer where another class is true (repeatable). With DATA and --positive: select the"
        " threshold with the lowest mean cost.",
    ),
    maximise: str | None = option("f1", "Select the threshold with the largest F1 of the class."),
    budget: str | None = option("N", "Give this answer to at most N of the rows, or a share such as 5%."),
    abstain: float | None = option("P", "Give no answer if the probability is below P."),
    most_probable: bool = flag("--most-probable", help="Remove the rule: answer the most probable class."),
    new: bool = NEW,
    output: str | None = NEW_MODEL,
    in_place: bool = IN_PLACE,
    json: bool = JSON,
    reader: Reading,
) -> None:
    """Set the decision rule of a model: a threshold, costs, or no answer below a probability.

    A threshold is given, or selected on data: under a constraint (a largest number of false negatives, of false
    positives, or of rows with this answer), or as the best one (by F1 or by cost). The model with the rule is saved by
    -o MODEL or --in-place; without these the rule is only printed. `tally predict`, `evaluate` and `explain` use it.
    Without options, the current rule is printed.

        tally decide films.tally films.csv --positive R --false-negatives 0   # print the rule that misses no R
        tally decide films.tally films.csv --positive R --maximise f1 -o strict.tally
        tally decide films.tally new.csv --new --positive R --budget 200   # the 200 most probable rows
        tally decide mail.tally --cost ham:spam=20 --abstain 0.6 --in-place
        tally decide films.tally --most-probable --in-place
    """
    from dataclasses import replace

    from tallybayes.errors import NONE, Described, ParameterError
    from tallybayes.state.decision import Decision

    rules = (threshold, false_negatives, false_positives, cost or None, maximise, budget)
    has_rule = any(value is not None for value in (*rules, abstain, positive))
    constraints = (false_negatives, false_positives, maximise, budget, positive if cost else None)
    is_selected = any(constraint is not None for constraint in constraints)
    if (data or new) and not is_selected:
        got = data or Described("--new")
        expected = "data only for --false-negatives, --false-positives, --maximise, --budget, or --cost with --positive"
        raise ParameterError(f"{expected}, to select the threshold", got=got)
    if most_probable and has_rule:
        raise ParameterError("--most-probable without other options", got=Described("another rule"))
    if not most_probable and not has_rule:
        if output is not None or in_place:
            raise ParameterError(
                "a rule to save", got=NONE, hint="tally decide MODEL --positive C --threshold P -o NEW"
            )
        loaded = load_model(model)
        if "decision" in loaded.stale:
            note("the rule was selected before the model was changed: it may be stale")
        _print_rule(model, loaded.decision, json)
        return
    if sum(value is not None for value in rules) > 1:
        names = "--threshold, --false-negatives, --false-positives, --maximise, --budget and --cost"
        raise ParameterError(f"one of {names}", got=Described("several"))
    if maximise not in (None, "f1"):
        raise ParameterError("--maximise f1", got=maximise, hint="--cost selects the threshold with the lowest cost")
    if is_selected and not data:
        raise ParameterError(
            "DATA to select the threshold on", got=NONE, hint="tally decide MODEL DATA --positive C ..."
        )
    with progress("deciding") as step, changed_model(model, output, in_place=in_place) as loaded:
        label = _class_of_threshold(loaded, positive, has_threshold=bool(data) or threshold is not None)
        costs = _costs(loaded, cost) if cost else None
        if data:
            source = reader(data, step)
            limits = {"false_negatives": _number(false_negatives), "false_positives": _number(false_positives)}
            by: dict[str, Any] = {**limits, "maximise": maximise, "costs": costs, "budget": _number(budget)}
            rule = loaded.decide(source, label, leave_one_out=not new, **by)
            note_bad_rows(source)
        elif threshold is not None:
            rule = Decision(positive=label, threshold=threshold)
        elif costs is not None:
            rule = Decision(costs=costs)
        else:
            rule = Decision() if most_probable else loaded.decision
        loaded.decision = rule if abstain is None else replace(rule, abstain=abstain)
    note_saved(model, output, in_place=in_place)
    _print_rule(output or model, loaded.decision, json)


def _class_of_threshold(model: Model, name: str | None, *, has_threshold: bool) -> Any:
    from tallybayes.errors import NONE, ParameterError

    label = None if name is None else find_class(model.classes, name)
    if label is None and has_threshold:
        raise ParameterError("--positive, the class of the threshold", got=NONE)
    if label is not None and not has_threshold:
        raise ParameterError("a threshold, or how to select it, for --positive", got=NONE)
    return label


def _print_rule(path: str, rule: Any, json: bool) -> None:
    facts = {
        "model": path,
        "positive": rule.positive,
        "threshold": rule.threshold,
        "costs": rule.costs,
        "abstain": rule.abstain,
        "constraint": rule.constraint,
        "rule": str(rule),
    }
    print_result(facts if json else str(rule))


def _number(text: str | None) -> float | None:
    """A number of rows, or a share: 2%, 0.02."""
    from tallybayes.errors import ParameterError

    if text is None:
        return None
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        raise ParameterError("a number of rows, or a share such as 2%", got=text) from None
    if text.endswith("%") and not 0 <= value < 100:
        raise ParameterError("a share from 0% to below 100%", got=text)
    return value / 100 if text.endswith("%") else value


def _costs(model: Model, texts: list[str]) -> dict[Any, dict[Any, float]]:
    """Parse TRUE:ANSWER=COST; the names of classes may contain these signs."""
    from tallybayes.errors import ParameterError
    from tallybayes.formatting import shown

    known = {shown(label): label for label in model.classes}
    pairs = {f"{true}:{answered}": (known[true], known[answered]) for true in known for answered in known}
    result: dict[Any, dict[Any, float]] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        if name not in pairs:
            hint = f"the classes are {', '.join(known)}"
            raise ParameterError("--cost TRUE:ANSWER=COST with classes of the model", got=text, hint=hint)
        true, answered = pairs[name]
        try:
            result.setdefault(true, {})[answered] = float(value)
        except ValueError:
            raise ParameterError("--cost TRUE:ANSWER=COST with a number", got=text) from None
    return result
