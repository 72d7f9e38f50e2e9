"""How the cells of a column of text are read as numbers.

A format has a decimal sign, a sign between groups of thousands, a unit, which is dropped, and perhaps factors (`254K`,
`3.0M`), which multiply (`number_factor.py`). With any format a number may also be plain (`5201`, `5.2e3` with the
decimal sign of the format), and negative in every usual way: `-5`, also with the real minus sign, `5-`, `(5)`, `-$5`,
`$-5`. Groups must be real ones: three digits after each separator and no leading zero; with commas also the Indian ones
of two digits (`1,23,456`). Which format a column has is decided in `number_detection.py`.
"""

from __future__ import annotations

import decimal as exact
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.cells.arrow import combine_chunks, doubles, integers, is_true, pc, strings, text_scalar
from tallybayes.cells.missing_words import trim_cells
from tallybayes.cells.number_factor import FACTOR, exponents
from tallybayes.errors import ParameterError

__all__ = ["CURRENCY", "DECIMALS", "THOUSANDS", "NumberFormat", "groups", "plain_signs", "with_signs"]

DECIMALS = (".", ",")
THOUSANDS = (",", ".", "'", " ")
_CODES = (  # of the currencies that are traded most, as ISO 4217 has them
    "USD EUR JPY GBP CNY AUD CAD CHF HKD SGD SEK KRW NOK NZD INR MXN TWD ZAR BRL DKK PLN THB ILS IDR CZK AED TRY HUF "
    "CLP SAR PHP MYR COP RUB RON PEN BGN ARS VND EGP NGN UAH KES PKR BDT"
)
CURRENCY = rf"(?:[A-Z]{{0,3}}\p{{Sc}}|Rs\.?|Fr\.|{'|'.join(_CODES.split())})"  # before or after a number
_SIGNS = {  # what is written in several ways
    "[\N{MINUS SIGN}\N{FIGURE DASH}\N{FULLWIDTH HYPHEN-MINUS}]": "-",
    "[\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}\N{FIGURE SPACE}\N{PUNCTUATION SPACE}]": " ",
    "[\N{RIGHT SINGLE QUOTATION MARK}\N{MODIFIER LETTER APOSTROPHE}]": "'",
}
_INFINITIES = {r"^\s*\+?(?i:inf|infinity)\s*$": float("inf"), r"^\s*-(?i:inf|infinity)\s*$": -float("inf")}
_POWERS = {"\N{SUPERSCRIPT TWO}": "2", "\N{SUPERSCRIPT THREE}": "3"}
_TWO = integers(np.array([2]))[0]
_KEYS = {"decimal", "thousands", "unit", "words", "factors"}


