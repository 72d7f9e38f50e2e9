"""tally compare: naive Bayes against logistic regression."""

from __future__ import annotations

from tallybayes.cli.fit_options import LABEL, LabelledFitting, fit_options
from tallybayes.cli.messages import note_bad_rows, print_result, progress
from tallybayes.cli.shared_options import DATA, JSON, Reading, option

__all__ = ["compare"]


def compare(
    data: list[str] = DATA,
    *,
    label: str | None = LABEL,
    sizes: str | None = option("N,N,...", "Numbers of training rows. [10, 20, 50, 100, ...]"),
    folds: int = option("N", "The number of folds.", 5),
    seed: int = option("N", "The seed that shuffles the folds.", 0),
    fitting: LabelledFitting,
    json: bool = JSON,
    reader: Reading,
) -> None:
    """Compare naive Bayes with logistic regression.

    Learning curves by cross-validation: both are fitted on the same training rows, more and more of them, and evaluated
    on the same held-out rows. Naive Bayes is often better with few rows, logistic regression with many.

    The options of `tally fit` apply to naive Bayes.

        tally compare films.csv --label rating --sizes 100,1000
    """
    from tallybayes.evaluation import compare as compare_models

    with progress("comparing") as step:
        source = reader(data, None)
        options = fit_options(source, label, **fitting)
        steps = None if sizes is None else _numbers(sizes)
        comparison = compare_models(source, label, sizes=steps, folds=folds, seed=seed, progress=step, **options)
    note_bad_rows(source)
    print_result(comparison.to_dict() if json else str(comparison))


def _numbers(text: str) -> list[int]:
    """Integers separated by commas."""
    from tallybayes.errors import ParameterError

    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ParameterError("--sizes: integers separated by commas", got=text) from None
