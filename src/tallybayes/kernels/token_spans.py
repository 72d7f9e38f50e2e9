r"""What the tokens of a text are.

A text is any bytes. They are read as UTF-8, as Python does with errors="replace": what is invalid becomes U+FFFD, which
is no part of a word. Then, character by character:

    drop      format characters (category Cf: zero width, soft hyphen, direction marks), unless rules.python
    case      1: str.lower(), 2: str.casefold()
    accents   NFKD, without the characters that combine
    digits    every decimal digit (category Nd) becomes 0

A word is a longest run of letters, digits (str.isalnum) and underscores, and unless rules.python also of marks
(category M: accents and vowel signs written by themselves). With rules.addresses, where an address begins, that is the
word.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from tallybayes.arrays.token_rules import Rules

__all__ = ["Span", "spans"]

Span = tuple[str, int, int]  # a token, and the characters of the text it was made of


@cache
def _pattern(python: bool, addresses: bool) -> re.Pattern[str]:
    marks = [chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)).startswith("M")]
    word = r"\w" if python else r"\w" + "".join(marks)
    if not addresses:
        return re.compile(f"[{word}]+")
    url = r"""(?:[hH][tT][tT][pP][sS]?://|[fF][tT][pP]://|[wW][wW][wW]\.)[^\s<>"]*[^\s<>".,;:!?')\]}]"""
    mail = rf"[{word}][{word}.+\-]{{0,63}}@[{word}\-]{{1,63}}(?:\.[{word}\-]{{1,63}})+"
    return re.compile(f"{url}|{mail}|[{word}]+")


def _fold(text: str, rules: Rules) -> str:
    """Case, accents and digits."""
    if rules.case:
        text = text.lower() if rules.case == 1 else text.casefold()
    if rules.accents and not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    if rules.digits:
        text = "".join("0" if unicodedata.category(c) == "Nd" else c for c in text)
    return text


def _normalise(text: str, rules: Rules) -> tuple[str, Sequence[int]]:
    """The text to be cut, and for each of its characters the place in the original that it comes from."""
    if text.isascii():
        return _fold(text, rules), range(len(text) + 1)
    kept = [i for i, c in enumerate(text) if rules.python or unicodedata.category(c) != "Cf"]
    text = "".join(text[i] for i in kept)
    if rules.case == 1 and "\u03a3" in text:  # the one letter whose small form depends on its neighbours
        text = "".join(s if c == "\u03a3" else c for c, s in zip(text, _small_sigmas(text), strict=True))
    parts = [_fold(c, rules) for c in text]
    places = [i for i, part in zip(kept, parts, strict=True) for _ in part]
    return "".join(parts), [*places, kept[-1] + 1 if kept else 0]


def _small_sigmas(text: str) -> Iterator[str]:
    """For every character the small sigma that would stand there."""
    lower = iter(c for c in text.replace("\u0130", "i").lower())  # the one character that becomes two
    return (next(lower) for _ in text)


def spans(text: bytes, rules: Rules, stop: Any = None) -> list[Span]:
    """The tokens of a text, in the order in which they end, each with the characters it was made of.

    stop: a lexicon of words to be excluded.

    >>> spans("Voilà: ICE-CREAM".encode(), Rules())
    [('voilà', 0, 5), ('ice', 7, 10), ('cream', 11, 16)]
    >>> [token for token, *_ in spans(b"to be or not", Rules(longest=2))]
    ['to', 'be', 'to be', 'or', 'be or', 'not', 'or not']
    >>> [token for token, *_ in spans(b"no  no", Rules(characters=1, shortest=2, longest=2))]
    ['no', 'o ', ' n', 'no']
    """
    original = text.decode("utf-8", "replace")
    content, places = _normalise(original, rules)
    if rules.characters:
        units = [
            (" " if m[0][0].isspace() else m[0], places[m.start()], places[m.end() - 1] + 1)
            for m in re.finditer(r"\s+|\S", content)
        ]
        units = units[units[0][0] == " " :] if units else []
        units = units[: len(units) - (units[-1][0] == " ")] if units else []
    else:
        units = [
            (match[0], places[match.start()], places[match.end() - 1] + 1)
            for match in _pattern(bool(rules.python), bool(rules.addresses)).finditer(content)
            if rules.min_length <= len(match[0]) <= (rules.max_length or len(match[0]))
        ]
        if stop is not None:
            units = [unit for unit in units if stop.number(unit[0]) < 0]
    between = "" if rules.characters else " "
    return [
        (between.join(unit[0] for unit in units[end - n : end]), units[end - n][1], units[end - 1][2])
        for end in range(1, len(units) + 1)
        for n in range(rules.shortest, min(rules.longest, end) + 1)
    ]
