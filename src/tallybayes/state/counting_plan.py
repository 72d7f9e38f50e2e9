"""How rows are counted for a model: all that has to be known of it, without its sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tallybayes.columns.schema import Schema
from tallybayes.state.model_state import ModelState
from tallybayes.state.settings import Settings

__all__ = ["CountingPlan"]


def _no_key(column: str) -> Any:
    return None


@dataclass(frozen=True, eq=False)
class CountingPlan:
    """Schema and settings of a model, label and weight of the rows, and the keys that rows must agree with.

    label, weight: names of columns, or arrays.
    learns: whether the rows are to be added to the model, which takes samples of documents.
    labels: the classes of the model, whose type new labels get; key_of: one category of a column, or None.
    """

    schema: Schema
    settings: Settings
    label: Any
    weight: Any = None
    learns: bool = True
    labels: Sequence[Any] = ()
    key_of: Callable[[str], Any] = _no_key

    @classmethod
    def of(cls, state: ModelState, label: Any, weight: Any, *, learns: bool) -> CountingPlan:
        """The plan to count rows for a model."""
        schema, statistics = state.schema, state.statistics

        def key_of(column: str) -> Any:
            return statistics.any_key(schema.family_of(column), column)

        return cls(schema, state.settings, label, weight, learns, statistics.in_use(), key_of)
