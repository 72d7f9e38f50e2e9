"""tally sample: rows made by the model."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli.messages import note
from tallybayes.cli.options import Debug, Json, ModelFile, Output

__all__ = ["VERBS", "sample"]


def sample(
    model: ModelFile,
    *,
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many rows.")] = 10,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Makes the same rows again.")] = None,
    output: Output = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Make up rows.

    A class from the prior, then every column given the class. The label comes last.
    """
    from tallybayes.cli.output import Writer, form_of
    from tallybayes.formatting import rows_of
    from tallybayes.model.saved_model import load

    table = load(model).sample(n, seed=seed)
    with Writer(output, form_of(output, json=json)) as writer:
        writer.write(table)
    if output not in (None, "-"):
        note(f"wrote {rows_of(n)} to {output}")


VERBS = [(sample, "tally sample films.tally -n 100 --seed 1 -o made.csv")]
