"""The names of the columns by the cells of a header line.

Names that repeat get a number (`name`, `name.2`), those that are empty the number of their column. Both depend on the
header alone, so that the same file has the same names when a model is fitted and when it predicts.
"""

from __future__ import annotations

from collections.abc import Sequence

from tallybayes.errors import shorten

__all__ = ["header_names"]

Doubt = tuple[str, str | None]  # what was assumed, and how to change it


def header_names(cells: Sequence[str], line: int) -> tuple[list[str], list[Doubt]]:
    """The names of the columns, all different, and what was doubtful about them.

    line: the line of the header, for messages.

    >>> names, doubts = header_names(["size", "", "size", "size.2", " age "], 1)
    >>> names
    ['size', 'column1', 'size.3', 'size.2', 'age']
    >>> [text for text, _ in doubts]
    ["line 1: column names that repeat were numbered: ['size.3']", "line 1: columns without a name: ['column1']"]
    """
    given = [cell.strip() for cell in cells]
    filled = [name or f"column{i}" for i, name in enumerate(given)]
    taken = {name for name in given if name}
    names: list[str] = []
    seen: dict[str, int] = {}
    for own, name in zip(given, filled, strict=True):
        number = seen.get(name, 1 if own or name not in taken else 2)
        while number > 1 and f"{name}.{number}" in taken:
            number += 1
        names.append(name if number == 1 else f"{name}.{number}")
        seen[name] = number + 1
    doubts: list[Doubt] = []
    if renamed := [new for new, old in zip(names, filled, strict=True) if new != old]:
        hint = "rename them in the file; if the first line is data: header=False (--no-header)"
        doubts.append((f"line {line}: column names that repeat were numbered: {shorten(renamed, 200)}", hint))
    if unnamed := [new for new, old in zip(names, given, strict=True) if not old]:
        hint = "if this line is a title and the names come later: skip_lines= (--skip-lines)"
        doubts.append((f"line {line}: columns without a name: {shorten(unnamed, 200)}", hint))
    return names, doubts
