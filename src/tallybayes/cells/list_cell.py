"""Lists that are written in a cell: `["Wifi", "Kitchen"]`, `['email', 'phone']`, `{TV,"Cable TV"}`, `[1, 2]`.

Programs write them so: JSON, Python, PostgreSQL. Their parts are read without brackets and quotes, numbers as they are
shown elsewhere (2.0 is 2), true and false in small letters; null, None and nan are no parts. A JSON object is no list,
and a list of lists or objects is none of plain parts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from tallybayes.formatting import shown

__all__ = ["are_lists", "split_list"]

_CLOSED = {"[": "]", "{": "}", "(": ")"}
_PART = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|([^,"\']?[^,]*))\s*(?:,|$|(?=["\']))')
_NESTED = re.compile(r'^\{\s*["\'][^"\']*["\']\s*:|^.\s*[\[{(]')  # an object, or a list of lists or objects
_REAL = re.compile(r"[+-]?\d+(\.\d*([eE][+-]?\d+)?|[eE][+-]?\d+)")
_LITERALS = {"null": "", "NULL": "", "None": "", "nan": "", "NaN": "", "True": "true", "False": "false"}
_SHARE = 0.9  # of the cells that are lists, from which a column is one of lists


def are_lists(texts: Collection[str]) -> bool:
    """Whether cells are lists with brackets.

    >>> are_lists(["['a', 'b']", "[]"]), are_lists(['{"a": 1}']), are_lists(["[]"]), are_lists(["(5)", "(7)"])
    (True, False, False, False)
    """
    n_lists = sum(map(_is_list, texts))
    return n_lists >= _SHARE * len(texts) and any(len(split_list(text)) > 1 for text in texts if _is_list(text))


def split_list(text: str) -> list[str]:
    """The parts of a list without brackets and quotes; of a text without brackets, what is between its commas.

    >>> split_list('["Wifi", "Café, bar"]'), split_list("{TV,'Cable TV'}"), split_list("[1, 2]"), split_list("a, b")
    (['Wifi', 'Café, bar'], ['TV', 'Cable TV'], ['1', '2'], ['a', 'b'])
    """
    text = text.strip()
    inner = text[1:-1] if _is_list(text) else text
    parts, place = [], 0
    while place < len(inner) and (match := _PART.match(inner, place)) is not None and match.end() > place:
        quoted, single, plain = match.groups()
        if plain is not None:
            parts.append(_plain_part(plain.strip()) if inner is not text else plain.strip())
        else:
            parts.append((_unescape(quoted) if quoted is not None else single.replace("\\'", "'")).strip())
        place = match.end()
    return [part for part in parts if part]


def _plain_part(part: str) -> str:
    """A part without quotes as the same value is written in a list of any program; empty if it is missing."""
    if part in _LITERALS:
        return _LITERALS[part]
    return shown(float(part)) if _REAL.fullmatch(part) else part


def _is_list(text: str) -> bool:
    text = text.strip()
    if _CLOSED.get(text[:1]) != text[-1:] or len(text) < 2 or _NESTED.match(text):
        return False
    return text[0] != "(" or "'" in text or '"' in text  # (5) is a negative number


def _unescape(quoted: str) -> str:
    """The text within double quotes, with escapes as JSON has them."""
    try:
        return str(json.loads(f'"{quoted}"'))
    except ValueError:
        return quoted.replace('\\"', '"')
