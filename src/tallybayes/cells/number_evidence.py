"""What the cells of a column of text say about its numbers: which pairs of decimal sign and thousands separator fit.

A number is split into signs, a unit or factor (`number_units.py`) and digits with separators. What follows from the
evidence of all columns is decided in `number_detection.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.cells.arrow import pc, strings, to_numpy
from tallybayes.cells.number_format import CURRENCY, DECIMALS, THOUSANDS, NumberFormat, groups, plain_signs
from tallybayes.cells.number_reading import all_match
from tallybayes.cells.number_units import AFTER, ANY_UNIT, Units, find_units

__all__ = [
    "FEW_CELLS",
    "NUMBER",
    "PAIRS",
    "SHARE",
    "Evidence",
    "find_evidence",
    "looks_like_number",
    "mostly_numbers",
    "with_numbers",
]

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$|^\s*[+-]?(?i:inf|infinity|nan)\s*$"
_SPACED = r"[.,' ]?\d(?:[\d.,' ]*\d)?[.,]?"
_PARTS = (
    rf"^(?P<opened>\(?) ?[+-]? ?(?P<before>{CURRENCY})? ?[+-]? ?(?P<core>{_SPACED})(?:[eE][+-]?\d+)?"
    rf"{AFTER} ?-? ?(?P<closed>\)?)$"
)
PAIRS = [(d, t) for t in ("", *THOUSANDS) for d in DECIMALS if d != t]
_POINT_GROUPS = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$"  # could be thousands
_ADDRESS = r"^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$"  # 192.168.100.200
_EARLY = r"^(?:[^a-z\n]|Rs|Fr){0,12}[0-9]"  # _PARTS allows no more before its first digit: rules out most prose at once
_FIRST = 10  # cells that rule out most patterns
_CODE = r"^[+-]?0\d+$"  # 007 is a name, not a number
FEW_CELLS = 20  # below this many values a single odd word is a larger share
SHARE, _SHARE_OF_FEW = 0.9, 0.6  # of numbers from which a column is one of numbers


def _pattern(decimal: str, thousands: str) -> str:
    """The digits of a number with these separators."""
    whole = rf"(?:{groups(thousands)}|\d+)" if thousands else r"\d+"
    point = "\\" + decimal
    return rf"^(?:{whole}(?:{point}\d*)?|{point}\d+)$"


_FITS = {pair: _pattern(*pair) for pair in PAIRS}
_ANY_CORE = "|".join(f"(?:{pattern[1:-1]})" for pattern in _FITS.values())
_ANY = rf"^\(? ?[+-]? ?{CURRENCY}? ?[+-]? ?(?:{_ANY_CORE})(?:[eE][+-]?\d+)? ?{ANY_UNIT} ?-? ?\)?$"


def looks_like_number(cells: Any, words: Sequence[str] = ()) -> Any:
    """Which cells would be a number in one format or another, with a usual unit or factor; words are none.

    >>> looks_like_number(pa.array(["1,5", "$ 3", "4'431", "1.2.3", "3+", "none", "$2bn", "5 kg"])).to_pylist()
    [True, True, True, False, False, False, True, True]
    """
    found = pc.match_substring_regex(plain_signs(cells), _ANY)
    return pc.and_not(found, pc.is_in(cells, value_set=strings(list(words)).cast(cells.type))) if words else found


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the cells of a column say about its format."""

    cells: Any  # that are not null
    pairs: list[tuple[str, str]]  # the best pairs of decimal sign and thousands separator
    separated: Any  # the numbers with a separator that these pairs fit
    n_fitting: int  # with and without a separator
    contradicting: Any  # numbers that only other pairs fit
    all_plain: bool = False
    codes: Any = ()  # those of them that are codes, such as 007
    units: Units | None = None  # None: there are none
    odd: Any = ()  # numbers with a unit that hardly any other has

    def format(self, pair: tuple[str, str]) -> NumberFormat:
        """The format with a pair of decimal sign and thousands separator."""
        if self.units is None:
            return NumberFormat(*pair)
        return NumberFormat(*pair, unit=self.units.unit, factors=self.units.factors is True)

    @property
    def has_codes(self) -> bool:
        """Whether there are codes, so that the others are none of numbers either."""
        return len(self.codes) > 0

    @property
    def has_several_units(self) -> bool:
        """Whether numbers have different units, so that they cannot be compared."""
        return self.units is not None and bool(self.units.several)

    @property
    def rivals(self) -> list[tuple[str, str]]:
        """Two pairs that read the separator differently, if both fit."""
        for rivals in ([(",", ""), (".", ",")], [(".", ""), (",", ".")]):
            if len(self.separated) and all(pair in self.pairs for pair in rivals):
                return rivals
        return []

    @property
    def decides(self) -> str | None:
        """The decimal sign, if only one fits."""
        signs = {decimal for decimal, _ in self.pairs}
        is_clear = len(self.separated) and not len(self.contradicting)
        is_clear = is_clear and not self.has_codes and not self.has_several_units
        return signs.pop() if len(signs) == 1 and is_clear and mostly_numbers(self.n_fitting, len(self.cells)) else None


