"""tally tune: a model with all that can be chosen chosen well."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tallybayes.cli.fit_command import ModelOutput, model_path
from tallybayes.cli.fit_options import Label, Weight, fit_options, fits
from tallybayes.cli.messages import answer, note, progress, tell_bad
from tallybayes.cli.options import Data, Json, Reader, reads

__all__ = ["VERBS", "tune"]

EXAMPLE = """
tally tune films.csv --label rating                       # everything, by leave-one-out; writes films.tally
tally tune films.csv --label rating --what weights        # only how far to trust each column
tally tune films.csv --label rating --by validation       # k on one part of the rows, the test touched once
"""


@reads
@fits
def tune(
    data: Data,
    *,
    label: Label = None,
    output: ModelOutput = None,
    what: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT", help="smoothing, families, text, prior, columns or weights (repeatable). [all of them]"
        ),
    ] = None,
    by: Annotated[str, typer.Option(metavar="HOW", help="leave-one-out, evidence or validation.")] = "leave-one-out",
    rows: Annotated[int, typer.Option(metavar="N", help="Rows that are left out one by one; drawn.")] = 5000,
    strengths: Annotated[int, typer.Option(metavar="N", help="How many values of k are tried for all columns.")] = 50,
    seed: Annotated[int, typer.Option(metavar="N", help="Draws the rows.")] = 0,
    fitting: dict[str, Any],
    weight: Weight = None,
    json: Json = False,
    reader: Reader,
) -> None:
    """Fit a model and choose well: smoothing, families, columns, weights.

    Every choice is made by rows that are left out of the sums, one at a time, and told with what it was worth.

    The options for fitting are those of `tally fit`; families that are asked for stay.
    """
    from tallybayes.errors import ParameterError, shorten
    from tallybayes.tuning import tune as tuned_model
    from tallybayes.tuning.tune import WHAT

    with progress("tuning", unit="") as step:
        source = reader(data)
        if label is None and fitting["schema"] is None:
            columns = shorten(list(source.head().columns), 200)
            raise ParameterError("--label COL, the column to predict", got=None, hint=f"the columns are {columns}")
        options = fit_options(source, label, weight=weight, **fitting)
        path = model_path(output, data)
        tell = None if step is None else (lambda name, share: step(0, share, 0, name))
        found = tuned_model(
            source,
            label,
            what=what or WHAT,
            by=by,  # type: ignore[arg-type]
            rows=rows,
            strengths=strengths,
            seed=seed,
            progress=tell,
            weight=weight,
            **options,
        )
        found.model.save(path)
    tell_bad(source)
    if json:
        answer({"model": path, **found.to_dict()})
        return
    answer(str(found))
    note(f"the model is in {path}")


VERBS = [(tune, EXAMPLE)]
