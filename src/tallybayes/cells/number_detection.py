"""Which columns of text hold numbers, and in which format: decided by all of their cells, and by the whole table.

A number is split into signs, a unit and digits with separators. A pair of a decimal sign and a thousands
separator fits a column if all of its numbers can be read with it. Columns that only one decimal sign fits (`1,5` or
`1,234.50`) decide for those that two fit (`5,201`). Where none decides, that reading is taken which gives numbers with
a separator (`5,201`) and numbers without (`865`) the same magnitude, and the doubt is kept, to be said aloud.

A column holds numbers if nearly all cells are numbers, or at least half of them and the rest are few different words
without digits ("unknown", "refused"). Codes with leading zeros stay text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.cells.arrow import combine_chunks, pc, strings, to_numpy, word_counts
from tallybayes.cells.number_format import CURRENCY, DECIMALS, THOUSANDS, NumberFormat, groups, plain_signs
from tallybayes.cells.number_reading import Doubt, NumberReading, all_match, list_words
from tallybayes.errors import shorten

__all__ = ["NUMBER", "detect_numbers", "looks_like_number", "mostly_numbers"]

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$|^\s*[+-]?(?i:inf|infinity|nan)\s*$"
_KNOWN_UNITS = (  # of which two in one column are said aloud; any other unit is one if all numbers have it
    "% \u2030 k m bn mio mrd kg g mg lb lbs oz km cm mm mi mile ft in yd m\u00b2 l ml cl gal h hr hour min minute s "
    "sec second ms day week month yr year \u00b0c \u00b0f \u00b0 w kw mw wh kwh mwh v mv ma hz khz mhz ghz kb mb gb tb "
    "km/h mph kmh pcs px bar hpa kcal"
)
_SPACED = r"[.,' ]?\d(?:[\d.,' ]*\d)?[.,]?"
_SUFFIX = r"[\pL%\x{b0}\x{b5}\x{2030}][\pL/%\x{b0}\x{b2}\x{b3}\x{b7}]{0,14}(?: \pL+){0,2}\.?"
_PARTS = (
    rf"^\(? ?[+-]? ?(?P<before>{CURRENCY})? ?[+-]? ?(?P<core>{_SPACED})(?:[eE][+-]?\d+)?"
    rf" ?(?P<after>{CURRENCY}|{_SUFFIX})? ?-? ?\)?$"
)
_PAIRS = [(d, t) for t in ("", *THOUSANDS) for d in DECIMALS if d != t]
_POINT_GROUPS = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$"  # could be thousands
_ADDRESS = r"^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$"  # 192.168.100.200
_EARLY = r"^(?:[^a-z\n]|Rs|Fr){0,12}[0-9]"  # _PARTS allows no more before its first digit: rules out most prose at once
_FIRST = 10  # cells that rule out most patterns
_CODE = r"^[+-]?0\d"  # 007 is a name, not a number
_FEW_CELLS = 20  # below this many values a single odd word is a larger share
_SHARE, _SHARE_OF_FEW = 0.9, 0.6  # of numbers from which a column is one of numbers
_HALF, _FEW_WORDS = 0.5, 5  # or this share of numbers beside so few different words


def _pattern(decimal: str, thousands: str) -> str:
    """The digits of a number with these separators."""
    whole = rf"(?:{groups(thousands)}|\d+)" if thousands else r"\d+"
    point = "\\" + decimal
    return rf"^(?:{whole}(?:{point}\d*)?|{point}\d+)$"


_FITS = {pair: _pattern(*pair) for pair in _PAIRS}
_ANY_CORE = "|".join(f"(?:{pattern[1:-1]})" for pattern in _FITS.values())
_UNITS = "|".join(unit.replace("/", "\\/") for unit in _KNOWN_UNITS.split())
_ANY_UNIT = rf"(?:{CURRENCY}|(?i:{_UNITS})s?)"
_ANY = rf"^\(? ?[+-]? ?{CURRENCY}? ?[+-]? ?(?:{_ANY_CORE})(?:[eE][+-]?\d+)? ?{_ANY_UNIT}? ?-? ?\)?$"


def looks_like_number(cells: Any) -> Any:
    """Which cells would be a number in one format or another, with a usual unit.

    >>> looks_like_number(pa.array(["1,5", "$ 3", "4'431", "1.2.3", "3+", "none"])).to_pylist()
    [True, True, True, False, False, False]
    """
    return pc.match_substring_regex(plain_signs(cells), _ANY)


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What the cells of a column say about its format."""

    cells: Any  # that are not null
    pairs: list[tuple[str, str]]  # the best pairs of decimal sign and thousands separator
    separated: Any  # the numbers with a separator that these pairs fit
    n_fitting: int  # with and without a separator
    contradicting: Any  # numbers that only other pairs fit
    all_plain: bool = False
    has_codes: bool = False
    unit: str = ""
    n_without_unit: int = 0
    units: Mapping[str, int] = field(default_factory=dict)  # known ones, if there are several

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
        is_clear = len(self.separated) and not len(self.contradicting) and not self.has_codes and not self.units
        return signs.pop() if len(signs) == 1 and is_clear and mostly_numbers(self.n_fitting, len(self.cells)) else None


