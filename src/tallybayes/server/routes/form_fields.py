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
from tallybayes.reporting.column_chart_data import ColumnChartData, column_chart_data, value_grid
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
    schema = model.schema
    parameters = model.describe().columns
    used = _in_order_of_schema(schema)
    pictures = {name: _picture(model, name, parameters) for name in used[:_PICTURES]}
    known = model.predictives()
    ranges = {name: _range(schema, name, known[name]) for name in used[:_RANGES] if name in known}
    columns = [
        _field(model, schema, name, parameters.get(name, []))
        | {"range": ranges.get(name), "picture": _plain(pictures.get(name))}
        for name in used
    ]
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


def _in_order_of_schema(schema: Schema) -> list[str]:
    """The columns of the table that the model uses, as they are ordered in the data that it was fitted on."""
    used = schema.columns_in_use
    place = {name: number for number, name in enumerate(schema.columns)}
    return sorted(used, key=lambda name: place.get(name, len(place)))


def _field(model: Model, schema: Schema, name: str, table: list[dict[str, Any]]) -> dict[str, Any]:
    spec = schema.columns.get(name)
    return {
        "name": name,
        "family": schema.family_name(name) if spec is not None else "input",
        "reason": spec.reason if spec is not None else "",
        "kind": _kind(schema, name),
        "separator": None if spec is None or spec.family is None else spec.family.separator,
        "whole": spec is not None and spec.reader.is_whole,
        "values": _values(model, schema, name, table),
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


def _values(model: Model, schema: Schema, name: str, table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The most frequent categories or tags with their rows; ordered categories in their order."""
    family = schema.family_of(name)
    if family is None or family.column not in (Codes, Bag) or family.tokeniser is not None:
        return []
    tally = model.snapshot().state.statistics.blocks.get(family.counted)
    amounts = tally.key_amounts(name) if tally is not None and name in tally.features else {}
    first = sorted(amounts, key=lambda key: -amounts[key])[:_VALUES]
    if family.is_ordered:
        order = list(dict.fromkeys(row["value"] for row in table if "value" in row))
        first.sort(key=lambda key: order.index(key) if key in order else len(order))
    return [{"value": _json_value(key), "rows": _whole(amounts[key])} for key in first]


def _json_value(key: Any) -> Any:
    return key if isinstance(key, (str, int, float, bool)) else shown(key)


def _whole(amount: float) -> float:
    return int(amount) if amount.is_integer() else amount


def _weight(weight: Weight | None) -> float | None:
    """The column weight; the mean if it differs between the classes."""
    if weight is None:
        return None
    return float(weight) if isinstance(weight, (int, float)) else sum(weight.values()) / max(len(weight), 1)


def _picture(model: Model, name: str, parameters: dict[str, list[dict[str, Any]]]) -> ColumnChartData | None:
    """What is drawn of a column; None for dates, inputs of derived columns, and families without a distribution."""
    if name not in model.schema.families:
        return None
    try:
        return column_chart_data(model, name, parameters.get(name, []))
    except TallyError:
        return None


def _plain(picture: ColumnChartData | None) -> dict[str, Any] | None:
    """A picture as plain values: points and digits that can be seen."""
    if picture is None:
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
