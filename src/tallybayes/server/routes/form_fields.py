"""The columns of a model as the page needs them: fields of a form, and a small picture of each column per class.

What is known of a column is derived from the sums: the range of its numbers, its most frequent values, and the
distribution in each class as `reporting/column_chart_data.py` computes it.
"""

from __future__ import annotations

import math
from typing import Any

from tallybayes.arrays.column import Bag, Codes, Column, Flags, Reals
from tallybayes.columns.schema import Schema
from tallybayes.errors import TallyError
from tallybayes.families.predictive import Predictive
from tallybayes.formatting import finite_json, shown
from tallybayes.model import Model
from tallybayes.reporting.column_chart_data import column_chart_data, value_grid
from tallybayes.state.column_weights import Weight

__all__ = ["form_fields"]

_VALUES = 200  # choices of a field, the most frequent values
_PICTURES = 60  # columns with a picture: more would not be looked at
_RANGES = 1_000  # columns with a range
_POINTS = 40  # of a curve in a small picture
_DIGITS = 4  # significant digits of the ends of a range
_KINDS: dict[type[Column], str] = {Reals: "number", Flags: "flag", Codes: "category", Bag: "bag"}


def form_fields(model: Model) -> dict[str, Any]:
    """The columns that a row of this model has, and those that are excluded, as plain values.

    >>> import tallybayes as tb
    >>> model = tb.fit({"fever": [True, True, False], "town": ["Ulm", "Ulm", "Bonn"], "ill": [1, 1, 0]}, label="ill")
    >>> [(one["name"], one["kind"], one["values"]) for one in form_fields(model)["columns"]]
    [('fever', 'flag', []), ('town', 'category', [{'value': 'Ulm', 'rows': 2}, {'value': 'Bonn', 'rows': 1}])]
    """
    schema, tables, predictives = model.schema, model.describe().columns, model.predictives()
    place = {name: number for number, name in enumerate(schema.columns)}  # in the data that it was fitted on
    columns = []
    for i, name in enumerate(sorted(schema.columns_in_use, key=lambda name: place.get(name, len(place)))):
        field, prior = _field(model, name, tables.get(name, [])), model.settings.prior_of(name)
        field["prior"] = None if prior is None else str(prior)
        field["range"] = _range(schema, name, predictives[name]) if i < _RANGES and name in predictives else None
        field["picture"] = _picture(model, name, tables.get(name, [])) if i < _PICTURES else None
        columns.append(field)
    excluded = [
        {"name": name, "reason": spec.reason}
        for name, spec in schema.columns.items()
        if schema.family_name(name) == "excluded"
    ]
    result = {"label": schema.label, "classes": [shown(label) for label in model.classes]}
    return result | {"columns": finite_json(columns), "excluded": excluded, "intervals": _has_intervals(model)}


def _has_intervals(model: Model) -> bool:
    """Whether probabilities have credible intervals: not if a score has no posterior distribution."""
    if not model.classes:
        return False
    try:
        model.predict_interval([dict.fromkeys(model.schema.columns_in_use)])
    except TallyError:
        return False
    return True


def _field(model: Model, name: str, table: list[dict[str, Any]]) -> dict[str, Any]:
    schema, spec = model.schema, model.schema.columns.get(name)
    return {
        "name": name,
        "family": schema.family_name(name) if spec is not None else "input",
        "reason": spec.reason if spec is not None else "",
        "kind": _kind(schema, name),
        "separator": None if spec is None or spec.family is None else spec.family.separator,
        "whole": spec is not None and spec.reader.is_whole,
        "values": _values(model, name, table),
        "weight": _weight(model.column_weights.weights.get(name)),
    }


def _kind(schema: Schema, name: str) -> str:
    """How a value is entered."""
    spec = schema.columns.get(name)
    if spec is not None and spec.reader.dates is not None:
        return "date"
    if spec is None or spec.family is None:
        inputs = (
            column_input
            for derived in schema.derived.values()
            for column_input in derived.reader.inputs
            if column_input.column == name
        )
        return _KINDS.get(next(inputs).kind, "text")
    family = spec.family
    if spec.is_text:
        return "text"
    if family.column is Bag and family.separator is not None:
        return "tags"
    if family.column is Codes and family.is_ordered:
        return "order"
    if family.column is Reals and spec.reader.is_whole:
        return "count"
    return _KINDS.get(family.column, "text")


def _range(schema: Schema, name: str, part: Predictive) -> list[float] | None:
    """The least and the greatest number that was learned, or that is likely, rounded outwards."""
    if schema.families[name].column is not Reals:
        return None
    values = steps.values if (steps := part.steps()) is not None else value_grid(part)
    low, high = float(values[0]), float(values[-1])
    if not (math.isfinite(low) and math.isfinite(high) and high > low):
        return None
    unit = 10.0 ** (math.floor(math.log10(high - low)) - _DIGITS + 2)
    ends = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    return [float(f"{end:.12g}") for end in ends]


def _values(model: Model, name: str, table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The most frequent categories or tags with their rows; ordered categories in their order."""
    family = model.schema.family_of(name)
    if family is None or family.column not in (Codes, Bag) or family.tokeniser is not None:
        return []
    tally = model.snapshot().state.statistics.blocks.get(family.counted)
    amounts = tally.key_amounts(name) if tally is not None and name in tally.features else {}
    first = sorted(amounts, key=lambda key: -amounts[key])[:_VALUES]
    if family.is_ordered:
        order = list(dict.fromkeys(row["value"] for row in table if "value" in row))
        first.sort(key=lambda key: order.index(key) if key in order else len(order))
    return [
        {
            "value": key if isinstance(key, (str, int, float, bool)) else shown(key),
            "rows": int(amounts[key]) if amounts[key].is_integer() else amounts[key],
        }
        for key in first
    ]


def _weight(weight: Weight | None) -> float | None:
    """The column weight; the mean if it differs between the classes."""
    if weight is None:
        return None
    return float(weight) if isinstance(weight, (int, float)) else sum(weight.values()) / max(len(weight), 1)


def _picture(model: Model, name: str, table: list[dict[str, Any]]) -> dict[str, Any] | None:
    """What is drawn of a column, with the points and digits that can be seen.

    None for dates, inputs of derived columns, and families without a distribution.
    """
    if name not in model.schema.families:
        return None
    try:
        picture = column_chart_data(model, name, table)
    except TallyError:
        return None
    step = max(1, len(picture.rows) // (_POINTS * max(len(picture.classes), 1))) if picture.kind == "curve" else 1
    by_class = [[row for row in picture.rows if row["class"] == name] for name in picture.classes]
    rows = [
        {key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in row.items()}
        for class_rows in by_class
        for row in class_rows[::step]
    ]
    return {
        "kind": picture.kind,
        "what": picture.what,
        "classes": picture.classes,
        "logarithmic": picture.constant,
        "note": picture.note,
        "rows": rows,
    }
