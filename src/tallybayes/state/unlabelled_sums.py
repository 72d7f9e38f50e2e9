"""What unlabelled rows have added to the sums of a model: a sum of its own, so that labelled rows stay exact."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from tallybayes.formatting import number, rows_of
from tallybayes.state.statistics import SufficientStatistics

__all__ = ["UnlabelledSums"]


@dataclass(frozen=True, eq=False)
class UnlabelledSums:
    """The sums of unlabelled rows, each divided among the classes and multiplied by a weight.

    rows: how many there were; weight: of each, compared with a labelled row; labelled_rows: the rows of the model when
    they were divided; objective: the penalised log likelihood of all rows after each round.
    """

    statistics: SufficientStatistics
    rows: int
    weight: float
    labelled_rows: float
    objective: tuple[float, ...] = ()

    def only(self, names: Collection[str]) -> UnlabelledSums:
        """The sums of some columns."""
        return replace(self, statistics=self.statistics.only(names))

    def to_dict(self) -> dict[str, Any]:
        """What is known about the rows, as plain values."""
        facts = {"rows": self.rows, "weight": self.weight, "labelled_rows": self.labelled_rows}
        return facts | {"objective": list(self.objective)}

    def __str__(self) -> str:
        n_rounds, weight = len(self.objective) + 1, number(self.weight, 4)
        return f"{rows_of(self.rows)} divided in {n_rounds} rounds, each with weight {weight}"

    def same(self, other: UnlabelledSums | None) -> bool:
        """Whether the sums are equal; how they came about does not matter."""
        return other is self or (other is not None and self.statistics.same(other.statistics))