def detect_numbers(
    columns: Mapping[str, Any], *, decimal: str | None = None, thousands: str | None = None, delimiter: str = ","
) -> dict[str, NumberReading]:
    """How each column of text reads as numbers; columns without a number are absent.

    columns: cells without spaces around them, null where missing. decimal, thousands: as ordered.

    >>> found = detect_numbers({"price": pa.array(["5,201", "12"]), "share": pa.array(["1.5", "2"])})
    >>> found["price"].format.parse(pa.array(["5,201"])).to_pylist()
    [5201.0]
    """
    usable = [(d, t) for d, t in _PAIRS if decimal in (None, d) and (thousands is None or t in ("", thousands))]
    usable = [(d, t) for d, t in usable if d != thousands]
    there = {name: cells for name, cells in columns.items() if cells.null_count < len(cells)}
    likely = _with_numbers({name: combine_chunks(cells).drop_null() for name, cells in there.items()})
    every = {name: evidence for name, cells in likely.items() if (evidence := _evidence(cells, usable)) is not None}
    signs = {evidence.decides for evidence in every.values()} - {None}
    sign = decimal or (signs.pop() if len(signs) == 1 else None)
    return {name: _decide_reading(evidence, sign, delimiter, decimal, thousands) for name, evidence in every.items()}


def _with_numbers(columns: Mapping[str, Any]) -> dict[str, Any]:
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


def _evidence(cells: Any, usable: list[tuple[str, str]]) -> _Evidence | None:
    if (".", "") in usable and (",", ".") in usable and all_match(cells, NUMBER):
        return _plain_evidence(cells, usable)
    values = plain_signs(cells)
    parts = pc.extract_regex(values, _PARTS)
    is_like = pc.is_valid(parts)
    if not is_like.true_count:
        return None
    parts, values = parts.filter(is_like), values.filter(is_like)
    nothing = pa.scalar("", cells.type)
    tokens = pc.binary_join_element_wise(pc.struct_field(parts, "before"), pc.struct_field(parts, "after"), nothing)
    unit, units, has_unit, n_without = _unit(tokens)
    cores = pc.struct_field(parts, "core")
    usual = pc.and_(has_unit, _not(cores, _ADDRESS))
    cores, values = cores.filter(usual), values.filter(usual)
    if not len(cores):
        return None
    is_separated = pc.match_substring_regex(cores, r"[.,' ]")
    separated, values = cores.filter(is_separated), values.filter(is_separated)
    counts = {pair: _count(separated, _FITS[pair]) for pair in usable}
    best = max(counts.values())
    pairs = [pair for pair in usable if counts[pair] == best]
    fits = pc.match_substring_regex(separated, _FITS[pairs[0]])
    others = values.filter(pc.and_not(pc.match_substring_regex(separated, f"^(?:{_ANY_CORE})$"), fits))
    return _Evidence(
        cells,
        pairs[:1] if len(others) else pairs,
        values.filter(fits),
        len(cores) - len(separated) + best,
        others,
        has_codes=_count(cores, _CODE) > 0,
        unit=unit,
        n_without_unit=n_without,
        units=units,
    )


