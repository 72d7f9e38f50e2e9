"""Column weights, corrections of tokens, calibration and decision rule as JSON in the model file.

Reading checks the form here; the constructors of the values check their meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.errors import shorten
from tallybayes.state.calibration import Calibration
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.decision import Decision
from tallybayes.state.settings import Settings
from tallybayes.state.token_corrections import CorrectionTable, TokenCorrections
from tallybayes.state.value_correction import ValueCorrection
from tallybayes.storage.container import object_of, unique
from tallybayes.storage.keys import key_text, text_key
from tallybayes.tally.exact import require

__all__ = ["fitted_from_json", "fitted_to_json"]


def fitted_to_json(settings: Settings) -> dict[str, Any]:
    """The fitted settings as JSON values; those that are None are absent."""
    result: dict[str, Any] = {}
    if (column_weights := settings.column_weights) is not None:
        result["column_weights"] = {
            "weights": _weights_to_json(column_weights.weights),
            "offsets": _pairs_by_label(column_weights.offsets),
            "model_rows": float(column_weights.model_rows),
            "fitted_on": float(column_weights.fitted_on),
            "temperature": float(column_weights.temperature),
        }
        if column_weights.missing:
            result["column_weights"]["missing"] = _weights_to_json(column_weights.missing)
        if column_weights.corrections:
            by_column = sorted(column_weights.corrections.items())
            result["column_weights"]["corrections"] = [
                [name, _correction_to_json(correction)] for name, correction in by_column
            ]
    if (corrections := settings.token_corrections) is not None:
        tables = [
            [name, [key_text(label) for label in table.classes], list(table.tokens), table.values.tolist()]
            for name, table in sorted(corrections.columns.items())
        ]
        result["token_corrections"] = {
            "columns": tables,
            "model_rows": float(corrections.model_rows),
            "fitted_on": float(corrections.fitted_on),
        }
    if (calibration := settings.calibration) is not None:
        steps = sorted([key_text(c), list(before), list(after)] for c, (before, after) in calibration.steps.items())
        result["calibration"] = {
            "method": calibration.method,
            "temperature": float(calibration.temperature),
            "steps": steps,
            "model_rows": float(calibration.model_rows),
            "fitted_on": float(calibration.fitted_on),
        }
    if (decision := settings.decision) is not None:
        result["decision"] = {
            "label": None if decision.positive is None else key_text(decision.positive),
            "threshold": None if decision.threshold is None else float(decision.threshold),
            "costs": sorted([key_text(t), _pairs_by_label(by_answer)] for t, by_answer in decision.costs.items()),
            "abstain": float(decision.abstain),
            "constraint": decision.constraint,
            "model_rows": float(decision.model_rows),
        }
    return result


def fitted_from_json(facts: dict[str, Any]) -> dict[str, Any]:
    """The fitted settings from JSON values."""
    makers = {
        "column_weights": _column_weights,
        "token_corrections": _token_corrections,
        "calibration": _calibration,
        "decision": _decision,
    }
    return {name: makers[name](content) for name, content in facts.items()}


def _column_weights(content: Any) -> ColumnWeights:
    names = ("weights", "offsets", "model_rows", "fitted_on", "missing", "corrections", "temperature")
    absent = {
        "fitted_on": 0.0,
        "missing": [],
        "corrections": [],
        "temperature": 1.0,
    }  # in older files, or if there are none
    facts = object_of(absent | content if isinstance(content, dict) else content, *names)
    return ColumnWeights(
        _weights_from_json(facts["weights"]),
        _by_label(facts["offsets"]),
        _number(facts["model_rows"]),
        _number(facts["fitted_on"]),
        _weights_from_json(facts["missing"]),
        {name: _correction(correction) for name, correction in unique(_pairs(facts["corrections"], str)).items()},
        _number(facts["temperature"]),
    )


def _weights_to_json(weights: Mapping[str, Any]) -> list[list[Any]]:
    pairs = sorted(weights.items())
    return [[name, _pairs_by_label(weight) if isinstance(weight, Mapping) else float(weight)] for name, weight in pairs]


def _weights_from_json(content: Any) -> dict[str, Any]:
    pairs = unique(_pairs(content, str)).items()
    return {name: _by_label(weight) if isinstance(weight, list) else _number(weight) for name, weight in pairs}


def _correction_to_json(correction: ValueCorrection) -> dict[str, Any]:
    result = {
        "slopes": _pairs_by_label(correction.slopes),
        "centre": float(correction.centre),
        "scale": float(correction.scale),
    }
    if correction.cells is not None:
        result["cells"] = correction.cells.to_dict()
        result["table"] = sorted([key_text(label), [float(x) for x in row]] for label, row in correction.table.items())
    return result


def _correction(content: Any) -> ValueCorrection:
    absent: dict[str, Any] = {"cells": None, "table": []}
    facts = object_of(
        absent | content if isinstance(content, dict) else content, "slopes", "centre", "scale", "cells", "table"
    )
    cells = None if facts["cells"] is None else CellInput.from_dict(facts["cells"])
    pairs = [(text_key(label), tuple(map(_number, _list(values)))) for label, values in _pairs(facts["table"], str)]
    slope = _by_label(facts["slopes"]), _number(facts["centre"]), _number(facts["scale"])
    return ValueCorrection(*slope, cells, unique(pairs))


def _token_corrections(content: Any) -> TokenCorrections:
    facts = object_of(content, "columns", "model_rows", "fitted_on")
    columns: list[tuple[str, CorrectionTable]] = []
    for column in _list(facts["columns"]):
        require(isinstance(column, list) and len(column) == 4 and isinstance(column[0], str), "corrections of a column")
        labels, tokens = (_list(part) for part in column[1:3])
        require(all(isinstance(text, str) for text in (*labels, *tokens)), "corrections without names")
        require(len(set(tokens)) == len(tokens) and len(set(labels)) == len(labels), "duplicate names of corrections")
        rows = [[_number(value) for value in _list(row)] for row in _list(column[3])]
        require(all(len(row) == len(labels) for row in rows), "a correction for each class")
        values = np.array(rows, np.float64).reshape(len(rows), len(labels))
        columns.append((column[0], CorrectionTable(tuple(tokens), tuple(map(text_key, labels)), values)))
    return TokenCorrections(unique(columns), _number(facts["model_rows"]), _number(facts["fitted_on"]))


def _calibration(content: Any) -> Calibration:
    facts = object_of(content, "method", "temperature", "steps", "model_rows", "fitted_on")
    steps = {}
    require(isinstance(facts["steps"], list), "steps that are not a list")
    for step in facts["steps"]:
        require(isinstance(step, list) and len(step) == 3 and isinstance(step[0], str), f"steps: {shorten(step)}")
        before, after = (tuple(_number(p) for p in _list(part)) for part in step[1:])
        steps[text_key(step[0])] = (before, after)
    require(len(steps) == len(facts["steps"]), "duplicate labels of steps")
    numbers = (_number(facts[name]) for name in ("model_rows", "fitted_on"))
    return Calibration(facts["method"], _number(facts["temperature"]), steps, *numbers)


def _decision(content: Any) -> Decision:
    facts = object_of(content, "label", "threshold", "costs", "abstain", "constraint", "model_rows")
    label, threshold, constraint = facts["label"], facts["threshold"], facts["constraint"]
    require(
        (label is None or isinstance(label, str)) and isinstance(constraint, str),
        "a decision without its label or constraint",
    )
    costs = unique([(text_key(true), _by_label(costs_of)) for true, costs_of in _pairs(facts["costs"], str)])
    return Decision(
        None if label is None else text_key(label),
        None if threshold is None else _number(threshold),
        costs,
        _number(facts["abstain"]),
        constraint,
        _number(facts["model_rows"]),
    )


def _pairs_by_label(values: Mapping[Any, float]) -> list[list[Any]]:
    """Numbers by label as sorted pairs."""
    return sorted([key_text(label), float(value)] for label, value in values.items())


def _by_label(content: Any) -> dict[Any, float]:
    return unique([(text_key(label), _number(value)) for label, value in _pairs(content, str)])


def _pairs(content: Any, first: type) -> list[tuple[Any, Any]]:
    pairs = _list(content)
    require(
        all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], first) for pair in pairs),
        "expected pairs",
    )
    return [tuple(pair) for pair in pairs]


def _list(content: Any) -> list[Any]:
    require(isinstance(content, list), f"expected a list, got {shorten(content)}")
    return list(content)


def _number(value: Any) -> float:
    require(type(value) is float, f"expected a number, got {shorten(value)}")
    return float(value)
