"""What the cells below the first rows tell about dates while a model is fitted: whether day or month comes first.

Where the first rows left that open, because they have no such date or because all of theirs can be read both ways, a
cell below that tells decides: all cells of the column are looked at then, and reading begins again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.arrays.array_types import Integers
from tallybayes.cells.arrow import combine_chunks, integers, is_text_type, is_true, pc, text_buffers, to_numpy
from tallybayes.cells.date_format import begins_with_day_or_month, order_of, tells_order
from tallybayes.columns.column_spec import Origin
from tallybayes.columns.date_inference import check_order, date_texts, order_doubt
from tallybayes.columns.schema import Schema
from tallybayes.doubts import Doubt, as_family, withdraw_doubts
from tallybayes.tables.source import OpenDateError
from tallybayes.tables.table import Raw, Table

__all__ = ["LaterDates"]

_SHORTEST = 5  # bytes of a date such as 1/2/24, less one

MayBeginAgain = Callable[[OpenDateError], bool]


class LaterDates:
    """The dates below the first rows of data that a model is fitted to.

    head: the first rows, by which the schema was made; may_begin_again: of the source.
    """

    def __init__(self, head: Table, schema: Schema, may_begin_again: MayBeginAgain) -> None:
        self._may_begin_again = may_begin_again
        self._guessed = _guessed_orders(head, schema)
        self._settled: list[Doubt] = []

    def check(self, table: Table, schema: Schema) -> None:
        """Look at the dates of more rows; an OpenDateError asks for all cells of its column to decide."""
        _check_open_dates(table, schema, self._may_begin_again)
        for name, guess in self._guessed.items():
            cells, form = _as_texts(table.columns.get(name)), schema.columns[name].reader.dates
            if cells is None or form is None:
                continue
            against = pc.index(tells_order(cells, day_first=not form.day_first), True).as_py()
            if against >= 0:
                first = "day" if form.day_first else "month"
                error = _open_date_error(table, name, against, f"a date that begins with the {first}")
                if self._may_begin_again(error):
                    raise error
            elif tells_order(cells, day_first=bool(form.day_first)).true_count:
                self._settled.append(guess)

    def without_settled(self, schema: Schema) -> Schema:
        """The schema without the doubts that the rows have settled; these are withdrawn."""
        if not self._settled:
            return schema
        withdraw_doubts(self._settled)
        result = schema.copy()
        result.doubts = tuple(one for one in schema.doubts if one not in self._settled)
        return result


def _guessed_orders(head: Table, schema: Schema) -> dict[str, Doubt]:
    """The columns all of whose first dates can be read both ways, and what was said of them."""
    result: dict[str, Doubt] = {}
    for name, spec in schema.columns.items():
        form = spec.reader.dates
        if form is None or form.day_first is None or spec.origin is Origin.SPECIFIED or name not in head.columns:
            continue
        order = order_of(date_texts(head.columns[name]))
        if order is not None and order.ambiguous:
            result[name] = order_doubt(name, order)
    return result


def _check_open_dates(table: Table, schema: Schema, may_begin_again: MayBeginAgain) -> None:
    """Look for dates that begin with the day or the month, where the first rows had none and left the order open.

    Of rows that a model is fitted to. An OpenDateError asks for all cells of the column to decide; where the data
    cannot be read from its start once more, there is a doubt.
    """
    for name, spec in schema.columns.items():
        form = spec.reader.dates
        if form is None or form.day_first is not None or form.epoch is not None or name not in table.columns:
            continue
        if (row := _first_open_date(table.columns[name])) is None:
            continue
        error = _open_date_error(table, name, row, "a date that begins with the year")
        if may_begin_again(error):
            raise error
        check_order(table.only([name]).part(row, table.n_rows), schema.with_columns({name: spec}))


def _open_date_error(table: Table, name: str, row: int, expected: str) -> OpenDateError:
    hint = f"{as_family(name, 'date:day_first')} and date:month_first say what comes first"
    error = OpenDateError(expected, got=table.columns[name][row].as_py(), column=name, row=row, hint=hint)
    located = table.locate(error)
    return located if isinstance(located, OpenDateError) else error


def _as_texts(raw: Raw | None) -> Any:
    """A column of text as one array; None of another one."""
    if not isinstance(raw, (pa.Array, pa.ChunkedArray)) or not is_text_type(raw.type):
        return None
    return combine_chunks(raw)


def _first_open_date(raw: Raw) -> int | None:
    """The first cell of a column of text that is a date like 01/02/2024."""
    if (cells := _as_texts(raw)) is None:
        return None
    rows = _with_early_separator(cells.cast(pa.large_string()) if pa.types.is_string_view(cells.type) else cells)
    likely = cells.take(integers(rows))
    places = np.flatnonzero(to_numpy(is_true(begins_with_day_or_month(likely))))
    is_open: dict[str, bool] = {}  # 03/03/2024 is not
    for place in places.tolist():
        text = likely[place].as_py()
        if is_open.setdefault(text, order_of({text: 1}) is not None):
            return int(rows[place])
    return None


def _with_early_separator(cells: Any) -> Integers:
    """The rows whose second or third byte is one of - / . which no date that begins with the year has there.

    >>> _with_early_separator(pa.array(["2024-01-02", "1/2/2024", "01.02.2024", None, ""])).tolist()
    [1, 2]
    """
    bounds, content, _ = text_buffers(cells)
    is_separator = np.zeros(256, bool)
    is_separator[[ord(sign) for sign in "-/."]] = True
    padded = np.append(content, np.zeros(3, np.uint8)) if len(content) else np.zeros(3, np.uint8)
    first = bounds[:-1]
    found = is_separator[padded[first + 1]] | is_separator[padded[first + 2]]
    return np.flatnonzero(found & (bounds[1:] - first > _SHORTEST))
