"""How the cells of a column of dates are read: the forms of text that are understood, and what a column decides.

A cell may be a date (2024-12-31, 2024/12/31, 31.12.2024, 12/31/2024, 31 Dec 2024, Dec 31, 2024, 20241231), a date with
a time (T or a space between them, 12 or 24 hours, an offset or Z), a month (2024-12, 12/2024, Dec 2024), which is its
first day, a week (2024-W05), which is its Monday, or a time alone. A cell cannot tell whether 01/02/2024 begins with
the day or the month, nor the century of 01/02/51 (`century.py`): the column decides, and the schema keeps it. Dates
with points begin with the day unless those of the column say otherwise: whoever writes 12/31/2024 does not write
12.31.2024.

Every cell becomes a local time, in microseconds since 1970-01-01. A cell with an offset, and the seconds of an epoch,
are instants: their local time is that of `zone` (UTC if there is none). Any other cell is a local time as it stands.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from tallybayes.cells.arrow import is_true, pc
from tallybayes.cells.century import POSIX, full_year
from tallybayes.errors import ParameterError

__all__ = [
    "DATE_PARTS",
    "DAY",
    "EPOCH_UNITS",
    "DateFormat",
    "DateOrder",
    "Moment",
    "begins_with_day_or_month",
    "has_offset",
    "is_date",
    "is_month",
    "is_season",
    "order_of",
    "parse_date",
    "short_year",
    "show_day",
    "tells_order",
]

DATE_PARTS = ("elapsed", "year", "month", "weekday", "hour")

SECOND = 1_000_000  # microseconds
DAY = 86_400 * SECOND
EPOCH_UNITS = {"s": SECOND, "ms": 1_000, "us": 1}  # microseconds in each; nanoseconds are divided instead
_UNITS = (*EPOCH_UNITS, "ns")
_LAST_YEAR = 9900
_CYCLE = 146_097 * 86_400  # seconds in 400 years
_SECONDS_TO_2000 = 946_684_800
_FAR = 1e9  # days: beyond, nobody writes a date

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = r"(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_DATES = (
    r"(?P<year>\d{4,5})(?P<sep>[-/.])(?P<month>\d{1,2})(?P=sep)(?P<day>\d{1,2})",
    r"(?P<a>\d{1,2})(?P<sep>[-/.])(?P<b>\d{1,2})(?P=sep)(?P<year>\d{4}|\d{2})",
    rf"{_WEEKDAY}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\.?[\s-]*{_MONTH}[\s,-]*(?P<year>\d{{4}}|\d{{2}})",
    rf"{_WEEKDAY}{_MONTH}\s*(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})",
    r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})",
    r"(?P<year>\d{4})-?w(?P<week>\d{2})",
)
_MONTHS_ALONE = (  # of years that are likely, because these are also codes
    r"(?P<year>(?:1[5-9]|2[01])\d\d)[-/](?P<month>0[1-9]|1[0-2])",
    r"(?P<month>0?[1-9]|1[0-2])[-/](?P<year>(?:1[5-9]|2[01])\d\d)",
    rf"{_MONTH}[\s,/-]*(?P<year>\d{{4}})",
)
_ZONE = r"(?:\s*(?:(?P<utc>z|utc|gmt)|(?P<sign>[+-])(?P<off_h>\d{2}):?(?P<off_m>\d{2})?))?"
_TIME = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    rf"(?:\s*(?P<half>[ap])\.?m\.?)?{_ZONE}"
)
_WITH_TIMES = (  # 20241231T235900Z, Tue Dec 31 23:59:00 2024 of C and Unix, 31/Dec/2024:23:59:00 +0100 of web servers
    r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})t(?P<hour>\d{2})(?P<minute>\d{2})"
    rf"(?:(?P<second>\d{{2}})(?:[.,](?P<fraction>\d{{1,9}}))?)?{_ZONE}",
    rf"{_WEEKDAY}{_MONTH}\s+(?P<day>\d{{1,2}})\s+{_TIME}\s+(?P<year>\d{{4}})",
    rf"(?P<day>\d{{1,2}})/{_MONTH}/(?P<year>\d{{4}}):{_TIME}",
)
_LONGEST = 64  # characters of a date: what is longer is not looked at
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@cache
def _forms() -> list[re.Pattern[str]]:
    """The patterns of dates; made when they are needed, as that takes milliseconds."""
    dates = [rf"{date}(?:(?:\s*t|\s*,?\s+){_TIME})?" for date in _DATES]
    return [re.compile(pattern, re.IGNORECASE) for pattern in (*dates, *_WITH_TIMES)]


@cache
def _month_forms() -> list[re.Pattern[str]]:
    """The patterns of months without a day."""
    return [re.compile(month, re.IGNORECASE) for month in _MONTHS_ALONE]


class Moment(NamedTuple):
    """A cell that was read: microseconds since 1970, whether it is a time alone, and whether its offset is known."""

    micros: int
    is_time: bool
    is_instant: bool


@dataclass(frozen=True)
class DateFormat:
    """What the schema knows of a column of dates; its string form is the family that a user gives.

    day_first: whether 01/02/2024 is the 1st of February; None: still to be decided by the column.
    points_day_first: the same for 01.02.2024.
    epoch: the unit of numbers that count from 1970 (s, ms, us, ns); "auto": still to be decided by their magnitude.
    zone: the time zone of the clock, such as Europe/Berlin; None is UTC.
    years_from: the first of the hundred years in which years of two digits lie; None is 1969, as POSIX has it, or still
    to be decided by the column.

    >>> DateFormat.parse("date:day_first,zone=Europe/Berlin")
    DateFormat(day_first=True, epoch=None, zone='Europe/Berlin', years_from=None, points_day_first=True)
    >>> str(DateFormat(epoch="ms"))
    'date:epoch=ms'
    """

    day_first: bool | None = None
    epoch: str | None = None
    zone: str | None = None
    years_from: int | None = None
    points_day_first: bool = True

    def __post_init__(self) -> None:
        if self.epoch is not None and self.epoch not in (*_UNITS, "auto"):
            raise ParameterError(f"the unit of an epoch ({', '.join(_UNITS)})", got=self.epoch)
        if self.years_from is not None and not 0 < self.years_from < _LAST_YEAR:
            raise ParameterError("the first of the hundred years of years of two digits", got=self.years_from)
        if self.zone is not None:
            import zoneinfo

            try:
                zoneinfo.ZoneInfo(self.zone)
            except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
                hint = "names are those of the IANA database, such as Europe/Berlin"
                raise ParameterError("the name of a time zone", got=self.zone, hint=hint) from error

    @classmethod
    def parse(cls, text: str) -> DateFormat:
        """From its string form, such as date:month_first,zone=Europe/Berlin."""
        result, given = cls(), text.partition(":")[2]
        for option in given.split(",") if given else []:
            name, _, value = (part.strip() for part in option.partition("="))
            if name in ("day_first", "month_first") and value.lower() in ("", "true", "false"):
                result = replace(result, day_first=(name == "day_first") == (value.lower() != "false"))
            elif option.strip() == "points_month_first":
                result = replace(result, points_day_first=False)
            elif name == "epoch":
                result = replace(result, epoch=value or "auto")
            elif name == "zone" and value:
                result = replace(result, zone=value)
            elif name == "years_from" and value.isdecimal():
                result = replace(result, years_from=int(value))
            else:
                options = "day_first, month_first, points_month_first, epoch, zone=NAME, years_from=YEAR"
                raise ParameterError(f"an option of date ({options})", got=option)
        return result

    @classmethod
    def is_text(cls, text: object) -> bool:
        """Whether a text is the string form of a column of dates, and not of a family."""
        return isinstance(text, str) and text.partition(":")[0] == "date"

    def __str__(self) -> str:
        order = None if self.day_first is None else "day_first" if self.day_first else "month_first"
        points = None if self.points_day_first else "points_month_first"
        parts = [order, points, self.epoch and f"epoch={self.epoch}", self.zone and f"zone={self.zone}"]
        parts += [None if self.years_from is None else f"years_from={self.years_from}"]
        options = ",".join(part for part in parts if part)
        return f"date:{options}" if options else "date"


def parse_date(
    text: str, *, day_first: bool = True, points_day_first: bool = True, years_from: int = POSIX
) -> Moment | None:
    """A text as a moment; None if it is no date.

    day_first: whether 01/02/2024 begins with the day; points_day_first: the same for 01.02.2024.

    >>> parse_date("1970-01-02")
    Moment(micros=86400000000, is_time=False, is_instant=False)
    >>> parse_date("02/01/1970 12:30 am", day_first=False) == parse_date("1970-02-01T00:30")
    True
    >>> parse_date("06:00"), parse_date("1970-02-30"), parse_date("soon")
    (Moment(micros=21600000000, is_time=True, is_instant=False), None, None)
    """
    if len(text) > _LONGEST:
        return None
    text = text.strip()
    for form in _forms():
        if (match := form.fullmatch(text)) is not None:
            parts = match.groupdict()
            day_first = points_day_first if parts.get("sep") == "." else day_first
            day = _day(parts, day_first, years_from)
            time = _time(parts) if parts["hour"] is not None else (0, False)
            return None if day is None or time is None else Moment(day * DAY + time[0], False, time[1])
    if (month := _match_month(text)) is not None:
        day = _day({**month.groupdict(), "day": "1"}, day_first, years_from)
        return None if day is None else Moment(day * DAY, False, False)
    match = re.fullmatch(_TIME, text, re.IGNORECASE)
    if match is not None and (time := _time(match.groupdict())) is not None:
        return Moment(time[0], True, False)  # an offset needs a date
    return None


def is_date(text: str) -> bool:
    """Whether a text is a date or a time, whatever begins it.

    >>> is_date("31.12.2024"), is_date("12.31.2024"), is_date("31.31.2024")
    (True, True, False)
    """
    return any(parse_date(text, day_first=first, points_day_first=first) is not None for first in (True, False))


def show_day(days: float) -> str:
    """Days since 1970 as a date, with the time if there is one.

    >>> show_day(19931), show_day(19931.20833), show_day(-0.5)
    ('2024-07-27', '2024-07-27 05:00', '1969-12-31 12:00')
    """
    if not abs(days) < _FAR:
        return f"{days:g} days since 1970"
    seconds = round(days * 86_400)
    cycles, within = divmod(seconds, _CYCLE)  # of 400 years, so that any year is within the range of Python's dates
    moment = datetime.datetime(2000, 1, 1) + datetime.timedelta(seconds=(within - _SECONDS_TO_2000) % _CYCLE)
    year = moment.year + 400 * (cycles + (within - _SECONDS_TO_2000) // _CYCLE)
    day = f"{year:04}-{moment:%m-%d}"
    if seconds % 86_400 == 0:
        return day
    return f"{day} {moment:%H:%M}" if seconds % 60 == 0 else f"{day} {moment:%H:%M:%S}"


def _match_month(text: str) -> re.Match[str] | None:
    return next((match for form in _month_forms() if (match := form.fullmatch(text.strip())) is not None), None)


def is_month(text: str) -> bool:
    """Whether a text is a month of a year, without a day.

    >>> is_month("2024-12"), is_month("Dec 2024"), is_month("2024-12-31")
    (True, True, False)
    """
    return len(text) <= _LONGEST and _match_month(text) is not None


def is_season(text: str) -> bool:
    """Whether a text may be a season that began in one year and ended in the next: 2011-12.

    >>> is_season("2011-12"), is_season("2011-11")
    (True, False)
    """
    match = re.fullmatch(r"(\d{4})[-/](\d{2})", text.strip())
    return match is not None and (int(match[1]) + 1) % 100 == int(match[2])


def begins_with_day_or_month(cells: Any) -> Any:
    """Which cells of text are dates in whose digits the day or the month comes first.

    >>> import pyarrow as pa
    >>> cells = pa.array(["01/02/2024", "2024-01-02", "1 Feb 2024", "31.1.24 10:00", None])
    >>> begins_with_day_or_month(cells).to_pylist()
    [True, False, False, True, None]
    """
    return pc.match_substring_regex(cells, r"^\s*\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})(\D|$)")


def tells_order(cells: Any, *, day_first: bool) -> Any:
    """Which cells of text are dates with slashes or hyphens that can only begin with the day, or only with the month.

    >>> import pyarrow as pa
    >>> tells_order(pa.array(["13/01/2024", "01/13/2024", "01/02/2024", None]), day_first=True).to_pylist()
    [True, False, False, False]
    """
    day, month = r"(1[3-9]|2\d|3[01])", r"(0?[1-9]|1[0-2])"
    first, second = (day, month) if day_first else (month, day)
    found = pc.match_substring_regex(cells, rf"^\s*{first}[-/]{second}[-/](\d{{4}}|\d{{2}})(\D|$)")
    return is_true(found)


def has_offset(text: str) -> bool:
    """Whether a text ends as a time with an offset from UTC does.

    >>> has_offset("2024-01-01T10:00Z"), has_offset("2024-01-01 10:00+02:00"), has_offset("2024-01-01 10:00")
    (True, True, False)
    """
    return re.search(r":\d{2}(?:[.,]\d+)?\s*(?:z|utc|gmt|[+-]\d{2}:?(?:\d{2})?)\s*$", text, re.IGNORECASE) is not None


def short_year(text: str) -> int | None:
    """The year of a date if it has two digits.

    >>> short_year("01/02/51"), short_year("1-Jul-04"), short_year("01/02/2051")
    (51, 4, None)
    """
    matches = (form.match(text.strip()) for form in _forms()[1:3])
    match = next((match for match in matches if match is not None), None)
    return int(match["year"]) if match is not None and len(match["year"]) == 2 else None


class DateOrder(NamedTuple):
    """Whether dates begin with the day, those with points apart, and what is known of it (see `order_of`).

    ambiguous: texts with slashes or hyphens, if none of them tells.
    """

    day_first: bool
    points_day_first: bool
    has_points: bool = False
    only_points: bool = False
    ambiguous: Sequence[str] = ()


def order_of(texts: Mapping[str, int]) -> DateOrder | None:
    """What begins the dates of a column, by all its texts and their counts; None if no date leaves it open.

    Dates with slashes or hyphens decide together, those with points apart. Where every date can be read both ways,
    those with points and hyphens begin with the day, those with slashes with the month, as in the United States. Only
    slashes and hyphens are ambiguous then.

    >>> order_of({"01/02/2024": 1, "31/01/2024": 1}).day_first, order_of({"01/02/2024": 2, "03/03/2024": 1}).ambiguous
    (True, ['01/02/2024'])
    """
    votes, point_votes, hyphens, n_others, n_points, ambiguous = 0, 0, 0, 0, 0, list[str]()
    for text, n in texts.items():
        match = _forms()[1].match(text.strip())
        if match is None or match["a"] == match["b"]:
            continue
        a, b = int(match["a"]), int(match["b"])
        if not 1 <= min(a, b) <= 12 or max(a, b) > 31:  # no date, such as the version 1.0.19
            continue
        vote = n * ((a > 12) - (b > 12))
        if match["sep"] == ".":
            point_votes, n_points = point_votes + vote, n_points + n
            continue
        votes, n_others = votes + vote, n_others + n
        hyphens += n if match["sep"] == "-" else -n
        if a <= 12 and b <= 12 and a != b:
            ambiguous.append(text)
    if not n_others and not n_points:
        return None
    points_day_first = point_votes >= 0
    if not n_others:
        return DateOrder(points_day_first, points_day_first, has_points=True, only_points=True)
    day_first = votes > 0 if votes else hyphens > 0
    return DateOrder(day_first, points_day_first, n_points > 0, ambiguous=() if votes else ambiguous)


def _day(parts: Mapping[str, str | None], day_first: bool, years_from: int) -> int | None:
    """Days since 1970, by the calendar of today for all years; None for a day that does not exist."""
    if parts.get("week"):
        return _monday(int(parts["year"] or 0), int(parts["week"] or 0))
    if parts.get("name"):
        month = _MONTHS.index(str(parts["name"])[:3].lower()) + 1
        day = int(parts["day"] or 0)
    elif parts.get("a"):
        day, month = (int(parts[key] or 0) for key in (("a", "b") if day_first else ("b", "a")))
    else:
        day, month = int(parts["day"] or 0), int(parts["month"] or 0)
    digits = str(parts["year"])
    year = int(digits) if len(digits) > 2 else full_year(int(digits), years_from)
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS[month - 1] or (month == 2 and day == 29 and not is_leap):
        return None
    # Years in cycles of 400, which all have the same days, so that any year is within the range of Python's dates.
    cycles, within = divmod(year - 1, 400)
    return datetime.date(within + 1, month, day).toordinal() + cycles * 146_097 - 719_163


def _monday(year: int, week: int) -> int | None:
    """Days since 1970 of the first day of a week of ISO 8601; None for one that does not exist."""
    try:
        return datetime.date.fromisocalendar(year, week, 1).toordinal() - 719_163
    except ValueError:
        return None


def _time(parts: Mapping[str, str | None]) -> tuple[int, bool] | None:
    """Microseconds since midnight, less the offset, and whether there is one; None for a time that does not exist."""
    hour, minute, second = (int(parts[key] or 0) for key in ("hour", "minute", "second"))
    if parts.get("half") is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if str(parts["half"]) in "pP" else 0)
    if hour > 23 or minute > 59 or second > 60:
        return None
    micros = (hour * 3600 + minute * 60 + second) * SECOND + int((parts["fraction"] or "")[:6].ljust(6, "0"))
    if parts["sign"] is not None:
        offset = int(parts["off_h"] or 0) * 3600 + int(parts["off_m"] or 0) * 60
        micros -= (offset if parts["sign"] == "+" else -offset) * SECOND
    return micros, parts["utc"] is not None or parts["sign"] is not None
