"""Columns of dates, and the columns of their parts, each with a name and a family of its own.

signup.elapsed   days since 1970-01-01, a number          signup.month     Jan to Dec, in this order
signup.year      a number                                 signup.weekday   Mon to Sun, in this order
signup.hour      0 to 23, in this order

A part is a column of the model if it varies in the first rows. All parts of a date share one reading of its cells: they
are put into a table before it is encoded (`columns/batch.py`), and everything that follows treats them like columns of
the table. A table may also hold the parts themselves, as one that was sampled from a model does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.arrays.array_types import Floats, Integers32
from tallybayes.arrays.column import Column, Reals
from tallybayes.cells.arrow import strings
from tallybayes.cells.date_format import DAY, DateFormat, is_date, show_day
from tallybayes.cells.known_order import MONTHS, WEEKDAYS
from tallybayes.columns.readers.date_cells import NO_DATE, DateCells
from tallybayes.columns.readers.reader import DatePart, Fact, ReadContext, Reader
from tallybayes.doubts import as_family, doubt
from tallybayes.errors import DataError, Described
from tallybayes.formatting import shown
from tallybayes.tables.source import Kind
from tallybayes.tables.table import Raw
from tallybayes.tally import Tally

__all__ = ["PART_CATEGORIES", "DatePartReader", "DateReader", "UnreadDates", "part_name", "part_of", "part_varies"]

_HOUR = DAY // 24
_DIGITS = 5  # of days, a second or so: more would only be noise where a value is shown
PART_CATEGORIES = {"month": MONTHS, "weekday": WEEKDAYS}


@dataclass(frozen=True)
class DateReader(Reader):
    """Dates, which are not counted themselves: their parts are."""

    kind = "date"
    column = None
    facts = (Fact("dates", "dates", str, lambda text: DateFormat.parse("date" if text is None else text)),)

    dates: DateFormat = field()  # required: the default of other readers is none

    def encode(self, inputs: Mapping[Any, Any], context: ReadContext) -> Column:
        """Refuse: only the parts of a date are counted."""
        raise DataError("a part of a date", got=Described("the whole date"), column=context.name)


@dataclass(frozen=True)
class DatePartReader(Reader):
    """A part of a date, read by another reader once it is a column of its own."""

    kind = "date_part"

    part: DatePart = field()  # required: the default of other readers is none
    values: Reader

    @property
    def column(self) -> type[Column] | None:  # type: ignore[override]
        """What the reader of the part gives."""
        return self.values.column

    @property
    def is_whole(self) -> bool:  # type: ignore[override]
        """Whether the part is a whole number throughout."""
        return self.values.is_whole

    def encode(self, inputs: Mapping[Any, Any], context: ReadContext) -> Column:
        """Encode the part, which the table has as a column."""
        return self.values.encode(inputs, context)

    def kernel_entry(self, place: int, name: str, tally: Tally | None) -> Any:
        """As the values of the part are read, where a row has them."""
        return self.values.kernel_entry(place, name, tally)

    def source_types(self, name: str) -> dict[str, Kind | None]:
        """The column of dates, as it is."""
        return {self.part.column: None}

    def with_fractions(self) -> DatePartReader:
        """The reader of a part that is not a whole number throughout."""
        return DatePartReader(self.part, self.values.with_fractions())

    @property
    def shows_dates(self) -> bool:  # type: ignore[override]
        """Whether it is the days since 1970, which people see as dates."""
        return self.part.part == "elapsed" and self.column is Reals

    def show(self, value: Any) -> Any:
        """Days since 1970 as a date, any other value as it is."""
        return show_day(float(value)) if self.shows_dates and isinstance(value, (int, float)) else value

    def to_dict(self) -> dict[str, Any]:
        """The column of dates, the name of the part, and the reader of its values."""
        return super().to_dict() | {**self.part._asdict(), "values": self.values.to_dict()}


def part_name(column: str, part: str) -> str:
    """The name of the column of a part.

    >>> part_name("signup", "weekday")
    'signup.weekday'
    """
    return f"{column}.{part}"


@dataclass(eq=False)
class UnreadDates:
    """Cells of columns of dates that are no dates, counted over all batches: they are missing values.

    found, swapped: how many of each column, and one of them; swapped ones would be dates with day and month exchanged.
    """

    found: dict[str, tuple[int, str]] = field(default_factory=dict)
    swapped: dict[str, tuple[int, str]] = field(default_factory=dict)

    def add(self, column: str, raw: Raw, cells: DateCells) -> None:
        """Count the cells of a batch."""
        if not cells.unread.any():
            return
        texts = Counter(_cell(raw, row) for row in np.flatnonzero(cells.unread).tolist())
        for text, n in texts.items():
            counts = self._of(text)
            before, example = counts.get(column, (0, text))
            counts[column] = before + n, example

    def merge(self, other: UnreadDates) -> UnreadDates:
        """The cells of both; of their examples, the first in alphabetical order."""
        result = UnreadDates(dict(self.found), dict(self.swapped))
        for counts, more in ((result.found, other.found), (result.swapped, other.swapped)):
            for column, (n, example) in more.items():
                before, known = counts.get(column, (0, example))
                counts[column] = before + n, min(known, example)
        return result

    def _of(self, example: str) -> dict[str, tuple[int, str]]:
        return self.swapped if is_date(example.strip("'")) else self.found

    def to_rows(self) -> list[list[Any]]:
        """Column, number of cells and one of them, in order.

        >>> UnreadDates({"d": (2, "'soon'")}, {"d": (1, "'31/01/2024'")}).to_rows()
        [['d', 1, "'31/01/2024'"], ['d', 2, "'soon'"]]
        """
        parts = (*self.found.items(), *self.swapped.items())
        return sorted([name, n, example] for name, (n, example) in parts)

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, int, str]]) -> UnreadDates:
        """From the rows of `to_rows`."""
        result = cls()
        for name, n, example in rows:
            result._of(example)[name] = n, example
        return result

    def tell(self) -> None:
        """Say how many there are in each column, and start again."""
        for column in dict.fromkeys([*self.found, *self.swapped]):
            if column in self.swapped:
                n, example = self.swapped[column]
                cells = f"{_not_dates(n)} as the others are, but would be if day and month changed places"
                hint = "dates of these rows that could be read either way may be swapped: write all of them in one way"
                doubt("odd cells", f"{cells}, such as {example}: read as missing", column=column, hint=hint)
            if column in self.found:
                n, example = self.found[column]
                hint = f"when fitting, {as_family(column, 'categorical')} takes the cells as they are"
                doubt("odd cells", f"{_not_dates(n)}, such as {example}: read as missing", column=column, hint=hint)
        self.found.clear()
        self.swapped.clear()


def _not_dates(n: int) -> str:
    return "1 cell is not a date" if n == 1 else f"{n:,} cells are not dates"


def part_varies(cells: DateCells, part: str) -> bool:
    """Whether a part has different values."""
    values = _codes(cells, part) if part in PART_CATEGORIES else _numbers(cells, part)
    there = values[values >= 0] if part in PART_CATEGORIES else values[~np.isnan(values)]
    return bool(len(there) and (there != there[0]).any())


def part_of(cells: DateCells, part: str) -> Raw:
    """A part as a raw column."""
    if part not in PART_CATEGORIES:
        return _numbers(cells, part)
    codes = _codes(cells, part)
    there = np.packbits(codes >= 0, bitorder="little")
    indices = pa.Array.from_buffers(pa.int32(), len(codes), [pa.py_buffer(there), pa.py_buffer(np.maximum(codes, 0))])
    return pa.DictionaryArray.from_arrays(indices, strings(list(PART_CATEGORIES[part])))


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
