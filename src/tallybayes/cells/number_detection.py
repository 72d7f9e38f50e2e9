"""Which columns of text hold numbers, and in which format: decided by all of their cells, and by the whole table.

A number is split into signs, a unit or factor (`number_units.py`) and digits with separators. A pair of a decimal sign
and a thousands separator fits a column if all of its numbers can be read with it. Columns that only one decimal sign
fits (`1,5` or `1,234.50`) decide for those that two fit (`5,201`). Where none decides, that reading is taken which
gives numbers with a separator (`5,201`) and numbers without (`865`) the same magnitude, and the doubt is kept, to be
said aloud.

A column holds numbers if nearly all cells are numbers; or half of them, and the rest are few different words without
digits ("unknown"); or a quarter, if they are diverse and all words frequent. Codes with leading zeros stay text.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes.cells.arrow import combine_chunks, pc, to_list, to_numpy, word_counts
from tallybayes.cells.number_evidence import (
    FEW_CELLS,
    NUMBER,
    PAIRS,
    SHARE,
    Evidence,
    find_evidence,
    looks_like_number,
    mostly_numbers,
    with_numbers,
)
from tallybayes.cells.number_format import DECIMALS, NumberFormat
from tallybayes.cells.number_reading import LEAVE_OUT, NumberReading, is_frequent
from tallybayes.doubts import Doubt
from tallybayes.errors import shorten

__all__ = ["detect_numbers"]

_RARE = 0.02  # share of cells with a factor, or of codes, up to which that is said aloud
_ODD_WORDS = 0.005  # share of cells with digits that are no numbers (3+) up to which they are odd ones
_NOT_TAKEN = "the column was not taken for numbers"
_LIMITS = ("<", ">", "\u2264", "\u2265")
_MANY_NUMBERS = 100  # distinct cells up to which numbers and limits may be an order (`known_order.py`)
_HALF, _FEW_WORDS = 0.5, 5  # or this share of numbers beside so few different words
_QUARTER, _MANY_DIFFERENT = 0.25, 20  # or this one of more different numbers, if every word is frequent


def detect_numbers(
    columns: Mapping[str, Any], *, decimal: str | None = None, thousands: str | None = None, delimiter: str = ","
) -> dict[str, NumberReading]:
    """How each column of text reads as numbers; columns without a number are absent.

    columns: cells without spaces around them, null where missing. decimal, thousands: as ordered.

    >>> import pyarrow as pa
    >>> found = detect_numbers({"price": pa.array(["5,201", "12"]), "share": pa.array(["1.5", "2"])})
    >>> found["price"].format.parse(pa.array(["5,201"])).to_pylist()
    [5201.0]
    """
    usable = [(d, t) for d, t in PAIRS if decimal in (None, d) and (thousands is None or t in ("", thousands))]
    usable = [(d, t) for d, t in usable if d != thousands]
    there = {name: cells for name, cells in columns.items() if cells.null_count < len(cells)}
    likely = with_numbers({name: combine_chunks(cells).drop_null() for name, cells in there.items()})
    every = {name: evidence for name, cells in likely.items() if (evidence := find_evidence(cells, usable)) is not None}
    signs = {evidence.decides for evidence in every.values()} - {None}
    sign = decimal or (signs.pop() if len(signs) == 1 else None)
    return {name: _decide_reading(evidence, sign, delimiter, decimal, thousands) for name, evidence in every.items()}


def _decide_reading(
    evidence: Evidence, sign: str | None, delimiter: str, decimal: str | None, thousands: str | None
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
    form, about_factors = _decide_factors(evidence, pair)
    n = len(evidence.cells)
    as_it_is = evidence.all_plain and (pair[0] == "." or not len(evidence.separated))
    rest = odd = numbers = evidence.cells[:0]
    if not as_it_is:
        is_number = pc.is_valid(form.parse(evidence.cells))
        rest, numbers = evidence.cells.filter(pc.invert(is_number)), evidence.cells.filter(is_number)
        odd = (
            evidence.separated
            if evidence.all_plain
            else numbers.filter(pc.invert(pc.match_substring_regex(numbers, NUMBER)))
        )
    n_numbers = n - len(rest)
    odd_units = to_list(evidence.odd) if len(evidence.odd) else ()
    words = word_counts(rest.filter(pc.invert(looks_like_number(rest, odd_units))))  # other numbers are errors later
    is_plain = pair[0] == "." and not len(odd)
    is_numeric = _holds_numbers(numbers, n_numbers, words, evidence)
    doubts = [*doubts, *_two_ways(evidence, form, decimal), *_powers(evidence.cells, form)] if is_numeric else []
    if is_numeric and evidence.has_codes:
        is_numeric, doubts = False, _few_codes(evidence)
    if evidence.has_several_units:
        is_prose = evidence.has_codes or evidence.n_fitting < _HALF * n
        is_numeric, doubts = False, [] if is_prose else [_several_units(evidence)]
    elif len(evidence.contradicting) > (1 - SHARE) * n:
        is_numeric, doubts = False, [] if evidence.has_codes else [_mixed(evidence, decimal)]
    elif is_numeric:
        doubts += about_factors
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
        0 if is_numeric else len(numbers.unique()),
        evidence.units is not None and bool(form.unit) and not evidence.units.n_without,
    )


def _holds_numbers(numbers: Any, n_numbers: int, words: Mapping[str, int], evidence: Evidence) -> bool:
    n = len(evidence.cells)
    values = {word: n_cells for word, n_cells in words.items() if any(sign.isdigit() for sign in word)}
    limits = {word for word in values if word[:1] in _LIMITS}
    if limits and len(evidence.cells.unique()) > _MANY_NUMBERS:  # too many to be an order: <0.5 is a word
        values = {word: n_cells for word, n_cells in values.items() if word not in limits}
    if n >= FEW_CELLS and sum(values.values()) <= max(1, _ODD_WORDS * n):  # they decide nothing
        words = {word: n_cells for word, n_cells in words.items() if word not in values}
    elif values:  # 3+ and 12-15 are values, not words
        return n_numbers >= SHARE * n
    if mostly_numbers(n_numbers, n) or n < FEW_CELLS or len(words) > _FEW_WORDS:
        return mostly_numbers(n_numbers, n)
    keeps_words = all(is_frequent(word, n_cells, n) for word, n_cells in words.items())  # as a column of their own
    is_diverse = keeps_words and len(numbers.unique()) > _MANY_DIFFERENT
    return n_numbers >= (_QUARTER if is_diverse else _HALF) * n


def _by_magnitude(evidence: Evidence, rivals: list[tuple[str, str]], delimiter: str) -> tuple[str, str]:
    """The pair with which numbers that have a separator are about as large as those that have none."""
    if evidence.units is not None and evidence.units.is_money:
        return next(pair for pair in rivals if pair[1])  # money has two decimals, not three
    parsed = {pair: _logs(evidence.format(pair).parse(evidence.separated)) for pair in rivals}
    without = evidence.cells.filter(pc.invert(pc.is_in(evidence.cells, value_set=evidence.separated)))
    plain = _logs(evidence.format((".", "")).parse(without))
    usual = (".", "") if (".", "") in rivals else (",", "") if delimiter == ";" else (".", ",")
    if not len(plain):
        return usual
    distance = {pair: abs(float(np.median(logs) - np.median(plain))) for pair, logs in parsed.items() if len(logs)}
    return min(distance, key=lambda pair: (distance[pair], pair != usual), default=usual)


def _logs(values: Any) -> np.ndarray:
    numbers = np.abs(to_numpy(values.drop_null()))
    logs: np.ndarray = np.log10(numbers[(numbers > 0) & np.isfinite(numbers)])
    return logs


def _ambiguous(evidence: Evidence, taken: tuple[str, str], other: tuple[str, str]) -> Doubt:
    example = evidence.separated[0].as_py()
    values = [evidence.format(pair).parse(evidence.separated[:1])[0].as_py() for pair in (taken, other)]
    name, sign = ("thousands", other[1]) if other[1] else ("decimal", other[0])
    text = f"{shorten(example)} was read as {values[0]:.15g}; it could be {values[1]:.15g} as well"
    return Doubt("number format", text, hint=f'{name}="{sign}" (--{name} {sign}) reads {values[1]:.15g}')


def _two_ways(evidence: Evidence, form: NumberFormat, decimal: str | None) -> list[Doubt]:
    """Numbers such as 4.355 and 4,355 in one column, of which nothing says what the signs mean."""
    examples = [evidence.separated.filter(pc.match_substring(evidence.separated, sign))[:1] for sign in DECIMALS]
    is_open = {(".", ","), (",", ".")} <= {*evidence.pairs} and all(map(len, examples))
    if not is_open or decimal is not None:
        return []
    shown = [(shorten(cell[0].as_py()), form.parse(cell)[0].as_py()) for cell in examples]
    read = " and ".join(f"{text} was read as {value:.15g}" for text, value in shown)
    other = DECIMALS[form.decimal == "."]
    hint = f'decimal="{other}" (--decimal {other}) reads them the other way; or write all numbers in one way'
    return [Doubt("number format", f"numbers are written in two ways: {read}", hint=hint)]


def _decide_factors(evidence: Evidence, pair: tuple[str, str]) -> tuple[NumberFormat, list[Doubt]]:
    """The format with factors or a unit, and what is doubtful about these."""
    form, units, n = evidence.format(pair), evidence.units, len(evidence.cells)
    if units is None:
        return form, []
    if units.factors is None:
        return _factor_or_unit(evidence, form)
    if units.factors and units.n_factors <= _RARE * n:
        lettered = evidence.cells.filter(pc.is_null(NumberFormat(*pair, unit=units.unit).parse(evidence.cells)))
        numbers = form.parse(lettered)
        example, value = lettered.filter(pc.is_valid(numbers))[:1].to_pylist(), numbers.drop_null()[:1].to_pylist()
        verb = "has" if units.n_factors == 1 else "have"
        text = f"only {units.n_factors:,} of {n:,} cells {verb} a factor: {{}} was read as {{:.15g}}"
        hint = "missing=[{!r}] (--missing {}) treats it as missing; in a table in memory, replace it by None"
        found = [(e, shlex.quote(e), v) for e, v in zip(example, value, strict=True)]
        return form, [Doubt("odd cells", text.format(shorten(e), v), hint=hint.format(e, q)) for e, q, v in found]
    if units.n_without:
        text = f"{units.n_without:,} of {n:,} cells have no unit and were taken as {units.unit}"
        return form, [Doubt("odd cells", text)]
    return form, []


def _factor_or_unit(evidence: Evidence, form: NumberFormat) -> tuple[NumberFormat, list[Doubt]]:
    """Numbers of which some have a letter: a factor, if only that gives them the magnitude of the others."""
    multiplied = replace(form, unit="", factors=True)
    plain = pc.is_valid(replace(form, unit="").parse(evidence.cells))
    others, lettered = (evidence.cells.filter(which) for which in (plain, pc.invert(plain)))
    as_unit, as_factor, usual = (
        _logs(f.parse(c)) for f, c in ((form, lettered), (multiplied, lettered), (form, others))
    )
    is_factor = False
    if len(usual) and len(as_unit):
        middle = np.median(usual)
        is_factor = bool(abs(np.median(as_factor) - middle) < abs(np.median(as_unit) - middle))
    taken, other = (multiplied, form) if is_factor else (form, multiplied)
    shown = lettered.filter(pc.is_valid(taken.parse(lettered)))[:1]
    values = [f.parse(shown).to_pylist()[0] for f in (taken, other)]
    text = f"{shorten(shown[0].as_py())} was read as {values[0]:.15g}; it could be {values[1]:.15g} as well"
    hint = f"factors of the column in the schema (--save-schema, --schema): {str(not is_factor).lower()}"
    return taken, [Doubt("odd cells", text, hint=hint)]


def _powers(cells: Any, form: NumberFormat) -> list[Doubt]:
    """Cells such as 1E5, which are numbers as programs write them, but may be codes."""
    if not pc.match_substring(cells, "E").true_count:
        return []
    found = cells.filter(pc.match_substring_regex(cells, r"^\d+E\d+$"))
    if not len(found):
        return []
    return [Doubt("odd cells", f"{shorten(found[0].as_py())} was read as {form.parse(found[:1])[0].as_py():.15g}")]


def _few_codes(evidence: Evidence) -> list[Doubt]:
    """Codes such as 007 that are so few that they may be numbers with a zero too many."""
    n, n_codes = len(evidence.cells), len(evidence.codes)
    if n < FEW_CELLS or n_codes > _RARE * n:
        return []
    cells = "1 cell begins" if n_codes == 1 else f"{n_codes:,} of {n:,} cells begin"
    return [Doubt("odd cells", f"{cells} with a zero, {evidence.codes[0].as_py()!r}: all were taken for codes")]


def _several_units(evidence: Evidence) -> Doubt:
    text = f"the numbers have different units: {evidence.units and evidence.units.listed}; {_NOT_TAKEN}"
    return Doubt("odd cells", text, hint=f"{LEAVE_OUT}; or convert the cells to one unit")


def _mixed(evidence: Evidence, decimal: str | None) -> Doubt:
    """Numbers that are written in different ways."""
    seen = " and ".join(shorten(part[0].as_py()) for part in (evidence.separated, evidence.contradicting) if len(part))
    text = f"the numbers are written in different ways: {seen}"
    if decimal is not None:
        text = f"the decimal sign {decimal!r} does not fit {shorten(evidence.contradicting[0].as_py())}"
    return Doubt("number format", f"{text}; {_NOT_TAKEN}", hint=f"{LEAVE_OUT}; or write all of them in one way")