def with_numbers(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that have a cell which looks like a number in some format.

    The different cells of all columns are looked at together: to prepare the pattern takes longer than to match a
    thousand cells.
    """
    plain = {name for name, cells in columns.items() if pc.match_substring_regex(cells[:_FIRST], NUMBER).true_count}
    unsure = {name: cells for name, cells in columns.items() if name not in plain}
    unsure = {n: cells.filter(pc.match_substring_regex(cells, _EARLY)).unique() for n, cells in unsure.items()}
    together = pa.concat_arrays([cells.cast(pa.large_string()) for cells in unsure.values()]) if unsure else []
    is_like = to_numpy(pc.is_valid(pc.extract_regex(plain_signs(together), _PARTS))) if len(together) else np.zeros(0)
    ends = np.cumsum([len(cells) for cells in unsure.values()])
    for name, part in zip(unsure, np.split(is_like, ends[:-1]) if unsure else (), strict=True):
        if part.any():
            plain.add(name)
    return {name: cells for name, cells in columns.items() if name in plain}


def find_evidence(cells: Any, usable: list[tuple[str, str]]) -> Evidence | None:
    """What cells that are not null say, of those pairs that are usable; None if none of them is a number."""
    if (".", "") in usable and (",", ".") in usable and all_match(cells, NUMBER):
        return _plain_evidence(cells, usable)
    values = plain_signs(cells)
    parts = pc.extract_regex(values, _PARTS)
    closed = pc.replace_substring(pc.struct_field(parts, "closed"), ")", "(")
    is_like = pc.equal(pc.struct_field(parts, "opened"), closed)  # null, which a filter drops, where there is no number
    if not is_like.true_count:
        return None
    parts, values, like = parts.filter(is_like), values.filter(is_like), cells.filter(is_like)
    units = find_units(parts)
    cores = pc.struct_field(parts, "core")
    usual = pc.and_(units.has_unit, _not(cores, _ADDRESS))
    cores, values = cores.filter(usual), values.filter(usual)
    if not len(cores):
        return None
    is_separated = pc.match_substring_regex(cores, r"[.,' ]")
    separated, values = cores.filter(is_separated), values.filter(is_separated)
    counts = {pair: _count(separated, _FITS[pair]) for pair in usable}
    best = max(counts.values())
    pairs = [pair for pair in usable if counts[pair] == best]
    if units.is_angle:  # 8.270°E is no thousands of degrees
        pairs = [pair for pair in pairs if not pair[1]] or pairs
    fits = pc.match_substring_regex(separated, _FITS[pairs[0]])
    others = values.filter(pc.and_not(pc.match_substring_regex(separated, f"^(?:{_ANY_CORE})$"), fits))
    return Evidence(
        cells,
        pairs[:1] if len(others) else pairs,
        values.filter(fits),
        len(cores) - len(separated) + best,
        others,
        codes=_matching(cores, _CODE),
        units=units,
        odd=like.filter(units.is_odd),
    )


def _plain_evidence(cells: Any, usable: list[tuple[str, str]]) -> Evidence:
    """Of cells that can be cast as they are: most columns are no more than that."""
    pairs, points = usable, cells[:0]
    for part in (cells[:_FIRST], cells):
        points = part.filter(pc.match_substring(part, "."))
        if len(points) and not all_match(points, _POINT_GROUPS):
            pairs = [pair for pair in usable if pair[0] == "."]
            break
    else:
        pairs = [(".", ""), (",", ".")] if len(points) else usable
    return Evidence(cells, pairs, points, len(cells), cells[:0], all_plain=True, codes=_matching(cells, _CODE))


def mostly_numbers(n_numbers: float, n: int) -> bool:
    """Whether so many numbers among n values make a column of numbers, whatever the others are."""
    return n > 0 and n_numbers / n >= (SHARE if n >= FEW_CELLS else _SHARE_OF_FEW)


def _not(cells: Any, pattern: str) -> Any:
    return pc.invert(pc.match_substring_regex(cells, pattern))


def _matching(cells: Any, pattern: str) -> Any:
    return cells.filter(pc.match_substring_regex(cells, pattern))


def _count(cells: Any, pattern: str) -> int:
    return int(pc.match_substring_regex(cells, pattern).true_count) if len(cells) else 0
