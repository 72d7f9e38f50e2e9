"""tally inspect: classes, schema and parameters of a model."""

from __future__ import annotations

from typing import Any

from tallybayes.cli.messages import print_result
from tallybayes.cli.model_file_options import load_model
from tallybayes.cli.shared_options import JSON, MODEL, flag, option

__all__ = ["inspect"]


def inspect(
    model: str = MODEL,
    *,
    column: list[str] | None = option("COL", "Only this column (repeatable)."),
    all: bool = flag("--all", help="List every token, tag and category."),
    schema: bool = flag("--schema", help="Print only the schema, as JSON for tally fit --schema."),
    level: float | None = option("LEVEL", "Add credible intervals of this level, such as 0.95."),
    output: str | None = option(
        "FILE", "Write all parameters as a table: .csv, .tsv, .json, .jsonl, .parquet, .xlsx.", None, "-o", "--output"
    ),
    json: bool = JSON,
) -> None:
    """Print what a model file contains.

    The classes, the family of every column with the reason, and the parameters of every column per class. Of a text or
    of tags these are the tokens that favour a class most; with --all, or in a file, every token.

        tally inspect films.tally --column genre
        tally inspect films.tally --column genre --all
        tally inspect spam.tally --column text -o words.csv     # every token
        tally inspect films.tally --level 0.95
        tally inspect films.tally --schema > schema.json     # edit it, then: tally fit --schema schema.json
    """
    loaded = load_model(model)
    if schema:
        print_result(loaded.schema.to_dict())
        return
    names = column or None
    if output is not None:
        _write(loaded, names, level, output, json=json)
        return
    described = loaded.describe(names, all=all) if level is None else loaded.intervals(level, column=names, all=all)
    fitted = {} if column else _describe_fitted(loaded)
    if json:
        print_result(described.to_dict() | fitted)
        return
    print_result("\n\n".join([str(described), *(f"{name}: {text}" for name, text in fitted.items())]))


def _write(model: Any, names: list[str] | None, level: float | None, output: str, *, json: bool) -> None:
    """Write the parameters of columns to a file, a row for each parameter, value or token and class."""
    from tallybayes.cli.messages import note
    from tallybayes.cli.output import form_of, write_tables
    from tallybayes.formatting import rows_of

    form = form_of(output, json=json)
    described = model.describe(names, all=True) if level is None else model.intervals(level, column=names, all=True)
    table = described.to_arrow()
    write_tables([table], output, form)
    if output != "-":
        note(f"wrote {rows_of(table.num_rows)} to {output}")


def _describe_fitted(model: Any) -> dict[str, str]:
    """What was fitted afterwards, as text."""
    from tallybayes.formatting import listed, number, shown, signed
    from tallybayes.model.model_summary import class_prior_words, smoothing_words
    from tallybayes.state.column_weights import weight_range

    weights, result = model.column_weights, {}
    if not model.is_given and (class_prior := class_prior_words(model.settings)) is not None:
        result["class prior"] = class_prior
    if (smoothing := smoothing_words(model.snapshot().state)) is not None:
        result["smoothing"] = smoothing
    if weights.fitted_on:
        result["column weights"] = f"fitted on held-out rows ({number(weights.fitted_on, 12)} different rows)"
    if weights.missing:
        result["missing values that are evidence"] = listed(
            [f"{name} ({weight_range(weight)})" for name, weight in weights.missing.items()]
        )
    if slopes := [name for name, correction in weights.corrections.items() if any(correction.slopes.values())]:
        result["slopes"] = listed(slopes)
    if tables := [name for name, correction in weights.corrections.items() if correction.cells is not None]:
        result["corrections by cell"] = listed(tables)
    if (corrections := model.settings.token_corrections) is not None:
        sizes = [f"{name} ({len(table.tokens):,} tokens)" for name, table in corrections.columns.items()]
        result["corrections of tokens"] = listed(sizes)
    if weights.offsets:
        result["class offsets"] = listed([f"{shown(c)} {signed(offset, 3)}" for c, offset in weights.offsets.items()])
    if model.settings.class_weight is not None:
        class_weight = model.settings.class_weight
        pairs = (
            class_weight
            if isinstance(class_weight, str)
            else listed([f"{shown(c)} {number(w)}" for c, w in class_weight.items()])
        )
        result["class weights (factors of the class prior)"] = pairs
    if model.calibration is not None:
        result["calibration"] = str(model.calibration)
    if model.settings.decision is not None:
        result["decision"] = str(model.decision)
    if model.stale:
        result["stale (the model has changed since)"] = ", ".join(model.stale)
    return result
