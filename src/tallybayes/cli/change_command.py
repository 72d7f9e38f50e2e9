"""tally learn, forget and merge: change model files."""

from __future__ import annotations

from typing import Any

from tallybayes.cli.messages import note, note_bad_rows, print_result, progress
from tallybayes.cli.model_file_options import edit_model, model_path
from tallybayes.cli.shared_options import DATA, JSON, MODEL, InputReader, Reading, argument, check_label_column, option

__all__ = ["forget", "learn", "merge"]

LABEL_VALUE = option("CLASS", "The label of all rows, for mails and texts without a column of labels.")


def learn(
    model: str = MODEL,
    data: list[str] = DATA,
    *,
    label_value: str | None = LABEL_VALUE,
    json: bool = JSON,
    reader: Reading,
) -> None:
    """Add rows to a model, all of them or none.

    New classes, categories and columns are added to the model. If another command is changing the same file, this one
    waits until it is done.

        tally learn films.tally corrections.csv
        tally learn mail.tally letter.eml --label-value spam
    """
    _change("learn", model, data, label_value, json, reader)


def forget(
    model: str = MODEL,
    data: list[str] = DATA,
    *,
    label_value: str | None = LABEL_VALUE,
    json: bool = JSON,
    reader: Reading,
) -> None:
    """Remove rows from a model, all of them or none.

    The sums are then those of the other rows, exactly; histograms keep the grid of values that they have now. If
    another command is changing the same file, this one waits until it is done.

        tally forget films.tally mistakes.csv
    """
    _change("forget", model, data, label_value, json, reader)


def merge(
    models: list[str] = argument("MODEL MODEL...", "Model files of the same label."),
    *,
    output: str = option("MODEL", "The model file to write.", ..., "-o", "--output"),
    json: bool = JSON,
) -> None:
    """Merge models that were fitted separately.

    The result is the model of all rows. Its options are those of the first model.

        tally merge monday.tally tuesday.tally -o week.tally
    """
    from dataclasses import replace

    from tallybayes.errors import ParameterError
    from tallybayes.model.saved_model import load

    if len(models) < 2:
        raise ParameterError("two or more models", got=models)
    model_path(output, [])
    total = load(models[0])
    for path in models[1:]:
        other = load(path)
        if replace(other.settings, column_weights=None) != replace(total.settings, column_weights=None):
            note(f"{path} was fitted with other options; the options of {models[0]} are used")
        mine, theirs = total.schema.families, other.schema.families
        if any(
            mine[name] != theirs[name] and mine[name].counted == theirs[name].counted
            for name in mine.keys() & theirs.keys()
        ):
            note(f"{path} has other text variants; those of {models[0]} are used")
        total = total.merge(other)
    total.save(output)
    _print_change(json, {"model": output, "merged": len(models)}, total, f"merged {len(models)} models into {output}")


def _change(verb: str, path: str, data: list[str], label: str | None, json: bool, reader: InputReader) -> None:
    from tallybayes.formatting import rows_of
    from tallybayes.tables.source import ConstantColumns

    with progress("learning" if verb == "learn" else "forgetting") as step:
        source = reader(data, step)
        with edit_model(path) as model:
            label_name = model.snapshot().label_or_default()
            if label is None:
                check_label_column(source, label_name)
            before = set(model.schema.families)
            rows = source if label is None else ConstantColumns(source, {label_name: label})
            change = getattr(model, verb)(rows)
    new = [name for name in model.schema.families if name not in before]
    if new:
        note(f"new columns, added to the model: {', '.join(new)}")
    note_bad_rows(source)
    for text in change.notes:
        note(text)
    if model.stale:
        note(f"fitted before this update, may be stale: {', '.join(model.stale)}")
    skipped = f", skipped {change.skipped} without a label" if change.skipped else ""
    text = f"{'learned' if verb == 'learn' else 'forgot'} {rows_of(change.rows)}{skipped}; {path} is updated"
    facts = {"model": path, "rows": change.rows, "skipped": change.skipped, "bad": change.bad}
    _print_change(json, facts, model, text)


def _print_change(json: bool, facts: dict[str, Any], model: Any, text: str) -> None:
    from tallybayes.formatting import number, shown, text_table

    classes = model.class_counts
    if json:
        print_result(facts | {"classes": [{"class": label, "rows": n} for label, n in classes.items()]})
        return
    rows = [[shown(label), number(n, 12)] for label, n in classes.items()]
    print_result(f"{text}\n\n{text_table([model.schema.label or 'class', 'rows'], rows)}")
