"""tally sample: rows drawn from a model."""

from __future__ import annotations

from typing import Annotated

import typer

from tallybayes.cli.messages import note
from tallybayes.cli.shared_options import Debug, Json, ModelFile, Output, load_model

__all__ = ["COMMANDS", "sample"]


def sample(
    model: ModelFile,
    *,
    n: Annotated[int, typer.Option("-n", metavar="N", help="The number of rows.")] = 10,
    seed: Annotated[int | None, typer.Option(metavar="N", help="The seed, to draw the same rows again.")] = None,
    output: Output = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Draw random rows from a model.

    A class from the class prior, then every column given the class. The label is the last column.
    """
    from tallybayes.cli.output import Writer, form_of
    from tallybayes.formatting import rows_of

    table = load_model(model).sample(n, seed=seed)
    with Writer(output, form_of(output, json=json)) as writer:
        writer.write(table)
    if output not in (None, "-"):
        note(f"wrote {rows_of(n)} to {output}")


COMMANDS = [(sample, "tally sample films.tally -n 100 --seed 1 -o made.csv")]
