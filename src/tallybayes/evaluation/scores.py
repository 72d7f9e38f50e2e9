"""The rows of an evaluation: true class, predicted class, and the probability of every class; and curves of them.

Sums suffice for accuracy and log loss. AUC, curves, calibration and intervals need the rows themselves, which are kept
as plain arrays while they have at most `LIMIT` cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import sort_keys
from tallybayes.errors import ParameterError, UnsupportedError, check_integer, shorten
from tallybayes.families.family import Floats

__all__ = ["LIMIT", "KeptRows", "Scores"]

Curve = tuple[Floats, Floats, Floats]

LIMIT = 2**25  # rows times classes that are kept at most: 256 MB


@dataclass(frozen=True, eq=False)
class Scores:
    """Rows with their true class and P(class | row).

    classes: the labels of all models and rows, sorted;  codes: the position of each row's true label in them;
    proba: (rows, classes), 0 for a class unknown to the model of the row;  predicted: the position of the predicted
    class, -1 for none;  known: whether the model of the row had its true label.
    """

    classes: list[Any]
    codes: NDArray[np.int32]
    proba: Floats
    predicted: NDArray[np.int32]
    known: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether the prediction of each row is its true label."""
        return np.equal(self.predicted, self.codes)

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Whether each row has a prediction."""
        return self.predicted >= 0

    @property
    def true_proba(self) -> Floats:
        """P(true label) of every row."""
        return np.asarray(self.proba[np.arange(len(self)), self.codes])

    def place_of(self, label: Any) -> int:
        """The position of a class; None is the second of two classes."""
        if label is None and len(self.classes) == 2:
            return 1
        if label not in self.classes:
            raise ParameterError("a class", got=label, hint=f"the classes are {shorten(self.classes, 200)}")
        return self.classes.index(label)

    def roc(self, label: Any) -> Curve:
        """False positive rate, true positive rate and thresholds of a class."""
        from sklearn.metrics import roc_curve

        p, positive = self._outcomes(label)
        if not positive.any() or positive.all():
            return np.zeros(0), np.zeros(0), np.zeros(0)
        return roc_curve(positive, p)  # type: ignore[no-any-return]

    def precision_recall(self, label: Any) -> Curve:
        """Precision, recall (ending in the point 1, 0) and thresholds of a class."""
        from sklearn.metrics import precision_recall_curve

        p, positive = self._outcomes(label)
        if not positive.any():
            return np.zeros(0), np.zeros(0), np.zeros(0)
        return precision_recall_curve(positive, p)  # type: ignore[no-any-return]

    def reliability(self, bins: int, label: Any = None) -> list[dict[str, Any]]:
        """Every bin that has rows: its bounds, the mean probability, the observed share and the number of rows.

        label: a class, whose probability is compared with its observed share. None compares the probability of the
        predicted class with the share of correct predictions.
        """
        bins = check_integer("bins", bins, at_least=1)
        rows = np.flatnonzero(self.answered)
        predicted = self.proba[rows, self.predicted[rows]], self.right[rows]
        p, outcome = predicted if label is None else self._outcomes(label)
        edges = np.linspace(0, 1, bins + 1)
        which = np.searchsorted(edges[1:-1], p)
        n_rows, sums, hits = (np.bincount(which, weights, minlength=bins) for weights in (None, p, outcome))
        return [
            {
                "low": float(edges[i]),
                "high": float(edges[i + 1]),
                "rows": int(n_rows[i]),
                "predicted": float(sums[i] / n_rows[i]),
                "observed": float(hits[i] / n_rows[i]),
            }
            for i in np.flatnonzero(n_rows)
        ]

    def _outcomes(self, label: Any) -> tuple[Floats, NDArray[np.bool_]]:
        """The probability of a class for every row, and whether the row is of it."""
        place = self.place_of(label)
        return self.proba[:, place], self.codes == place

    def take(self, rows: NDArray[np.integer[Any]] | NDArray[np.bool_]) -> Scores:
        """Some of the rows."""
        return Scores(self.classes, self.codes[rows], self.proba[rows], self.predicted[rows], self.known[rows])

    def align(self, classes: Sequence[Any]) -> Scores:
        """The same rows over a superset of the classes, in the given order."""
        if list(classes) == self.classes:
            return self
        index = {label: place for place, label in enumerate(classes)}
        places = np.array([index[label] for label in self.classes] + [-1], np.int32)  # the last one for "no prediction"
        proba = np.zeros((len(self), len(classes)))
        proba[:, places[:-1]] = self.proba
        return Scores(list(classes), places[self.codes], proba, places[self.predicted], self.known)


@dataclass(eq=False)
class KeptRows:
    """Rows collected batch by batch, dropped when there are too many.

    >>> kept = KeptRows()
    >>> kept.add(["a", "b"], np.array([1]), np.array([[0.25, 0.75]]), np.array([1]))
    >>> kept.scores().codes.tolist()
    [1]
    """

    parts: list[Scores] = field(default_factory=list)
    n_cells: int = 0

    @property
    def complete(self) -> bool:
        """Whether all rows have been kept."""
        return self.n_cells <= LIMIT

    def add(
        self, names: Sequence[Any], codes: NDArray[np.integer[Any]], proba: Floats, predicted: NDArray[np.integer[Any]]
    ) -> None:
        """Add rows; `names` are the classes of a model, the columns of `proba`, then labels unknown to it."""
        self.n_cells += len(codes) * len(names)
        if not self.complete:
            self.parts = []
            return
        n_known = proba.shape[1]
        wide = proba if len(names) == n_known else np.pad(proba, ((0, 0), (0, len(names) - n_known)))
        places, answers = codes.astype(np.int32), predicted.astype(np.int32)
        self.parts.append(Scores(list(names), places, wide, answers, places < n_known))

    def __add__(self, other: KeptRows) -> KeptRows:
        both = KeptRows([*self.parts, *other.parts], self.n_cells + other.n_cells)
        return both if both.complete else KeptRows([], both.n_cells)

    def scores(self) -> Scores:
        """All rows; an error if there were too many to keep."""
        if not self.complete:
            hint = f"evaluate fewer than {LIMIT:,} rows times classes for AUC, curves, calibration and intervals"
            raise UnsupportedError("too many rows to keep them all", hint=hint)
        classes = sort_keys({label for part in self.parts for label in part.classes})
        aligned = [part.align(classes) for part in self.parts]
        self.parts = aligned if len(aligned) == 1 else [_concatenate(classes, aligned)]
        return self.parts[0]


def _concatenate(classes: list[Any], parts: list[Scores]) -> Scores:
    nothing = np.zeros(0, np.int32)
    return Scores(
        classes,
        np.concatenate([nothing, *(part.codes for part in parts)]),
        np.concatenate([np.zeros((0, len(classes))), *(part.proba for part in parts)]),
        np.concatenate([nothing, *(part.predicted for part in parts)]),
        np.concatenate([nothing.astype(bool), *(part.known for part in parts)]),
    )
