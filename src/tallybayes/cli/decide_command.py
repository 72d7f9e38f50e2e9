"""tally calibrate and decide: calibrated probabilities, and the rule that turns them into an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallybayes.cli.messages import note, note_bad_rows, note_waiting, print_result, progress
from tallybayes.cli.shared_options import Json, ModelFile, Reader, class_named, reads

if TYPE_CHECKING:
    from tallybayes.model import Model

__all__ = ["COMMANDS", "calibrate", "decide"]

SomeData = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[DATA...]", help="Rows that the model has learned (leave-one-out), or new rows with --new."
    ),
]
New = Annotated[bool, typer.Option("--new", help="The rows are new: the model has not learned them.")]


@reads
def calibrate(
    model: ModelFile,
    data: SomeData = None,
    *,
    method: Annotated[
        str, typer.Option(metavar="HOW", help="temperature, isotonic, or none to remove the calibration.")
    ] = "temperature",
    new: New = False,
    json: Json = False,
    reader: Reader,
) -> None:
    """Calibrate the probabilities of a model.

    Naive Bayes is overconfident where columns depend on each other. The calibration is saved in the model file;
    `tally predict --raw` ignores it.
    """
    from tallybayes.errors import NONE, ParameterError
    from tallybayes.model.saved_model import edit_model_file

    if method != "none" and not data:
        raise ParameterError("DATA to calibrate on", got=NONE, hint="tally calibrate MODEL DATA")
    if method == "none" and data:
        raise ParameterError("no data for --method none, which removes the calibration", got=data)
    with progress("calibrating") as step, edit_model_file(model, on_wait=lambda: note_waiting(model)) as loaded:
        if not data:
            loaded.calibration = None
        else:
            source = reader(data, step)
            loaded.calibrate(source, method, leave_one_out=not new)  # type: ignore[arg-type]
            note_bad_rows(source)
    found = loaded.calibration
    if not json:
        print_result("not calibrated" if found is None else str(found))
        return
    facts: dict[str, Any] = {"model": model, "calibration": None if found is None else found.method}
    if found is not None and found.method == "temperature":
        facts["temperature"] = found.temperature
    print_result(facts)


@reads
def decide(
    model: ModelFile,
    data: SomeData = None,
    *,
    class_: Annotated[str | None, typer.Option("--class", metavar="CLASS", help="The class of the threshold.")] = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="P", help="Answer the class if its probability is at least P.")
    ] = None,
    false_negatives: Annotated[
        str | None, typer.Option(metavar="N", help="Allow at most N missed rows of the class, or a share such as 2%.")
    ] = None,
    false_positives: Annotated[
        str | None,
        typer.Option(metavar="N", help="Allow at most N other rows with this answer, or a share such as 2%."),
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TRUE:ANSWER=COST", help="The cost of an answer where another class is true (repeatable)."
        ),
    ] = None,
    abstain: Annotated[
        float | None, typer.Option(metavar="P", help="Give no answer if the probability is below P.")
    ] = None,
    most_probable: Annotated[
        bool, typer.Option("--most-probable", help="Remove the rule: answer the most probable class.")
    ] = False,
    new: New = False,
    json: Json = False,
    reader: Reader,
) -> None:
    """Set the decision rule of a model: a threshold, costs, or no answer below a probability.

    A threshold is given, or selected on data under a constraint: a largest number of false negatives or false
    positives. The rule is saved in the model file; `tally predict` and `tally evaluate` use it. Without options the
    current rule is printed.
    """
    from dataclasses import replace

    from tallybayes.errors import NONE, Described, ParameterError
    from tallybayes.model.saved_model import edit_model_file, load
    from tallybayes.state.decision import Decision

    rules = (threshold, false_negatives, false_positives, cost)
    has_rule = any(one is not None for one in (*rules, abstain, class_))
    constrained = false_negatives is not None or false_positives is not None
    if (data or new) and not constrained:
        got = data or Described("--new")
        raise ParameterError("data only for --false-negatives or --false-positives, to select the threshold", got=got)
    if most_probable and has_rule:
        raise ParameterError("--most-probable without other options", got=Described("another rule"))
    if not most_probable and not has_rule:
        loaded = load(model)
        if "decision" in loaded.stale:
            note("the rule was selected before the model was changed: its constraint may be violated")
        _print_rule(model, loaded.decision, json)
        return
    if sum(one is not None for one in rules) > 1:
        raise ParameterError(
            "one of --threshold, --false-negatives, --false-positives and --cost", got=Described("several")
        )
    if constrained and not data:
        raise ParameterError("DATA to select the threshold on", got=NONE, hint="tally decide MODEL DATA --class C ...")
    with progress("deciding") as step, edit_model_file(model, on_wait=lambda: note_waiting(model)) as loaded:
        own = _class_of_threshold(loaded, class_, has_threshold=constrained or threshold is not None)
        if constrained:
            source = reader(data or [], step)
            limits = {"false_negatives": _number(false_negatives), "false_positives": _number(false_positives)}
            rule = loaded.decide(source, own, leave_one_out=not new, **limits)
            note_bad_rows(source)
        elif threshold is not None:
            rule = Decision(label=own, threshold=threshold)
        elif cost is not None:
            rule = Decision(costs=_costs(loaded, cost))
        else:
            rule = Decision() if most_probable else loaded.decision
        loaded.decision = rule if abstain is None else replace(rule, abstain=abstain)
    _print_rule(model, loaded.decision, json)


def _class_of_threshold(model: Model, name: str | None, *, has_threshold: bool) -> Any:
    from tallybayes.errors import NONE, ParameterError

    label = None if name is None else class_named(model.classes, name)
    if label is None and has_threshold:
        raise ParameterError("--class, the class of the threshold", got=NONE)
    if label is not None and not has_threshold:
        raise ParameterError("--threshold, --false-negatives or --false-positives for --class", got=NONE)
    return label


def _print_rule(path: str, rule: Any, json: bool) -> None:
    facts = {
        "model": path,
        "class": rule.label,
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


def _costs(model: Model, given: list[str]) -> dict[Any, dict[Any, float]]:
    """Parse TRUE:ANSWER=COST; the names of classes may contain these signs."""
    from tallybayes.errors import ParameterError
    from tallybayes.formatting import shown

    known = {shown(label): label for label in model.classes}
    pairs = {f"{true}:{answered}": (known[true], known[answered]) for true in known for answered in known}
    result: dict[Any, dict[Any, float]] = {}
    for text in given:
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


COMMANDS = [
    (calibrate, "tally calibrate films.tally films.csv\ntally calibrate films.tally --method none"),
    (
        decide,
        "tally decide films.tally films.csv --class R --false-negatives 0   # no R-rated film is missed\n"
        "tally decide mail.tally --cost ham:spam=20 --abstain 0.6\n"
        "tally decide films.tally --most-probable",
    ),
]
