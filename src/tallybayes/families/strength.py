"""How strongly the counts of a column are smoothed: a fact for people and programs, not used in computing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tallybayes.formatting import number

__all__ = ["Strength"]


@dataclass(frozen=True)
class Strength:
    """The strength of smoothing of one column.

    name: "k", Laplace's, which is added to each count; or "strength", so many rows of the distribution that counts are
    shrunk to (`shrinkage.py`: of every value, with the class shares of the column; of an interaction, what naive Bayes
    says). is_selected: it was selected by evidence, from the counts themselves.

    >>> print(Strength(16.0, "strength", is_selected=True))
    strength 16 by evidence
    """

    value: float
    name: Literal["k", "strength"] = "k"
    is_selected: bool = False

    def __str__(self) -> str:
        text = f"k = {number(self.value)}" if self.name == "k" else f"strength {number(self.value)}"
        return text + (" by evidence" if self.is_selected else "")

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {self.name: self.value, "by_evidence": self.is_selected}
