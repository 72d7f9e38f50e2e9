"""Column weights, corrections of tokens, calibration and decision rule as JSON in the model file.

Each kind of value has a form: how it is written, and how it is read again. Reading checks the form here; the
constructors of the values check their meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.errors import shorten
from tallybayes.state.calibration import Calibration
from tallybayes.state.column_weights import ColumnWeights, ValueCorrection
from tallybayes.state.decision import Decision
from tallybayes.state.settings import Settings
from tallybayes.state.token_corrections import CorrectionTable, TokenCorrections
from tallybayes.storage.container import object_of, unique
from tallybayes.storage.keys import key_text, text_key
from tallybayes.tally.exact import require

__all__ = ["fitted_from_json", "fitted_to_json"]


class _Form(NamedTuple):
    """How a value is written as JSON, and how it is read and checked."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def fitted_to_json(settings: Settings) -> dict[str, Any]:
    """The fitted settings as JSON values; those that are None are absent."""
    fitted = {name: getattr(settings, name) for name in _FITTED}
    return {name: _FITTED[name].write(value) for name, value in fitted.items() if value is not None}


def fitted_from_json(facts: dict[str, Any]) -> dict[str, Any]:
    """The fitted settings from JSON values."""
    return {name: _FITTED[name].read(content) for name, content in facts.items()}


def _list(content: Any) -> list[Any]:
    require(isinstance(content, list), f"expected a list, got {shorten(content)}")
    return list(content)


def _lists(content: Any, length: int) -> list[Any]:
    """Lists of one length."""
    for part in _list(content):
        require(isinstance(part, list) and len(part) == length, f"expected {length} values, got {shorten(part)}")
    return list(content)


def _exactly(kind: type, words: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        require(type(value) is kind, f"expected {words}, got {shorten(value)}")
        return value

    return read


def _or_none(form: _Form) -> _Form:
    def apply(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda value: None if value is None else work(value)

    return _Form(*map(apply, form))


def _tuple_of(form: _Form) -> _Form:
    return _Form(lambda values: [*map(form.write, values)], lambda content: tuple(map(form.read, _list(content))))


def _by(keys: _Form, values: _Form) -> _Form:
    """A dict as sorted pairs."""
    return _Form(
        lambda pairs: sorted([keys.write(key), values.write(value)] for key, value in pairs.items()),
        lambda content: unique([(keys.read(key), values.read(value)) for key, value in _lists(content, 2)]),
    )


def _object(
    kind: type,
    forms: Mapping[str, _Form],
    *,
    optional: Collection[str] = (),
    is_written: Callable[[Any, str], bool] = lambda value, name: True,
    **stored: str,
) -> _Form:
    """A value of a class by its attributes, in order.

    optional: attributes that have their defaults where they are absent; is_written: whether an attribute of a value is
    written. stored: names in files that differ from those of the attributes.
    """
    attributes = {stored.get(name, name): name for name in forms}

    def write(value: Any) -> dict[str, Any]:
        names = {key: name for key, name in attributes.items() if is_written(value, name)}
        return {key: forms[name].write(getattr(value, name)) for key, name in names.items()}

    def read(content: Any) -> Any:
        known = content if isinstance(content, dict) else {}
        facts = object_of(content, *(key for key, name in attributes.items() if name not in optional or key in known))
        return kind(**{attributes[key]: forms[attributes[key]].read(fact) for key, fact in facts.items()})

    return _Form(write, read)


_NUMBER = _Form(float, _exactly(float, "a number"))
_NUMBERS = _tuple_of(_NUMBER)
_TEXT = _Form(str, _exactly(str, "text"))
_LABEL = _Form(key_text, lambda text: text_key(_TEXT.read(text)))
_BY_LABEL = _by(_LABEL, _NUMBER)
_WEIGHT = _Form(
    lambda weight: (_BY_LABEL if isinstance(weight, Mapping) else _NUMBER).write(weight),
    lambda content: (_BY_LABEL if isinstance(content, list) else _NUMBER).read(content),
)
_ROWS = {"model_rows": _NUMBER, "fitted_on": _NUMBER}


def _steps_to_json(steps: Mapping[Any, Any]) -> list[Any]:
    return sorted([key_text(label), *map(_NUMBERS.write, ends)] for label, ends in steps.items())


def _steps_from_json(content: Any) -> dict[Any, Any]:
    steps = _lists(content, 3)
    return unique([(_LABEL.read(label), tuple(map(_NUMBERS.read, ends))) for label, *ends in steps])


def _tables_to_json(tables: Mapping[str, CorrectionTable]) -> list[Any]:
    return [
        [name, _tuple_of(_LABEL).write(table.classes), list(table.tokens), table.values.tolist()]
        for name, table in sorted(tables.items())
    ]


def _tables_from_json(content: Any) -> dict[str, CorrectionTable]:
    tables = []
    for name, labels, tokens, rows in _lists(content, 4):
        classes, words = _tuple_of(_LABEL).read(labels), _tuple_of(_TEXT).read(tokens)
        require(len(set(words)) == len(words) and len(set(classes)) == len(classes), "duplicate names of corrections")
        lines = [_NUMBERS.read(row) for row in _list(rows)]
        require(all(len(line) == len(classes) for line in lines), "a correction for each class")
        values = np.array(lines, np.float64).reshape(len(lines), len(classes))
        tables.append((_TEXT.read(name), CorrectionTable(words, classes, values)))
    return unique(tables)


_CORRECTION = _object(
    ValueCorrection,
    {
        "slopes": _BY_LABEL,
        "centre": _NUMBER,
        "scale": _NUMBER,
        "cells": _Form(CellInput.to_dict, CellInput.from_dict),
        "table": _by(_LABEL, _NUMBERS),
    },
    optional=("cells", "table"),
    is_written=lambda correction, name: name not in ("cells", "table") or correction.cells is not None,
)
_FITTED = {
    "column_weights": _object(
        ColumnWeights,
        {"weights": _by(_TEXT, _WEIGHT), "offsets": _BY_LABEL}
        | _ROWS
        | {"temperature": _NUMBER, "missing": _by(_TEXT, _WEIGHT), "corrections": _by(_TEXT, _CORRECTION)},
        optional=("fitted_on", "temperature", "missing", "corrections"),  # some are absent in older files
        is_written=lambda weights, name: name not in ("missing", "corrections") or bool(getattr(weights, name)),
    ),
    "token_corrections": _object(TokenCorrections, {"columns": _Form(_tables_to_json, _tables_from_json)} | _ROWS),
    "calibration": _object(
        Calibration, {"method": _TEXT, "temperature": _NUMBER, "steps": _Form(_steps_to_json, _steps_from_json)} | _ROWS
    ),
    "decision": _object(
        Decision,
        {
            "positive": _or_none(_LABEL),
            "threshold": _or_none(_NUMBER),
            "costs": _by(_LABEL, _BY_LABEL),
            "abstain": _NUMBER,
            "constraint": _TEXT,
            "model_rows": _NUMBER,
        },
        positive="label",
    ),
}
