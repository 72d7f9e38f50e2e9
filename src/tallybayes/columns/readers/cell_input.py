"""Columns cut into a few coarse cells: the inputs of derived columns.

A derived column of a model is computed from other columns of the table. Each of these, an input, is cut into cells:
numbers at edges, booleans into false and true, categories into those listed. A value that belongs to no cell is
missing. The cells are part of the schema, so they are the same for every batch of rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.axis import rough_kind
from tallybayes.arrays.column import Codes, Column, Flags, Key, Reals
from tallybayes.errors import DataError, Described, ParameterError
from tallybayes.formatting import number, shown

__all__ = ["MOST_CELLS", "CellInput"]

MOST_CELLS = 2**15 - 1  # of an input: cells are numbered in 16 bits
_KINDS = {"text", "number", "boolean"}


@dataclass(frozen=True)
class CellInput:
    """A column of the table and its cells.

    edges: numbers, in increasing order; the cell of a value is the number of edges that are not above it.
    keys: the categories, each a cell; a value that is not listed is missing. Neither of the two: false and true.
    missing: whether missing values have a cell of their own, the last one.

    >>> age = CellInput("age", edges=(25.0, 37.0))
    >>> age.n_cells, age.cells(Reals(np.array([18.0, 25.0, 99.0, np.nan]))).tolist()
    (3, [0, 1, 2, -1])
    >>> [age.describe(cell) for cell in range(3)]
    ['below 25', '25 to below 37', '37 and above']
    """

    column: str
    edges: tuple[float, ...] | None = None
    keys: tuple[Key, ...] | None = None
    missing: bool = False

    def __post_init__(self) -> None:
        edges, keys = self.edges, self.keys
        if edges is not None and keys is not None:
            raise ParameterError("edges or keys of an input", got=Described("both"), column=self.column)
        if edges is not None and not _are_edges(edges):
            raise ParameterError("finite edges in increasing order", got=list(edges), column=self.column)
        if keys is not None and not _are_keys(keys):
            expected = "different categories of one type (text, numbers or booleans) as cells"
            raise ParameterError(expected, got=list(keys), column=self.column)
        if not 1 <= self.n_cells <= MOST_CELLS:
            raise ParameterError(f"from 1 to {MOST_CELLS:,} cells", got=self.n_cells, column=self.column)

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return self._n_values + self.missing

    @property
    def _n_values(self) -> int:
        """How many cells there are for values that are not missing."""
        return len(self.edges) + 1 if self.edges is not None else len(self.keys) if self.keys is not None else 2

    @property
    def kind(self) -> type[Column]:
        """The kind of column that it is computed from."""
        return Reals if self.edges is not None else Codes if self.keys is not None else Flags

    def cells(self, column: Column, *, learns: bool = False) -> NDArray[np.int16]:
        """The cell of each row, -1 where it has none; infinite numbers are refused.

        learns: whether a boolean that is neither 0 nor 1 is refused too, as by other families when they learn.
        """
        if isinstance(column, Reals):
            cells = self._of_reals(column.values)
        elif isinstance(column, Flags):
            cells = self._of_flags(column.values, learns)
        else:
            assert isinstance(column, Codes)
            cells = self._of_codes(column)
        return (np.where(cells < 0, self._n_values, cells) if self.missing else cells).astype(np.int16)

    def _of_reals(self, values: NDArray[np.floating]) -> NDArray[np.int64]:
        if (infinite := np.isinf(values)).any():
            row = int(np.argmax(infinite))
            hint = f"leave the cell empty if the value is unknown; in files, --missing={values[row]:g} reads it so"
            raise DataError("a finite number", got=values[row].item(), column=self.column, row=row, hint=hint)
        numbers, edges = np.ascontiguousarray(values, np.float64), np.array(self.edges, np.float64)
        cells = kernels.active.find_steps(numbers, edges)
        return np.where(np.isnan(values), -1, cells)

    def _of_flags(self, values: NDArray[np.generic], learns: bool) -> NDArray[np.int64]:
        cells = np.where(values == 0, 0, np.where(values == 1, 1, -1))
        if learns:
            numbers = values.astype(np.float64)
            strange = (cells < 0) & ~np.isnan(numbers) & ~((numbers == -1) & (values.dtype.kind == "i"))
            if strange.any():
                row = int(np.argmax(strange))
                raise DataError("a boolean (0, 1, true, false)", got=values[row].item(), column=self.column, row=row)
        return cells

    def _of_codes(self, column: Codes) -> NDArray[np.int64]:
        assert self.keys is not None
        known, n_keys = column.keys, len(column.keys)
        cell_of = np.full(n_keys + 1, -1, np.int64)  # the last is of a missing value
        if isinstance(known, range):
            for cell, key in enumerate(self.keys):
                if rough_kind(key) == "number" and key in known:
                    cell_of[int(key) - known.start] = cell  # type: ignore[call-overload]
        else:
            cells = {key: cell for cell, key in enumerate(self.keys)}
            cell_of[:n_keys] = [cells.get(key, -1) for key in known]
        return cell_of[column.places()]

    def describe(self, cell: int, show: Callable[[Any], Any] | None = None) -> str:
        """A cell in words; show: how numbers are shown, if they are dates."""
        if self.missing and cell == self._n_values:
            return "missing"
        if self.keys is not None:
            return shown(self.keys[cell])
        if self.edges is None:
            return ("false", "true")[cell]
        if not self.edges:
            return "any number"
        edges = [number(edge, 6) if show is None else str(show(edge)) for edge in self.edges]
        if cell == 0:
            return f"below {edges[0]}"
        return f"{edges[cell - 1]} and above" if cell == len(edges) else f"{edges[cell - 1]} to below {edges[cell]}"

    def value(self, cell: int) -> Any:
        """A value for a cell: the category or the boolean, None for a missing value; of numbers, the cell in words.

        >>> CellInput("sex", keys=("f", "m")).value(1), CellInput("age", edges=(25.0,)).value(1)
        ('m', '25 and above')
        """
        if cell < 0 or cell == self._n_values:
            return None
        if self.edges is not None:
            return self.describe(cell)
        return bool(cell) if self.keys is None else self.keys[cell]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, as they are written to files."""
        result: dict[str, Any] = {"column": self.column}
        result |= {} if self.edges is None else {"edges": list(self.edges)}
        result |= {} if self.keys is None else {"keys": list(self.keys)}
        return result | ({"missing": True} if self.missing else {})

    @classmethod
    def from_dict(cls, facts: Any) -> CellInput:
        """From plain values, every one of them checked.

        >>> CellInput.from_dict({"column": "sex", "keys": ["f", "m"]}).n_cells
        2
        """
        if not isinstance(facts, Mapping) or facts.keys() - {"column", "edges", "keys", "missing"}:
            raise ParameterError("an input: column, and edges or keys", got=facts)
        column, missing = facts.get("column"), facts.get("missing", False)
        if not isinstance(column, str) or not isinstance(missing, bool):
            raise ParameterError("the name of the column of an input", got=facts)
        lists = {name: facts.get(name) for name in ("edges", "keys")}
        for name, values in lists.items():
            if values is not None and not isinstance(values, list):
                raise ParameterError(f"a list of {name}", got=values, column=column)
        edges, keys = lists["edges"], lists["keys"]
        if edges is not None:
            if not all(type(edge) in (int, float) and math.isfinite(edge) for edge in edges):
                raise ParameterError("finite edges in increasing order", got=edges, column=column)
            edges = tuple(map(float, edges))
        return cls(column, edges, None if keys is None else tuple(keys), missing)


def _are_edges(edges: tuple[float, ...]) -> bool:
    return all(map(math.isfinite, edges)) and all(a < b for a, b in itertools.pairwise(edges))


def _are_keys(keys: tuple[Key, ...]) -> bool:
    if any(isinstance(key, float) and not math.isfinite(key) for key in keys):
        return False
    if any(type(key) not in (str, int, float, bool) for key in keys):
        return False
    return len({rough_kind(key) for key in keys} & _KINDS) <= 1 and len(set(keys)) == len(keys)
