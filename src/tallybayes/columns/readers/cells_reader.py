"""Derived columns: the coarse cells of other columns of the same table, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tallybayes.arrays.column import Cells
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.columns.readers.reader import Fact, ReadContext, Reader
from tallybayes.errors import ParameterError
from tallybayes.tables.source import Kind

__all__ = ["CellsReader"]


def _read_inputs(inputs: Any) -> tuple[CellInput, ...]:
    if not isinstance(inputs, list):
        raise ParameterError("a list of the inputs of a derived column", got=inputs)
    return tuple(map(CellInput.from_dict, inputs))


@dataclass(frozen=True)
class CellsReader(Reader):
    """The cells of several inputs; they are cut once for all derived columns of a table (`columns/batch.py`).

    >>> age = CellInput("age", edges=(25.0,))
    >>> CellsReader((age,)).encode({age: np.array([0, 1], np.int16)}, ReadContext("ages", 2)).codes.tolist()
    [[0], [1]]
    """

    kind = "cells"
    column = Cells
    facts = (Fact("inputs", "inputs", lambda inputs: [one.to_dict() for one in inputs], _read_inputs),)

    inputs: tuple[CellInput, ...] = field()  # required: the default of other readers is none

    def __post_init__(self) -> None:
        names = [cell_input.column for cell_input in self.inputs]
        if not names or len(set(names)) < len(names):
            raise ParameterError("every column once as an input of a derived column, and at least one", got=names)

    def encode(self, inputs: Mapping[Any, Any], context: ReadContext) -> Cells:
        """Put the cells of the inputs side by side."""
        cells = np.stack([inputs[cell_input] for cell_input in self.inputs], axis=1)
        return Cells(np.ascontiguousarray(cells), tuple(cell_input.n_cells for cell_input in self.inputs))

    def source_types(self, name: str) -> dict[str, Kind | None]:
        """Nothing by itself: the columns of its inputs say how they are read (`columns/batch.py`)."""
        return {}

    def with_inputs(self, inputs: tuple[Any, ...]) -> CellsReader:
        """The same with other inputs."""
        return CellsReader(inputs)

    def inputs_in_words(self) -> str:
        """The names of the inputs and how many cells each has."""
        return f"cells of {', '.join(f'{one.column} ({one.n_cells})' for one in self.inputs)}"
