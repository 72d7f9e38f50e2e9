"""Copies of files of text, and the lines of their originals.

`copy_lines` makes one that DuckDB can read: without comment lines, and with one kind of line end.

DuckDB takes a comment sign within a line for the start of a comment too, and loses cells where some lines end in a
carriage return alone and others do not (seen with 2.0).
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import IO

from tallybayes.io.formats.dialect import Dialect
from tallybayes.io.formats.input_file import temporary_copy

__all__ = ["LineMap", "copy_lines"]


class LineMap:
    """Line numbers of a copy to those of the original, so that errors name lines that the user can look at.

    >>> lines = LineMap()
    >>> lines.add(3, 5)  # the third line of the copy is the fifth of the original, and so on from there
    >>> [lines.original(line) for line in (2, 3, 4)]
    [2, 5, 6]
    """

    def __init__(self) -> None:
        self._starts, self._offsets = [1], [0]

    def add(self, line: int, original: int) -> None:
        """From a line of the copy on, lines count from this line of the original; lines are added in order."""
        if original - line != self._offsets[-1]:
            self._starts.append(line)
            self._offsets.append(original - line)

    def original(self, line: int) -> int:
        """The line of the original."""
        return line + self._offsets[bisect.bisect_right(self._starts, line) - 1]


def copy_lines(text: IO[str], dialect: Dialect, *, origin: LineMap) -> tuple[str, LineMap]:
    r"""Copy lines to a file in UTF-8; return its path, and the lines of the original.

    text: the file, opened with newline="" and errors="surrogateescape", so that bytes in another encoding are kept.
    origin: the lines of what the file itself is a copy of.

    >>> import io, pathlib
    >>> text = io.StringIO('# 1\na,b\r# 2\r"x\n# y",3\n', newline="")
    >>> path, lines = copy_lines(text, Dialect(",", '"', "#", 0), origin=LineMap())
    >>> pathlib.Path(path).read_text(), lines.original(1), lines.original(2)
    ('a,b\n"x\n# y",3\n', 2, 4)
    """
    lines = LineMap()

    def kept() -> Iterator[bytes]:
        within, n_kept = False, 0
        for number, line in enumerate(text, 1):
            if number <= dialect.skip or (not within and dialect.comment and line.startswith(dialect.comment)):
                continue
            if dialect.quote is not None and line.count(dialect.quote) % 2:
                within = not within
            n_kept += 1
            lines.add(n_kept, origin.original(number))
            yield (line if within else line.rstrip("\r\n") + "\n").encode("utf-8", errors="surrogateescape")

    return temporary_copy(kept()), lines
