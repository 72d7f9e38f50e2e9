"""tally calibrate and decide: probabilities put right, and answers made of them; both are kept in the model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallybayes.cli.messages import answer, note, progress, tell_bad
from tallybayes.cli.options import Json, ModelFile, Reader, class_named, reads

if TYPE_CHECKING:
    from tallybayes.model import Model

__all__ = ["VERBS", "calibrate", "decide"]

SomeData = Annotated[
    list[str] | None,
    typer.Argument(metavar="[DATA]", help="Rows the model has learned (each is left out), or new ones with --new."),
]
New = Annotated[bool, typer.Option("--new", help="The rows are new: the model has not learned them.")]


@reads
def calibrate(
    model: ModelFile,
    data: SomeData = None,
    *,
    method: Annotated[
        str, typer.Option(metavar="HOW", help="temperature, isotonic, or none to take it off.")
    ] = "temperature",
    new: New = False,
    json: Json = False,
    reader: Reader,
) -> None:
    """Learn to put probabilities right.

    Naive Bayes is over-confident. What is learned is kept in the model file; `tally predict --raw` leaves it aside.
    """
    from tallybayes.errors import ParameterError
    from tallybayes.model.saved_model import edit_model_file

    if method != "none" and not data:
        raise ParameterError("DATA to calibrate on", got=None, hint="tally calibrate MODEL DATA")
    with progress("calibrating") as step, edit_model_file(model, on_wait=_waiting(model)) as loaded:
        source = reader(data, step) if data and method != "none" else None
        if source is None:
            loaded.calibration = None
        else:
            loaded.calibrate(source, method, leave_one_out=not new)  # type: ignore[arg-type]
    if source is not None:
        tell_bad(source)
    found = loaded.calibration
    words = "not calibrated" if found is None else str(found)
    facts = {"model": model, "calibration": None if found is None else found.method}
    more = {"temperature": found.temperature} if found is not None and found.method == "temperature" else {}
    answer(facts | more if json else words)


@reads
def decide(
    model: ModelFile,
    data: SomeData = None,
    *,
    class_: Annotated[
        str | None, typer.Option("--class", metavar="CLASS", help="The class that the threshold is for.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="P", help="Answer the class from this probability on.")
    ] = None,
    false_negatives: Annotated[
        str | None, typer.Option(metavar="N", help="Miss at most so many rows of the class, or such a share (2%).")
    ] = None,
    false_positives: Annotated[
        str | None, typer.Option(metavar="N", help="Answer the class wrongly at most so often (or 2%).")
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(metavar="TRUE:ANSWER=COST", help="What an answer costs where another is true (repeatable)."),
    ] = None,
    abstain: Annotated[float | None, typer.Option(metavar="P", help="No answer below this probability.")] = None,
    most_probable: Annotated[bool, typer.Option("--most-probable", help="Back to the most probable class.")] = False,
    new: New = False,
    json: Json = False,
    reader: Reader,
) -> None:
    """Say how answers are made: a threshold, costs, no answer when unsure.

    Without options the present rule is shown. It is kept in the model file; `tally predict` and `evaluate` go by it.

    A threshold can be chosen by what it promises on rows: at most so many false negatives or positives.
    """
    from dataclasses import replace

    from tallybayes.errors import ParameterError
    from tallybayes.model.saved_model import edit_model_file, load
    from tallybayes.state.decision import Decision

    asked = (threshold, false_negatives, false_positives, cost, abstain, class_)
    if most_probable and any(one is not None for one in asked):
        raise ParameterError("--most-probable alone", got="another rule beside it")
    if not most_probable and all(one is None for one in asked):
        loaded = load(model)
        if "decision" in loaded.stale:
            note("the rule was chosen before the model was as it is: its promise may not hold")
        answer(_facts(model, loaded.decision) if json else str(loaded.decision))
        return
    if sum(one is not None for one in (threshold, false_negatives, false_positives, cost)) > 1:
        raise ParameterError("one of --threshold, --false-negatives, --false-positives and --cost", got="several")
    promised = false_negatives is not None or false_positives is not None
    if promised and not data:
        raise ParameterError("DATA to keep the promise on", got=None, hint="tally decide MODEL DATA --class C ...")
    with progress("deciding") as step, edit_model_file(model, on_wait=_waiting(model)) as loaded:
        own = None if class_ is None else class_named(loaded.classes, class_)
        if own is None and (threshold is not None or promised):
            raise ParameterError("--class, the class that the threshold is for", got=None)
        if own is not None and threshold is None and not promised:
            raise ParameterError("--threshold, --false-negatives or --false-positives for --class", got=None)
        rule = Decision() if most_probable or cost is not None else loaded.decision
        if promised:
            source = reader(data or [], step)
            given = {"false_negatives": _number(false_negatives), "false_positives": _number(false_positives)}
            rule = loaded.decide(source, own, leave_one_out=not new, **given)
            tell_bad(source)
        elif threshold is not None:
            rule = Decision(label=own, threshold=threshold)
        elif cost is not None:
            rule = Decision(costs=_costs(loaded, cost))
        loaded.decision = rule if abstain is None else replace(rule, abstain=abstain)
    answer(_facts(model, loaded.decision) if json else str(loaded.decision))


def _facts(path: str, rule: Any) -> dict[str, Any]:
    return {
        "model": path,
        "class": rule.label,
        "threshold": rule.threshold,
        "costs": rule.costs,
        "abstain": rule.abstain,
        "constraint": rule.constraint,
        "rule": str(rule),
    }


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
    """TRUE:ANSWER=COST for classes of the model, which may have such signs in their names."""
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
            raise ParameterError("--cost TRUE:ANSWER=COST, the cost a number", got=text) from None
    return result


def _waiting(path: str) -> Any:
    return lambda: note(f"waiting for another command that is changing {path}")


VERBS = [
    (calibrate, "tally calibrate films.tally films.csv\ntally calibrate films.tally --method none"),
    (
        decide,
        "tally decide films.tally films.csv --class R --false-negatives 0   # no R-rated film shown as safe\n"
        "tally decide mail.tally --cost ham:spam=20 --abstain 0.6\n"
        "tally decide films.tally --most-probable",
    ),
]
