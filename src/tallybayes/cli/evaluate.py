"""The verb evaluate: a model judged, or data by cross-validation."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tallybayes.cli.fit import FITTING, Label, fit_options, fits
from tallybayes.cli.options import Json, Reader, reads
from tallybayes.cli.talk import answer, note, progress, tell_bad

__all__ = ["VERBS", "evaluate"]

EXAMPLE = """
tally evaluate films.tally test.csv                # a model on rows it has not seen
tally evaluate films.csv --label rating            # 10-fold cross-validation, no splitting by hand
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
    seed: Annotated[int, typer.Option(metavar="N", help="Shuffles the folds.")] = 0,
    fitting: dict[str, Any],
    json: Json = False,
    reader: Reader,
) -> None:
    """Judge a model, or data by cross-validation.

    Accuracy beside that of always saying the commonest class, log loss, Brier score, precision and recall of every
    class, and the confusion matrix. The options for fitting are those of `tally fit`; they need --label.
    """
    from tallybayes.errors import ParameterError
    from tallybayes.evaluation import cross_validate
    from tallybayes.evaluation import evaluate as judge
    from tallybayes.model.store import is_model, load

    first, rest = model_and_data[0], model_and_data[1:]
    with progress("evaluating") as step:
        if first.endswith(".tally") or is_model(first):
            if not rest:
                raise ParameterError("data to evaluate the model on", came=model_and_data)
            if any(fitting[name] != default for name, (_, default) in FITTING.items()):
                raise ParameterError("options for fitting only with data and --label: this model is fitted already")
            source = reader(rest, step)
            judged = judge(load(first), source, label=label)
        else:
            if label is None and fitting["schema"] is None:
                hint = "tally evaluate MODEL DATA, or tally evaluate DATA --label COL"
                raise ParameterError("a model, or --label", came=first, hint=hint)
            source = reader(model_and_data, step)
            options = fit_options(source, label, **fitting)
            judged = cross_validate(source, label, folds=folds, seed=seed, **options)
    tell_bad(source)
    if judged.skipped:
        note(f"{judged.skipped} rows without a label were skipped")
    answer(judged.to_dict() if json else str(judged))


VERBS = [(evaluate, EXAMPLE)]
