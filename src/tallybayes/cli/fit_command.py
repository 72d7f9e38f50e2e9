"""tally fit: data in, a model file out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallybayes.cli.messages import answer, note, progress, tell_bad
from tallybayes.cli.options import Data, Json, Reader, adds, reads

if TYPE_CHECKING:
    from tallybayes.data.source import Source
    from tallybayes.model import Model

__all__ = ["FITTING", "VERBS", "fit", "fit_options", "fits", "model_path"]

_CLASSES = 30  # more are not listed one by one

EXAMPLE = """
tally fit films.csv --label rating --as genre=tags --ignore title
tally fit "logs/*.jsonl" --label "status=failed" -o failures.tally
"""

Label = Annotated[
    str | None,
    typer.Option(
        "--label", metavar="COL", help="The column to predict; COL=VALUE makes a yes/no label.", show_default=False
    ),
]
ModelOutput = Annotated[
    str | None, typer.Option("-o", "--output", metavar="MODEL", help="The model file. [named after the data]")
]
As = Annotated[
    list[str] | None,
    typer.Option("--as", metavar="COL=FAMILY", help="A column's family, with options: genre=tags:; (repeatable)."),
]
Ignore = Annotated[list[str] | None, typer.Option(metavar="COL", help="Leave a column out (repeatable).")]
Only = Annotated[list[str] | None, typer.Option(metavar="COL", help="Use only this column (repeatable).")]
SchemaFile = Annotated[str | None, typer.Option("--schema", metavar="FILE", help="Go by a schema saved before.")]
Weight = Annotated[str | None, typer.Option(metavar="COL", help="The column with the weight of each row.")]
Smoothing = Annotated[
    list[str] | None,
    typer.Option(metavar="K", help="Laplace's k: auto, a number from 0 on, inf; or COL=K (repeatable). [auto]"),
]
Numeric = Annotated[str, typer.Option(metavar="FAMILY", help="The family of real columns: histogram, gaussian.")]
Prior = Annotated[
    list[str] | None,
    typer.Option(metavar="P", help="Of the classes: empirical, uniform, or CLASS=P for every class. [empirical]"),
]
PriorSmoothing = Annotated[float, typer.Option(metavar="K", help="Rows of each class added to the class prior.")]
Estimate = Annotated[str, typer.Option(metavar="HOW", help="bayes, or mle for maximum likelihood.")]
Unseen = Annotated[str, typer.Option(metavar="HOW", help="A category never seen: prior (its share) or missing.")]

FITTING: dict[str, tuple[Any, Any]] = {
    "as_": (As, None),
    "ignore": (Ignore, None),
    "only": (Only, None),
    "schema": (SchemaFile, None),
    "smoothing": (Smoothing, None),
    "numeric": (Numeric, "histogram"),
    "prior": (Prior, None),
    "prior_smoothing": (PriorSmoothing, 1.0),
    "estimate": (Estimate, "bayes"),
    "unseen": (Unseen, "prior"),
}
fits = adds("fitting", FITTING, dict)


@reads
@fits
def fit(
    data: Data,
    *,
    label: Label = None,
    output: ModelOutput = None,
    fitting: dict[str, Any],
    save_schema: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the schema as JSON, to be edited and given to --schema.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the families and stop; nothing is fitted.")] = False,
    weight: Weight = None,
    json: Json = False,
    reader: Reader,
) -> None:
    """Learn a model from data, into one file."""
    from tallybayes.errors import DataError, ParameterError, shorten
    from tallybayes.model.fit import fit as fit_model
    from tallybayes.model.fit import planned

    with progress("fitting") as step:
        source = reader(data, step)
        if label is None and fitting["schema"] is None:
            columns = shorten(list(source.head().columns), 200)
            raise ParameterError("--label COL, the column to predict", got=None, hint=f"the columns are {columns}")
        options = fit_options(source, label, weight=weight, **fitting)
        if dry_run:
            model = planned(source, label, **options)[0]
            path = None
        else:
            path = model_path(output, data)
            model = fit_model(source, label, **options)
            if model.skipped and not model.classes:
                came = f"none in {model.skipped} rows"
                raise DataError("rows with a label", got=came, column=label, hint=_labels_of(data))
            model.save(path)
    if save_schema is not None:
        model.schema.save(save_schema)
        note(f"wrote the schema to {save_schema}")
    tell_bad(source)
    if not model.schema.families:
        note("no column is used: the model knows only how frequent the classes are (--as COL=FAMILY uses one)")
    facts = report(model, source, path)
    answer(facts if json else _for_people(facts))


VERBS = [(fit, EXAMPLE)]


def model_path(output: str | None, data: list[str]) -> str:
    """Where the model is to be written: as told, or beside the data; raises before any work is done in vain."""
    from tallybayes.cli.output import refuse_overwriting
    from tallybayes.errors import FileError
    from tallybayes.storage.model_file import is_model

    path = output or _named_after(data)
    refuse_overwriting(path, data)
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise FileError("a folder to write the model to", got=os.path.dirname(path))
    if os.path.exists(path) and not is_model(path):
        raise FileError("a new file or an old model to write to", got="another file", file=path)
    return path


def _labels_of(data: list[str]) -> str | None:
    """A hint for folders, whose names are labels only if the folder above them is given."""
    folders = [path for path in data if os.path.isdir(path)]
    if not folders:
        return None
    above = os.path.dirname(folders[0].rstrip("/")) or "."
    return f"the folders within a folder are the labels: give {above}/ if these are the folders of the classes"


def fit_options(source: Source, label: str | None, **given: Any) -> dict[str, Any]:
    """What was said on the command line as the options of `tallybayes.fit`."""
    from tallybayes.data.label import label_column
    from tallybayes.data.schema import Schema

    apart = {given.get("weight"), label_column(label or "", source.head().columns)[0]}
    names = [name for name in source.head().columns if name not in apart]
    families = dict(_split("--as", text, names) for text in given.pop("as_") or ())
    smoothing = [_strength(text, names) for text in given.pop("smoothing") or ()]
    alone = [k for name, k in smoothing if name is None]
    by_column = {name: k for name, k in smoothing if name is not None}
    prior, path = given.pop("prior"), given.pop("schema")
    options = {name: value for name, value in given.items() if value is not None}
    if families:
        options["families"] = families
    if smoothing:
        options["smoothing"] = (
            {**dict.fromkeys(names, alone[-1]), **by_column} if alone and by_column else (by_column or alone[-1])
        )
    if prior:
        named = len(prior) > 1 or "=" in prior[0]
        options["prior"] = _prior(prior, label or "", source) if named else prior[0]
    if path is not None:
        options["schema"] = Schema.load(path)
    return options


def report(model: Model, source: Source, path: str | None) -> dict[str, Any]:
    """What was done, as plain values."""
    return {
        "model": path,
        "label": model.schema.label,
        "rows": sum(model.class_counts.values()),
        "skipped": model.skipped,
        "bad": 0 if source.bad is None else source.bad.count,
        "classes": [{"class": label, "rows": n} for label, n in model.class_counts.items()],
        "columns": [
            {"column": field.name, "family": field.family.told() if field.family else None, "reason": field.reason}
            for field in model.schema.fields.values()
        ],
        "found": getattr(source, "facts", dict)(),
    }


def _for_people(facts: dict[str, Any]) -> str:
    """The report as text."""
    from tallybayes.formatting import number, rows_of, shown, text_table

    parts = []
    if facts["found"]:
        parts.append("found: " + ", ".join(f"{name} {value!r}" for name, value in facts["found"].items()))
    columns = [[c["column"], c["family"] or "left out", c["reason"]] for c in facts["columns"]]
    parts.append(text_table(["column", "family", "reason"], columns))
    if facts["model"] is None:
        return "\n\n".join([*parts, "nothing was fitted or written"])
    classes = [[shown(c["class"]), number(c["rows"], 12)] for c in facts["classes"]]
    more = [["...", f"and {len(classes) - _CLASSES} more"]] if len(classes) > _CLASSES else []
    parts.append(text_table([str(facts["label"]), "rows"], classes[:_CLASSES] + more))
    skipped = f", {facts['skipped']} without a label skipped" if facts["skipped"] else ""
    bad = f", {facts['bad']} bad ones left out" if facts["bad"] else ""
    parts.append(f"learned {rows_of(facts['rows'])}{skipped}{bad}; the model is in {facts['model']}")
    return "\n\n".join(parts)


def _named_after(data: list[str]) -> str:
    """A model beside the data: films.csv.gz, or the folder films/, becomes films.tally in the folder one is in."""
    first = os.path.basename(data[0].rstrip(os.sep)).split(".")[0]
    plain = first and not any(sign in first for sign in "*?[ ()'\"") and first != "-"
    return f"{first if plain else 'model'}.tally"


def _split(option: str, text: str, names: list[str]) -> tuple[str, str]:
    """NAME=VALUE for a column that is there."""
    from tallybayes.data.label import split_name
    from tallybayes.errors import ParameterError, did_you_mean, shorten

    if (found := split_name(text, names)) is not None:
        return found
    name = text.partition("=")[0]
    if "=" not in text:
        raise ParameterError(f"{option} COL=VALUE", got=text)
    hint = did_you_mean(name, names) or f"the columns are {shorten(names, 200)}"
    raise ParameterError(f"the name of a column for {option}", got=name, hint=hint)


def _strength(text: str, names: list[str]) -> tuple[str | None, Any]:
    from tallybayes.errors import ParameterError

    name, value = _split("--smoothing", text, names) if "=" in text else (None, text)
    try:
        return name, value if value == "auto" else float(value)
    except ValueError:
        raise ParameterError("--smoothing: auto, a number from 0 on or inf; or COL=K", got=text) from None


def _prior(given: list[str], label: str, source: Source) -> dict[Any, float]:
    """Probabilities by label, the labels in the type that they have in the data."""
    from tallybayes.data.label import find_labels
    from tallybayes.formatting import shown

    labels = {shown(key): key for key in [False, True, *find_labels(source.head(), label).keys]}
    return {labels.get(name, name): p for name, p in map(_probability, given)}


def _probability(text: str) -> tuple[str, float]:
    from tallybayes.errors import ParameterError

    name, sign, value = text.rpartition("=")
    try:
        return name if sign else "", float(value)
    except ValueError:
        raise ParameterError("--prior: empirical, uniform, or CLASS=P for every class", got=text) from None
