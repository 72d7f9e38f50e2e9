"""tally predict: a label and its probability for every row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from tallybayes.cli.messages import note, note_bad_rows, progress
from tallybayes.cli.shared_options import Data, Json, ModelFile, Output, Reader, learned_model, reads

__all__ = ["COMMANDS", "predict"]

EXAMPLE = """
tally predict films.tally new.csv -o labelled.csv
tally predict films.tally new.csv --id title --proba
tally predict films.tally new.csv --interval 0.95      # with credible intervals
"""


@reads
def predict(
    model: ModelFile,
    data: Data,
    *,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of every class.")] = False,
    id: Annotated[
        list[str] | None, typer.Option("--id", metavar="COL", help="Keep only this column of the input (repeatable).")
    ] = None,
    interval: Annotated[
        float | None, typer.Option(metavar="LEVEL", help="Add the credible interval of the probability, such as 0.95.")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Print the probabilities before calibration.")] = False,
    output: Output = None,
    json: Json = False,
    reader: Reader,
) -> None:
    """Predict the label of every row.

    Adds the columns predicted and probability to those of the input. The output has the format of the input (JSON as
    JSON lines), or the one that the name of the output file ends in, such as .parquet.
    """
    from tallybayes.cli.output import Writer, form_of, refuse_overwriting
    from tallybayes.formatting import rows_of

    refuse_overwriting(output, data)
    loaded = learned_model(model)
    n_rows = 0
    with progress("predicting", unless_shown=output is None) as step:
        source = reader(data, step)
        source.missing = loaded.schema.missing if source.missing is None else source.missing
        names = list(source.head().columns)
        _check_columns(id or [], names)
        with Writer(output, form_of(output, source, json=json)) as writer:
            for table, log_joint, ends in _scored(loaded, source, interval, raw):
                kept = table.kept if id is None else table.kept.select(id)
                writer.write(_predicted(kept, loaded, log_joint, ends, proba=proba, raw=raw))
                n_rows += table.n_rows
            if not n_rows:
                writer.write(_predicted(*_no_rows(id or names, loaded, interval), proba=proba, raw=raw))
    absent = sorted({*loaded.schema.columns_in_use} - {*names})
    if absent:
        note(f"columns of the model that are not in the data, treated as missing: {', '.join(absent)}")
    note_bad_rows(source)
    if output not in (None, "-"):
        note(f"wrote {rows_of(n_rows)} to {output}")


def _check_columns(wanted: list[str], names: list[str]) -> None:
    from tallybayes.errors import ParameterError, did_you_mean

    for name in wanted:
        if name not in names:
            raise ParameterError("--id, a column of the data", got=name, hint=did_you_mean(name, names, "columns"))


def _no_rows(names: list[str], model: Any, level: float | None) -> tuple[Any, Any, Any, Any]:
    """The arguments of `_predicted` for data without rows, so that the columns are written."""
    import pyarrow as pa

    kept = pa.table({name: pa.array([], pa.string()) for name in names})
    log_joint = model.log_prior()[None][:0]
    return kept, model, log_joint, None if level is None else log_joint[..., None].repeat(2, axis=2)


def _scored(model: Any, source: Any, level: float | None, raw: bool) -> Iterator[tuple[Any, Any, Any]]:
    """Batches with log P(class, row), and intervals if there is a level."""
    if level is None:
        for table, log_joint in model.snapshot().log_joint_batches(source, keep=True):
            yield table, log_joint, None
    else:
        for table, (log_joint, ends) in model.snapshot().interval_batches(source, level, calibrated=not raw, keep=True):
            yield table, log_joint, ends


def _predicted(kept: Any, model: Any, log_joint: Any, ends: Any, *, proba: bool, raw: bool) -> Any:
    """The kept columns with the prediction, its probability, its interval, and the probabilities of all classes."""
    import numpy as np
    import pyarrow as pa

    from tallybayes.formatting import shown

    snapshot = model.snapshot()
    p = np.exp(snapshot.posterior_for(not raw).log_proba(log_joint))
    best = snapshot.posterior.answer_codes(np.exp(snapshot.posterior.log_proba(log_joint)))
    answered = best >= 0  # where the model abstains, the cells are empty
    added = {
        "predicted": pa.array(model.classes).take(pa.array(best, mask=~answered)),
        "probability": pa.array(p[np.arange(len(p)), best], mask=~answered),
    }
    if ends is not None:
        own = ends[np.arange(len(p)), best]
        added |= {name: pa.array(own[:, i], mask=~answered) for i, name in enumerate(("low", "high"))}
    if proba:
        added |= {f"P({shown(label)})": p[:, i] for i, label in enumerate(model.classes)}
    fields, columns = list(kept.schema), list(kept.columns)
    for name, values in added.items():
        while name in kept.column_names:
            name += "_"
        kind = {"kind": "label" if name.rstrip("_") == "predicted" else "probability"}
        column = pa.array(values)
        fields.append(pa.field(name, column.type, metadata=kind))
        columns.append(column)
    return pa.table(columns, schema=pa.schema(fields))


COMMANDS = [(predict, EXAMPLE)]
