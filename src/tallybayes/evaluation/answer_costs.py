"""The mean cost of answers, from a confusion matrix and the costs of a decision rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Costs", "least_constant_cost", "mean_cost"]

Costs = Mapping[Any, Mapping[Any, float]]  # by true label and answer; by default 0 for right and 1 for wrong answers


def mean_cost(confusion: Mapping[tuple[Any, Any], int], costs: Costs) -> float:
    """The mean cost of the answers by (true, answered); rows without an answer (None) have none.

    >>> mean_cost({("ham", "spam"): 1, ("ham", "ham"): 3, ("spam", None): 9}, {"ham": {"spam": 20}})
    5.0
    """
    answered = {pair: n for pair, n in confusion.items() if pair[1] is not None}
    total = sum(n * costs.get(true, {}).get(answer, float(true != answer)) for (true, answer), n in answered.items())
    return total / sum(answered.values()) if answered else float("nan")


def least_constant_cost(class_rows: Mapping[Any, int], answers: Sequence[Any], costs: Costs) -> float:
    """The mean cost of always giving the same answer, the one for which it is least."""
    constant = (mean_cost({(true, answer): n for true, n in class_rows.items()}, costs) for answer in answers)
    return min(constant, default=float("nan"))
