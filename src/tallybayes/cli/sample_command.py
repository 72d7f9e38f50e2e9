"""tally sample: rows drawn from a model."""

from __future__ import annotations

from tallybayes.cli.messages import note
from tallybayes.cli.model_file_options import load_model
from tallybayes.cli.shared_options import JSON, MODEL, OUTPUT, option

__all__ = ["sample"]


def sample(
    model: str = MODEL,
    *,
    n: int = option("N", "The number of rows.", 10, "-n"),
    seed: int | None = option("N", "The seed, to draw the same rows again."),
    output: str | None = OUTPUT,
    json: bool = JSON,
) -> None:
    """Draw random rows from a model.

    A class from the class prior, then every column given the class. The label is the last column.

        tally sample films.tally -n 100 --seed 1 -o made.csv
    """
    from tallybayes.cli.output import form_of, write_tables
    from tallybayes.formatting import rows_of

    write_tables([load_model(model).sample(n, seed=seed)], output, form_of(output, json=json))
    if output not in (None, "-"):
        note(f"wrote {rows_of(n)} to {output}")
