"""tally importance: what the columns of a model are worth."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli.fit_options import Label, Weight
from tallybayes.cli.messages import answer, progress, tell_bad
from tallybayes.cli.options import Data, Json, ModelFile, Reader, reads

__all__ = ["VERBS", "importance"]

EXAMPLE = """
tally importance films.tally films.csv
"""


@reads
def importance(
    model: ModelFile,
    data: Data,
    *,
    label: Label = None,
    weight: Weight = None,
    rows: Annotated[int, typer.Option(metavar="N", help="Leave out at most so many rows, one by one.")] = 5000,
    seed: Annotated[int, typer.Option(metavar="N", help="Draws the rows.")] = 0,
    json: Json = False,
    reader: Reader,
) -> None:
    """Rank the columns of a model by what they are worth.

    DATA is what the model has learned. Gain is how much greater the log loss would be without the column; information
    is what the column alone tells about the class; both in nats per row, each row left out of the sums. The Bayes
    factor, in decibans, weighs "depends on the class" against "does not": 10 are ten to one, below 0 speaks against.
    """
    from tallybayes.model.saved_model import load
    from tallybayes.tuning import importance as column_importance

    with progress("ranking") as step:
        source = reader(data, step)
        found = column_importance(load(model), source, label=label, weight=weight, rows=rows, seed=seed)
    tell_bad(source)
    answer(found.to_dict() if json else str(found))


VERBS = [(importance, EXAMPLE)]
