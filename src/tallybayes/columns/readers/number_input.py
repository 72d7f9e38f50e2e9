"""Columns of numbers that go into a derived column as they are: the inputs of joint Gaussians."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.arrays.array_types import Floats
from tallybayes.arrays.column import Column, Key, Reals
from tallybayes.errors import ParameterError
from tallybayes.families.block_arrays import first_true, refuse
from tallybayes.formatting import number

__all__ = ["NumberInput"]


@dataclass(frozen=True)
class NumberInput:
    """A column of the table whose numbers are used; it has the names of `CellInput`.

    >>> NumberInput("height").cells(Reals(np.array([1.7, np.nan]))).tolist()
    [1.7, nan]
    """

    column: str
    keys: tuple[Key, ...] | None = None  # there are no categories

    @property
    def kind(self) -> type[Column]:
        """The kind of column that it is computed from."""
        return Reals

    def cells(self, column: Column, *, learns: bool = False) -> Floats:
        """The number of each row, NaN where it is missing; infinite numbers are refused."""
        assert isinstance(column, Reals)
        refuse(first_true(np.isinf(column.values)), (self.column,), [column.values], "a finite number")
        return column.values.astype(np.float64, copy=False)

    def describe(self, cell: float, show: Callable[[Any], Any] | None = None) -> str:
        """A number in words; show: how numbers are shown, if they are dates."""
        return number(cell, 6) if show is None else str(show(cell))

    def value(self, cell: float) -> Any:
        """The number itself."""
        return cell

    def to_dict(self) -> dict[str, Any]:
        """As plain values, as they are written to files."""
        return {"column": self.column}

    @classmethod
    def from_dict(cls, facts: Any) -> NumberInput:
        """From plain values, every one of them checked."""
        if not isinstance(facts, Mapping) or facts.keys() != {"column"} or not isinstance(facts["column"], str):
            raise ParameterError("an input: the name of its column", got=facts)
        return cls(facts["column"])
