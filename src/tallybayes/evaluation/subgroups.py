"""Figures of an evaluation for each value of a column, for those who audit a model.

Every subgroup has its rows, accuracy, log loss and calibration error. For two classes, or a class that is given as
positive, also:

    share           the share of its rows that are of the class
    predicted       the share of its rows that are predicted to be
    probability     the mean probability of the class: if it is calibrated for the subgroup, about the share
    false positive  of its rows that are not of the class, the share that is predicted to be
    false negative  of its rows that are of the class, the share that is not predicted to be

Numbers are cut into a few ranges with about as many rows each. Rare values are pooled, and missing ones are a subgroup
of their own. A figure without rows behind it is NaN.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.columns.label_spec import LabelBins
from tallybayes.doubts import collect_doubts
from tallybayes.evaluation.confusion_metrics import ratio
from tallybayes.evaluation.scores import Scores
from tallybayes.formatting import shown
from tallybayes.notebook_view import TextGrid
from tallybayes.tables.raw_values import is_missing

__all__ = ["FIGURES", "OF_CLASS", "subgroup_figures", "subgroup_grid"]

ALL, MISSING, OTHER = "all", "missing", "other"
FIGURES = ("rows", "accuracy", "log_loss", "ece")
OF_CLASS = ("share", "predicted", "probability", "false_positive", "false_negative")

_SMALL = 4  # so few values are all shown, however rare they are
_VALUES = 20  # subgroups at most, the pooled and the missing values not counted
_ROWS = 10  # of a value that is not rare
_RANGES = 5  # that numbers are cut into
_FEW_NUMBERS = 10  # different numbers that are not cut
_BINS = 10  # of the calibration error


def subgroup_figures(scores: Scores, values: Sequence[Any], positive: Any) -> list[dict[str, Any]]:
    """The figures of all rows and of each subgroup, in the order of ranges or else of the number of rows.

    values: of the column, one for each row; positive: a class, or None for the second of two.

    >>> scores = Scores(["no", "yes"], np.array([0, 1, 1]), np.array([[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]]),
    ...                 np.array([0, 1, 0]), np.ones(3, bool))
    >>> for row in subgroup_figures(scores, ["a", "a", None], None):
    ...     row["value"], row["rows"], round(row["accuracy"], 2), row["false_negative"]
    ('all', 3, 0.67, 0.5)
    ('a', 2, 1.0, 0.0)
    ('missing', 1, 0.0, 1.0)
    """
    place = scores.place_of(positive) if positive is not None or len(scores.classes) == 2 else None
    rows = [(ALL, np.arange(len(scores))), *_subgroups(values)]
    return [{"value": name, **_figures(scores.take(at), place)} for name, at in rows]


def _figures(scores: Scores, place: int | None) -> dict[str, Any]:
    """The figures of some rows; place: of the positive class."""
    answered, known = scores.answered, scores.known
    with np.errstate(divide="ignore"):
        losses = -np.log(scores.true_proba[known])
    curve = scores.reliability(_BINS) if answered.any() else []
    off = sum(point["rows"] * abs(point["observed"] - point["predicted"]) for point in curve)
    result: dict[str, Any] = {
        "rows": len(scores),
        "accuracy": ratio(int(scores.right.sum()), int(answered.sum())),
        "log_loss": ratio(float(losses.sum()), int(known.sum())),
        "ece": ratio(off, int(answered.sum())),
    }
    if place is None:
        return result
    is_class, is_predicted = scores.codes == place, scores.predicted == place
    n, wrong, missed = len(scores), is_predicted & ~is_class, ~is_predicted & is_class & answered
    return result | {
        "share": ratio(int(is_class.sum()), n),
        "predicted": ratio(int(is_predicted.sum()), int(answered.sum())),
        "probability": ratio(float(scores.proba[:, place].sum()), n),
        "false_positive": ratio(int(wrong.sum()), int((~is_class & answered).sum())),
        "false_negative": ratio(int(missed.sum()), int((is_class & answered).sum())),
        "calibration": scores.reliability(_BINS, scores.classes[place]) if n else [],
    }


def _subgroups(values: Sequence[Any]) -> list[tuple[str, NDArray[np.int64]]]:
    """The name and the rows of each subgroup."""
    is_absent = np.array([is_missing(value) for value in values], bool)
    present = [value for value, absent in zip(values, is_absent.tolist(), strict=True) if not absent]
    names, codes = _cut_numbers(present) or _pool_rare(present)
    rows = np.flatnonzero(~is_absent)
    result = [(name, rows[codes == code]) for code, name in enumerate(names) if (codes == code).any()]
    return [*result, (MISSING, np.flatnonzero(is_absent))] if is_absent.any() else result


def _cut_numbers(values: Sequence[Any]) -> tuple[list[str], NDArray[np.int64]] | None:
    """Ranges of numbers, and that of each value; None if the values are few or no numbers. Text may hold numbers."""
    if any(isinstance(value, bool | np.bool_) for value in values):
        return None
    try:
        numbers = np.array([float(value) for value in values])
    except (TypeError, ValueError, OverflowError):
        return None
    if not np.isfinite(numbers).all() or len(np.unique(numbers)) <= _FEW_NUMBERS:
        return None
    with collect_doubts():  # fewer ranges will do where many numbers are equal
        ranges = LabelBins.of_quantiles(numbers, _RANGES, "by")
    return ranges.names, ranges.codes(numbers)


def _pool_rare(values: Sequence[Any]) -> tuple[list[str], NDArray[np.int64]]:
    """Frequent values in the order of their frequency, then a name for all rare ones; and that of each value."""
    texts = [shown(value.item() if isinstance(value, np.generic) else value) for value in values]
    ordered = sorted(Counter(texts).items(), key=lambda item: (-item[1], item[0]))
    kept = [text for text, n in ordered[:_VALUES] if n >= _ROWS]
    kept = [text for text, _ in ordered] if len(ordered) <= max(len(kept) + 1, _SMALL) else kept
    place = {text: code for code, text in enumerate(kept)}
    name = OTHER
    while name in place:
        name += "_"
    return [*kept, name], np.array([place.get(text, len(kept)) for text in texts], np.int64)


def subgroup_grid(column: str, figures: Sequence[dict[str, Any]], digits: Callable[[float], str]) -> TextGrid:
    """The figures as a table for people."""
    names = [name for name in (*FIGURES, *OF_CLASS) if name in figures[0]]
    lines = [[row["value"], *(str(row[n]) if n == "rows" else digits(row[n]) for n in names)] for row in figures]
    heads = {"log_loss": "log loss", "ece": "ECE", "false_positive": "false pos.", "false_negative": "false neg."}
    return TextGrid([column, *(heads.get(name, name) for name in names)], lines)
