"""Which columns are dates, what a column decides for all its cells (day or month first), and which parts it has."""

from __future__ import annotations

import datetime
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.cells.arrow import combine_chunks, is_text_type, to_list, to_numpy
from tallybayes.cells.century import POSIX, born, full_year, window_start
from tallybayes.cells.date_format import (
    DATE_PARTS,
    DAY,
    DateFormat,
    DateOrder,
    has_offset,
    is_date,
    is_month,
    is_season,
    order_of,
    parse_date,
    short_year,
)
from tallybayes.columns.column_spec import ColumnSpec, Origin, Status
from tallybayes.columns.readers.date_cells import NO_DATE, DateCells, parse_cell, read_dates
from tallybayes.columns.readers.date_reader import (
    PART_CATEGORIES,
    DatePartReader,
    DateReader,
    UnreadDates,
    part_name,
    part_of,
    part_varies,
)
from tallybayes.columns.readers.key_reader import text_codes
from tallybayes.columns.readers.number_reader import NumberReader
from tallybayes.columns.readers.reader import DatePart
from tallybayes.columns.readers.reader_registry import reader_for
from tallybayes.columns.schema import Schema
from tallybayes.doubts import Doubt, as_family, doubt, tell_doubts
from tallybayes.families import Family, Ordinal
from tallybayes.tables.raw_values import are_whole, is_missing, is_number
from tallybayes.tables.table import Raw, Table

__all__ = [
    "are_dates",
    "check_later_files",
    "check_order",
    "date_texts",
    "infer_date_parts",
    "is_date_type",
    "order_doubt",
]

_REASONS = {
    "elapsed": "days since 1970-01-01",
    "year": "year",
    "month": "month",
    "weekday": "day of the week",
    "hour": "hour of the day",
}

_SHORTEST = 5  # bytes of a date such as 1/2/24, less one
_SAMPLE = 1000  # texts that are parsed to recognise a column, or to doubt its order
_FEW_CELLS = 20  # below this many cells a single odd word is a larger share
_SHARE, _SHARE_OF_FEW = 0.9, 0.6  # of dates from which a column is one of dates, as with words among numbers
_HALF, _DIFFERENT, _FEW_OTHERS = 0.5, 20, 5  # or this share of more different dates beside so few different others
_FEW_DATES = 5  # that can be read both ways, below which their distances are chance
_MANY_TIMES, _FEW_HOURS = 20, 6  # different times alone, and of how many hours they may be durations
_MANY_DATES, _MANY_DAYS = 20, 6  # different dates, all of the first twelve days by chance: once in 1e8
_CLOSER = 4  # times: days of a month read as months are some 30 times as far apart, fewer if there are several months
_MAGNITUDES = ((1e11, "s"), (1e14, "ms"), (1e17, "us"))  # seconds until the year 5138, and so on
_TIMES = (datetime.date, datetime.time, np.datetime64)  # a datetime is a date


