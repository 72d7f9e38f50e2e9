"""Corrections of the weights of tokens, for columns of text and bags.

    score of a text = w * sum over its tokens of amount * (weight_tc + correction_tc)

Naive Bayes weighs every token as if it were alone. Corrections are fitted to the errors that remain, as in the NBSVM of
Wang and Manning (2012); `tallybayes.tune` does that (`tuning/correction_fit.py`). They are settings: sums do not
change, they refer to tokens and classes by name, and a score stays a sum over tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tallybayes.arrays.array_types import Floats
from tallybayes.errors import ParameterError

__all__ = ["CorrectionTable", "TokenCorrections"]


@dataclass(frozen=True, eq=False)
class CorrectionTable:
    """Corrections of one column, (tokens, classes)."""

    tokens: tuple[str, ...]
    classes: tuple[Any, ...]
    values: Floats

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.tokens), len(self.classes)) or not np.isfinite(self.values).all():
            raise ParameterError("a finite correction for each token and class", got=self.values.shape)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CorrectionTable):
            return NotImplemented
        same = self.tokens == other.tokens and self.classes == other.classes
        return same and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    def of(self, classes: Sequence[Any]) -> Floats:
        """The corrections for these classes; a class that has none gets 0, as a token without one."""
        place = {label: i for i, label in enumerate(self.classes)}
        result = np.zeros((len(self.tokens), len(classes)))
        for i, label in enumerate(classes):
            if label in place:
                result[:, i] = self.values[:, place[label]]
        return result


@dataclass(frozen=True)
class TokenCorrections:
    """Corrections by column. model_rows, fitted_on: the rows of the model then, and those they were fitted on.

    >>> table = CorrectionTable(("cash",), ("ham", "spam"), np.array([[-0.5, 0.5]]))
    >>> TokenCorrections({"text": table}).of(["spam", "new"])["text"][1].tolist()
    [[0.5, 0.0]]
    """

    columns: Mapping[str, CorrectionTable]
    model_rows: float = 0.0
    fitted_on: float = 0.0

    def of(self, classes: Sequence[Any]) -> dict[str, tuple[tuple[str, ...], Floats]]:
        """Tokens and corrections (tokens, classes), by column."""
        return {name: (table.tokens, table.of(classes)) for name, table in self.columns.items()}

    def only(self, names: Collection[str], classes: Collection[Any]) -> TokenCorrections:
        """Those of some columns and classes: what a model has forgotten is not named any more."""
        if set(self.columns) <= set(names) and all(
            set(table.classes) <= set(classes) for table in self.columns.values()
        ):
            return self
        kept = {}
        for name, table in self.columns.items():
            labels = tuple(label for label in table.classes if label in classes)
            if name in names:
                kept[name] = CorrectionTable(table.tokens, labels, table.of(labels))
        return replace(self, columns=kept)
