"""Tables for people, in plain text."""

from collections.abc import Sequence
from typing import Any

__all__ = ["number", "probability", "rows_of", "shown", "text_table"]


def number(value: float, digits: int = 5) -> str:
    """A number in at most so many digits.

    >>> number(3.0), number(0.123456), number(1e-9), number(1234567, 12)
    ('3', '0.12346', '1e-09', '1234567')
    """
    return f"{value:.{digits}g}"


def rows_of(n: float) -> str:
    """A number of rows (or their weight).

    >>> rows_of(1), rows_of(2.5)
    ('1 row', '2.5 rows')
    """
    return f"{number(n, 12)} row{'' if n == 1 else 's'}"


def probability(p: float) -> str:
    """A probability in four digits, more where it would look like certainty.

    >>> probability(0.25), probability(0.99998), probability(1.0)
    ('0.25', '0.99998', '1')
    """
    digits = next((d for d in range(4, 16) if float(f"{p:.{d}g}") < 1), 4)
    return f"{p:.{digits}g}"


def shown(value: Any) -> str:
    """A label or category for people and files: text as it is, yes/no as true and false, missing as nothing.

    >>> shown("a"), shown(True), shown(2.0), shown(None)
    ('a', 'true', '2', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side, numbers to the right.

    >>> print(text_table(["name", "n"], [["a", "10"], ["b", "7"]]))
    name    n
    a      10
    b       7
    """
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    right = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ]
        lines.append("   ".join(cells).rstrip())
    return "\n".join(lines)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in ("", "-")
    return True
