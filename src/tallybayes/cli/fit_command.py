"""tally fit: fit a model to data and save it."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from tallybayes.cli.doubt_list import Checking
from tallybayes.cli.fit_options import LABEL, SAMPLE_WEIGHT, Fitting, fit_options
from tallybayes.cli.messages import note, note_bad_rows, print_result, progress
from tallybayes.cli.model_file_options import MODEL_OUTPUT, model_path
from tallybayes.cli.shared_options import DATA, JSON, Reading, flag, option

if TYPE_CHECKING:
    from tallybayes.model import Model
    from tallybayes.model.fit_plan import Plan
    from tallybayes.tables.source import Source
    from tallybayes.tables.table import Table

__all__ = ["fit"]

_CLASSES = 30  # at most this many are listed
_COLUMNS = 50  # with more columns, those with the same family and reason share a line


def fit(
    data: list[str] = DATA,
    *,
    label: str | None = LABEL,
    output: str | None = MODEL_OUTPUT,
    fitting: Fitting,
    save_schema: str | None = option("FILE", "Write the schema as JSON, to be edited and passed to --schema."),
    dry_run: bool = flag("--dry-run", help="Print the families and stop; nothing is fitted."),
    sample_weight: str | None = SAMPLE_WEIGHT,
    json: bool = JSON,
    doubts: Checking,
    reader: Reading,
) -> None:
    """Fit a model to data and save it in a file.

    tally fit films.csv --label rating --as genre=tags --ignore title
    tally fit "logs/*.jsonl" --label "status=failed" -o failures.tally
    """
    from tallybayes.errors import NONE, DataError, Described
    from tallybayes.formatting import rows_of
    from tallybayes.model.fit import fit as fit_model
    from tallybayes.model.fit_plan import Plan
    from tallybayes.state.options import complete
    from tallybayes.weights.weight_selection import LEAST_ROWS, MOST_CLASSES

    with progress("fitting") as step:
        source = reader(data, step)
        options = fit_options(source, label, sample_weight=sample_weight, **fitting)
        path = None
        if dry_run:
            plan = Plan.of(source, label, options, sample_weight=sample_weight)
            _doubt_head(source.head(), plan)
            model = plan.empty_model()
        else:
            path = model_path(output, data)
            model = fit_model(source, label, sample_weight=sample_weight, progress=_show_step(step), **options)
            if not model.classes:
                if sample_weight is not None and not model.skipped:
                    raise DataError("rows with a weight above 0", got=NONE, column=sample_weight)
                got = Described(f"none in {rows_of(model.skipped)}" if model.skipped else "no rows")
                raise DataError("rows with a label", got=got, column=label, hint=_labels_of(data))
            doubts.show()
            model.save(path)
    if save_schema is not None:
        model.schema.save(save_schema)
        note(f"wrote the schema to {save_schema}")
    note_bad_rows(source)
    doubts.show()
    if not model.schema.families:
        note("no column is used: the model has only a class prior (--as COL=FAMILY includes a column)")
    if (
        not dry_run
        and complete(options)["column_weights"] == "auto"
        and not model.column_weights.weights
        and model.schema.families
    ):
        note(f"no column weights: they need {LEAST_ROWS} rows and 2 to {MOST_CLASSES:,} classes that have several rows")
    facts = report(model, source, path) | {"doubts": doubts.to_list()}
    print_result(facts if json else _for_people(facts))


def _show_step(step: Any) -> Any:
    """What shows the steps in which unlabelled rows are divided, in the bar that shows the rows that are read."""
    return None if step is None else lambda name, share: step(0, share, 0, name)


def _doubt_head(head: Table, plan: Plan) -> None:
    """Say what is doubtful about the first rows and is otherwise said when they are learned."""
    from tallybayes.columns.batch import with_parts
    from tallybayes.columns.column_doubts import doubt_labels
    from tallybayes.errors import DataError
    from tallybayes.model.label_plan import doubt_classes

    label = plan.counting.label
    doubt_labels(label, sum(plan.no_label.values()), head.n_rows, plan.no_label)
    with contextlib.suppress(DataError):  # learning names the row
        doubt_classes(plan.schema.label_spec.read(head, label).keys, label, missing=plan.schema.missing)
        with_parts(head, plan.schema)


def _labels_of(data: list[str]) -> str | None:
    """A hint for folders: their names are labels only if the folder above them is given."""
    folders = [path for path in data if os.path.isdir(path)]
    if not folders:
        return None
    above = os.path.dirname(folders[0].rstrip("/")) or "."
    return f"the subfolders of a folder are the labels: if these are the folders of the classes, give {above}/"


def report(model: Model, source: Source, path: str | None) -> dict[str, Any]:
    """The result as plain values."""
    schema = model.schema
    inputs = {source_input.column for spec in schema.derived.values() for source_input in spec.reader.inputs}
    return {
        "model": path,
        "label": schema.label,
        "rows": sum(model.class_counts.values()),
        "skipped": model.skipped,
        "bad": 0 if source.bad is None else source.bad.count,
        "classes": [{"class": label, "rows": n} for label, n in model.class_counts.items()],
        "columns": [
            {
                "column": spec.name,
                "family": model.schema.family_name(spec.name) if spec.family or spec.reader.dates else None,
                "status": spec.status.value,
                "reason": spec.reason,
            }
            | ({"input": True} if spec.family is None and spec.name in inputs else {})
            for spec in schema.columns.values()
        ],
        "unlabelled": None if model.unlabelled is None else model.unlabelled.to_dict(),
        "column_weights": model.column_weights.fitted_on or None,
        "found": getattr(source, "facts", dict)(),
    } | ({} if schema.group is None else {"group": schema.group})


def _for_people(facts: dict[str, Any]) -> str:
    """The result as text."""
    from tallybayes.formatting import number, rows_of, shown, text_table

    parts = []
    if facts["found"]:
        parts.append("detected: " + ", ".join(f"{name} {value!r}" for name, value in facts["found"].items()))
    parts.append(text_table(["column", "family", "reason"], _lines(facts["columns"])))
    if facts["model"] is None:
        return "\n\n".join([*parts, "nothing was fitted or written"])
    if facts["column_weights"]:
        whole = f", whole groups of {facts['group']} at a time" if "group" in facts else ""
        rows = f"{number(facts['column_weights'], 12)} different rows"
        parts.append(f"column weights fitted on held-out rows ({rows}{whole})")
    if (unlabelled := facts["unlabelled"]) is not None:
        n, weight = len(unlabelled["objective"]) + 1, number(unlabelled["weight"], 4)
        parts.append(f"divided {rows_of(unlabelled['rows'])} without a label in {n} rounds, each with weight {weight}")
    classes = [[shown(c["class"]), number(c["rows"], 12)] for c in facts["classes"]]
    more = [["...", f"and {len(classes) - _CLASSES} more"]] if len(classes) > _CLASSES else []
    parts.append(text_table([str(facts["label"]), "rows"], classes[:_CLASSES] + more))
    skipped = f", skipped {facts['skipped']} without a label" if facts["skipped"] else ""
    bad = f", skipped {facts['bad']} bad row{'s' if facts['bad'] > 1 else ''}" if facts["bad"] else ""
    parts.append(f"learned {rows_of(facts['rows'])}{skipped}{bad}; the model is in {facts['model']}")
    return "\n\n".join(parts)


def _lines(columns: list[dict[str, Any]]) -> list[list[str]]:
    """Lines of (column, family, reason); columns that the user has excluded share a line, as do those of long tables.

    >>> excluded = {"family": None, "status": "excluded by the user", "reason": "excluded by the user"}
    >>> _lines([excluded | {"column": f"x{i}"} for i in range(9)])
    [['x0, x1, x2 and 6 more', 'excluded', 'excluded by the user']]
    """
    from tallybayes.columns.column_spec import Status
    from tallybayes.formatting import listed

    many = len(columns) > _COLUMNS
    together: dict[Any, list[str]] = {}
    for column in columns:
        name, family = column["column"], column["family"] or ("input" if "input" in column else "excluded")
        alone = not many and column["status"] != Status.BY_USER.value
        together.setdefault((family, column["reason"], name if alone else ""), []).append(name)
    return [[listed(names, 4), family, reason] for (family, reason, _), names in together.items()]
