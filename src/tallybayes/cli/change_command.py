"""tally learn, forget and merge: models changed safely."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tallybayes.cli.messages import answer, note, progress, tell_bad
from tallybayes.cli.options import Data, Debug, Json, ModelFile, Reader, reads

__all__ = ["VERBS", "forget", "learn", "merge"]


Class = Annotated[
    str | None,
    typer.Option("--class", metavar="CLASS", help="All rows are of this class: for mails and texts without a label."),
]


@reads
def learn(model: ModelFile, data: Data, *, class_: Class = None, json: Json = False, reader: Reader) -> None:
    """Add rows to a model, all of them or none.

    New classes, categories and columns are welcome.

    Another command that is changing the same file is waited for.
    """
    _changed("learn", model, data, class_, json, reader)


@reads
def forget(model: ModelFile, data: Data, *, class_: Class = None, json: Json = False, reader: Reader) -> None:
    """Take rows back, all of them or none.

    What is left is the model that never saw them.

    Another command that is changing the same file is waited for.
    """
    _changed("forget", model, data, class_, json, reader)


def merge(
    models: Annotated[list[str], typer.Argument(metavar="MODEL MODEL...", help="Model files of the same label.")],
    *,
    output: Annotated[str, typer.Option("-o", "--output", metavar="MODEL", help="The model file to write.")],
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Add up models that were learned apart.

    The sum is the model of all rows, bit for bit.
    """
    from tallybayes.errors import ParameterError
    from tallybayes.model.saved_model import load

    if len(models) < 2:
        raise ParameterError("two models or more", got=models)
    total = load(models[0])
    for path in models[1:]:
        other = load(path)
        if other.settings != total.settings:
            note(f"{path} was fitted with other options; those of {models[0]} are kept")
        mine, theirs = total.schema.families, other.schema.families
        if any(
            mine[name] != theirs[name] and mine[name].counted == theirs[name].counted
            for name in mine.keys() & theirs.keys()
        ):
            note(f"{path} made other choices for its texts; those of {models[0]} are kept")
        total = total.merge(other)
    total.save(output)
    _tell(json, {"model": output, "merged": len(models)}, total, f"merged {len(models)} models into {output}")


def _changed(verb: str, path: str, data: list[str], label: str | None, json: bool, reader: Reader) -> None:
    from tallybayes.data.source import Given
    from tallybayes.formatting import rows_of
    from tallybayes.model.saved_model import edit_model_file

    with progress("learning" if verb == "learn" else "forgetting") as step:
        source = reader(data, step)
        with edit_model_file(
            path, on_wait=lambda: note(f"waiting for another command that is changing {path}")
        ) as model:
            before = set(model.schema.families)
            told = source if label is None else Given(source, {model.snapshot().label_or_default(): label})
            change = getattr(model, verb)(told)
    new = [name for name in model.schema.families if name not in before]
    if new:
        note(f"new columns, from now on part of the model: {', '.join(new)}")
    tell_bad(source)
    for text in change.notes:
        note(text)
    if model.stale:
        note(f"found before these rows, and kept as it is: {', '.join(model.stale)}")
    skipped = f", {change.skipped} without a label skipped" if change.skipped else ""
    words = f"{'learned' if verb == 'learn' else 'forgot'} {rows_of(change.rows)}{skipped}; {path} is up to date"
    facts = {"model": path, "rows": change.rows, "skipped": change.skipped, "bad": change.bad}
    _tell(json, facts, model, words)


def _tell(json: bool, facts: dict[str, Any], model: Any, words: str) -> None:
    from tallybayes.formatting import number, shown, text_table

    classes = model.class_counts
    if json:
        answer(facts | {"classes": [{"class": label, "rows": n} for label, n in classes.items()]})
        return
    rows = [[shown(label), number(n, 12)] for label, n in classes.items()]
    answer(f"{words}\n\n{text_table([model.schema.label or 'class', 'rows'], rows)}")


VERBS = [
    (learn, "tally learn films.tally corrections.csv\ntally learn mail.tally letter.eml --class spam"),
    (forget, "tally forget films.tally mistakes.csv"),
    (merge, "tally merge monday.tally tuesday.tally -o week.tally"),
]
