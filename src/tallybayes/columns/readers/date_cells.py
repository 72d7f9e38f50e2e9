"""The cells of a column of dates as times on a clock: from text, Arrow, NumPy, pandas and Python's own dates.

Distinct texts are parsed once. Those in ISO form are converted by Arrow, all others by `date_format.parse_date`.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.arrays.array_types import Booleans, Integers
from tallybayes.cells.arrow import combine_chunks, is_text_type, pc, strings, to_list, to_numpy, valid_rows
from tallybayes.cells.century import POSIX
from tallybayes.cells.date_format import DAY, EPOCH_UNITS, DateFormat, Moment, parse_date
from tallybayes.columns.readers.key_reader import text_codes
from tallybayes.tables.raw_values import is_masked, is_missing, is_number
from tallybayes.tables.table import Raw

__all__ = ["NO_DATE", "DateCells", "parse_cell", "read_dates"]

NO_DATE = np.iinfo(np.int64).min  # the value that NumPy has for not-a-time
_ISO = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?$"
_QUARTER = 15 * 60  # seconds; clocks are put forward and back at quarters of an hour
_FIRST, _LAST = -62_135_596_800, 253_402_300_799  # seconds of the years 1 to 9999, for which zones have rules
_LARGEST = float(np.finfo(np.float64).max)
_FARTHEST = 9e18  # microseconds that an integer of 64 bits can hold


@dataclass(frozen=True, eq=False)
class DateCells:
    """Microseconds since 1970 of each row (NO_DATE: none), which rows are no dates, and which are times alone."""

    micros: Integers
    unread: Booleans
    is_time: Booleans

    def take(self, rows: Integers) -> DateCells:
        """The cells of some rows; -1 is a missing cell."""
        missing = rows < 0
        micros = np.where(missing, NO_DATE, np.append(self.micros, NO_DATE)[rows])
        return DateCells(micros, *(np.append(marks, False)[rows] & ~missing for marks in (self.unread, self.is_time)))


def read_dates(raw: Raw, form: DateFormat) -> DateCells:
    """The dates of a column.

    >>> cells = read_dates(["1970-01-01T06:00", None, "soon"], DateFormat())
    >>> (cells.micros[:1] / 3.6e9).tolist(), cells.unread.tolist()
    ([6.0], [False, False, True])
    """
    if is_masked(raw):
        raw = raw.tolist()
    if isinstance(raw, np.ndarray):
        if raw.dtype.kind == "M":
            return _of_times(raw.astype("M8[us]").view(np.int64))
        if raw.dtype.kind in "fiu":
            return _from_numbers(raw, form)
        raw = raw.tolist()
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        cells = _from_arrow(combine_chunks(raw), form)
        if cells is not None:
            return cells
        raw = to_list(raw)
    return _from_list(raw, form)


def _of_times(micros: Integers, *, is_time: bool = False) -> DateCells:
    return DateCells(micros, np.zeros(len(micros), bool), np.full(len(micros), is_time))


def _from_arrow(raw: Any, form: DateFormat) -> DateCells | None:
    kind = raw.type
    if pa.types.is_dictionary(kind) and not is_text_type(kind.value_type):
        return _from_arrow(raw.dictionary_decode(), form)
    if pa.types.is_timestamp(kind):
        micros = _integers(raw.cast(pa.timestamp("us", kind.tz), safe=False))
        return _of_times(micros if kind.tz is None else _on_clock(micros, form.zone))
    if pa.types.is_date(kind):
        return _of_times(_integers(raw.cast(pa.timestamp("us"), safe=False)))
    if pa.types.is_time(kind):
        return _of_times(_integers(raw.cast(pa.time64("us"), safe=False)), is_time=True)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = to_numpy(raw.cast(pa.float64(), safe=False))
        return _from_numbers(numbers, form)
    if is_text_type(kind) or pa.types.is_dictionary(kind):
        codes, texts = text_codes(raw)
        return _from_texts([text if isinstance(text, str) else "" for text in texts], form).take(codes)
    return None


def _integers(array: Any) -> Integers:
    """An Arrow array of times as integers, NO_DATE where it is null."""
    whole = array.cast(pa.int64())
    return np.where(valid_rows(whole), to_numpy(whole, null=0), NO_DATE)


def _from_numbers(values: np.ndarray, form: DateFormat) -> DateCells:
    """Seconds and the like since 1970; without an epoch, dates written as 20241231."""
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
    if form.epoch in (None, "auto"):
        known = np.where(missing, 0, values)
        texts = [str(int(v)) if np.isfinite(v) and v == np.floor(v) and abs(v) < 1e9 else "" for v in known.tolist()]
        return _from_list(
            [None if gone else text or "?" for text, gone in zip(texts, missing.tolist(), strict=True)], form
        )
    if form.epoch == "ns" and values.dtype.kind != "f":
        scaled = values.astype(np.float64) / 1000
    else:
        scaled = values * float(EPOCH_UNITS.get(form.epoch or "", 1)) / (1000 if form.epoch == "ns" else 1)
    unread = ~missing & ~(np.abs(scaled) < _FARTHEST)
    micros = np.where(missing | unread, 0, scaled).astype(np.int64)
    return DateCells(np.where(missing | unread, NO_DATE, _on_clock(micros, form.zone)), unread, np.zeros_like(unread))


def _from_texts(texts: list[str], form: DateFormat) -> DateCells:
    """Distinct texts."""
    micros, unread, is_time = np.full(len(texts), NO_DATE), np.zeros(len(texts), bool), np.zeros(len(texts), bool)
    if form.epoch is not None:
        numbers = np.array([_float(text) for text in texts])
        cells = _from_numbers(numbers, form)
        blank = np.array([not text.strip() for text in texts], bool)
        return DateCells(cells.micros, cells.unread | (np.isnan(numbers) & ~blank), is_time)
    is_iso = _iso(texts, micros) if len(texts) > 1000 else np.zeros(len(texts), bool)
    instants = []
    for i in np.flatnonzero(~is_iso).tolist():
        moment = parse_cell(texts[i], form)
        if moment is None:
            unread[i] = bool(texts[i].strip())
            continue
        micros[i], is_time[i] = moment.micros, moment.is_time
        if moment.is_instant:
            instants.append(i)
    if instants:
        micros[instants] = _on_clock(micros[instants], form.zone)
    return DateCells(micros, unread, is_time)


def parse_cell(text: str, form: DateFormat) -> Moment | None:
    """A text as a column writes its dates; None if it is no date."""
    return parse_date(
        text,
        day_first=form.day_first is not False,
        points_day_first=form.points_day_first,
        years_from=form.years_from or POSIX,
    )


def _iso(texts: list[str], micros: Integers) -> Booleans:
    """Which texts are in ISO form; their times are written into `micros`. None of them if one does not exist."""
    cells = strings(list(texts))
    matched = pc.match_substring_regex(cells, _ISO)
    is_iso = to_numpy(matched)
    try:
        times = pc.cast(cells.filter(matched), pa.timestamp("us"))
    except pa.ArrowInvalid:  # such as the 30th of February
        return np.zeros(len(texts), bool)
    micros[is_iso] = to_numpy(times.cast(pa.int64()))
    return is_iso


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _from_list(values: list[Any], form: DateFormat) -> DateCells:
    """Python's dates and times, texts, numbers, in any mixture."""
    micros, unread, is_time = np.full(len(values), NO_DATE), np.zeros(len(values), bool), np.zeros(len(values), bool)
    texts: dict[int, str] = {}
    numbers: dict[int, float] = {}
    for row, value in enumerate(values):
        if is_missing(value):
            continue
        if isinstance(value, np.datetime64):
            micros[row] = value.astype("M8[us]").astype(np.int64)
        elif isinstance(value, datetime.datetime):
            micros[row] = _of_datetime(value, form.zone)
        elif isinstance(value, datetime.date):
            micros[row] = (value.toordinal() - 719_163) * DAY
        elif isinstance(value, datetime.time):
            micros[row] = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
            is_time[row] = True
        elif isinstance(value, str):
            texts[row] = value
        elif is_number(value) and not isinstance(value, (bool, np.bool_)):
            is_double = -_LARGEST <= value <= _LARGEST  # an integer may be beyond doubles
            numbers[row] = float(value) if is_double else float("inf")
        else:
            unread[row] = True
    if numbers and form.epoch not in (None, "auto"):
        cells = _from_numbers(np.array(list(numbers.values())), form)
        micros[list(numbers)], unread[list(numbers)] = cells.micros, cells.unread
    elif numbers:
        texts |= {row: str(int(v)) if v == np.floor(v) and abs(v) < 1e9 else "?" for row, v in numbers.items()}
    if texts:
        distinct = list(dict.fromkeys(texts.values()))
        distinct_cells, place = _from_texts(distinct, form), {text: i for i, text in enumerate(distinct)}
        cells, rows = distinct_cells.take(np.array([place[text] for text in texts.values()])), list(texts)
        micros[rows], unread[rows], is_time[rows] = cells.micros, cells.unread, cells.is_time
    return DateCells(micros, unread, is_time)


def _of_datetime(value: datetime.datetime, zone: str | None) -> int:
    since = value.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if value.tzinfo is None or (offset := value.utcoffset()) is None:
        return micros
    instant = micros - round(offset.total_seconds() * 1_000_000)
    return int(_on_clock(np.array([instant]), zone)[0])


def _on_clock(micros: Integers, zone: str | None) -> Integers:
    """Instants as the times that a clock in a zone shows then: one look-up for each quarter of an hour."""
    if zone is None:
        return micros
    import zoneinfo

    there, rules = micros != NO_DATE, zoneinfo.ZoneInfo(zone)
    seconds = np.clip(micros[there] // 1_000_000, _FIRST + 86_400, _LAST - 86_400)
    quarters, place = np.unique(seconds // _QUARTER, return_inverse=True)
    start = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    offsets = [
        (start + datetime.timedelta(seconds=int(quarter) * _QUARTER)).astimezone(rules).utcoffset()
        for quarter in quarters.tolist()
    ]
    ahead = np.array([0 if offset is None else round(offset.total_seconds() * 1e6) for offset in offsets], np.int64)
    result = micros.copy()
    result[there] += ahead[place] if len(ahead) else 0
    return result
