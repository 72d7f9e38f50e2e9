"""What predictions were worth, as sums over rows, so that any number of rows fits.

accuracy    the share of rows whose most probable label is the true one
log loss    the mean of -log P(true label), in nats
Brier       the mean over rows of the sum over classes of (P - 1 or 0) squared: from 0 to 2
precision   of the rows predicted as a class, the share that is of it;  recall: of the rows of it, the share predicted

A row whose label the model has never seen counts as wrong; it has no probability, so that it is left out of log loss
and Brier score and counted apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import sort_keys
from tallybayes.families.base import Floats
from tallybayes.model.text import number, rows_of, shown, text_table

__all__ = ["Evaluation"]

_CLASSES = 30  # more classes than this make no readable confusion matrix


@dataclass(eq=False)
class Evaluation:
    """Sums over rows; everything else is derived. Print it.

    >>> judged = Evaluation()
    >>> judged.add(["no", "yes"], ["yes", "no", "yes"], np.log([[0.2, 0.8], [0.9, 0.1], [0.6, 0.4]]))
    >>> round(judged.accuracy, 3), round(judged.majority, 3), round(judged.brier, 3)
    (0.667, 0.667, 0.273)
    """

    confusion: dict[tuple[Any, Any], int] = field(default_factory=dict)  # rows by (true, predicted)
    sum_log_loss: float = 0.0
    sum_brier: float = 0.0
    n_unknown: int = 0  # rows with a label that the model has never seen
    skipped: int = 0  # rows without a label
    bad: int = 0  # rows left out because they could not be read
    folds: list[float] = field(default_factory=list)  # the accuracy of every fold

    def add(self, classes: Sequence[Any], labels: Sequence[Any], log_proba: Floats) -> None:
        """Rows with their true labels and log P(class | row), the classes as columns."""
        if not len(labels):
            return
        names = [*classes, *dict.fromkeys(label for label in labels if label not in set(classes))]
        index = {label: code for code, label in enumerate(names)}
        codes: NDArray[np.int64] = np.array([index[label] for label in labels], np.int64)
        rows = np.bincount(codes * len(classes) + log_proba.argmax(axis=1), minlength=len(names) * len(classes))
        for place in np.flatnonzero(rows).tolist():
            pair = names[place // len(classes)], classes[place % len(classes)]
            self.confusion[pair] = self.confusion.get(pair, 0) + int(rows[place])
        known = np.flatnonzero(codes < len(classes))
        self.n_unknown += len(codes) - len(known)
        self.sum_log_loss -= float(log_proba[known, codes[known]].sum())
        p = np.exp(log_proba[known])
        p[np.arange(len(known)), codes[known]] -= 1.0
        self.sum_brier += float((p * p).sum())

    def __add__(self, other: Evaluation) -> Evaluation:
        confusion = {pair: self.confusion.get(pair, 0) + other.confusion.get(pair, 0) for pair in
                     dict.fromkeys([*self.confusion, *other.confusion])}  # fmt: skip
        return Evaluation(
            confusion, self.sum_log_loss + other.sum_log_loss, self.sum_brier + other.sum_brier,
            self.n_unknown + other.n_unknown, self.skipped + other.skipped, self.bad + other.bad,
            [*self.folds, *other.folds],
        )  # fmt: skip

    @property
    def n_rows(self) -> int:
        """Rows judged."""
        return sum(self.confusion.values())

    @property
    def classes(self) -> list[Any]:
        """Every label that was true or predicted, sorted."""
        return sort_keys({label for pair in self.confusion for label in pair})

    @property
    def accuracy(self) -> float:
        """The share of rows predicted right."""
        return _ratio(sum(n for (true, predicted), n in self.confusion.items() if true == predicted), self.n_rows)

    @property
    def majority(self) -> float:
        """The accuracy of always saying the commonest label."""
        rows = self._rows_by(0)
        return _ratio(max(rows.values(), default=0), self.n_rows)

    @property
    def log_loss(self) -> float:
        """The mean of -log P(true label)."""
        return _ratio(self.sum_log_loss, self.n_rows - self.n_unknown)

    @property
    def brier(self) -> float:
        """The mean squared error of the probabilities, summed over the classes."""
        return _ratio(self.sum_brier, self.n_rows - self.n_unknown)

    def per_class(self) -> list[dict[str, Any]]:
        """Rows, precision, recall and F1 of every class."""
        true, predicted = self._rows_by(0), self._rows_by(1)
        rows = []
        for label in self.classes:
            right = self.confusion.get((label, label), 0)
            precision, recall = _ratio(right, predicted.get(label, 0)), _ratio(right, true.get(label, 0))
            f1 = _ratio(2 * right, predicted.get(label, 0) + true.get(label, 0))
            rows.append(
                {"class": label, "rows": true.get(label, 0), "precision": precision, "recall": recall, "f1": f1}
            )
        return rows

    def matrix(self) -> NDArray[np.int64]:
        """The confusion matrix, (true, predicted), classes as in `classes`."""
        return np.array([[self.confusion.get((a, b), 0) for b in self.classes] for a in self.classes], np.int64)

    def _rows_by(self, which: int) -> dict[Any, int]:
        rows: dict[Any, int] = {}
        for pair, n in self.confusion.items():
            rows[pair[which]] = rows.get(pair[which], 0) + n
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for programs; what is not finite or not defined is None."""
        result: dict[str, Any] = {
            "rows": self.n_rows,
            "accuracy": self.accuracy,
            "majority": self.majority,
            "log_loss": self.log_loss,
            "brier": self.brier,
            "unknown_labels": self.n_unknown,
            "skipped": self.skipped,
            "bad": self.bad,
            "classes": self.classes,
            "per_class": self.per_class(),
            "confusion": self.matrix().tolist(),
        }
        if self.folds:
            result["folds"] = self.folds
        return _finite(result)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [
            f"rows       {self.n_rows}",
            f"accuracy   {_digits(self.accuracy)}   (always the commonest class: {_digits(self.majority)})",
            f"log loss   {_digits(self.log_loss)}   (nats)",
            f"Brier      {_digits(self.brier)}",
        ]
        if self.folds:
            low, high = _digits(min(self.folds)), _digits(max(self.folds))
            lines.append(f"folds      {len(self.folds)}   (accuracy from {low} to {high})")
        if self.n_unknown:
            lines.append(
                f"{rows_of(self.n_unknown)} with a label that the model has never seen: "
                "counted as wrong, left out of log loss and Brier score"
            )
        per_class = [
            [shown(row["class"]), str(row["rows"]), *(_digits(row[name]) for name in ("precision", "recall", "f1"))]
            for row in self.per_class()
        ]
        parts = ["\n".join(lines), text_table(["class", "rows", "precision", "recall", "F1"], per_class)]
        if self.classes and len(self.classes) <= _CLASSES:
            names = [shown(label) for label in self.classes]
            body = [[name, *map(str, row)] for name, row in zip(names, self.matrix().tolist(), strict=True)]
            parts.append(text_table(["true \\ predicted", *names], body))
        return "\n\n".join(parts)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def _digits(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4f}" if np.isfinite(value) else number(value)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
