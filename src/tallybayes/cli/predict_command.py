"""tally predict: a label and its probability for every row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tallybayes.cli.messages import note, note_bad_rows, progress
from tallybayes.cli.model_file_options import find_class, learned_model
from tallybayes.cli.shared_options import DATA, JSON, MODEL, OUTPUT, Reading, flag, option

__all__ = ["predict"]

_FEW_ROWS = 1000


def predict(
    model: str = MODEL,
    data: list[str] = DATA,
    *,
    proba: bool = flag("--proba", help="Add the probability of every class."),
    id: list[str] | None = option("COL", "Keep only this column of the input (repeatable)."),
    interval: float | None = option("LEVEL", "Add the credible interval of the probability, such as 0.95."),
    raw: bool = flag("--raw", help="Print the probabilities before calibration."),
    threshold: float | None = option(
        "P", "Answer the positive class if its probability is at least P. [the model's rule]"
    ),
    positive: str | None = option("CLASS", "The class of --threshold. [the second of two]"),
    output: str | None = OUTPUT,
    json: bool = JSON,
    reader: Reading,
) -> None:
    """Predict the label of every row.

    Adds the columns predicted and probability to those of the input. The output has the format of the input, and its
    delimiter, decimal sign and quotes; or the format that the name of the output file ends in, such as .parquet, .xlsx,
    .jsonl (an object per line), .json (one array) or .csv.gz. With --skip-bad, a bad row has no prediction.

        tally predict films.tally new.csv -o labelled.csv
        tally predict films.tally new.csv --id title --proba
        tally predict films.tally new.csv --interval 0.95      # with credible intervals
        tally predict mail.tally new.csv --positive spam --threshold 0.9
    """
    from tallybayes.cli.csv_lines import dialect_of
    from tallybayes.cli.output import form_of, refuse_overwriting, write_tables
    from tallybayes.formatting import rows_of

    refuse_overwriting(output, data)
    loaded = learned_model(model)
    _set_threshold(loaded, threshold, positive)
    n_rows = 0

    def predicted() -> Iterator[Any]:
        nonlocal n_rows
        for kept, log_score, ends, order in _score(loaded, source, interval, raw):
            n_rows += kept.num_rows
            yield _add_predictions(_select(kept, id or originals), loaded, log_score, ends, order, proba=proba, raw=raw)
        if not n_rows:
            yield _add_predictions(*_no_rows(id or originals, loaded, interval), proba=proba, raw=raw)

    with progress("predicting", unless_shown=output is None) as step:
        source = reader(data, step)
        source.use_words(loaded.schema.missing)
        source.look_for(loaded.schema.columns)
        names = list(source.head().columns)
        originals = getattr(source, "original_names", names)  # records are written as they are
        _check_columns(id or [], originals)
        form = form_of(output, source, json=json)
        types = _column_types(source, loaded.schema) if form in ("parquet", "xlsx") else None
        write_tables(predicted(), output, form, dialect=dialect_of(source), types=types)
    absent = sorted({*loaded.schema.columns_in_use} - {*names})
    if absent:
        note(f"columns of the model that are not in the data, treated as missing: {', '.join(absent)}")
    note_bad_rows(source, "no prediction for {}")
    if output not in (None, "-"):
        note(f"wrote {rows_of(n_rows)} to {output}")


def _column_types(source: Any, schema: Any) -> Any:
    """The types of the columns of the input: of its file, or by its first rows and what the model knows of them."""
    from tallybayes.cells.number_format import NumberFormat
    from tallybayes.cli.column_types import ColumnTypes
    from tallybayes.columns.batch import columns_to_read

    formats = {name: kind for name, kind in columns_to_read(schema).items() if isinstance(kind, NumberFormat)}
    dates = {name: spec.reader.dates for name, spec in schema.columns.items() if spec.reader.dates is not None}
    stored = getattr(next(iter(getattr(source, "formats", ())), None), "types", None)
    return ColumnTypes(source.head(), formats=formats, dates=dates, words=source.missing, stored=stored)


def _set_threshold(model: Any, threshold: float | None, positive: str | None) -> None:
    """Replace the rule of a model that was read for this prediction."""
    from tallybayes.errors import NONE, ParameterError
    from tallybayes.formatting import shown
    from tallybayes.state.decision import Decision

    if threshold is None:
        if positive is not None:
            raise ParameterError("--threshold P for --positive", got=NONE)
        return
    if positive is None and len(model.classes) != 2:
        classes = ", ".join(map(shown, model.classes[:20]))
        raise ParameterError("--positive CLASS for --threshold", got=NONE, hint=f"the classes are {classes}")
    label = model.classes[1] if positive is None else find_class(model.classes, positive)
    if positive is None:
        note(f"the threshold is for the class {shown(label)} (--positive CLASS for another)")
    model.decision = Decision(positive=label, threshold=threshold)


def _check_columns(wanted: list[str], names: list[str]) -> None:
    from tallybayes.errors import ParameterError, did_you_mean

    for name in wanted:
        if name not in names:
            raise ParameterError("--id, a column of the data", got=name, hint=did_you_mean(name, names, "columns"))


def _select(kept: Any, names: list[str]) -> Any:
    """The columns of these names; those that one of several files lacks are empty."""
    import pyarrow as pa

    if kept.column_names == names:
        return kept
    for name in names:
        if name not in kept.column_names:
            kept = kept.append_column(name, pa.nulls(kept.num_rows, pa.string()))
    return kept.select(names)


def _no_rows(names: list[str], model: Any, level: float | None) -> tuple[Any, Any, Any, Any, Any]:
    """The arguments of `_add_predictions` for data without rows, so that the columns are written."""
    import numpy as np
    import pyarrow as pa

    kept = pa.table({name: pa.array([], pa.string()) for name in names})
    log_score = model.log_prior()[None][:0]
    ends = None if level is None else log_score[..., None].repeat(2, axis=2)
    return kept, model, log_score, ends, np.zeros(0, np.int64)


def _score(model: Any, source: Any, level: float | None, raw: bool) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Batches: all rows as they are in the input, the log score of the good ones, intervals if there is a level.

    The last part says which of the scores belongs to each row of the input; -1 for a bad row.
    """
    import numpy as np
    import pyarrow as pa

    from tallybayes.cells.arrow import integers

    snapshot = model.snapshot()
    work = snapshot.scorer.log_score if level is None else snapshot.interval_scorer(level, calibrated=not raw)
    unseen = snapshot.unseen_categories()
    for batch_source, table in snapshot.batches(source, keep=True):
        parts = list(snapshot.map_parts(batch_source, table, work, unseen))
        scores = [result if level is None else result[0] for _, result in parts]
        log_score = np.concatenate([np.zeros((0, len(model.classes))), *scores])
        ends = None
        if level is not None:
            ends = np.concatenate([np.zeros((0, len(model.classes), 2)), *(result[1] for _, result in parts)])
        bad = [] if batch_source.bad is None else batch_source.bad.kept
        if not bad:
            yield table.kept, log_score, ends, np.arange(table.n_rows)
            continue
        numbers = [_row_numbers(part) for part, _ in parts] + [np.array([number for number, _ in bad])]
        tables = [part.kept for part, _ in parts] + [kept.cast(table.kept.schema) for _, kept in bad]
        order = np.argsort(np.concatenate(numbers), kind="stable")
        batch_source.bad.kept = []
        kept = pa.concat_tables(tables).take(integers(order))
        yield kept, log_score, ends, np.where(order < len(log_score), order, -1)
    unseen.warn()


