"""tally tune: fit a model, and select weights, corrections, interactions and hyperparameters on held-out rows."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tallybayes.cli.fit_command import ModelOutput, model_path
from tallybayes.cli.fit_options import Label, SampleWeight, fit_options, fits_unweighted
from tallybayes.cli.messages import note, note_bad_rows, print_result, progress
from tallybayes.cli.shared_options import Data, InputReader, Json, reads

__all__ = ["COMMANDS", "tune"]

EXAMPLE = """
tally tune films.csv --label rating                       # writes films.tally
tally tune films.csv --label rating --seconds 10          # at most ten seconds
tally tune films.csv --label rating --what interactions   # column weights and interactions only
tally tune films.csv --label rating --by validation       # select k on a validation set
"""


@reads
@fits_unweighted
def tune(
    data: Data,
    *,
    label: Label = None,
    output: ModelOutput = None,
    what: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help="column_weights, corrections, interactions, dependence, text, smoothing, families, class_smoothing or"
            " columns (repeatable). [the first five]",
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="Stop trying candidates after S seconds.", show_default=False)
    ] = None,
    by: Annotated[str, typer.Option(metavar="HOW", help="leave-one-out, evidence or validation.")] = "leave-one-out",
    rows: Annotated[int, typer.Option(metavar="N", help="Judge candidates on a sample of at most N rows.")] = 4000,
    strengths: Annotated[int, typer.Option(metavar="N", help="The number of values of k to evaluate.")] = 50,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed that draws the rows.")] = 0,
    fitting: dict[str, Any],
    sample_weight: SampleWeight = None,
    json: Json = False,
    reader: InputReader,
) -> None:
    """Fit a model and select column weights, corrections, interactions and hyperparameters.

    Each choice is made by the log loss of rows that are scored without themselves, and printed with its improvement
    over the model of `tally fit`. If nothing is clearly better, that model is kept.
    The options of `tally fit` apply; families given by --as are not changed.
    """
    from tallybayes.tuning import tune as tuned_model
    from tallybayes.tuning.tune import DEFAULT

    with progress("tuning", unit="") as step:
        source = reader(data)
        options = fit_options(source, label, sample_weight=sample_weight, **fitting)
        path = model_path(output, data)
        report = None if step is None else (lambda name, share: step(0, share, 0, name))
        tuning = tuned_model(
            source,
            label,
            what=what or DEFAULT,
            seconds=seconds,
            by=by,  # type: ignore[arg-type]
            rows=rows,
            strengths=strengths,
            seed=seed,
            progress=report,
            sample_weight=sample_weight,
            **options,
        )
        tuning.model.save(path)
    note_bad_rows(source)
    if json:
        print_result({"model": path, **tuning.to_dict()})
        return
    print_result(str(tuning))
    note(f"wrote the model to {path}")


COMMANDS = [(tune, EXAMPLE)]