@dataclass(frozen=True)
class NumberFormat:
    """Decimal sign, thousands separator and unit of the numbers in a column of text.

    words: cells that are not numbers and were seen when the format was found; they are missing values.
    said: those of the words that are counted and said where they are read, while a model is fitted; not in files.
    expects_unit: whether later numbers without the unit are said, since all first ones have it; not in files.
    factors: whether letters and words such as K, M and bn multiply; without them, such a cell is no number.

    >>> cells = pa.array(["1.234,50 kg", "-2 kg", "(3,5)", "12", "none"])
    >>> NumberFormat(",", ".", unit="kg").parse(cells).to_pylist()
    [1234.5, -2.0, -3.5, 12.0, None]
    >>> NumberFormat(thousands=",", unit="€", factors=True).parse(pa.array(["€254K", "€2.3M", "1,200"])).to_pylist()
    [254000.0, 2300000.0, 1200.0]
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    words: tuple[str, ...] = ()
    factors: bool = False
    said: tuple[str, ...] = field(default=(), compare=False, repr=False)
    expects_unit: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.decimal not in DECIMALS:
            raise ParameterError("a decimal sign: . or ,", got=self.decimal)
        if self.thousands not in ("", *THOUSANDS):
            raise ParameterError("a thousands separator: , or . or ' or a space", got=self.thousands)
        if self.thousands == self.decimal:
            hint = "decimal= (--decimal) and thousands= (--thousands) must differ"
            raise ParameterError("a thousands separator that is not the decimal sign", got=self.thousands, hint=hint)
        if not isinstance(self.unit, str) or re.search(r"\d", self.unit):
            raise ParameterError("a unit: text without digits", got=self.unit)
        if not all(isinstance(word, str) for word in self.words):
            raise ParameterError("words, the texts that are not numbers", got=self.words)
        if not isinstance(self.factors, bool):
            raise ParameterError("true or false: whether K and M are factors", got=self.factors)

    def parse(self, cells: Any) -> Any:
        """Cells of text as doubles; null where a cell is null or not a number in this format."""
        cells = combine_chunks(cells)
        parts = pc.extract_regex(plain_signs(trim_cells(cells)), self._pattern)
        opened, sign, inner, whole, rest, only, power, factor, minus, closed = (
            pc.struct_field(parts, name) for name in _PARTS
        )
        whole = whole if not self.thousands else pc.replace_substring(whole, self.thousands, "")
        nothing = text_scalar("", cells.type)
        power = pc.binary_join_element_wise(power, exponents(factor), nothing) if self.factors else power
        digits = pc.binary_join_element_wise(whole, rest, only, power, nothing)
        value = pc.cast(
            digits if self.decimal == "." else pc.replace_substring(digits, self.decimal, "."), pa.float64()
        )
        signs = pc.binary_join_element_wise(opened, sign, inner, minus, nothing)
        fits = pc.and_(pc.equal(opened, pc.replace_substring(closed, ")", "(")), pc.less(pc.binary_length(signs), _TWO))
        is_negative = pc.is_in(signs, value_set=strings(["(", "-"]).cast(cells.type))
        signed = pc.if_else(is_negative, pc.negate(value), value)
        numbers = pc.if_else(is_true(fits), signed, pa.nulls(1, pa.float64())[0])
        return numbers if numbers.null_count == cells.null_count else _with_infinities(numbers, cells)

    @cached_property
    def _pattern(self) -> str:
        unit = _unit_pattern(self.unit)
        whole = groups(self.thousands) + r"|\d+" if self.thousands else r"\d+"
        point = re.escape(self.decimal)
        number = rf"(?:(?P<whole>{whole})(?P<rest>(?:{point}\d*)?)|(?P<only>{point}\d+))"
        before, after = (rf"(?:{unit} ?)?", rf"(?: ?{unit})?") if unit else ("", "")
        power = rf"(?P<power>(?:[eE][+-]?\d+)?){after}"
        factor = "(?P<factor>)"
        if self.factors:  # directly behind a factor stands no unit of small letters: kg is a unit
            is_apart = self.unit.isalpha() and not self.unit.isupper()
            power = rf"(?:{power}| ?(?P<factor>{FACTOR}){after.replace(' ?', ' ') if is_apart else after})"
            factor = ""
        some = rf"^(?P<opened>\(?) ?(?P<sign>[+-]?) ?{before}(?P<inner>[+-]?) ?{number}"
        return rf"{some}{power}{factor} ?(?P<minus>-?) ?(?P<closed>\)?)$"

    @property
    def silent_words(self) -> tuple[str, ...]:
        """The words that are missing values without a doubt."""
        return tuple(word for word in self.words if word not in self.said) if self.said else self.words

    def text(self, value: float) -> str:
        """A number as this format writes it, without a factor.

        >>> NumberFormat(",", ".", unit="kg").text(-1234567.5), NumberFormat(unit="$").text(3)
        ('-1.234.567,5 kg', '$3')
        """
        digits = format(exact.Decimal(repr(float(value))), "f").removesuffix(".0")
        sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
        whole, _, rest = digits.partition(".")
        if self.thousands:
            whole = f"{int(whole):,}".replace(",", self.thousands)
        number = whole + (self.decimal + rest if rest else "")
        if self.unit in ("", "%"):
            return sign + number + self.unit
        return f"{sign}{self.unit}{number}" if _is_sign(self.unit) else f"{sign}{number} {self.unit}"

    def to_dict(self) -> dict[str, Any]:
        """The format as plain values; only what is set."""
        plain: dict[str, Any] = {"decimal": self.decimal}
        plain |= {"thousands": self.thousands} if self.thousands else {}
        plain |= {"unit": self.unit} if self.unit else {}
        plain |= {"words": list(self.words)} if self.words else {}
        return plain | ({"factors": True} if self.factors else {})

    @classmethod
    def from_dict(cls, facts: Any) -> NumberFormat:
        """The format from plain values, checked.

        >>> NumberFormat.from_dict({"decimal": ",", "unit": "%"})
        NumberFormat(decimal=',', thousands='', unit='%', words=(), factors=False)
        """
        if not isinstance(facts, Mapping) or facts.keys() - _KEYS or not isinstance(facts.get("words", []), list):
            raise ParameterError("a format of numbers: decimal, thousands, unit, words and factors", got=facts)
        return cls(**{**facts, "words": tuple(facts.get("words", ()))})


def _with_infinities(numbers: Any, cells: Any) -> Any:
    """Numbers with the infinities among the cells, which are refused later as they are in plain columns."""
    for pattern, value in _INFINITIES.items():
        matches = is_true(pc.match_substring_regex(cells, pattern))
        numbers = pc.if_else(matches, doubles(np.array([value]))[0], numbers)
    return numbers


def with_signs(form: NumberFormat, decimal: str | None, thousands: str | None) -> NumberFormat:
    """A format with the decimal sign and the thousands separator that were given for a file, if they were.

    >>> with_signs(NumberFormat(",", "."), ".", None).parse(pa.array(["1,500.5"])).to_pylist()
    [1500.5]
    """
    if decimal is None and thousands is None:
        return form
    decimal = decimal or (form.decimal if form.decimal != thousands else "," if thousands == "." else ".")
    thousands = thousands if thousands is not None else "," if decimal == "." else "."
    return replace(form, decimal=decimal, thousands=thousands)


_PARTS = ("opened", "sign", "inner", "whole", "rest", "only", "power", "factor", "minus", "closed")


def groups(thousands: str) -> str:
    """The pattern of a whole number with groups of digits.

    >>> [bool(re.fullmatch(groups(","), text)) for text in ("1,234", "12,34,567", "1,23", "0,123", "1234")]
    [True, True, False, False, False]
    """
    sign = re.escape(thousands)
    indian = r"|[1-9]\d?(?:,\d\d)+,\d{3}" if thousands == "," else ""
    return rf"[1-9]\d{{0,2}}(?:{sign}\d{{3}})+{indian}"


def plain_signs(cells: Any) -> Any:
    """Cells with plain minus signs, spaces and apostrophes."""
    if pc.all(pc.string_is_ascii(cells), min_count=0).as_py():
        return cells
    for signs, plain in _SIGNS.items():
        cells = pc.replace_substring_regex(cells, pattern=signs, replacement=plain)
    return cells


def _unit_pattern(unit: str) -> str:
    """A unit in any case, also as a plural; m² also as m2."""
    if not unit:
        return ""
    if unit[-1] in _POWERS:
        return rf"(?i:{re.escape(unit[:-1])}[{unit[-1]}{_POWERS[unit[-1]]}])"
    plural = "s?" if unit.isalpha() and len(unit) > 1 else ""
    return rf"(?i:{re.escape(unit)}{plural})"


def _is_sign(unit: str) -> bool:
    return len(unit) == 1 and not unit.isalpha() and unit not in "%\N{DEGREE SIGN}"
