"""A last row that is no row of the data but its totals, as spreadsheets have it: noticed, and said.

It is one whose first cell says so ("Total", "Gesamt") beside numbers and empty cells, or another cell whose column has
the word nowhere else, or whose numbers are the sums of their columns. Below it there may be empty rows and notes, which
have a single cell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tallybayes.cells.arrow import as_doubles, combine_chunks, pc, strings, to_numpy
from tallybayes.cells.number_evidence import looks_like_number
from tallybayes.doubts import Doubt

__all__ = ["LAST_ROWS", "are_sums", "count_notes", "totals_at_end", "totals_doubt"]

LAST_ROWS = 6  # among which the totals are looked for

_WORDS = (
    "total|totals|grand total|sub-?total|overall total|sum|sums|gesamt|gesamtsumme|summe|insgesamt|total général|"
    "somme|totale|totaal|som|suma|suma total|soma|totalt|yhteensä|razem|ogółem|celkem|összesen|toplam|"
    "итого|всего|合计|总计|合計"
)
_TOTAL = re.compile(rf"(?:{_WORDS})\s*:?", re.IGNORECASE)
_HALF = 0.5
_LEAST_ROWS = 4  # with the totals; in fewer, sums come about by chance


def totals_at_end(
    file: str, names: Sequence[str], rows: Sequence[Sequence[str | None]], texts: Any = None, numbers: Any = None
) -> list[Doubt]:
    """That the last of some rows that is no note may hold totals.

    texts, numbers: the columns as texts, and those of numbers, if all rows are known.
    """
    if not rows:
        return []
    n_notes = count_notes(rows)
    last = dict(zip(names, rows[-1 - n_notes], strict=False))
    where = f"{file}: the last row" + " above empty rows and notes" * bool(n_notes)
    above = {name: column[: len(column) - n_notes] for name, column in (numbers or {}).items()}
    found = totals_doubt(last, where, columns=texts or {}, are_sums=are_sums(above))
    return [] if found is None else [found]


def totals_doubt(
    cells: Mapping[str, str | None],
    where: str,
    *,
    columns: Mapping[str, Any] = MappingProxyType({}),
    are_sums: bool = False,
) -> Doubt | None:
    """What is doubtful about the last row, if it holds totals.

    cells: of the row by column, None where they are empty; where: the place of the row in words; columns: as texts, if
    all rows are known; are_sums: whether its numbers are the sums of their columns.

    >>> doubt = totals_doubt({"town": "Total:", "sold": "1,234", "open": None}, "sales.csv, the last row")
    >>> print(doubt.text)
    sales.csv, the last row seems to hold totals ('Total:'), and is left out only if it has no label
    """
    there = {name: cell.strip() for name, cell in cells.items() if cell is not None and cell.strip()}
    named = _column_of_word(there, columns)
    word = there[named] if named is not None else ""
    is_said = bool(word) and _are_numbers([cell for name, cell in there.items() if name != named])
    if not is_said and not are_sums:
        return None
    hint = "delete it"
    if is_said and word == next(iter(cells.values())):
        hint = f"comment={word!r} (--comment {_shell(word)}) leaves out the lines that begin with it"
    why = repr(word) if is_said else "the sums of the columns"
    return Doubt("rows", f"{where} seems to hold totals ({why}), and is left out only if it has no label", hint=hint)


def _column_of_word(there: Mapping[str, str], columns: Mapping[str, Any]) -> str | None:
    """The column whose cell says "Total": the first one that is filled, or another one in which no other row has it."""
    for place, (name, cell) in enumerate(there.items()):
        if not _TOTAL.fullmatch(cell):
            continue
        if place == 0 or (name in columns and pc.sum(pc.equal(columns[name], cell)).as_py() == 1):
            return name
    return None


def count_notes(rows: Sequence[Sequence[str | None]]) -> int:
    """How many rows at the end are empty or have a single cell, such as a source; 0 if all are like that.

    >>> count_notes([("Ulm", "3"), ("Total", "3"), ("", None), ("Source: bureau", "")])
    2
    """
    n_cells = [sum(bool(cell and cell.strip()) for cell in row) for row in reversed(rows)]
    return next((i for i, n in enumerate(n_cells) if n > 1), 0)


def _are_numbers(cells: list[str]) -> bool:
    """Whether at least half of some cells are numbers: a row of totals may have a label that was filled in."""
    return bool(cells) and bool(to_numpy(looks_like_number(strings(cells))).mean() >= _HALF)


def _shell(text: str) -> str:
    return text if re.fullmatch(r"[\w:]+", text) else f"'{text}'"


def are_sums(columns: Mapping[str, Any]) -> bool:
    """Whether the numbers of the last row are the sums of those above them, in two columns or more.

    columns: of numbers.

    >>> import pyarrow as pa
    >>> are_sums({"a": pa.array([1, 2, 3, 6]), "b": pa.array([0.1, 0.2, 0.3, 0.6])})
    True
    """
    n_sums = 0
    for column in columns.values():
        values = to_numpy(combine_chunks(as_doubles(column)))
        above = values[:-1][np.isfinite(values[:-1])]
        if len(values) < _LEAST_ROWS or not np.isfinite(values[-1]):
            continue
        with np.errstate(over="ignore"):
            total = above.sum()
        if np.count_nonzero(above) < _LEAST_ROWS - 1 or not np.isclose(values[-1], total, rtol=1e-9, atol=0):
            return False
        n_sums += 1
    return n_sums > 1
