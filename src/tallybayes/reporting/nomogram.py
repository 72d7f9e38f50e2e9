"""A nomogram: a ruler for every column with the contribution of each of its values to the log score.

A naive Bayes score is a sum, so a row can be classified by hand: start with the prior and add the contribution of
every value. A ruler is one of

    choice   values, and the contribution of each
    steps    a step function of a number, as for histograms: exact everywhere
    curve    a function of a number at points, linear between them; the values of the example rows are points
    words    the contribution of an empty text, and that of each of some words; `approximate` if these are not additive

A missing value contributes only that it is missing, if that is evidence. All contributions are those of the scorer, for
every class; the page computes differences. A calibration is applied after the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tallybayes.arrays.column import Bag, Codes, Column, Flags, Reals
from tallybayes.cells.arrow import strings
from tallybayes.cells.number_format import NumberFormat
from tallybayes.errors import shorten
from tallybayes.explaining.explanation import Explanation, shorten_word
from tallybayes.families.family import Floats
from tallybayes.formatting import shown
from tallybayes.model import Model
from tallybayes.reporting.column_chart_data import predictive_of, value_grid
from tallybayes.scoring.missing_evidence import MissingEvidence

__all__ = ["nomogram"]

_RULERS = 40  # columns with a ruler; the others contribute only with example rows
_VALUES = 250  # of a categorical column, the most frequent
_WORDS = 16
_POINTS = 101
_OTHER = "\x00 another value"  # not the name of a category
_DIGITS = 10
_TOLERANCE = 1e-6  # nats up to which the contributions of words are additive


def nomogram(
    model: Model,
    columns: Sequence[str],
    examples: Sequence[tuple[str, Explanation]],
    tables: dict[str, list[dict[str, Any]]],
) -> dict[str, Any]:
    """The rulers of some columns and the example rows, as plain values for JSON.

    examples: names of rows and their explanations; tables: the rows of every column in `model.describe()`.
    """
    derived = model.schema.derived  # what a value adds to these depends on other values: no ruler can show it
    shown_columns = [name for name in columns if name not in derived][:_RULERS]
    explanations = [explanation for _, explanation in examples]
    drafts = {name: _draft(model, name, explanations, tables.get(name, [])) for name in shown_columns}
    added = _score_marks(model, drafts)
    missing = model.snapshot().scorer.missing
    rulers = [
        {
            "name": name,
            **_ruler(drafts[name], added[name]),
            **_if_missing(missing, name),
            **({"dates": True} if model.schema.columns[name].reader.shows_dates else {}),
        }
        for name in shown_columns
    ]
    rows = [
        {
            "name": name,
            "at": [_position(ruler, explanation, model) for ruler in rulers],
            "rest": _rest(explanation, shown_columns),
        }
        for name, explanation in examples
    ]
    return {
        "classes": [shown(label) for label in model.classes],
        "prior": _plain(model.snapshot().scorer.log_prior),
        "rulers": rulers,
        "rows": rows,
        "others": len(columns) - len(shown_columns),
        "calibration": _calibration(model),
    }


def _calibration(model: Model) -> dict[str, Any] | None:
    """The calibration: a temperature, or the points of an increasing function for each class."""
    if (calibration := model.calibration) is None:
        return None
    if calibration.method == "temperature":
        return {"temperature": calibration.temperature}
    return {"steps": [calibration.steps.get(label) for label in model.classes]}


class _Draft:
    """A ruler before scoring: its kind, the texts of its marks, and their values as a column."""

    def __init__(self, kind: str, marks: list[Any], column: Column) -> None:
        self.kind, self.marks, self.column = kind, marks, column


def _draft(model: Model, name: str, examples: Sequence[Explanation], table: list[dict[str, Any]]) -> _Draft:
    family, part = model.schema.families[name], predictive_of(model, name)
    used = [_scored_value(model, explanation, name) for explanation in examples]
    if family.column is Flags:
        return _Draft("choice", ["no", "yes"], Flags(np.array([0.0, 1.0])))
    if (steps := part.steps()) is not None:
        return _Draft("steps", steps.edges.tolist(), Reals(steps.inside))
    if family.column is Reals:
        numbers = [float(value) for value in used if value is not None]
        grid = np.unique(np.concatenate([value_grid(part, _POINTS), numbers]))
        return _Draft("curve", grid.tolist(), Reals(grid))
    if family.column is Codes:
        keys = list(dict.fromkeys(row["value"] for row in table)) if family.is_ordered else _keys(table, used)
        marks = [*map(shown, keys), "(another value)"]
        return _Draft("choice", marks, Codes(np.arange(len(keys) + 1), [*keys, _OTHER]))
    tokens = _tokens(table)
    n = len(tokens)  # an empty bag, each token alone, and all tokens together
    indptr, indices = [0, *range(n + 1), 2 * n], [*range(n), *range(n)]
    bag = Bag(np.array(indptr, np.int64), np.array(indices, np.int64), np.ones(2 * n, np.int32), tokens)
    return _Draft("words", [shorten_word(shown(token)) for token in tokens], bag)


def _keys(table: list[dict[str, Any]], used: Sequence[Any]) -> list[Any]:
    total: dict[Any, float] = {}
    for row in table:
        total[row["value"]] = total.get(row["value"], 0.0) + row["P(value)"]
    first = sorted(total, key=lambda key: -total[key])[:_VALUES]
    return list(dict.fromkeys([*first, *(value for value in used if value in total)]))


def _tokens(table: list[dict[str, Any]]) -> list[Any]:
    """Some of the words with the strongest evidence, for all classes."""
    by_class: dict[Any, list[Any]] = {}
    for row in table:
        by_class.setdefault(row["class"], []).append(row["token"])
    every = list(dict.fromkeys(token for tokens in by_class.values() for token in tokens))
    step = max(1, len(every) // _WORDS)
    return every[::step][:_WORDS]


def _score_marks(model: Model, drafts: dict[str, _Draft]) -> dict[str, Floats]:
    """The contributions of the marks of every ruler, (marks, classes), with column weights."""
    predictives = model.predictives(weighted=True)
    added = {name: np.zeros((len(draft.column), len(model.classes))) for name, draft in drafts.items()}
    for name, draft in drafts.items():
        predictives[name].bind([draft.column])(added[name], 0, len(added[name]))  # not log_prob: complement has none
    if (missing := model.snapshot().scorer.missing) is not None:
        for name, log_present in zip(missing.names, missing.log_present, strict=True):
            if name in added:
                added[name] += log_present
    return added


def _if_missing(missing: MissingEvidence | None, name: str) -> dict[str, Any]:
    """What a missing value adds, if that is evidence."""
    if missing is None or name not in missing.names:
        return {}
    return {"missing": _plain(missing.log_missing[missing.names.index(name)])}


def _ruler(draft: _Draft, added: Floats) -> dict[str, Any]:
    if draft.kind == "words":
        with np.errstate(invalid="ignore"):
            words = np.nan_to_num(added[1:-1] - added[:1], nan=0.0)
            approximate = bool(np.abs(added[0] + words.sum(axis=0) - added[-1]).max() > _TOLERANCE)
        return {
            "kind": "words",
            "marks": draft.marks,
            "empty": _plain(added[0]),
            "adds": _plain(words),
            "approximate": approximate,
        }
    inside = {}
    if isinstance(draft.column, Reals):
        added = added - _largest(added)
        inside = {"inside": draft.column.values.tolist()} if draft.kind == "steps" else {}
    return {"kind": draft.kind, "marks": draft.marks, **inside, "adds": _plain(added)}


def _largest(added: Floats) -> Floats:
    """The maximum over the classes: a common term cancels, and smaller numbers are shorter."""
    with np.errstate(invalid="ignore"):
        largest = added.max(axis=1, keepdims=True)
    return np.where(np.isfinite(largest), largest, 0.0)


def _position(ruler: dict[str, Any], explanation: Explanation, model: Model) -> Any:
    """The position of a row on a ruler; None for a missing value."""
    value = _scored_value(model, explanation, ruler["name"])
    if value is None:
        return None
    if ruler["kind"] == "choice":
        text = shown(value)
        if model.schema.families[ruler["name"]].column is Flags:
            return int(bool(value) if isinstance(value, (int, float)) else text.lower() in ("true", "yes", "1"))
        return ruler["marks"].index(text) if text in ruler["marks"] else len(ruler["marks"]) - 1
    if ruler["kind"] == "words":
        text = value if isinstance(value, str) else shorten(value, 200)
        return {"text": text[:200], "adds": _plain(explanation.log_evidence[ruler["name"]])}
    return float(value)


def _scored_value(model: Model, explanation: Explanation, name: str) -> Any:
    """A value as it is scored: of a date, the days since 1970; of a number in a cell of text, the number."""
    value = explanation.scored_values.get(name, explanation.values.get(name))
    if not isinstance(value, str) or model.schema.families[name].column is not Reals:
        return value
    form = model.schema.columns[name].reader.format or NumberFormat()
    return form.parse(strings([value]))[0].as_py()


def _rest(explanation: Explanation, columns: Sequence[str]) -> list[float | None]:
    """The contribution of the columns without a ruler to a row."""
    if not explanation.derived:
        parts = [part for name, part in explanation.log_evidence.items() if name not in columns]
        return list(_plain(sum(parts, np.zeros(len(explanation.classes)))))
    with np.errstate(invalid="ignore"):
        rest = (
            explanation.log_score
            - explanation.log_prior
            - sum(explanation.own_evidence.get(name, 0.0) for name in columns)
        )
    return list(_plain(rest))


def _plain(values: Floats) -> list[Any]:
    """Rounded numbers for JSON; None for -inf."""
    if values.ndim == 2:
        return [_plain(row) for row in values]
    return [None if not np.isfinite(value) else round(value, _DIGITS) for value in values.tolist()]
