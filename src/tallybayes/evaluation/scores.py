"""The rows of an evaluation: what each was, what was answered, and the probability of every class.

Sums are enough for accuracy and log loss; whatever goes by the order of the rows' probabilities (AUC, curves,
calibration, intervals) needs the rows. They are kept as plain arrays while they have no more than `LIMIT` cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import sort_keys
from tallybayes.errors import UnsupportedError
from tallybayes.families.family import Floats

__all__ = ["LIMIT", "KeptRows", "Scores"]

LIMIT = 2**25  # rows times classes that are kept: 256 MB


@dataclass(frozen=True, eq=False)
class Scores:
    """Rows with their true class and P(class | row).

    classes: every label that a model knew or a row had, sorted;  codes: the place of each row's true label in them;
    proba: (rows, classes), 0 for a class that the model of that row did not know;  predicted: the place of the answer,
    -1 where there was none;  known: whether the model of that row knew its true label.
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
        """Whether the answer of each row was its true label."""
        return np.equal(self.predicted, self.codes)

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Whether there was an answer."""
        return self.predicted >= 0

    @property
    def true_proba(self) -> Floats:
        """P(true label) of every row."""
        return np.asarray(self.proba[np.arange(len(self)), self.codes])

    def take(self, rows: NDArray[np.integer[Any]] | NDArray[np.bool_]) -> Scores:
        """Some of the rows."""
        return Scores(self.classes, self.codes[rows], self.proba[rows], self.predicted[rows], self.known[rows])

    def aligned(self, classes: Sequence[Any]) -> Scores:
        """The same rows over more classes, in the order given."""
        if list(classes) == self.classes:
            return self
        index = {label: place for place, label in enumerate(classes)}
        places = np.array([index[label] for label in self.classes] + [-1], np.int32)  # the last one for "no answer"
        proba = np.zeros((len(self), len(classes)))
        proba[:, places[:-1]] = self.proba
        return Scores(list(classes), places[self.codes], proba, places[self.predicted], self.known)


@dataclass(eq=False)
class KeptRows:
    """Rows that are gathered batch by batch, until there are too many of them.

    >>> kept = KeptRows()
    >>> kept.add(["a", "b"], np.array([1]), np.array([[0.25, 0.75]]), np.array([1]))
    >>> kept.together().codes.tolist()
    [1]
    """

    parts: list[Scores] = field(default_factory=list)
    n_cells: int = 0

    @property
    def are_there(self) -> bool:
        """Whether there were few enough of them."""
        return self.n_cells <= LIMIT

    def add(
        self, names: Sequence[Any], codes: NDArray[np.integer[Any]], proba: Floats, predicted: NDArray[np.integer[Any]]
    ) -> None:
        """Rows over the classes of a model, which `proba` has columns for, and after them labels it does not know."""
        self.n_cells += len(codes) * len(names)
        if not self.are_there:
            self.parts = []
            return
        n_known = proba.shape[1]
        wide = proba if len(names) == n_known else np.pad(proba, ((0, 0), (0, len(names) - n_known)))
        places, answers = codes.astype(np.int32), predicted.astype(np.int32)
        self.parts.append(Scores(list(names), places, wide, answers, places < n_known))

    def __add__(self, other: KeptRows) -> KeptRows:
        both = KeptRows([*self.parts, *other.parts], self.n_cells + other.n_cells)
        return both if both.are_there else KeptRows([], both.n_cells)

    def together(self) -> Scores:
        """All rows as one; an error if they were too many to be kept."""
        if not self.are_there:
            hint = f"judge fewer than {LIMIT:,} rows times classes for AUC, curves, calibration and intervals"
            raise UnsupportedError("the rows were too many to be kept one by one", hint=hint)
        classes = sort_keys({label for part in self.parts for label in part.classes})
        aligned = [part.aligned(classes) for part in self.parts]
        self.parts = aligned if len(aligned) == 1 else [_joined(classes, aligned)]
        return self.parts[0]


def _joined(classes: list[Any], parts: list[Scores]) -> Scores:
    nothing = np.zeros(0, np.int32)
    return Scores(
        classes,
        np.concatenate([nothing, *(part.codes for part in parts)]),
        np.concatenate([np.zeros((0, len(classes))), *(part.proba for part in parts)]),
        np.concatenate([nothing, *(part.predicted for part in parts)]),
        np.concatenate([nothing.astype(bool), *(part.known for part in parts)]),
    )
