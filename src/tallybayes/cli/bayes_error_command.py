"""tally bayes-error: how well the best classifier could do if the data were as a model says."""

from __future__ import annotations

from tallybayes.cli.messages import print_result
from tallybayes.cli.model_file_options import load_model
from tallybayes.cli.shared_options import JSON, MODEL, option

__all__ = ["bayes_error"]


def bayes_error(
    model: str = MODEL,
    *,
    method: str = option("NAME", "enumeration, sampling, or auto: enumeration where there are few values.", "auto"),
    rows: int = option("N", "The number of rows to draw.", 100_000),
    seed: int = option("N", "The seed that draws the rows.", 0),
    level: float = option("LEVEL", "The level of the interval.", 0.95),
    json: bool = JSON,
) -> None:
    """Print the Bayes error of a model: that of the best classifier if the data were as the model says.

    Exact where columns have few values, whose combinations are enumerated; otherwise averaged over rows drawn from the
    model, with an interval.

        tally bayes-error films.tally
    """
    from tallybayes.evaluation.bayes_error import bayes_error as compute

    result = compute(load_model(model), method=method, rows=rows, seed=seed, level=level)  # type: ignore[arg-type]
    print_result(result.to_dict() if json else str(result))
