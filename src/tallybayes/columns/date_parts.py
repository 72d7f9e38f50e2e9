"""Columns of dates become columns of their parts, each with a name and a family of its own.

signup.elapsed   days since 1970-01-01, a number          signup.month     Jan to Dec, in this order
signup.year      a number                                 signup.weekday   Mon to Sun, in this order
signup.hour      0 to 23, in this order

A part is a column of the model if it varies in the first rows. Parts are computed where a table is read, before it is
encoded, and everything that follows treats them like columns of the table. A table may also hold the parts themselves,
as one that was sampled from a model does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.arrays.array_types import Floats, Integers32
from tallybayes.cells.arrow import strings
from tallybayes.cells.date_format import DATE_PARTS, DAY
from tallybayes.cells.known_order import MONTHS, WEEKDAYS
from tallybayes.columns.column_spec import ColumnSpec, DatePart, Origin, Status
from tallybayes.columns.date_cells import NO_DATE, DateCells, read_dates
from tallybayes.columns.date_inference import decided
from tallybayes.columns.schema import Schema
from tallybayes.columns.whole_numbers import are_whole
from tallybayes.errors import warn
from tallybayes.families import Family, Ordinal
from tallybayes.formatting import shown
from tallybayes.tables.table import Raw, Table

__all__ = ["UnreadDates", "date_fields", "part_name", "with_date_parts"]

_HOUR = DAY // 24
_DIGITS = 5  # of days, a second or so: more would only be noise where a value is shown
_REASONS = {
    "elapsed": "days since 1970-01-01",
    "year": "year",
    "month": "month",
    "weekday": "day of the week",
    "hour": "hour of the day",
}
_CATEGORIES = {"month": MONTHS, "weekday": WEEKDAYS}


def part_name(column: str, part: str) -> str:
    """The name of the column of a part.

    >>> part_name("signup", "weekday")
    'signup.weekday'
    """
    return f"{column}.{part}"


@dataclass(eq=False)
class UnreadDates:
    """Cells of columns of dates that are no dates, counted over all batches: they are missing values."""

    found: dict[str, tuple[int, str]] = field(default_factory=dict)  # how many, and one of them

    def add(self, column: str, raw: Raw, cells: DateCells) -> None:
        """Count the cells of a batch."""
        if n := int(np.count_nonzero(cells.unread)):
            before, example = self.found.get(column, (0, ""))
            self.found[column] = before + n, example or _cell(raw, int(np.argmax(cells.unread)))

    def merged(self, other: UnreadDates) -> UnreadDates:
        """The cells of both; of their examples, the first in alphabetical order."""
        result = UnreadDates(dict(self.found))
        for column, (n, example) in other.found.items():
            before, known = result.found.get(column, (0, example))
            result.found[column] = before + n, min(known, example)
        return result

    def warn(self) -> None:
        """Warn about them, once for each column."""
        for column, (n, example) in self.found.items():
            cells = "1 cell is not a date" if n == 1 else f"{n:,} cells are not dates"
            hint = f"families={{{column!r}: 'categorical'}} (--as {column}=categorical) takes the cells as they are"
            warn(f"{cells}, such as {example}: read as missing", column=column, hint=hint)
        self.found.clear()


def with_date_parts(table: Table, schema: Schema, unread: UnreadDates | None = None) -> Table:
    """The table with the parts of its dates as columns, as far as the schema has them and the table does not.

    unread: where cells that are no dates are counted; without it there is a warning at once.
    """
    added: dict[str, Raw] = {}
    own = unread or UnreadDates()
    for column, names in schema.date_parts.items():
        wanted = {name: part for name, part in names.items() if name not in table.columns}
        source = schema.columns.get(column)
        if not wanted or column not in table.columns or source is None or source.dates is None:
            continue
        cells = read_dates(table.columns[column], source.dates)
        if set(wanted.values()) != {"hour"}:
            cells = replace(cells, unread=cells.unread | cells.is_time)
        own.add(column, table.columns[column], cells)
        added |= {name: _part(cells, part) for name, part in wanted.items()}
    if unread is None:
        own.warn()
    return replace(table, columns={**table.columns, **added}) if added else table


def date_fields(
    name: str, raw: Raw, given: ColumnSpec, *, numeric: Family, wanted: Iterable[str] = (), all_parts: bool = False
) -> dict[str, ColumnSpec]:
    """The fields of a column of dates and of its parts that vary; those in `wanted` in any case.

    given: the field of the column, with a format in which something may still be undecided.

    >>> from tallybayes.cells.date_format import DateFormat
    >>> from tallybayes.families import Histogram
    >>> field = ColumnSpec("when", None, "dates", dates=DateFormat())
    >>> list(date_fields("when", ["2024-01-01", "2024-01-09"], field, numeric=Histogram()))
    ['when', 'when.elapsed', 'when.weekday']
    """
    assert given.dates is not None
    given = replace(given, dates=decided(name, raw, given.dates))
    cells = read_dates(raw, given.dates)  # type: ignore[arg-type]
    if not (cells.micros != NO_DATE).any():
        if given.origin is not Origin.SPECIFIED:
            return {name: ColumnSpec.unused(name, Status.UNDECIDED)}
        all_parts = True
    used = [part for part in DATE_PARTS if all_parts or part in wanted or _varies(cells, part)]
    if not used:  # the column will not be read again, where other cells are counted
        unread = UnreadDates()
        unread.add(name, raw, cells)
        unread.warn()
    families = {part: _family(part, numeric) for part in used}
    fields = {name: given if used else given.without_family(Status.SAME_DATE, f"{given.reason}, all the same")}
    for part, family in families.items():
        own = part_name(name, part)
        is_whole = are_whole(_part(cells, part))
        fields[own] = ColumnSpec(
            own, family, f"{_REASONS[part]} of {name}", part=DatePart(name, part), is_whole=is_whole
        )
    return fields


def _family(part: str, numeric: Family) -> Family:
    if part in ("elapsed", "year"):
        return numeric
    return Ordinal(_CATEGORIES.get(part, ()))  # hours are ordered as numbers


def _varies(cells: DateCells, part: str) -> bool:
    values = _codes(cells, part) if part in _CATEGORIES else _numbers(cells, part)
    there = values[values >= 0] if part in _CATEGORIES else values[~np.isnan(values)]
    return bool(len(there) and (there != there[0]).any())


def _part(cells: DateCells, part: str) -> Raw:
    """A part as a raw column."""
    if part not in _CATEGORIES:
        return _numbers(cells, part)
    codes = _codes(cells, part)
    there = np.packbits(codes >= 0, bitorder="little")
    indices = pa.Array.from_buffers(pa.int32(), len(codes), [pa.py_buffer(there), pa.py_buffer(np.maximum(codes, 0))])
    return pa.DictionaryArray.from_arrays(indices, strings(list(_CATEGORIES[part])))


def _numbers(cells: DateCells, part: str) -> Floats:
    missing = cells.micros == NO_DATE
    micros = np.where(missing, 0, cells.micros)
    if part == "hour":
        values: Any = micros % DAY // _HOUR
    else:
        missing = missing | cells.is_time
        values = np.round(micros / DAY, _DIGITS) if part == "elapsed" else _months(cells) // 12 + 1970
    return np.where(missing, np.nan, values)


def _codes(cells: DateCells, part: str) -> Integers32:
    """The number of a month or weekday, -1 where there is none."""
    missing = (cells.micros == NO_DATE) | cells.is_time
    micros = np.where(missing, 0, cells.micros)
    codes = _months(cells) % 12 if part == "month" else (micros // DAY + 3) % 7  # 1970 began on a Thursday
    return np.where(missing, -1, codes).astype(np.int32)


def _months(cells: DateCells) -> Any:
    micros = np.where(cells.micros == NO_DATE, 0, cells.micros)
    return micros.view("M8[us]").astype("M8[M]").astype(np.int64)


def _cell(raw: Raw, row: int) -> str:
    value = raw[row].as_py() if isinstance(raw, (pa.Array, pa.ChunkedArray)) else raw[row]
    return repr(shown(value)[:40])
