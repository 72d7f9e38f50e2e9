"""What a system does with the data of a piece of work: steps by name, in the order in which they are measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Steps", "fit_and_score"]

Steps = dict[str, Callable[[], object]]


def fit_and_score(fit: Callable[[], Any], score: Callable[[Any], object]) -> Steps:
    """The usual two steps; the model that is scored is the one that was fitted last.

    >>> steps = fit_and_score(lambda: 7, lambda model: model + 1)
    >>> steps["fit"]()
    >>> steps["predict_proba"]()
    8
    """
    last: list[Any] = []

    def fit_anew() -> None:
        last.clear()
        last.append(fit())

    return {"fit": fit_anew, "predict_proba": lambda: score(last[0])}
