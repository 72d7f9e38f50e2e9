"""The visible text of HTML.

Tags are removed, scripts, styles and comments with their content; entities become characters. A tag that starts a new
line on the screen starts one here; other tags leave no space: `V<b>isi</b>ble` is one word. Python's parser takes
quadratic time on broken HTML (a minute for 60 kB of "<a "), which spam contains on purpose. So one regular expression
is used that reads each character once; an element that is never closed ends with the text.
"""

from __future__ import annotations

import html
import re

__all__ = ["is_html", "visible"]

_TOKEN = re.compile(
    r"""
    <!--.*?(?:-->|\Z)
    | <(script|style|template)\b.*?(?:</\1\b[^>]*+(?:>|\Z)|\Z)
    | </?([a-z][^\s/>]*+) (?: [^>=]++ | =\s*+(?: "[^"]*+" | '[^']*+' )? )*+ (?:>|\Z)
    | <[!?/][^>]*+(?:>|\Z)
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_LINE = re.compile(
    "address|article|aside|blockquote|body|br|center|dd|div|dl|dt|fieldset|figure|footer|form|h[1-6]|header|hr|html|li"
    "|main|nav|ol|option|p|pre|section|select|table|title|tr|ul",
    re.IGNORECASE,
)
_GAP = re.compile("td|th|img|input|button", re.IGNORECASE)
_LONG_NUMBER = re.compile(r"&#\d{9,};?")  # no character has it, and Python refuses to read 5,000 digits
_START = re.compile(r"\s*<(!doctype\s+html|html)\b", re.IGNORECASE)


def visible(text: str) -> str:
    r"""The visible text, a line for every block.

    >>> visible("<style>p {color: red}</style><p>Dear <b>cust</b>omer,</p><p>5 &lt; 6 &amp; more<!-- no -->")
    'Dear customer,\n5 < 6 & more'
    """
    flat = _TOKEN.sub(_shown, re.sub(r"\s+", " ", text))
    lines = html.unescape(_LONG_NUMBER.sub("\ufffd", flat)).split("\n")
    return "\n".join(words for line in lines if (words := " ".join(line.split())))


def is_html(text: str) -> bool:
    """Whether a text begins as an HTML document does.

    >>> is_html(" <!DOCTYPE html><title>x"), is_html("<p> is a tag")
    (True, False)
    """
    return _START.match(text) is not None


def _shown(found: re.Match[str]) -> str:
    """The text that replaces a tag."""
    name = found[2] or ""
    return "\n" if _LINE.fullmatch(name) else " " if _GAP.fullmatch(name) else ""