def _row_numbers(table: Any) -> Any:
    """The number of every row of a table in its file."""
    import numpy as np

    numbers = np.arange(table.n_rows) if table.rows is None else table.rows
    return numbers + (0 if table.origin is None else table.origin.first)


def _add_predictions(kept: Any, model: Any, log_score: Any, ends: Any, order: Any, *, proba: bool, raw: bool) -> Any:
    """The kept columns with the prediction, its probability, its interval, and the probabilities of all classes."""
    import numpy as np
    import pyarrow as pa

    from tallybayes.cells.arrow import doubles, integers
    from tallybayes.formatting import shown

    snapshot = model.snapshot()
    p = np.exp(snapshot.posterior_for(not raw).log_proba(log_score))
    best = snapshot.posterior.answer_codes(np.exp(snapshot.posterior.log_proba(log_score)))
    answered = best >= 0  # where the model abstains, the cells are empty
    added = {
        "predicted": _answers(model.classes, best, answered),
        "probability": doubles(p[np.arange(len(p)), best], answered),
    }
    if ends is not None:
        answer_ends = ends[np.arange(len(p)), best]
        added |= {name: doubles(answer_ends[:, i], answered) for i, name in enumerate(("low", "high"))}
    if proba:
        added |= {f"P({shown(label)})": doubles(p[:, i]) for i, label in enumerate(model.classes)}
    fields, columns, has_bad = list(kept.schema), list(kept.columns), bool((order < 0).any())
    for name, values in added.items():
        while name in kept.column_names:
            name += "_"
        kind = {"kind": "label" if name.rstrip("_") == "predicted" else "probability"}
        column = values.take(integers(order, order >= 0)) if has_bad else values  # a bad row has empty cells
        fields.append(pa.field(name, column.type, metadata=kind))
        columns.append(column)
    return pa.table(columns, schema=pa.schema(fields))


def _answers(classes: list[Any], best: Any, answered: Any) -> Any:
    """The label of every row, null where there is no answer.

    Arrow's functions take longer to import than a few rows take without them, and its conversion of lists would import
    pandas.
    """
    import pyarrow as pa

    from tallybayes.cells.arrow import integers, strings

    are_texts = all(isinstance(label, str) for label in classes)
    if are_texts and len(best) <= _FEW_ROWS:
        return strings([classes[code] if code >= 0 else None for code in best.tolist()])
    labels = strings(classes) if are_texts else pa.array(classes)
    return labels.take(integers(best, answered))
