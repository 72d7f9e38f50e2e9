"""tally tune: fit a model, and select weights, corrections, interactions and hyperparameters on held-out rows."""

from __future__ import annotations

from typing import Any

from tallybayes.cli.doubt_list import Checking
from tallybayes.cli.fit_options import LABEL, SAMPLE_WEIGHT, UnweightedFitting, fit_options
from tallybayes.cli.messages import note, note_bad_rows, print_result, progress
from tallybayes.cli.model_file_options import MODEL_OUTPUT, model_path
from tallybayes.cli.shared_options import DATA, JSON, Reading, option

__all__ = ["tune"]


def tune(
    data: list[str] = DATA,
    *,
    label: str | None = LABEL,
    output: str | None = MODEL_OUTPUT,
    what: list[str] | None = option(
        "WHAT",
        "column_weights, corrections, interactions, dependence, joint, text, smoothing, families, class_smoothing or"
        " columns (repeatable). [the first six]",
    ),
    seconds: float | None = option("S", "Stop trying candidates after S seconds."),
    by: str = option("HOW", "leave-one-out, evidence or validation.", "leave-one-out"),
    criterion: str = option("METRIC", "The metric to improve, such as accuracy or auc.", "log_loss"),
    validation: str | None = option("ROWS", "A file of rows that select k, or the share of the rows. [0.2]"),
    rows: int = option("N", "Judge candidates on a sample of at most N rows.", 4000),
    strengths: int = option("N", "The number of values of k to evaluate.", 50),
    seed: int = option("N", "The seed that draws the rows.", 0),
    fitting: UnweightedFitting,
    sample_weight: str | None = SAMPLE_WEIGHT,
    json: bool = JSON,
    doubts: Checking,
    reader: Reading,
) -> None:
    """Fit a model and select column weights, corrections, interactions and hyperparameters.

    Each choice is made by the log loss of rows that are scored without themselves, or by --criterion, and printed with
    its improvement over the model of `tally fit`. If nothing is clearly better, that model is kept.
    The options of `tally fit` apply; families given by --as are not changed.

        tally tune films.csv --label rating                       # writes films.tally
        tally tune films.csv --label rating --seconds 10          # at most ten seconds
        tally tune films.csv --label rating --what interactions   # column weights and interactions only
        tally tune films.csv --label rating --by validation       # select k on a part of the rows
        tally tune train.csv --label rating --validation valid.csv  # select k on other rows
        tally tune films.csv --label rating --criterion accuracy  # what improves accuracy is used
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
            criterion=criterion,
            validation=_validation_rows(validation, reader),
            rows=rows,
            strengths=strengths,
            seed=seed,
            progress=report,
            sample_weight=sample_weight,
            **options,
        )
        doubts.show()
        tuning.model.save(path)
    note_bad_rows(source)
    if json:
        print_result({"model": path, **tuning.to_dict(), "doubts": doubts.to_list()})
        return
    print_result(str(tuning))
    note(f"wrote the model to {path}")


def _validation_rows(text: str | None, reader: Reading) -> Any:
    """The share, or the rows of a file."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return reader([text])
