"""The lines of an original file, by the lines of a copy that has others or fewer."""

from __future__ import annotations

import bisect

__all__ = ["LineMap"]


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
