"""Words that mean a missing value in cells of text, and cells without the spaces around them.

A word is compared without the spaces around it and in any case: `NA`, ` na ` and `Na` are one word. The bytes of the
cells are looked at first (how long each is, how it begins and ends), so that a column without such words costs little.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.data.arrow import integers, pc, strings, text_buffers, to_numpy

__all__ = ["USUAL", "MissingWords", "trimmed"]

USUAL = ("", "NA", "N/A", "NaN", "null", "None", "#N/A", "#NULL!", "-", "--", ".", "?")  # by default
_OFTEN = ("NA", "N/A", "NaN", "nan", "null", "NULL", "None", "-", ".", "?")
_SPACES = np.zeros(256, bool)  # bytes with which white space can begin
_SPACES[[*range(9, 14), *range(28, 33), 0xC2, 0xE1, 0xE2, 0xE3]] = True
_SPACE_ENDS = np.zeros(256, bool)  # bytes with which white space can end
_SPACE_ENDS[[*range(9, 14), *range(28, 33), *range(0x80, 0xB0)]] = True


@dataclass(frozen=True)
class MissingWords:
    """The words that were given: besides the usual ones, or instead of them; an empty cell is always missing.

    >>> cells = pa.array([" NA", "none", "-", "-9", "Ulm "])
    >>> MissingWords(("-9",)).cleaned(cells).to_pylist()
    [None, None, None, None, 'Ulm']
    >>> MissingWords(("-9",), only=True).cleaned(cells).to_pylist()
    ['NA', 'none', '-', None, 'Ulm']
    """

    words: tuple[str, ...] = ()
    only: bool = False

    @cached_property
    def folded(self) -> frozenset[str]:
        """All words, trimmed and in lower case."""
        used = self.words if self.only else (*USUAL, *self.words)
        return frozenset({"", *(word.strip().lower() for word in used)})

    @cached_property
    def spellings(self) -> tuple[str, ...]:
        """The words as they are written most often, for readers that compare cells exactly: each costs a little."""
        return tuple(dict.fromkeys(["", *(() if self.only else _OFTEN), *(word.strip() for word in self.words)]))

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The words that are numbers themselves, such as -999."""
        return tuple(sorted(word for word in self.folded if _is_number(word)))

    def cleaned(self, cells: Any) -> Any:
        """Cells of text without the spaces around them, and null in place of the words; other cells as they are."""
        if not pa.types.is_string(cells.type) and not pa.types.is_large_string(cells.type):
            return cells
        cells = trimmed(cells)
        found = self.found_in(cells)
        if not len(found):
            return cells
        there = np.ones(len(cells), bool)
        there[found] = False
        return pc.if_else(_booleans(there), cells, pa.nulls(1, cells.type)[0])

    def n_none(self, cells: Any, cleaned: Any) -> int:
        """How many cells were the word None, in any case, and are missing: of the words, it may be a category."""
        if cleaned.null_count == cells.null_count:
            return 0
        words = cells.filter(pc.and_(pc.is_valid(cells), pc.is_null(cleaned)))
        return int(pc.match_substring_regex(words, r"^\s*(?i:none)\s*$").true_count)

    def found_in(self, cells: Any) -> NDArray[np.int64]:
        """The rows in which trimmed cells are one of the words."""
        bounds, content, valid = text_buffers(cells)
        lengths = np.diff(bounds)
        short = lengths <= self._longest
        filled = lengths > 0
        if filled.all():
            short &= self._first_bytes[content[bounds[:-1]]]
        else:
            rows = np.flatnonzero(filled)
            short[rows] &= self._first_bytes[content[bounds[rows]]]
        if valid is not None:
            short &= valid
        rows = np.flatnonzero(short)
        if not len(rows):
            return rows
        hits = pc.is_in(
            pc.utf8_lower(cells.take(integers(rows))), value_set=strings(sorted(self.folded)).cast(cells.type)
        )
        found: NDArray[np.int64] = rows[to_numpy(hits)]
        return found

    @cached_property
    def _first_bytes(self) -> NDArray[np.bool_]:
        """The bytes with which a word begins."""
        result = np.zeros(256, bool)
        for word in self.folded - {""}:
            result[[word.encode()[0], word.upper().encode()[0], word.title().encode()[0]]] = True
        return result

    @cached_property
    def _longest(self) -> int:
        return max(len(form.encode()) for word in self.folded for form in (word, word.upper()))


def trimmed(cells: Any) -> Any:
    """Cells of text without the spaces around them.

    >>> trimmed(pa.array([" yes", "no", None, "\u00a0"])).to_pylist()
    ['yes', 'no', None, '']
    """
    bounds, content, _ = text_buffers(cells)
    starts, ends = bounds[:-1], bounds[1:]
    filled = ends > starts
    if not filled.all():
        starts, ends = starts[filled], ends[filled]
    if not (_SPACES[content[starts]].any() or _SPACE_ENDS[content[ends - 1]].any()):
        return cells
    return pc.utf8_trim_whitespace(cells)


def _booleans(values: NDArray[np.bool_]) -> Any:
    bits = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, bits])


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return word != "nan"
