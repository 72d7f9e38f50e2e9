"""Columns of categories whose cells are numbers beside other signs, such as `55 CR`, `~55` and `55±2`.

As categories their order and distance are lost, so that is said. A column is one of them if nearly all cells begin with
a number, perhaps behind a sign, there are many different numbers, and what stands beside them is the same few texts:
codes, addresses, times and ranges vary there, or begin with letters.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from tallybayes.arrays.column import Codes
from tallybayes.cells.arrow import pc, text_scalar, word_counts
from tallybayes.cells.missing_words import MissingWords
from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.readers.reader import text_of
from tallybayes.doubts import doubt, ignored
from tallybayes.tables.source import HEAD
from tallybayes.tables.table import Table

__all__ = ["doubt_numbers_in_categories"]

_SHARE = 0.9  # of the cells, from which nearly all are numbers, as in `number_evidence.py`
_MANY, _FEW = 20, 3  # different numbers that are more than an order or codes, and texts beside them at most
_FIRST = 10  # cells that rule out most columns
_CELL = r"^(?P<before>[^\pL\d\s#_/.,:;-]{0,2}) ?[+-]?(?P<number>\d+(?:[.,]\d+)*)(?P<after>(?:[^\d/_-].*)?)$"
_CODE = r"^0\d"  # 007A is a name


def doubt_numbers_in_categories(specs: Iterable[ColumnSpec], table: Table) -> None:
    """Say which columns of categories hold numbers beside other signs, by the first rows."""
    for spec in specs:
        if spec.family is None or spec.family.column is not Codes or spec.name not in table.columns:
            continue
        text = text_of(table.columns[spec.name], HEAD)
        cells = None if text is None else MissingWords().clean(text).drop_null()
        if cells is None or not len(cells) or not (n := _count(cells)):
            continue
        example = next(cell for cell in cells[:_FIRST].to_pylist() if _count_like(pa.array([cell])))
        found = f'{n:,} of {len(cells):,} cells hold numbers beside other signs, such as "{example}"'
        hint = f"to have numbers, remove the signs or write them in another column; or {ignored(spec.name)}"
        doubt("odd cells", f"{found}, and were taken as categories", column=spec.name, hint=hint)


def _count(cells: Any) -> int:
    """How many cells are numbers beside the same few signs; 0 if the column is another one.

    >>> _count(pa.array([f"{i} {'CR' if i % 3 else 'DR'}" for i in range(30)])), _count(pa.array(["1st", "2nd"] * 20))
    (30, 0)
    """
    if not _count_like(cells[:_FIRST]):
        return 0
    parts = pc.extract_regex(cells, _CELL).drop_null()
    numbers, before, after = (pc.struct_field(parts, name) for name in ("number", "before", "after"))
    beside = word_counts(pc.binary_join_element_wise(before, after, text_scalar(" ", before.type)))
    is_like = len(parts) >= _SHARE * len(cells) and len(numbers.unique()) > _MANY and len(beside) <= _FEW
    is_like = is_like and beside.keys() != {" "}  # plain numbers are said elsewhere
    return len(parts) if is_like and not pc.match_substring_regex(numbers, _CODE).true_count else 0


def _count_like(cells: Any) -> int:
    return len(pc.extract_regex(cells, _CELL).drop_null())
