"""The verb compare: naive Bayes against logistic regression."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tallybayes.cli.fit_options import Label, fit_options, fits
from tallybayes.cli.messages import answer, progress, tell_bad
from tallybayes.cli.options import Data, Json, Reader, reads

__all__ = ["VERBS", "compare"]

EXAMPLE = """
tally compare films.csv --label rating --sizes 100,1000
"""


@reads
@fits
def compare(
    data: Data,
    *,
    label: Label = None,
    sizes: Annotated[
        str | None, typer.Option(metavar="N,N,...", help="Rows to learn from. [10, 20, 50, 100 and so on]")
    ] = None,
    folds: Annotated[int, typer.Option(metavar="N", help="The folds of cross-validation.")] = 5,
    seed: Annotated[int, typer.Option(metavar="N", help="Shuffles the folds.")] = 0,
    fitting: dict[str, Any],
    json: Json = False,
    reader: Reader,
) -> None:
    """Compare naive Bayes with logistic regression.

    Learning curves: both learn from the same rows, more and more of them, and answer the same rows held out. Naive
    Bayes is often ahead while there are few rows, logistic regression when there are many.

    The options for fitting are those of `tally fit`.
    """
    from tallybayes.errors import ParameterError
    from tallybayes.evaluation import compare as compare_models

    with progress("comparing") as step:
        source = reader(data, None)
        if label is None and fitting["schema"] is None:
            raise ParameterError("--label COL, the column to predict", got=None)
        options = fit_options(source, label, **fitting)
        steps = None if sizes is None else _numbers(sizes)
        found = compare_models(source, label, sizes=steps, folds=folds, seed=seed, progress=step, **options)
    tell_bad(source)
    answer(found.to_dict() if json else str(found))


VERBS = [(compare, EXAMPLE)]


def _numbers(text: str) -> list[int]:
    """Whole numbers with commas between them."""
    from tallybayes.errors import ParameterError

    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ParameterError("--sizes: whole numbers with commas between them", got=text) from None
