"""Factors beside the digits of a number: `254K`, `3.0M`, `$1.2bn`, `3 Mio`.

A factor multiplies, unlike a unit, which is dropped. Letters are factors in any case. Whether the letters of a column
are factors at all (`5 m` may be metres, `3 K` kelvin) is decided in `number_units.py`.
"""

from __future__ import annotations

from typing import Any

from tallybayes.cells.arrow import pc, strings

__all__ = ["FACTOR", "FACTORS", "FACTOR_WORD", "exponents", "factor_name"]

FACTORS = {  # the power of ten of each; the letters g and t are units: gram and tonne
    **dict.fromkeys(("k", "tsd", "thousand"), 3),
    "lakh": 5,
    **dict.fromkeys(("m", "mn", "mio", "mln", "million"), 6),
    "crore": 7,
    **dict.fromkeys(("b", "bn", "mrd", "billion"), 9),
    "trillion": 12,
}
_WORDS = "|".join(sorted((name for name in FACTORS if len(name) > 1), key=len, reverse=True))
FACTOR_WORD = rf"(?:{_WORDS})s?\.?"  # the pattern of a factor of several letters, in lower case
FACTOR = rf"(?i:{FACTOR_WORD}|[kmb])"  # and of any
_NAMES = sorted(FACTORS)
_NOTHING = strings([""])[0]
_EXPONENTS = strings([f"e{FACTORS[name]}" for name in _NAMES])


def factor_name(text: str) -> str:
    """The name of a factor as it is in the list.

    >>> factor_name("Mio."), factor_name("K"), factor_name("Millions")
    ('mio', 'k', 'million')
    """
    name = text.lower().rstrip(".")
    return name if name in FACTORS else name.removesuffix("s")


def exponents(factors: Any) -> Any:
    """The exponents to put behind the digits of numbers, so that they are read without rounding; empty: no factor.

    >>> exponents(strings(["K", "", "Mio."])).to_pylist()
    ['e3', '', 'e6']
    """
    names = pc.utf8_rtrim(pc.utf8_lower(factors), characters=".")
    index = pc.index_in(names, value_set=strings(_NAMES).cast(factors.type))
    plural = pc.index_in(pc.utf8_rtrim(names, characters="s"), value_set=strings(_NAMES).cast(factors.type))
    return pc.coalesce(_EXPONENTS.take(pc.coalesce(index, plural)), _NOTHING).cast(factors.type)
