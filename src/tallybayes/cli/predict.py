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
    """Predict the label of every row, beside the columns of the input.

    CSV gives CSV, TSV gives TSV, JSON gives JSON lines; -o out.parquet writes Parquet.
    """
    from tallybayes.cli.output import Writer, form_of
    from tallybayes.errors import DataError, ParameterError, did_you_mean
    from tallybayes.model.store import load

    loaded = load(model)
    if not loaded.classes:
        raise DataError("a model that has learned at least one row", came=model)
    n_rows = 0
    with progress("predicting") as step:
        source = reader(data, step)
        names = list(source.head().columns)
        for name in id or ():
            if name not in names:
                raise ParameterError("--id, a column of the data", came=name, hint=did_you_mean(name, names))
        with Writer(output, "json" if json else form_of(output, source)) as writer:
            for table, log_joint in loaded.scored(source, keep=True):
                kept: Any = table.kept
                kept = kept if id is None else kept.select(id)
                writer.write(_predicted(kept, loaded, log_joint, proba))
                n_rows += table.n_rows
    tell_bad(source)
    if output is not None:
        note(f"wrote {n_rows} rows to {output}")


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
    for name, values in added.items():
        while name in kept.column_names:
            name += "_"
        kind = {} if name.startswith("predicted") else {"kind": "probability"}
        values = pa.array(values)
        kept = kept.append_column(pa.field(name, values.type, metadata=kind), values)
    return kept


VERBS = [(predict, EXAMPLE)]
