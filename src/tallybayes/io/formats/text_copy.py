"""A copy of a file of text that DuckDB can read: without comment lines, and with one kind of line end.

DuckDB takes a comment sign within a line for the start of a comment too, and loses cells where some lines end in a
carriage return alone and others do not (seen with 2.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from tallybayes.io.formats.dialect import Dialect
from tallybayes.io.formats.input_file import temporary_copy
from tallybayes.io.formats.line_map import LineMap

__all__ = ["rewritten"]


def rewritten(text: IO[str], dialect: Dialect, *, origin: LineMap) -> tuple[str, LineMap]:
    r"""The path of a copy in UTF-8, and the lines of the original.

    text: the file, opened with newline="" and errors="surrogateescape", so that bytes in another encoding are kept.
    origin: the lines of what the file itself is a copy of.

    >>> import io, pathlib
    >>> text = io.StringIO('# 1\na,b\r# 2\r"x\n# y",3\n', newline="")
    >>> path, lines = rewritten(text, Dialect(",", '"', "#", 0), origin=LineMap())
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
