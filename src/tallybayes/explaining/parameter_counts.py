"""How many numbers a model consists of: the free parameters of the class prior and of the likelihood of every column.

Free: probabilities that add up to 1 are one number fewer. Counted is what the form of the distributions leaves open,
whether it was learned, given or smoothed; hyperparameters (smoothing, families) and what is fitted afterwards (column
weights, calibration) are not. Each family says in `Predictive.n_parameters` how many its columns have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tallybayes.formatting import listed
from tallybayes.notebook_view import ResultView, TextGrid
from tallybayes.scoring.scorer import Scorer

__all__ = ["ParameterCounts"]


@dataclass(frozen=True, repr=False)
class ParameterCounts(ResultView):
    """The free parameters of the class prior and of each column; None where a family does not say how many it has."""

    class_prior: int
    columns: dict[str, int | None]
    _heading: ClassVar[str] = "Parameters"

    @classmethod
    def of(cls, scorer: Scorer) -> ParameterCounts:
        """Of a model."""
        found = {
            name: predictive.n_parameters(number)
            for predictive in scorer.predictives
            for number, name in enumerate(predictive.features)
        }
        return cls(max(len(scorer.classes) - 1, 0), dict(sorted(found.items())))

    @property
    def total(self) -> int | None:
        """The parameters of the class prior and all columns; None if those of a column are not known."""
        known = [n for n in self.columns.values() if n is not None]
        return self.class_prior + sum(known) if len(known) == len(self.columns) else None

    def to_dict(self) -> dict[str, Any]:
        """All values as plain Python objects, for JSON."""
        return {"class_prior": self.class_prior, "columns": self.columns, "total": self.total}

    def in_a_line(self) -> str:
        """The total and its parts.

        >>> ParameterCounts(1, {"age": 4, "sex": 2}).in_a_line()
        'free parameters: 7 (class prior 1, age 4, sex 2)'
        """
        parts = [f"{name} {_shown(n)}" for name, n in self.columns.items()]
        return f"free parameters: {_shown(self.total)} (class prior {self.class_prior:,}{_after(listed(parts))})"

    def _parts(self) -> list[str | TextGrid]:
        rows = [["class prior", _shown(self.class_prior)], *([name, _shown(n)] for name, n in self.columns.items())]
        return [TextGrid(["", "free parameters"], [*rows, ["total", _shown(self.total)]])]


def _shown(n: int | None) -> str:
    return "not known" if n is None else f"{n:,}"


def _after(text: str) -> str:
    return f", {text}" if text else ""
