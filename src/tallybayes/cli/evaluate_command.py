"""The verb evaluate: a model judged, or data by cross-validation or as a stream."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tallybayes.cli.fit_options import FITTING, Label, Weight, fit_options, fits
from tallybayes.cli.messages import answer, note, progress, tell_bad
from tallybayes.cli.options import Json, Reader, reads

__all__ = ["VERBS", "evaluate"]

EXAMPLE = """
tally evaluate films.tally test.csv                # a model on rows it has not seen
tally evaluate films.csv --label rating            # 10-fold cross-validation, no splitting by hand
tally evaluate films.tally films.csv --leave-one-out   # on what it has learned, each row left out
tally evaluate log.csv --label failed --prequential    # test, then learn, as the rows come
"""


@reads
@fits
def evaluate(
    model_and_data: Annotated[
        list[str],
        typer.Argument(metavar="[MODEL] DATA...", help="A model and data it has not seen; or data and --label."),
    ],
    *,
    label: Label = None,
    folds: Annotated[int, typer.Option(metavar="N", help="The folds of cross-validation.")] = 10,
    seed: Annotated[int, typer.Option(metavar="N", help="Shuffles the folds; draws for --bootstrap.")] = 0,
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="The model has learned this data: leave each row out to score it.")
    ] = False,
    weight: Weight = None,
    prequential: Annotated[
        bool, typer.Option("--prequential", help="Score each block of rows, then learn it, in the order they come.")
    ] = False,
    every: Annotated[
        int | None, typer.Option(metavar="N", help="Rows of a block for --prequential. [2 % of those before]")
    ] = None,
    bootstrap: Annotated[
        int | None, typer.Option(metavar="N", help="Add 95 % intervals, from N draws of the rows (1000, say).")
    ] = None,
    fitting: dict[str, Any],
    json: Json = False,
    reader: Reader,
) -> None:
    """Judge a model, or data by cross-validation.

    Accuracy and log loss beside those of an answer that ignores the row, Brier score, AUC, calibration error, precision
    and recall of every class, and the confusion matrix. The options for fitting are those of `tally fit`; they need
    --label.
    """
    from tallybayes.errors import ParameterError
    from tallybayes.evaluation import cross_validate
    from tallybayes.evaluation import evaluate as judge
    from tallybayes.evaluation import prequential as stream
    from tallybayes.model.saved_model import load
    from tallybayes.storage.model_file import is_model

    first, rest = model_and_data[0], model_and_data[1:]
    has_model = first.endswith(".tally") or is_model(first)
    for wrong, wanted in (
        (leave_one_out and not has_model, "a model and the data it has learned, for --leave-one-out"),
        (prequential and has_model, "data and --label, without a model, for --prequential"),
        (every is not None and not prequential, "--every only with --prequential"),
        (weight is not None and not leave_one_out, "--weight only with --leave-one-out: rows are judged alike"),
    ):
        if wrong:
            raise ParameterError(wanted)
    curve: Any = None
    with progress("evaluating") as step:
        if has_model:
            if not rest:
                raise ParameterError("data to evaluate the model on", got=model_and_data)
            if any(fitting[name] != default for name, (_, default) in FITTING.items()):
                raise ParameterError("options for fitting only with data and --label: this model is fitted already")
            source = reader(rest, step)
            loaded = load(first)
            judged = judge(loaded, source, label, leave_one_out=leave_one_out, weight=weight)
            if leave_one_out and (
                held := [name for name in ("column_weights", "calibration") if getattr(loaded.settings, name)]
            ):
                note(f"held while rows are left out, so a little too good: {', '.join(held)}")
        else:
            if label is None and fitting["schema"] is None:
                hint = "tally evaluate MODEL DATA, or tally evaluate DATA --label COL"
                raise ParameterError("a model, or --label", got=first, hint=hint)
            source = reader(model_and_data, step)
            options = fit_options(source, label, **fitting)
            if prequential:
                curve = stream(source, label, every=every, **options)
                judged = curve.evaluation
            else:
                judged = cross_validate(source, label, folds=folds, seed=seed, **options)
    if bootstrap is not None:
        judged.bootstrap(bootstrap, seed)
    tell_bad(source)
    if judged.skipped:
        note(f"{judged.skipped} rows without a label were skipped")
    found = judged if curve is None else curve
    answer(found.to_dict() if json else str(found))


VERBS = [(evaluate, EXAMPLE)]
