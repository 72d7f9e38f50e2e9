"""What a column of text was found to hold: numbers in a format, other words, and what is doubtful about that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tallybayes.cells.arrow import combine_chunks, to_list, to_numpy
from tallybayes.cells.number_format import NumberFormat
from tallybayes.errors import shorten

__all__ = ["Doubt", "NumberReading", "list_words", "not_numbers", "word_counts"]

_LISTED = 5  # words that are shown
_KEPT = 100  # words that a format remembers, of at most so many characters
_LENGTH = 40


@dataclass(frozen=True)
class Doubt:
    """What was assumed about a column, and how to change it."""

    text: str
    hint: str | None


@dataclass(frozen=True, eq=False)
class NumberReading:
    """A column of text as numbers.

    n_cells, n_numbers: cells that are not missing, and how many of them are numbers.
    format: the best one, also where the column is not taken for numbers.
    words: the other cells, most frequent first.
    is_plain: whether all numbers can be read without a format.
    all_plain: whether all cells could be read without a format, perhaps as other numbers.
    is_guessed: whether another format would fit as well, and nothing but magnitudes decided.
    example: a number that cannot be read without the format.
    """

    n_cells: int
    n_numbers: int
    format: NumberFormat
    words: Mapping[str, int]
    is_numeric: bool
    is_plain: bool
    is_guessed: bool
    all_plain: bool
    has_codes: bool
    example: str | None
    doubts: tuple[Doubt, ...]

    @property
    def needed_format(self) -> NumberFormat | None:
        """The format to read the column with, with its words; None if its cells can be cast as they are."""
        if self.is_plain and not self.words:
            return None
        known = [word for word in self.words if len(word) <= _LENGTH][:_KEPT]
        return NumberFormat(self.format.decimal, self.format.thousands, self.format.unit, tuple(known))

    @property
    def remark(self) -> str:
        """What the reason of the column says about its cells; empty if there is nothing to say."""
        if self.has_codes:
            return ""
        if not self.is_numeric:
            return f"{self.n_numbers:,} of {self.n_cells:,} cells are numbers" if self.n_numbers else ""
        unit = f" (the unit {self.format.unit} is dropped)" if self.format.unit else ""
        parts = [] if self.example is None else [f"written like {' '.join(self.example.split())}{unit}"]
        parts += [f"not numbers: {', '.join(list(self.words)[:_LISTED])}"] if self.words else []
        parts[-1:] = [f"{parts[-1]}, ..."] if len(self.words) > _LISTED else parts[-1:]
        return "; ".join(parts)

    def all_doubts(self, column: str) -> tuple[Doubt, ...]:
        """The doubts, and the words beside the numbers."""
        if self.is_numeric and self.words:
            hint = f'families={{"{column}": "categorical"}} (--as {column}=categorical) counts every word by itself'
            return (*self.doubts, Doubt(not_numbers(sum(self.words.values()), self.words), hint))
        if not self.is_numeric and not self.doubts and not self.has_codes and self.n_numbers * 2 >= self.n_cells:
            text = f"{self.n_numbers:,} of {self.n_cells:,} cells are numbers, too few to take it for numbers"
            hint = f'families={{"{column}": "histogram"}} (--as {column}=histogram) treats the other cells as missing'
            return (Doubt(f"{text}: {list_words(self.words)}", hint),)
        return self.doubts


def not_numbers(n: int, words: Mapping[str, int]) -> str:
    """Cells among numbers that are none, in words.

    >>> not_numbers(12, {"unknown": 9, "refused": 3})
    '12 cells are not numbers and were treated as missing: unknown (9), refused (3)'
    """
    is_single = n == 1
    verbs = "cell is not a number and was" if is_single else "cells are not numbers and were"
    return f"{n:,} {verbs} treated as missing: {list_words(words)}"


def list_words(words: Mapping[str, int]) -> str:
    """The most frequent words with their counts."""
    shown = [f"{word if len(word) <= _LENGTH else shorten(word, _LENGTH)} ({n:,})" for word, n in words.items()]
    more = f" and {len(shown) - _LISTED:,} more" if len(shown) > _LISTED else ""
    return ", ".join(shown[:_LISTED]) + more


def word_counts(cells: Any) -> dict[str, int]:
    """How often each text occurs, most frequent first.

    >>> import pyarrow as pa
    >>> word_counts(pa.array(["b", "a", "b", None]))
    {'b': 2, 'a': 1}
    """
    counted = combine_chunks(cells.drop_null()).value_counts()
    values, counts = to_list(counted.field(0)), to_numpy(counted.field(1)).tolist()
    return dict(sorted(zip(values, counts, strict=True), key=lambda item: (-item[1], item[0])))
