"""Tables for people, in plain text."""

from collections.abc import Sequence

__all__ = ["number", "text_table"]


def number(value: float) -> str:
    """A number in at most five digits.

    >>> number(3.0), number(0.123456), number(1e-9)
    ('3', '0.12346', '1e-09')
    """
    return f"{value:.5g}"


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
        return text == ""
    return True