def infer_date_parts(
    dates: ColumnSpec, raw: Raw, *, numeric: Family, wanted: Iterable[str] = (), all_parts: bool = False
) -> dict[str, ColumnSpec]:
    """A column of dates and its parts that vary; those in `wanted` in any case.

    dates: the column, with a format in which something may still be undecided.

    >>> from tallybayes.families import Histogram
    >>> when = ColumnSpec("when", None, "dates", DateReader(DateFormat()))
    >>> list(infer_date_parts(when, ["2024-01-01", "2024-01-09"], numeric=Histogram()))
    ['when', 'when.elapsed', 'when.weekday']
    """
    assert dates.reader.dates is not None
    name, form = dates.name, decide_format(dates.name, raw, dates.reader.dates)
    cells = read_dates(raw, form)
    if not (cells.micros != NO_DATE).any():
        if dates.origin is not Origin.SPECIFIED:
            return {name: ColumnSpec.unused(name, Status.UNDECIDED)}
        all_parts = True
    artificial = {"weekday"} if _are_months(raw) else set()  # of the first day of a month
    varying = [part for part in DATE_PARTS if part not in artificial and part_varies(cells, part)]
    used = [part for part in DATE_PARTS if all_parts or part in wanted or part in varying]
    if not used:  # the column will not be read again, where other cells are counted
        unread = UnreadDates()
        unread.add(name, raw, cells)
        unread.tell()
    elif used == ["hour"] and not all_parts and dates.origin is not Origin.SPECIFIED:
        _doubt_durations(name, cells)
    dates = replace(dates, reader=DateReader(form))
    specs = {name: dates if used else dates.without_family(Status.SAME_DATE, f"{dates.reason}, all the same")}
    for part in used:
        family, own_name = _family(part, numeric), part_name(name, part)
        values = reader_for(family)
        if isinstance(values, NumberReader) and are_whole(part_of(cells, part)):
            values = NumberReader(is_whole=True)
        reader = DatePartReader(DatePart(name, part), values)
        specs[own_name] = ColumnSpec(own_name, family, f"{_REASONS[part]} of {name}", reader)
    return specs


