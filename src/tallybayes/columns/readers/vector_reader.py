"""Derived columns: the numbers of other columns of the same table, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tallybayes.arrays.column import Vectors
from tallybayes.columns.readers.number_input import NumberInput
from tallybayes.columns.readers.reader import Fact, ReadContext, Reader
from tallybayes.errors import ParameterError
from tallybayes.tables.source import Kind

__all__ = ["VectorReader"]


def _read_inputs(inputs: Any) -> tuple[NumberInput, ...]:
    if not isinstance(inputs, list):
        raise ParameterError("a list of the inputs of a derived column", got=inputs)
    return tuple(map(NumberInput.from_dict, inputs))


@dataclass(frozen=True)
class VectorReader(Reader):
    """The numbers of several inputs.

    >>> height, weight = NumberInput("height"), NumberInput("weight")
    >>> cells = {height: np.array([1.7]), weight: np.array([60.0])}
    >>> VectorReader((height, weight)).encode(cells, ReadContext("both", 1)).values.tolist()
    [[1.7, 60.0]]
    """

    kind = "vector"
    column = Vectors
    facts = (Fact("inputs", "inputs", lambda inputs: [one.to_dict() for one in inputs], _read_inputs),)

    inputs: tuple[NumberInput, ...] = field()  # type: ignore[assignment]  # required; of another kind than cells

    def __post_init__(self) -> None:
        names = [one.column for one in self.inputs]
        if not names or len(set(names)) < len(names):
            raise ParameterError("every column once as an input of a derived column, and at least one", got=names)

    def encode(self, inputs: Mapping[Any, Any], context: ReadContext) -> Vectors:
        """Put the numbers of the inputs side by side."""
        values = np.stack([inputs[one] for one in self.inputs], axis=1).astype(np.float64, copy=False)
        return Vectors(np.ascontiguousarray(values), tuple(one.column for one in self.inputs))

    def source_types(self, name: str) -> dict[str, Kind | None]:
        """Nothing by itself: the columns of its inputs say how they are read (`columns/batch.py`)."""
        return {}

    def with_inputs(self, inputs: tuple[Any, ...]) -> VectorReader:
        """The same with other inputs."""
        return VectorReader(inputs)

    def inputs_in_words(self) -> str:
        """The names of the inputs."""
        return f"of {', '.join(one.column for one in self.inputs)}"
