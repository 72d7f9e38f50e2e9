"""How the keys of a column are written, so that labels and categories of any source meet.

A CSV file holds texts, Parquet and SQL have types, JSON and pandas have others, and the same tool writes 1 as `1.0` in
a column with a gap. So keys are converted to the type of the keys that the model knows: an integral real is an integer,
`"1"` is 1 for a model of numbers, true is `"true"` for a model of texts. Among texts the form of a column, found when
the model is fitted and kept in the schema, says more:

    no, yes      exactly two texts that mean false and true: booleans, 0, 1 and other such words are written like them
    1            numbers without a decimal point: 1.0 and "1.0" are written as 1
    1.0          numbers with one: 1 and "1" are written as 1.0

Other texts stay as they are: `Cat` is not `cat`.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import re
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from tallybayes.arrays.axis import rough_kind
from tallybayes.errors import ParameterError
from tallybayes.formatting import shown

__all__ = ["KeyForm", "as_boolean", "as_number", "to_key_type"]

_PAIRS = (("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"), ("0", "1"), ("0.0", "1.0"))
_BOOLEANS = {word: bool(i) for pair in _PAIRS for i, word in enumerate(pair)}
_STYLES = ("1.0", "1")  # with the first, also numbers none of which is integral
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")  # 007 is a name
_EXACT = 2**53  # integers up to this are exact as doubles
_PARSERS: dict[str, Callable[[str], Any]] = {
    "date": datetime.date.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
    "time": datetime.time.fromisoformat,
    "Decimal": decimal.Decimal,
    "UUID": uuid.UUID,
}


@dataclass(frozen=True)
class KeyForm:
    """The form of keys that mean booleans (the words of false and true) or numbers (one word, 1 or 1.0).

    >>> KeyForm.of(["Yes", "No"]).text(True), KeyForm.of(["1", "2"]).text("3.0"), KeyForm.of(["a", "b"])
    ('Yes', '3', None)
    """

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        lowered = tuple(word.lower() for word in self.words)
        if lowered not in _PAIRS and self.words not in [(style,) for style in _STYLES]:
            raise ParameterError("two words that mean false and true, or 1, or 1.0", got=list(self.words))

    @classmethod
    def from_list(cls, words: Any) -> KeyForm | None:
        """The form from a list of words, as it is written to files; None from None."""
        if words is not None and not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
            raise ParameterError("a list of words that say how keys are written", got=words)
        return None if words is None else cls(tuple(words))

    @classmethod
    def of(cls, keys: Collection[Any]) -> KeyForm | None:
        """The form of some keys; None if they are neither booleans nor numbers in one form."""
        if not keys:
            return None
        if not all(isinstance(key, str) for key in keys):
            return cls(("0", "1")) if len(keys) == 2 and all(key in (0, 1) for key in keys) else None
        if len(keys) == 2:
            words = tuple(sorted(keys, key=lambda key: _BOOLEANS.get(key.lower(), False)))
            if tuple(word.lower() for word in words) in _PAIRS:
                return cls(words)
        for style in _STYLES:
            if all((number := as_number(key)) is not None and _write_number(number, style) == key for key in keys):
                return cls((style,))
        return None

    @property
    def is_boolean(self) -> bool:
        """Whether the keys mean false and true."""
        return len(self.words) == 2

    @property
    def style(self) -> str | None:
        """How a number is written: 1 or 1.0; None if the keys are words."""
        last = self.words[-1]
        return last if last in _STYLES else None

    def covers(self, key: Any) -> bool:
        """Whether a key of another type than text is one that the form is about."""
        if isinstance(key, bool):
            return self.is_boolean
        return rough_kind(key) == "number" and (self.style is not None or as_boolean(key) is not None)

    def text(self, key: Any) -> str:
        """A key as it is written in this form; one that is neither a boolean nor a number stays as it is."""
        if self.is_boolean and (boolean := as_boolean(key)) is not None:
            return self.words[boolean]
        number: Any = as_number(key) if isinstance(key, str) else key
        if self.style is not None and rough_kind(number) == "number" and abs(number) < _EXACT:
            return _write_number(number, self.style)
        return key if isinstance(key, str) else shown(key)


def as_boolean(key: Any) -> bool | None:
    """What a key means as a boolean: true, yes, t, y, 1 and their opposites in any case; None if nothing.

    >>> as_boolean("YES"), as_boolean(0.0), as_boolean("maybe"), as_boolean(2)
    (True, False, None, None)
    """
    if isinstance(key, str):
        return _BOOLEANS.get(key.strip().lower())
    return bool(key) if rough_kind(key) in ("boolean", "number") and key in (0, 1) else None


def as_number(text: str) -> int | float | None:
    """A number from its text, an integer if it is integral; None for other text, and for codes such as 007.

    >>> as_number("2"), as_number("2.0"), as_number("2.5"), as_number("007"), as_number("1_000")
    (2, 2, 2.5, None, None)
    """
    text = text.strip()
    if _NUMBER.fullmatch(text) is None:
        return None
    with contextlib.suppress(ValueError):
        return int(text)
    if abs(value := float(text)) == float("inf"):
        return None
    return int(value) if abs(value) < _EXACT and value.is_integer() else value


def _write_number(number: float, style: str) -> str:
    """A number as text; one that a double cannot hold is never equal to what it was read from."""
    if not abs(number) < _EXACT:
        return ""
    return str(int(number)) if style == "1" and number == int(number) else str(float(number) + 0.0)  # no negative zero


def to_key_type(key: Any, like: Any, form: KeyForm | None = None) -> Any:
    """A key in the type of a known key, and among texts in their form; unchanged if it has no such form.

    >>> to_key_type("2", 1), to_key_type("1.5", 1), to_key_type(1.0, "a"), to_key_type("x", 1), to_key_type("Yes", True)
    (2, 1.5, '1', 'x', True)
    >>> to_key_type(True, "no", KeyForm(("no", "yes"))), to_key_type("1.0", "7", KeyForm(("1",)))
    ('yes', '1')
    """
    kind = rough_kind(like)
    if isinstance(key, decimal.Decimal) and kind != "Decimal":
        key = as_number(str(key)) if as_number(str(key)) is not None else str(key)
    if kind == "text":
        if form is not None:
            return form.text(key)
        return str(key) if isinstance(key, bool) and like in ("True", "False") else shown(key)
    if kind == "boolean":
        meaning = as_boolean(key)
        return key if meaning is None else meaning
    if kind == "number":
        if isinstance(key, str) and (number := as_number(key)) is not None:
            return number
        meaning = as_boolean(key) if form is not None and form.is_boolean else None
        return key if meaning is None else int(meaning)
    if kind in _PARSERS and isinstance(key, (str, int, float)) and not isinstance(key, bool):
        with contextlib.suppress(ValueError, ArithmeticError):
            return _PARSERS[kind](shown(key))
    return key
