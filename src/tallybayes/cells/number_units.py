"""What stands beside the digits of the numbers of a column: units, which are dropped, and factors, which multiply.

K, M, bn and the like (`number_factor.py`) are factors, with two exceptions. Where all letters are a small m (`5 m`), or
a K after a space (`3 K`), and there is no currency, these may be metres and kelvin: they are units, unless numbers
without a letter are so much larger that only a factor makes sense of both (`1.2 m` beside `850,000`). And beside other
units (`5 km`, `300 m`) a letter is a unit. A B alone is one too (`12B`).

A unit that hardly any cell has (a row whose cells are shifted, a note) does not decide for the others: cells with it
are odd, and missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from tallybayes.cells.arrow import pc, strings, text_scalar, word_counts
from tallybayes.cells.number_factor import FACTOR, FACTOR_WORD, factor_name
from tallybayes.cells.number_format import CURRENCY
from tallybayes.cells.number_reading import list_words

__all__ = ["AFTER", "ANY_UNIT", "Units", "find_units"]

_KNOWN_UNITS = (  # of which two in one column are said aloud; any other unit is one if all numbers have it
    "% \u2030 k m bn mio mrd kg g mg lb lbs oz km cm mm mi mile ft in yd m\u00b2 l ml cl gal h hr hour min minute s "
    "sec second ms day week month yr year \u00b0c \u00b0f \u00b0 w kw mw wh kwh mwh v mv ma hz khz mhz ghz kb mb gb tb "
    "km/h mph kmh pcs px bar hpa kcal"
)
_POWER = r"(?:(?i:[kcdm]?m|ft|in|yd|mi)[23\x{b2}\x{b3}])"  # m2 is the same as with a superscript
_AREAS = rf"{_POWER}|sq\.? ?(?:ft|m|in|yd|km|mi)"
_UNITS = "|".join(unit.replace("/", "\\/") for unit in _KNOWN_UNITS.split())
ANY_UNIT = rf"(?:(?i:{FACTOR_WORD}|[km]|(?:{_UNITS})s?|{_AREAS}))? ?(?:{CURRENCY})?"  # behind a number; not 12B
_WORD = r"[\pL%\x{b0}\x{b5}\x{2030}][\pL/%\x{b0}\x{b2}\x{b3}\x{b7}]{0,14}(?: \pL+){0,2}\.?"
# What stands behind the digits, in parts. A letter of a unit (5 kg) is first taken for a factor: see `_Marks.of`.
AFTER = rf"(?P<gap> ?)(?P<factor>(?:{FACTOR})?)(?P<space> ?)(?P<after>(?:{CURRENCY}|{_POWER}|{_WORD})?)"
_MASK = "x{2,}"  # digits that were made illegible: 860xx is no number
_COMPASS = ("n", "e", "s", "w")
_ODD, _MANY = 0.02, 20  # the share of numbers that an odd unit has at most, or one of 20
_NAMES = ("before", "gap", "factor", "space", "after")
_BETWEEN = "\x1f"


class _Marks(NamedTuple):
    """What stands beside the digits of some cells: a currency before them, a space, a factor and a unit behind it."""

    before: str
    gap: str
    factor: str
    after: str

    @classmethod
    def of(cls, text: str) -> _Marks:
        """From the parts of a cell; what stands directly behind a factor is a currency, or both are a unit (kg)."""
        before, gap, factor, space, after = text.split(_BETWEEN)
        if factor and after and not space and not _matches(after, CURRENCY):
            factor, after = "", factor + after
        return cls(before, gap, factor, after)

    @property
    def has_word(self) -> bool:
        """Whether the unit is no currency."""
        return bool(self.after) and not _matches(self.after, CURRENCY)

    def unit(self, *, factors: bool) -> str:
        """The unit; without factors, with the letter that could be one."""
        letter = "" if factors else self.factor
        return self.before + " ".join(part for part in (letter, self.after) if part)


@dataclass(frozen=True, eq=False)
class Units:
    """The unit of the numbers of a column, or several; whether they have factors (None: both make sense).

    has_unit: which cells have this unit or none; is_odd: which have one that hardly any other has.
    n_without: how many cells have none; n_factors: how many have a factor.
    """

    unit: str
    several: Mapping[str, int]
    factors: bool | None
    has_unit: Any
    is_odd: Any
    n_without: int
    n_factors: int

    @property
    def is_money(self) -> bool:
        """Whether the unit is a currency."""
        return bool(self.unit) and _matches(self.unit, CURRENCY)

    @property
    def is_angle(self) -> bool:
        """Whether the unit is degrees, or a point of the compass."""
        return self.unit.startswith("\N{DEGREE SIGN}") or self.unit.lower() in _COMPASS

    @property
    def listed(self) -> str:
        """Several units in words."""
        return list_words(dict(sorted(self.several.items(), key=lambda item: -item[1])))


def find_units(parts: Any) -> Units:
    """The units and factors of cells that were divided into parts: before, gap, factor, space, after.

    >>> import pyarrow as pa
    >>> names = ["before", "gap", "factor", "space", "after"]
    >>> cells = [{**dict.fromkeys(names, ""), "factor": "K"}, {**dict.fromkeys(names, ""), "after": ""}]
    >>> found = find_units(pa.array(cells, pa.struct([(name, pa.string()) for name in names])))
    >>> found.unit, found.factors, found.n_factors
    ('', True, 1)
    """
    fields = [pc.struct_field(parts, name) for name in _NAMES]
    joined = pc.binary_join_element_wise(*fields, text_scalar(_BETWEEN, fields[0].type))
    cells = word_counts(joined)
    marks_of = {text: _Marks.of(text) for text in cells}
    counts: Counter[_Marks] = Counter()
    for text, n in cells.items():
        counts[marks_of[text]] += n
    factors = _are_factors(counts)
    by_unit: Counter[str] = Counter()
    for marks, n in counts.items():
        by_unit[_singular(marks.unit(factors=bool(factors)))] += n
    n_without = by_unit.pop("", 0)
    odd = {unit for unit, n in by_unit.items() if _is_rare(n, len(joined))}
    known = {unit: n for unit, n in by_unit.items() if unit not in odd and _matches(unit, ANY_UNIT)}
    if len(by_unit) == 1 and not n_without and not re.fullmatch(_MASK, next(iter(by_unit))):
        known = dict(by_unit)
    odd = odd if known or n_without else set()
    unit = next(iter(known)) if len(known) == 1 else ""

    def cells_with(units: set[str]) -> Any:
        texts = [text for text, m in marks_of.items() if _singular(m.unit(factors=bool(factors))) in units]
        return pc.is_in(joined, value_set=strings(texts).cast(joined.type))

    return Units(
        unit,
        known if len(known) > 1 else {},
        factors,
        cells_with({"", *known}),
        cells_with(odd),
        n_without if unit else 0,
        sum(n for marks, n in counts.items() if marks.factor),
    )


def _are_factors(counts: Mapping[_Marks, int]) -> bool | None:
    """Whether letters such as K and M are factors; None if they may be units as well, and other numbers have none."""
    with_factor = {marks: n for marks, n in counts.items() if marks.factor}
    names = {factor_name(marks.factor) for marks in with_factor}
    if any(len(name) > 1 for name in names):
        return True
    total = sum(counts.values())
    others = sum(n for marks, n in counts.items() if not marks.factor and marks.has_word)
    if not names or (others and not _is_rare(others, total)) or any(marks.has_word for marks in with_factor):
        return False
    if len(names) > 1 or any(marks.before or marks.after for marks in with_factor):
        return True
    spellings = {(marks.gap, marks.factor) for marks in with_factor}
    if names == {"b"} or not spellings <= {("", "m"), (" ", "m"), (" ", "K")}:
        return names != {"b"}
    has_plain = any(not marks.unit(factors=False) for marks in counts)
    return None if has_plain and not _is_rare(sum(with_factor.values()), total) else False


def _is_rare(n: int, total: int) -> bool:
    """Whether so few of all cells are odd: they decide nothing for the others."""
    return total >= _MANY and n <= max(1, _ODD * total)


def _singular(token: str) -> str:
    """A unit without its plural s, in lower case unless it is a code or sign; m2 as m²."""
    lower = token if token.isupper() and len(token) == 3 else token.lower().rstrip(".")
    if _matches(token, _POWER):
        return token.lower().replace("2", "\N{SUPERSCRIPT TWO}").replace("3", "\N{SUPERSCRIPT THREE}")
    return lower[:-1] if len(lower) > 2 and lower.endswith("s") and lower.isalpha() else lower


@lru_cache(maxsize=1024)
def _matches(unit: str, pattern: str) -> bool:
    """Whether a unit matches; remembered, because to prepare a pattern takes long."""
    return bool(pc.match_substring_regex(strings([unit]), f"^(?:{pattern})$")[0].as_py())
