"""tally report: a page about a model."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli.messages import note, progress, tell_bad
from tallybayes.cli.options import Data, ModelFile, Reader, reads

__all__ = ["VERBS", "report"]

EXAMPLE = """
tally report films.tally test.csv -o report.html            # on rows that the model has not seen
tally report films.tally films.csv --leave-one-out          # on those that it has learned
tally tune films.csv --label rating --json > tuning.json && tally report films.tally films.csv --tuning tuning.json
"""


@reads
def report(
    model: ModelFile,
    data: Data,
    *,
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="The page.")] = "report.html",
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="The model has learned this data: score each row without itself.")
    ] = False,
    rows: Annotated[
        int | None, typer.Option(metavar="N", help="Judge at most so many rows, from the first on. [all]")
    ] = None,
    label: Annotated[str | None, typer.Option(metavar="COL", help="The label, if it has another name here.")] = None,
    tuning: Annotated[
        str | None, typer.Option(metavar="FILE", help="What tally tune --json has said: its curve is shown too.")
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="The title of the page.")] = None,
    reader: Reader,
) -> None:
    """Write a page about a model and data: one file, to be opened in a browser.

    The columns and their families, the class prior, what columns are worth and how they look in each class, confusion
    matrix, calibration, ROC, a threshold to move, and a nomogram to classify by hand.

    The page works without a network. It needs: pip install 'tallybayes[report]'.
    """
    from tallybayes.cli.output import refuse_overwriting
    from tallybayes.model.saved_model import load
    from tallybayes.reporting import report as create
    from tallybayes.reporting import write_report
    from tallybayes.reporting.chart_style import altair

    altair()
    refuse_overwriting(output, [model, *data])
    loaded, curve = load(model), None if tuning is None else _curve(tuning)
    with progress("judging") as step:
        source = reader(data, step)
        page = create(loaded, source, label=label, leave_one_out=leave_one_out, rows=rows, tuning=curve, title=title)
    tell_bad(source)
    write_report(output, page)
    note(f"the report is in {output}")


def _curve(path: str) -> list[dict[str, float]]:
    """The curve in a file that `tally tune --json` has written."""
    import json

    from tallybayes.errors import FileError

    try:
        with open(path, encoding="utf-8") as file:
            curve = json.load(file)["curve"]
        return [{"k": float(one["k"]), "log_loss": float(one["log_loss"])} for one in curve]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FileError("what tally tune --json has written", got=str(error), file=path) from error


VERBS = [(report, EXAMPLE)]
