"""tally predict: the label of every row."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tallybayes.cli.options import Data, Json, ModelFile, Output, Reader, reads
from tallybayes.cli.talk import note, progress, tell_bad

__all__ = ["VERBS", "predict"]

EXAMPLE = """
tally predict films.tally new.csv -o labelled.csv
tally predict films.tally new.csv --id title --proba
"""


@reads
def predict(
    model: ModelFile,
    data: Data,
    *,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of every class.")] = False,
    id: Annotated[
        list[str] | None, typer.Option("--id", metavar="COL", help="Keep just this column of the input (repeatable).")
    ] = None,
    output: Output = None,
    json: Json = False,
    reader: Reader,
) -> None:
    """Predict the label of every row.

    It stands beside the columns of the input, with its probability.

    CSV gives CSV, TSV gives TSV, JSON gives JSON lines; -o out.parquet writes Parquet.
    """
    from tallybayes.cli.output import Writer, form_of, refuse_overwriting
    from tallybayes.errors import DataError, ParameterError, did_you_mean
    from tallybayes.model.store import load
    from tallybayes.model.text import rows_of

    refuse_overwriting(output, data)
    loaded = load(model)
    if not loaded.classes:
        raise DataError("the model has not learned any row yet", file=model)
    n_rows = 0
    with progress("predicting", unless_shown=output is None) as step:
        source = reader(data, step)
        source.missing = loaded.schema.missing if source.missing is None else source.missing
        names = list(source.head().columns)
        for name in id or ():
            if name not in names:
                raise ParameterError("--id, a column of the data", came=name, hint=did_you_mean(name, names))
        with Writer(output, form_of(output, source, json=json)) as writer:
            for table, log_joint in loaded.scored(source, keep=True):
                kept: Any = table.kept
                kept = kept if id is None else kept.select(id)
                writer.write(_predicted(kept, loaded, log_joint, proba))
                n_rows += table.n_rows
            if not n_rows:
                writer.write(_predicted(_no_rows(id or names), loaded, loaded.log_prior()[None][:0], proba))
    lacking = [name for name in loaded.schema.families if name not in names]
    if lacking:
        note(f"columns of the model that are not in the data (missing): {', '.join(lacking)}")
    tell_bad(source)
    if output not in (None, "-"):
        note(f"wrote {rows_of(n_rows)} to {output}")


def _no_rows(names: list[str]) -> Any:
    import pyarrow as pa

    return pa.table({name: pa.array([], pa.string()) for name in names})


def _predicted(kept: Any, model: Any, log_joint: Any, proba: bool) -> Any:
    """The kept columns with the prediction, its probability and those of all classes if they are wanted."""
    import numpy as np
    import pyarrow as pa

    from tallybayes.model.scorer import log_normalised
    from tallybayes.model.text import shown

    p = np.exp(log_normalised(log_joint, model.log_prior()))
    best = p.argmax(axis=1)
    added = {
        "predicted": pa.array(model.classes).take(pa.array(best)),
        "probability": p[np.arange(len(p)), best],
    }
    if proba:
        added |= {f"P({shown(label)})": p[:, i] for i, label in enumerate(model.classes)}
    fields, columns = list(kept.schema), list(kept.columns)
    for name, values in added.items():
        while name in kept.column_names:
            name += "_"
        kind = {"kind": "label" if isinstance(values, pa.Array) else "probability"}
        column = pa.array(values)
        fields.append(pa.field(name, column.type, metadata=kind))
        columns.append(column)
    return pa.table(columns, schema=pa.schema(fields))


VERBS = [(predict, EXAMPLE)]