def _plain_evidence(cells: Any, usable: list[tuple[str, str]]) -> _Evidence:
    """Of cells that can be cast as they are: most columns are no more than that."""
    pairs, points = usable, cells[:0]
    for part in (cells[:_FIRST], cells):
        points = part.filter(pc.match_substring(part, "."))
        if len(points) and not all_match(points, _POINT_GROUPS):
            pairs = [pair for pair in usable if pair[0] == "."]
            break
    else:
        pairs = [(".", ""), (",", ".")] if len(points) else usable
    return _Evidence(cells, pairs, points, len(cells), cells[:0], all_plain=True, has_codes=_count(cells, _CODE) > 0)


def _unit(tokens: Any) -> tuple[str, dict[str, int], Any, int]:
    """The unit of the numbers, several known ones if there are, which cells have it (or none), how many have none."""
    counts: dict[str, int] = {}
    for token, n in word_counts(tokens).items():
        counts[_singular(token)] = counts.get(_singular(token), 0) + n
    n_without = counts.pop("", 0)
    known = {unit: n for unit, n in counts.items() if _is_known(unit)}
    if len(counts) == 1 and (known or not n_without):
        known = counts
    unit = next(iter(known)) if len(known) == 1 else ""
    allowed = [token for token in word_counts(tokens) if _singular(token) in ("", *known)]
    has_unit = pc.is_in(tokens, value_set=strings(allowed).cast(tokens.type))
    return unit, known if len(known) > 1 else {}, has_unit, n_without if unit else 0


def _singular(token: str) -> str:
    """A unit without its plural s, in lower case unless it is a code or sign."""
    lower = token if token.isupper() and len(token) == 3 else token.lower().rstrip(".")
    return lower[:-1] if len(lower) > 2 and lower.endswith("s") and lower.isalpha() else lower


def _is_known(unit: str) -> bool:
    return _count(strings([unit]), f"^(?:{_ANY_UNIT})$") > 0


def _decide_reading(
    evidence: _Evidence, sign: str | None, delimiter: str, decimal: str | None, thousands: str | None
) -> NumberReading:
    """The reading of one column, given the decimal sign of the table, if that is known."""
    doubts: list[Doubt] = []
    rivals = evidence.rivals
    pair = next((pair for pair in evidence.pairs if pair[0] == sign), evidence.pairs[0])
    is_guessed = bool(rivals) and sign is None
    if is_guessed:
        pair = _by_magnitude(evidence, rivals, delimiter)
        doubts.append(_ambiguous(evidence, pair, next(other for other in rivals if other != pair)))
    if not pair[1] and (sign is not None or len(evidence.separated)):  # groups of thousands may come later
        point = pair[0] if len(evidence.separated) or sign is None else sign
        other = thousands if thousands is not None else "." if point == "," else ","
        pair = (point, other if other != point else "")
    form, n = NumberFormat(*pair, unit=evidence.unit), len(evidence.cells)
    as_it_is = evidence.all_plain and (pair[0] == "." or not len(evidence.separated))
    rest = odd = evidence.cells[:0]
    if not as_it_is:
        is_number = pc.is_valid(form.parse(evidence.cells))
        rest, numbers = evidence.cells.filter(pc.invert(is_number)), evidence.cells.filter(is_number)
        odd = evidence.separated if evidence.all_plain else numbers.filter(_not(numbers, NUMBER))
    n_numbers = n - len(rest)
    words = word_counts(rest.filter(pc.invert(looks_like_number(rest))))  # other numbers are errors when they are read
    is_plain = pair[0] == "." and not len(odd)
    is_numeric = _holds_numbers(n_numbers, n, words) and not evidence.has_codes
    doubts = doubts if is_numeric else []
    if evidence.units:
        is_numeric, doubts = False, [] if evidence.has_codes else [_several_units(evidence)]
    elif len(evidence.contradicting) > (1 - _SHARE) * n:
        is_numeric, doubts = False, [] if evidence.has_codes else [_mixed(evidence, decimal)]
    elif evidence.n_without_unit and is_numeric:
        doubts.append(
            Doubt(f"{evidence.n_without_unit:,} of {n:,} cells have no unit and were taken as {evidence.unit}", None)
        )
    example = odd[0].as_py() if len(odd) else None
    return NumberReading(
        n,
        n_numbers,
        form,
        words,
        is_numeric,
        is_plain,
        is_guessed,
        evidence.all_plain,
        evidence.has_codes,
        example,
        tuple(doubts),
    )


