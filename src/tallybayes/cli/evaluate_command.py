"""tally evaluate: a model on data, or data alone by cross-validation or prequentially."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallybayes.cli.doubt_list import Checking
from tallybayes.cli.fit_options import LABEL, NOT_GIVEN, SAMPLE_WEIGHT, LabelledFitting, fit_options
from tallybayes.cli.messages import note, note_bad_rows, print_result, progress
from tallybayes.cli.model_file_options import find_class, load_model
from tallybayes.cli.shared_options import JSON, LEAVE_ONE_OUT, Reading, argument, flag, option
from tallybayes.cli.subcommand import from_config

if TYPE_CHECKING:
    from tallybayes.evaluation import Evaluation
    from tallybayes.tables.source import Source

__all__ = ["evaluate"]

_LEAST_SAMPLES = 100  # of a bootstrap: with fewer, the ends of a 95 % interval are the extremes


def evaluate(
    model_and_data: list[str] = argument("[MODEL] DATA...", "A model and data; or data and --label."),
    *,
    label: str | None = LABEL,
    folds: int | None = option("N", "The number of folds of cross-validation. [10]"),
    seed: int = option("N", "The seed for the folds and for --bootstrap.", 0),
    leave_one_out: bool = LEAVE_ONE_OUT,
    sample_weight: str | None = SAMPLE_WEIGHT,
    prequential: bool = flag(
        "--prequential", help="Score each block of rows, then learn it, in the order of the data."
    ),
    every: int | None = option("N", "Rows per block for --prequential. [2 % of the rows before it]"),
    bootstrap: int | None = option("N", "Add 95 % bootstrap intervals from N samples, such as 1000."),
    time: str | None = option("COL", "Score blocks in the order of time, by the rows before them."),
    holdout: float | None = option("SHARE", "Hold out this share of the rows instead of folds, such as 0.2."),
    positive: str | None = option("CLASS", "Report precision, recall and F1 of this class apart."),
    by: str | None = option("COL", "Add figures for each value of this column, numbers in ranges."),
    fitting: LabelledFitting,
    json: bool = JSON,
    doubts: Checking,
    reader: Reading,
) -> None:
    """Evaluate a model, or cross-validate on data.

    Prints accuracy and log loss with the baselines that ignore the columns, Brier score, AUC, calibration error,
    precision and recall of every class, and the confusion matrix. With --label, the options of `tally fit` apply. The
    rows that a model has learned, and no others, are recognised: each is scored by a model without it.

        tally evaluate films.tally test.csv                # a model on new rows
        tally evaluate films.csv --label rating            # 10-fold cross-validation
        tally evaluate films.tally films.csv               # on the rows it has learned: by folds, each without itself
        tally evaluate log.csv --label failed --prequential    # predict each row, then learn it
        tally evaluate visits.csv --label ill --group patient  # folds of whole patients
        tally evaluate sales.csv --label sold --time date      # the past predicts the next block
        tally evaluate films.csv --label rating --holdout 0.2  # fit on 80 %, evaluate on the others
        tally evaluate films.tally test.csv --by country       # figures for each country
    """
    from tallybayes.errors import Described, ParameterError, check_integer
    from tallybayes.evaluation import cross_validate
    from tallybayes.evaluation import prequential as stream
    from tallybayes.formatting import rows_of
    from tallybayes.storage.model_file import is_model

    first, rest, group = model_and_data[0], model_and_data[1:], fitting["group"]
    has_model = first.endswith(".tally") or is_model(first)
    method = "a model" if has_model else "--prequential" if prequential else "cross-validation"
    of_fit = (name for name, value in fitting.items() if value not in NOT_GIVEN and name != "group")
    refitted = any(not from_config(name) for name in of_fit)
    for wrong, expected, got in (
        (leave_one_out and not has_model, "a model and the data it has learned, for --leave-one-out", "data alone"),
        (prequential and has_model, "data and --label, without a model, for --prequential", method),
        (prequential and by is not None, "--by without --prequential", "both"),
        (every is not None and not prequential, "--every only with --prequential", method),
        (
            folds is not None and method != "cross-validation" and not from_config("folds"),
            "--folds only for cross-validation of data",
            method,
        ),
        (time is not None and method != "cross-validation", "--time only for cross-validation of data", method),
        (holdout is not None and method != "cross-validation", "--holdout only for data and --label", method),
        (holdout is not None and folds is not None, "--folds or --holdout", "both"),
        (group is not None and time is not None, "--group or --time", "both"),
        (sample_weight is not None and not leave_one_out, "--sample-weight only with --leave-one-out", method),
        (refitted and has_model, "options of fit only with data and --label", "a model, which is already fitted"),
    ):
        if wrong:
            raise ParameterError(expected, got=Described(got))
    if folds is not None:
        check_integer("--folds", folds, at_least=2)
    if bootstrap is not None:
        check_integer("--bootstrap", bootstrap, at_least=_LEAST_SAMPLES)
    result: Any
    with progress("evaluating") as step:
        if has_model:
            if not rest:
                raise ParameterError("data to evaluate the model on", got=model_and_data)
            source = reader(rest, step)
            options = {"leave_one_out": leave_one_out or None, "sample_weight": sample_weight, "group": group, "by": by}
            result = evaluation = _of_model(first, source, label, **options)
        else:
            if label is None and fitting["schema"] is None:
                hint = "tally evaluate MODEL DATA, or tally evaluate DATA --label COL"
                raise ParameterError("a model, or --label", got=first, hint=hint)
            source = reader(model_and_data, step)
            fit_with = fit_options(source, label, **fitting)
            if prequential:
                result = stream(source, label, every=every, **fit_with)
                evaluation = result.evaluation
            else:
                division: dict[str, Any] = {"time": time, "holdout": holdout, "by": by}
                result = evaluation = cross_validate(source, label, folds=folds, seed=seed, **division, **fit_with)
    if positive is not None:
        evaluation.positive = find_class(evaluation.classes, positive)
    if bootstrap is not None:
        evaluation.bootstrap(bootstrap, seed)
    note_bad_rows(source)
    doubts.show()
    if evaluation.skipped:
        note(f"skipped {rows_of(evaluation.skipped)} without a label")
    print_result(result.to_dict() | {"doubts": doubts.to_list()} if json else str(result))


def _of_model(path: str, source: Source, label: str | None, **options: Any) -> Evaluation:
    """The evaluation of a model file, with a note about what leave-one-out does not repeat."""
    from tallybayes.evaluation import evaluate as evaluate_model

    model = load_model(path)
    evaluation = evaluate_model(model, source, label, **options)
    settings = model.settings
    weights = settings.column_weights
    fixed = {
        "column weights": weights is not None and not weights.fitted_on,
        "calibration": settings.calibration,
        "decision threshold": settings.decision and settings.decision.constraint,
    }
    if evaluation.leave_one_out and any(fixed.values()):
        names = ", ".join(name for name, value in fixed.items() if value)
        note(f"not refitted for each row, so the result is slightly optimistic: {names}")
    return evaluation
