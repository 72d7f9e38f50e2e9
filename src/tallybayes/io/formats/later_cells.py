"""Cells below the first rows of a file of text that these were wrong about: all cells of their column decide then."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from tallybayes.cells.arrow import pc
from tallybayes.cells.date_format import begins_with_day_or_month, tells_order
from tallybayes.cells.number_evidence import looks_like_number
from tallybayes.cells.number_format import NumberFormat
from tallybayes.tables.raw_values import is_number
from tallybayes.tables.source import OpenDateError, UnexpectedCellError

__all__ = ["LaterCells", "unexpected_cells"]

_FLAG = r"^(?i:true|false|t|f|yes|no|y|n|0|1)$"


class LaterCells(NamedTuple):
    """All cells of a column below the first rows, and some of them that are of another type."""

    cells: Any
    some: Any

    def rows(self, name: str, names: Iterable[str]) -> pa.Table:
        """Those of another type as rows of a table; its other columns are decided by their own cells."""
        nothing = pa.nulls(len(self.some), self.some.type)
        return pa.table({other: self.some if other == name else nothing for other in names})


def unexpected_cells(error: UnexpectedCellError, cells: Any, form: NumberFormat, *, is_flag: bool) -> Any:
    """The cells of a column that are of another type than the first ones, as the one that the error is about.

    form, is_flag: how the first cells were read.

    >>> error = UnexpectedCellError("a number", got="1,5")
    >>> unexpected_cells(error, pa.array(["1", "2,5", "lost"]), NumberFormat(), is_flag=False).to_pylist()
    ['2,5']
    """
    if isinstance(error, OpenDateError):
        tells = pc.or_(tells_order(cells, day_first=True), tells_order(cells, day_first=False))
        return cells.filter(tells if tells.true_count else begins_with_day_or_month(cells))
    if is_flag:
        return cells.filter(pc.invert(pc.match_substring_regex(cells, _FLAG)))
    numbers = form.parse(cells)
    if is_number(error.got):  # it was read as a number, but the first ones were only 0 and 1
        return cells.filter(pc.invert(pc.is_in(numbers, value_set=pa.array([0.0, 1.0]))))
    is_word = not looks_like_number(pa.array([error.got]))[0].as_py()
    return cells.filter(pc.and_(pc.is_null(numbers), pc.xor(looks_like_number(cells), is_word)))
