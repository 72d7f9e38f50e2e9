"""tally importance: the importance of the columns of a model."""

from __future__ import annotations

from tallybayes.cli.fit_options import LABEL, SAMPLE_WEIGHT
from tallybayes.cli.messages import note_bad_rows, print_result, progress
from tallybayes.cli.model_file_options import load_model
from tallybayes.cli.shared_options import DATA, JSON, MODEL, Reading, check_label_column, flag, option

__all__ = ["importance"]


def importance(
    model: str = MODEL,
    data: list[str] = DATA,
    *,
    label: str | None = LABEL,
    sample_weight: str | None = SAMPLE_WEIGHT,
    rows: int = option("N", "Use at most N rows, drawn at random.", 5000),
    seed: int = option("N", "The seed that draws the rows.", 0),
    tokens: bool = flag("--tokens", help="Also rank the tokens of texts, tags and lists."),
    json: bool = JSON,
    reader: Reading,
) -> None:
    """Rank the columns of a model by importance.

    DATA is the data that the model has learned. Gain is the increase of the log loss without the column; information is
    the decrease of the log loss by the column alone; both by leave-one-out, in nats per row. The Bayes factor, in
    decibans, compares "depends on the class" with "does not": 10 decibans are odds of ten to one.

        tally importance films.tally films.csv
        tally importance spam.tally mails.csv --tokens     # the words of texts too
    """
    from tallybayes.tuning import importance as column_importance

    with progress("scoring") as step:
        source = reader(data, step)
        loaded = load_model(model)
        check_label_column(source, loaded.snapshot().label_or_default(label))
        result = column_importance(
            loaded, source, label=label, sample_weight=sample_weight, rows=rows, seed=seed, tokens=tokens
        )
    note_bad_rows(source)
    print_result(result.to_dict() if json else str(result))