def _holds_numbers(n_numbers: int, n: int, words: Mapping[str, int]) -> bool:
    if any(sign.isdigit() for word in words for sign in word):  # 3+ and 12-15 are values, not words
        return n_numbers >= _SHARE * n
    return mostly_numbers(n_numbers, n) or (n >= _FEW_CELLS and n_numbers >= _HALF * n and len(words) <= _FEW_WORDS)


def mostly_numbers(n_numbers: float, n: int) -> bool:
    """Whether so many numbers among n values make a column of numbers, whatever the others are."""
    return n > 0 and n_numbers / n >= (_SHARE if n >= _FEW_CELLS else _SHARE_OF_FEW)


def _by_magnitude(evidence: _Evidence, rivals: list[tuple[str, str]], delimiter: str) -> tuple[str, str]:
    """The pair with which numbers that have a separator are about as large as those that have none."""
    if evidence.unit and _count(strings([evidence.unit]), f"^{CURRENCY}$"):
        return next(pair for pair in rivals if pair[1])  # money has two decimals, not three
    parsed = {pair: _logs(NumberFormat(*pair, unit=evidence.unit).parse(evidence.separated)) for pair in rivals}
    without = evidence.cells.filter(pc.invert(pc.is_in(evidence.cells, value_set=evidence.separated)))
    plain = _logs(NumberFormat(unit=evidence.unit).parse(without))
    usual = (".", "") if (".", "") in rivals else (",", "") if delimiter == ";" else (".", ",")
    if not len(plain):
        return usual
    distance = {pair: abs(float(np.median(logs) - np.median(plain))) for pair, logs in parsed.items() if len(logs)}
    return min(distance, key=lambda pair: (distance[pair], pair != usual), default=usual)


def _logs(values: Any) -> np.ndarray:
    numbers = np.abs(to_numpy(values.drop_null()))
    logs: np.ndarray = np.log10(numbers[(numbers > 0) & np.isfinite(numbers)])
    return logs


def _ambiguous(evidence: _Evidence, taken: tuple[str, str], other: tuple[str, str]) -> Doubt:
    example = evidence.separated[0].as_py()
    values = [
        NumberFormat(*pair, unit=evidence.unit).parse(evidence.separated[:1])[0].as_py() for pair in (taken, other)
    ]
    name, sign = ("thousands", other[1]) if other[1] else ("decimal", other[0])
    text = f"{shorten(example)} was read as {values[0]:.15g}; it could be {values[1]:.15g} as well"
    return Doubt(text, f'{name}="{sign}" (--{name} {sign}) reads {values[1]:.15g}')


def _several_units(evidence: _Evidence) -> Doubt:
    shown = list_words(dict(sorted(evidence.units.items(), key=lambda item: -item[1])))
    text = f"the numbers have different units: {shown}; the column was not taken for numbers"
    return Doubt(text, "convert the cells to one unit before fitting")


def _mixed(evidence: _Evidence, decimal: str | None) -> Doubt:
    """Numbers that are written in different ways."""
    seen = " and ".join(shorten(part[0].as_py()) for part in (evidence.separated, evidence.contradicting) if len(part))
    text = f"the numbers are written in different ways: {seen}"
    if decimal is not None:
        text = f"the decimal sign {decimal!r} does not fit {shorten(evidence.contradicting[0].as_py())}"
    return Doubt(f"{text}; the column was not taken for numbers", "write all of them in one way before fitting")


def _not(cells: Any, pattern: str) -> Any:
    return pc.invert(pc.match_substring_regex(cells, pattern))


def _count(cells: Any, pattern: str) -> int:
    return int(pc.match_substring_regex(cells, pattern).true_count) if len(cells) else 0