def _doubt_durations(name: str, cells: DateCells) -> None:
    """Say it if times alone, most of them different, are of so few hours that they may be durations."""
    times = np.unique(cells.micros[cells.is_time])
    hours = np.unique(times * 24 // DAY)
    if len(times) >= _MANY_TIMES and len(hours) <= _FEW_HOURS:
        text = f"times of {int(hours[0])} to {int(hours[-1])} hours were read by their hour alone; minutes are dropped"
        doubt("dates", text, column=name, hint="if they are durations: write them as numbers, such as minutes")


def _family(part: str, numeric: Family) -> Family:
    if part in ("elapsed", "year"):
        return numeric
    return Ordinal(PART_CATEGORIES.get(part, ()))  # hours are ordered as numbers


def are_dates(texts: Mapping[str, int]) -> bool:
    """Whether distinct texts, with how often each occurs, are those of a column of dates.

    Nearly all of them are; or half of them, all different ones but a few others, such as 0000-00-00.

    >>> are_dates({"31.12.2024": 5, "1.1.2025": 3, "unknown": 1}), are_dates({"1-5": 1, "10:30 in the morning": 1})
    (True, False)
    """
    some = list(itertools.islice(((text, n) for text, n in texts.items() if text.strip()), _SAMPLE))
    total = sum(n for _, n in some)
    if not total or not any(_is_date(text) for text, _ in some[:_FEW_CELLS]):
        return False
    if all(is_season(text) for text, _ in some):
        return False
    dates = [n for text, n in some if _is_date(text)]
    if sum(dates) >= (_SHARE if total >= _FEW_CELLS else _SHARE_OF_FEW) * total:
        return True
    return sum(dates) >= _HALF * total and len(dates) > _DIFFERENT and len(some) - len(dates) <= _FEW_OTHERS


def _is_date(text: str) -> bool:
    """Whether a text is a date, read either way; eight digits alone are a number."""
    return not text.strip().isdigit() and is_date(text)


def is_date_type(value: Any) -> bool:
    """Whether a value is a date or a time of Python, pandas or NumPy."""
    return isinstance(value, _TIMES)


def decide_format(name: str, raw: Raw, form: DateFormat) -> DateFormat:
    """The format with what the whole column decides; where both readings fit all cells, there is a warning.

    >>> str(decide_format("day", ["31/01/2024", "02/01/2024"], DateFormat()))
    'date:day_first'
    >>> str(decide_format("at", [1.7e9, 1.6e9], DateFormat(epoch="auto")))
    'date:epoch=s'
    """
    if form.epoch == "auto":
        return replace(form, epoch=_unit(raw))
    if form.epoch is not None:
        return form
    texts = date_texts(raw)
    _doubt_offsets(name, texts, form)
    form = form if form.years_from is not None else _with_century(name, form, texts)
    if (order := order_of(texts)) is None:
        return form
    if form.day_first is not None:  # what the user says of dates that all have points is meant of these
        return replace(form, points_day_first=form.day_first) if order.only_points else form
    first, other = ("day", "month") if order.day_first else ("month", "day")
    if order.ambiguous:
        tell_doubts([order_doubt(name, order)])
    if order.has_points and order.day_first != order.points_day_first:
        text = f"dates with points were read with the {other} first, the others with the {first} first"
        same = "date:day_first" if order.day_first else "date:month_first,points_month_first"
        doubt("dates", text, column=name, hint=f"{as_family(name, same)} reads all of them with the {first} first")
    return replace(form, day_first=order.day_first, points_day_first=order.points_day_first)


def order_doubt(name: str, order: DateOrder) -> Doubt:
    """That all dates of a column can be read both ways."""
    first, other = ("day", "month") if order.day_first else ("month", "day")
    hint = f"{as_family(name, f'date:{other}_first')} reads it the other way"
    return Doubt("dates", f"{order.ambiguous[0]!r} was read with the {first} first", name, hint)


def check_order(table: Table, schema: Schema) -> None:
    """Say which columns of a table to score or learn may have day and month in another order than the model.

    Those of a model that has seen neither order (2024-12-31), and those in which every date can be read both ways but
    which lie much closer together the other way, as 03/01/2024 to 03/12/2024 do: twelve days, or the third of twelve
    months; or which are many and of many months, and none of them is after the twelfth. Of a few dates nobody can tell.
    """
    for name, spec in schema.columns.items():
        form = spec.reader.dates
        if form is None or form.epoch is not None or spec.origin is Origin.SPECIFIED or name not in table.columns:
            continue
        order = order_of(date_texts(table.columns[name][:_SAMPLE]))
        if order is None or order.only_points:
            continue
        if form.day_first is None:
            text = "dates such as 01/02/2024 were read with the day first: those of the model do not tell"
            hint = f"write them as those of the model; or, when fitting, {as_family(name, 'date:month_first')}"
            doubt("dates", text, column=name, hint=hint)
        elif len(order.ambiguous) >= _FEW_DATES:
            _doubt_order(name, order.ambiguous, form)


def check_later_files(tables: Iterable[Table], schema: Schema) -> Iterator[Table]:
    """The tables; the dates of every file after the first are checked (`check_order`) by its first rows."""
    file: str | None = None
    for table in tables:
        here = None if table.origin is None else table.origin.file
        if file is not None and here != file:
            check_order(table, schema)
        file = here
        yield table


def _doubt_order(name: str, texts: Sequence[str], form: DateFormat) -> None:
    """Say it if dates that can be read both ways lie much closer together the other way, or are too many for chance."""
    here, swapped = _span(texts, form), _span(texts, replace(form, day_first=not form.day_first))
    first, other = ("day", "month") if form.day_first else ("month", "day")
    if swapped * _CLOSER <= here:
        why = f"with the {other} first these dates would lie within {swapped + 1:,} days instead of {here + 1:,}"
    elif len(texts) >= _MANY_DATES and _fewest_days_or_months(texts, form) >= _MANY_DAYS:
        why = f"none of {len(texts):,} dates is after the twelfth, so that all can be read with the {other} first"
    else:
        return
    text = f"{texts[0]!r} was read with the {first} first, as the dates before"
    doubt("dates", text, column=name, hint=f"{why}: check them, and write them as those of the model")


def _fewest_days_or_months(texts: Sequence[str], form: DateFormat) -> int:
    """How many different days of the month, or months of the year, dates have: the smaller number."""
    days = read_dates(list(texts), form).micros.view("M8[us]").astype("M8[D]")
    months = days.astype("M8[M]")
    return min(len(np.unique(days - months)), len(np.unique(months.astype(int) % 12)))


def _span(texts: Iterable[str], form: DateFormat) -> int:
    """The days between the first and the last of some dates."""
    days = [moment.micros // DAY for text in texts if (moment := parse_cell(text, form)) is not None]
    return max(days) - min(days)


def _doubt_offsets(name: str, texts: Iterable[str], form: DateFormat) -> None:
    """Say it if some times have an offset from UTC and others do not, unless the clock of these was given."""
    times = [text for text in texts if ":" in text]
    with_offset = [text for text in times if has_offset(text)]
    if form.zone is not None or not with_offset or len(with_offset) == len(times):
        return
    without = next(text for text in times if not has_offset(text))
    text = f"some times have an offset from UTC ({with_offset[0]!r}) and others have none ({without!r}): these are read"
    hint = f"{as_family(name, 'date:zone=Europe/Berlin')} names their clock, zone=UTC too; or write all in one way"
    doubt("dates", f"{text} as UTC", column=name, hint=hint)


def _with_century(name: str, form: DateFormat, texts: Mapping[str, int]) -> DateFormat:
    """The format with the century of years of two digits, where it is not the usual one or the dates are births."""
    short = {text: year for text in texts if (year := short_year(text)) is not None}
    if not short:
        return form
    others = (parse_date(text) for text in texts if text not in short)
    years = [1970 + moment.micros // DAY * 400 // 146_097 for moment in others if moment and not moment.is_time]
    latest = max([datetime.date.today().year, *years])
    start = window_start(short.values(), latest=latest, may_be_future=not born(name))
    changed = [text for text, year in short.items() if full_year(year, start) != full_year(year, POSIX)]
    if not changed and not born(name):
        return form
    if changed:
        year = short[changed[0]]
        hint = f"{as_family(name, f'date:years_from={POSIX}')} reads"
        text = f"two-digit years: {year:02} was read as {full_year(year, start)}"
        doubt("dates", text, column=name, hint=f"{hint} {full_year(year, POSIX)}")
    return replace(form, years_from=start)


def _are_months(raw: Raw) -> bool:
    """Whether all texts of a column are months, or missing."""
    texts = [text for text in itertools.islice(date_texts(raw), _SAMPLE) if is_month(text) or _is_date(text)]
    return bool(texts) and all(map(is_month, texts))


def date_texts(raw: Raw) -> Mapping[str, int]:
    """The distinct texts of a column and how often each occurs."""
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        kind = raw.type.value_type if pa.types.is_dictionary(raw.type) else raw.type
        if not is_text_type(kind):
            return {}
        codes, values = text_codes(combine_chunks(raw))
        counts = np.bincount(codes[codes >= 0], minlength=len(values)).tolist()
        return {text: n for text, n in zip(values, counts, strict=True) if isinstance(text, str)}
    if isinstance(raw, np.ndarray) and raw.dtype.kind not in "UO":
        return {}
    return Counter(value for value in raw if isinstance(value, str))


def _unit(raw: Raw) -> str:
    """The unit of an epoch by the magnitude of its middle value."""
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        whole = combine_chunks(raw)
        is_plain = pa.types.is_integer(whole.type) or pa.types.is_floating(whole.type)
        raw = to_numpy(whole.cast(pa.float64(), safe=False)) if is_plain else to_list(whole)
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "fiu":
        numbers = raw.astype(np.float64)
    else:
        numbers = np.array([_number(value) for value in raw if not is_missing(value)], np.float64)
    there = np.abs(numbers[np.isfinite(numbers)])
    middle = float(np.median(there)) if len(there) else 0.0
    return next((unit for limit, unit in _MAGNITUDES if middle < limit), "ns")


def _number(value: Any) -> float:
    try:
        return float(value) if is_number(value) or isinstance(value, str) else np.nan
    except (ValueError, OverflowError):
        return np.nan
