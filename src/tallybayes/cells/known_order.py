"""Orders that are known without being told: low, medium, high; months; sizes; ranges such as 26-35 and 65+.

A column has such an order if every one of its values is in it, at least three of them, each place of the order once.
Ranges must not overlap, so that results ("3-2") and codes ("10-25") are not taken for ranges, and have one unit. Of
several open ranges (10+, 50+) each ends where the next begins. A word among ranges needs a clear place: new and none
are the lowest.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence

__all__ = ["MONTHS", "WEEKDAYS", "known_order"]

LEAST = 3  # distinct values: two have no order that could matter
_SPELLINGS = 1000  # distinct texts from which on a column is not looked at
_MOST = 100  # distinct values: more ranges than people write

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LONG_MONTHS = ["January", "February", "March", "April", "May", "June"]
_LONG_MONTHS += ["July", "August", "September", "October", "November", "December"]
_LONG_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_CALENDARS: tuple[Sequence[str], ...] = (MONTHS, _LONG_MONTHS, WEEKDAYS, _LONG_WEEKDAYS)

# Places of an order, from the lowest; words for one place have | between them.
_SCALES = (
    "none|no|nil, vlow|very low, low, lower-middle, medium|med|moderate|mid|middle|normal|average, upper-middle,"
    " high, vhigh|very high, extreme|extremely high",
    "xxxs|3xs, xxs|2xs, xs, s, m, l, xl|1xl, xxl|2xl, xxxl|3xl, xxxxl|4xl, 5xl",
    "tiny, extra small|very small|x-small, small, medium|med|mid|normal|average, large|big,"
    " extra large|very large|x-large, huge|giant",
    "short, medium|med|average, long",
    "never, almost never|hardly ever, rarely|seldom, sometimes|occasionally, often|frequently|usually, very often,"
    " almost always|nearly always, always",
    "strongly disagree|totally disagree, disagree, somewhat disagree|slightly disagree,"
    " neutral|neither agree nor disagree|undecided|not sure, somewhat agree|slightly agree, agree,"
    " strongly agree|totally agree",
    "very dissatisfied|very unsatisfied, dissatisfied|unsatisfied, neutral|neither satisfied nor dissatisfied,"
    " satisfied, very satisfied",
    "very unlikely, unlikely, neutral|possible, likely, very likely",
    "very bad|terrible|awful, bad|poor, fair|average|ok|okay|medium|acceptable, good, very good, excellent|great",
    "very poor, poor|bad, fair|average|ok|okay|medium, good, very good, excellent|great|outstanding",
    "none|no, slight|minimal, mild|minor, moderate|medium, severe|major|serious, critical|very severe|fatal",
    "beginner|novice, intermediate, advanced, expert",
    "junior, mid|middle|intermediate, senior, lead|principal",
    "bronze, silver, gold, platinum, diamond",
    "cold, cool, mild|warm, hot",
    "primary, secondary, tertiary, quaternary",
    "first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth",
    "child, teen|teenager, adult, senior",
    "daily, weekly, monthly, quarterly, yearly|annually",
)

_NUMBER = r"[$€£]?\s*(-?\d{1,3}(?:,\d{3})+|-?\d+(?:\.\d+)?)\s*((?:[km](?![a-z]))?)"
_UNIT = r"(?:\s*([a-z%€]+))?"
_BETWEEN = rf"{_NUMBER}\s*(?:-|–|—|to|until|\.\.|<=?\s*[a-z]\s*<=?)\s*{_NUMBER}{_UNIT}"
_BELOW = rf"(?:<=?|≤|under|below|less than|up to|until)\s*{_NUMBER}{_UNIT}"
_ABOVE = rf"(?:>=?|≥|over|above|more than|from|at least)\s*{_NUMBER}{_UNIT}"
_MORE = rf"{_NUMBER}\s*(?:\+|-?\s*(?:or|and)?\s*(?:more|over|above|older|plus|up)){_UNIT}"
_SINGLE = rf"{_NUMBER}{_UNIT}"
_LOWEST = {"new", "none", "never", "no", "zero", "nothing", "nil", "unemployed"}  # below all ranges
_HIGHEST = {"more", "or more", "and more"}  # above them
_PLACE = r"(\d+)(?:st|nd|rd|th)"
_THOUSANDS = {"": 1.0, "k": 1e3, "m": 1e6}
_INFINITE = float("inf")


def known_order(values: Collection[str]) -> tuple[str, ...] | None:
    """The values in their order, spelt as they are; None if no known order has all of them.

    Of months and weekdays, the whole calendar.

    >>> known_order(["High", "low", "Medium"])
    ('low', 'Medium', 'High')
    >>> known_order(["26-35", "<18", "65+", "18-25"]), known_order(["1-0", "2-1", "0-3"]), known_order(["a", "b", "c"])
    (('<18', '18-25', '26-35', '65+'), None, None)
    >>> known_order(["10+ years", "< 1 year", "2 years", "new"]), known_order(["1,000+", "500+", "5,000+"])
    (('new', '< 1 year', '2 years', '10+ years'), ('500+', '1,000+', '5,000+'))
    """
    if not LEAST <= len(values) <= _SPELLINGS:
        return None
    spelling: dict[str, str] = {}
    for value in sorted(values):  # so that it does not depend on the order of the rows
        spelling.setdefault(" ".join(value.casefold().replace("_", " ").split()), value.strip())
    if not LEAST <= len(spelling) <= _MOST:
        return None
    folded = {value: text for text, value in spelling.items()}
    for calendar in _CALENDARS:
        if {*folded.values()} <= {name.casefold() for name in calendar}:
            return _in_spelling(calendar, folded)
    for scale in _PLACES:
        if (order := _sort_by_place(folded, scale.get)) is not None:
            return order
    if (order := _sort_by_place(folded, _place)) is not None:
        return order
    return _ranges(folded)


def _places(scale: str) -> dict[str, float]:
    return {word.strip(): float(i) for i, words in enumerate(scale.split(",")) for word in words.split("|")}


_PLACES: tuple[Mapping[str, float], ...] = tuple(map(_places, _SCALES))


def _sort_by_place(folded: Mapping[str, str], place_of: Callable[[str], float | None]) -> tuple[str, ...] | None:
    """The values by their places; None if one has none, or two have the same."""
    places = {value: place_of(text) for value, text in folded.items()}
    if None in places.values() or len(set(places.values())) < len(places):
        return None
    return tuple(sorted(places, key=lambda value: places[value] or 0.0))


def _in_spelling(calendar: Sequence[str], folded: Mapping[str, str]) -> tuple[str, ...]:
    """A calendar with the spelling of the values that are there."""
    spelling = {text: value for value, text in folded.items()}
    return tuple(spelling.get(name.casefold(), name) for name in calendar)


def _place(text: str) -> float | None:
    """1st is 1."""
    match = re.fullmatch(_PLACE, text, re.IGNORECASE)
    return float(match[1]) if match else None


def _ranges(folded: Mapping[str, str]) -> tuple[str, ...] | None:
    """Ranges of numbers in order, single numbers among them; None if they overlap or if there are only numbers.

    One word may be among them that is below all ranges (new, none), and one that is above them (more).
    """
    ranges: dict[str, tuple[float, float]] = {}
    units: set[str] = set()
    for value, text in folded.items():
        if (found := _range(text)) is None:
            return None
        ranges[value] = found[:2]
        units |= {found[2].removesuffix("s")} - {""}
    if len(units) > 1 or all(low == high and abs(low) < _INFINITE for low, high in ranges.values()):
        return None
    closed = _close(ranges)
    result = sorted(closed, key=lambda value: closed[value])
    ends = [closed[value] for value in result]
    if any(after[0] < before[1] or after == before for before, after in itertools.pairwise(ends)):
        return None
    return tuple(result)


def _close(ranges: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Ranges without an end, such as 10+ and 50+, up to the next of them; those without a beginning likewise."""
    starts = sorted(low for low, high in ranges.values() if high == _INFINITE)
    stops = sorted(high for low, high in ranges.values() if low == -_INFINITE)
    result = {}
    for value, (low, high) in ranges.items():
        if high == _INFINITE:
            high = min((start for start in starts if start > low), default=high)
        if low == -_INFINITE:
            low = max((stop for stop in stops if stop < high), default=low)
        result[value] = (low, high)
    return result


def _range(text: str) -> tuple[float, float, str] | None:
    """The limits of a range, and its unit; None if a text is none."""
    if text in _LOWEST or text in _HIGHEST:
        limit = -_INFINITE if text in _LOWEST else _INFINITE
        return limit, limit, ""
    if match := re.fullmatch(_BETWEEN, text, re.IGNORECASE):
        low, high = _number(match[1], match[2] or match[4]), _number(match[3], match[4])
        return (low, high, match[5] or "") if low < high else None
    if match := re.fullmatch(_BELOW, text, re.IGNORECASE):
        return -_INFINITE, _number(match[1], match[2]), match[3] or ""
    if match := re.fullmatch(_ABOVE, text, re.IGNORECASE) or re.fullmatch(_MORE, text, re.IGNORECASE):
        return _number(match[1], match[2]), _INFINITE, match[3] or ""
    if match := re.fullmatch(_SINGLE, text, re.IGNORECASE):
        return _number(match[1], match[2]), _number(match[1], match[2]), match[3] or ""
    return None


def _number(digits: str, unit: str) -> float:
    return float(digits.replace(",", "")) * _THOUSANDS[unit.lower()]
