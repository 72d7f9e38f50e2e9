"""Values as text: numbers, tables for people, and plain values for JSON."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "DECIBANS",
    "finite_json",
    "is_numeric_text",
    "json_text",
    "listed",
    "number",
    "printable",
    "probability",
    "rows_of",
    "several",
    "shown",
    "signed",
    "text_table",
]

PROBABILITY_DIGITS = 10  # of probabilities in files of text: the last digits of a double differ between machines
DECIBANS = 10 / math.log(10)  # in one nat: a factor of ten in the odds is ten decibans

# Control characters, line and paragraph separators, marks that change the direction of text, unpaired surrogates.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def number(value: float, digits: int = 5) -> str:
    """Format a number with at most this many significant digits.

    >>> number(3.0), number(0.123456), number(1e-9), number(1234567, 12)
    ('3', '0.12346', '1e-09', '1234567')
    """
    return f"{value:.{digits}g}"


def signed(value: float, digits: int = 1) -> str:
    """Format a number with its sign, rounded to this many decimals; zero is positive.

    >>> signed(3.14159), signed(-0.04), signed(-math.inf)
    ('+3.1', '+0.0', '-inf')
    """
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def rows_of(n: float) -> str:
    """Format a number of rows, or their total weight.

    >>> rows_of(1), rows_of(2.5)
    ('1 row', '2.5 rows')
    """
    return f"{number(n, 12)} row{'' if n == 1 else 's'}"


def several(n: int, what: str, ending: str = "s") -> str:
    """Format a number of things, of which there may be one.

    >>> several(1, "column"), several(2000, "class", "es")
    ('1 column', '2,000 classes')
    """
    return f"{n:,} {what}{'' if n == 1 else ending}"


def probability(p: float) -> str:
    """Format a probability with four digits, or more where it would be rounded to 1.

    >>> probability(0.25), probability(0.99998), probability(1.0)
    ('0.25', '0.99998', '1')
    """
    digits = next((d for d in range(4, 16) if float(f"{p:.{d}g}") < 1), 4)
    return f"{p:.{digits}g}"


def shown(value: Any) -> str:
    """Format a label or category: text unchanged, booleans as true and false, missing as an empty string.

    >>> shown("a"), shown(True), shown(2.0), shown(None)
    ('a', 'true', '2', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names with commas between them; of many only the first few, and how many there are more.

    >>> listed(["a", "b"]), listed([f"x{i}" for i in range(30)], 4)
    ('a, b', 'x0, x1, x2 and 27 more')
    """
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1:,} more"


def printable(text: str, keep: str = "") -> str:
    r"""Replace the characters that a terminal would act on, except those in `keep`, by their escape sequences.

    >>> print(printable("red\x1b[31m\n"))
    red\x1b[31m\n
    """
    return _UNPRINTABLE.sub(lambda match: match[0] if match[0] in keep else _escape(match[0]), text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table of text: columns are aligned, numbers to the right, and cells made printable.

    >>> print(text_table(["name", "n"], [["a", "10"], ["b", "7"]]))
    name    n
    a      10
    b       7
    """
    lines = [[printable(cell) for cell in row] for row in [header, *rows]]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    right = [bool(rows) and all(map(is_numeric_text, cells[1:])) for cells in zip(*lines, strict=True)]
    return "\n".join(
        "   ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def is_numeric_text(text: str) -> bool:
    """Whether a cell of a table is a number, or empty or a dash where there is none: aligned to the right.

    >>> is_numeric_text("+1.5"), is_numeric_text("-"), is_numeric_text("1.5 kg")
    (True, True, False)
    """
    try:
        float(text)
    except ValueError:
        return text in ("", "-")
    return True


def finite_json(value: Any) -> Any:
    """Return plain values for JSON: None for numbers that are not finite, text for keys that JSON does not have.

    >>> finite_json({"p": (0.5, math.nan), b"x": math.inf})
    {'p': [0.5, None], "b'x'": None}
    """
    if isinstance(value, Mapping):
        return {_json_key(key): finite_json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite_json(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_text(value: Any, indent: int | None = None) -> str:
    r"""Return JSON in which numbers are finite and control characters are escaped.

    >>> print(json_text({"p": math.nan, "label": "ü\x9b"}))
    {"p": null, "label": "ü\u009b"}
    """
    text = json.dumps(finite_json(value), indent=indent, ensure_ascii=False, default=str, allow_nan=False)
    return _UNPRINTABLE.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text)


def _json_key(key: Any) -> Any:
    return key if key is None or isinstance(key, (str, int, float)) else shown(key)
