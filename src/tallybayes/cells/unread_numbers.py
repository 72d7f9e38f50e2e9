"""Cells that are not numbers in columns of numbers, counted while data is read; warnings come at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tallybayes.cells.number_reading import Doubt, not_numbers, word_counts
from tallybayes.errors import warn

__all__ = ["UnreadNumbers"]

_PLACES = 10  # columns whose first such cell is looked up in the file: it is read from its start for each


class UnreadNumbers:
    """Counts of the cells that are not numbers, by column; no warning is given twice.

    >>> import pyarrow as pa, warnings
    >>> cells = UnreadNumbers()
    >>> cells.add("age", pa.array(["unknown", "n.k.", "unknown"]), known=["n.k."], place=lambda: "a.csv, line 3")
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     cells.warn()
    >>> print(found[0].message)
    column 'age': 2 cells are not numbers and were treated as missing: unknown (2); the first is in a.csv, line 3
    """

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}
        self._places: dict[str, str] = {}
        self._warned: set[tuple[str, str]] = set()

    def add(self, column: str, cells: Any, *, known: Sequence[str] = (), place: Callable[[], str | None]) -> None:
        """Count cells of a column, except words that are known already; `place` says where the first one is."""
        new = {word: n for word, n in word_counts(cells).items() if word not in known}
        if not new:
            return
        if column not in self._counts and len(self._counts) < _PLACES and (first := place()) is not None:
            self._places[column] = first
        self._counts.setdefault(column, Counter()).update(new)

    def warn(self) -> None:
        """Warn about the cells that were counted, and start again."""
        for column, counts in self._counts.items():
            ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))  # however rows came in batches
            text = not_numbers(counts.total(), dict(ordered))
            where = f"; the first is in {self._places[column]}" if column in self._places else ""
            self.warn_of_doubts(column, [Doubt(text + where, None)])
        self._counts, self._places = {}, {}

    def warn_of_doubts(self, column: str, doubts: Iterable[Doubt]) -> None:
        """Warn about what was assumed about a column, once."""
        for doubt in doubts:
            if (column, doubt.text) not in self._warned:
                self._warned.add((column, doubt.text))
                warn(doubt.text, column=column, hint=doubt.hint)
