"""Words that mean a missing value in cells of text, and cells without the spaces around them.

A word is compared without the spaces around it and in any case: `NA`, ` na ` and `Na` are one word. The bytes of the
cells are looked at first (how long each is, how it begins and ends), so that a column without such words costs little.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.cells.arrow import integers, pc, strings, text_buffers, to_numpy, valid_rows, word_counts

__all__ = ["NONE", "SIGNS", "USUAL", "MissingWords", "are_plus_and_minus", "trim_cells", "words_that_are_values"]

USUAL = ("", "NA", "N/A", "NaN", "null", "None", "#N/A", "#NULL!", "-", "--", ".", "?")  # by default
SIGNS = ("-", "--", ".", "?")  # those that may be values as well
NONE = "none"  # and this word
_OFTEN = ("NA", "N/A", "NaN", "nan", "NAN", "null", "NULL", "None", "-", ".", "?")
_SPACES = (*range(9, 14), *range(28, 33), 0xC2, 0xE1, 0xE2, 0xE3)  # bytes with which white space can begin
_SPACE_ENDS = (*range(9, 14), *range(28, 33), *range(0x80, 0xB0))  # bytes with which white space can end
_SPACE, _WORD = 1, 2  # marks of bytes and cells (`kernels/reference/text_cells.py`)

_FEW_WORDS, _FEW_LABELS = 20, 100  # beside which the most frequent sign is one of them
_LEAST_CELLS = 20  # of a sign or None, to be called frequent
_FREQUENT = 0.2  # share of the cells from which None is a value beside few others

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class MissingWords:
    """The words that were given: besides the usual ones, or instead of them; an empty cell is always missing.

    >>> cells = pa.array([" NA", "none", "-", "-9", "Ulm "])
    >>> MissingWords(("-9",)).clean(cells).to_pylist()
    [None, None, None, None, 'Ulm']
    >>> MissingWords(("-9",), only=True).clean(cells).to_pylist()
    ['NA', 'none', '-', None, 'Ulm']
    >>> MissingWords(values=(("test", ("-",)),)).of_column("test").clean(pa.array(["+", "-", "NA"])).to_pylist()
    ['+', '-', None]

    values: the words that are values in some columns, by the names of the columns.
    """

    words: tuple[str, ...] = ()
    only: bool = False
    values: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def given(self) -> MissingWords | None:
        """The words that somebody has given, without what was found out about columns; None if there are none."""
        return MissingWords(self.words, self.only) if self.words or self.only else None

    def of_column(self, name: str) -> MissingWords:
        """The words of one column."""
        return self._by_column.get(name, self)

    @cached_property
    def _by_column(self) -> dict[str, MissingWords]:
        return {
            name: MissingWords(tuple(sorted(self.folded - {word.lower() for word in words})), only=True)
            for name, words in self.values
        }

    @cached_property
    def folded(self) -> frozenset[str]:
        """All words, trimmed and in lower case."""
        used = self.words if self.only else (*USUAL, *self.words)
        return frozenset({"", *(word.strip().lower() for word in used)})

    @cached_property
    def spellings(self) -> tuple[str, ...]:
        """The words as they are written most often, for readers that compare cells exactly: each costs a little."""
        used = dict.fromkeys(["", *(() if self.only else _OFTEN), *(word.strip() for word in self.words)])
        values = {word.lower() for _, words in self.values for word in words}
        return tuple(word for word in used if word.lower() not in values)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The words that are numbers themselves, such as -999."""
        return tuple(sorted(word for word in self.folded if _is_number(word)))

    def clean(self, cells: Any) -> Any:
        """Cells of text without the spaces around them, and null in place of the words; other cells as they are."""
        if not pa.types.is_string(cells.type) and not pa.types.is_large_string(cells.type):
            return cells
        marks = _marks(cells, self._first_bytes, self._last_bytes, self._longest)
        if (marks & _SPACE).any():
            cells = pc.utf8_trim_whitespace(cells)
            marks = _marks(cells, self._first_bytes, self._last_bytes, self._longest)
        words = self._words_among(cells, np.flatnonzero(marks & _WORD))
        if not len(words):
            return cells
        there = np.ones(len(cells), bool)
        there[words] = False
        return pc.if_else(_booleans(there), cells, pa.nulls(1, cells.type)[0])

    def usual_among(self, cells: Any, cleaned: Any) -> dict[str, int]:
        """How many cells were each of the usual words and are missing, the most frequent first; not words given."""
        if cleaned.null_count == cells.null_count:
            return {}
        counts = word_counts(pc.utf8_trim_whitespace(cells.filter(pc.and_(pc.is_valid(cells), pc.is_null(cleaned)))))
        given = {"", *(word.strip().lower() for word in self.words)}
        return {word: n for word, n in counts.items() if word.lower() not in given}

    def _words_among(self, cells: Any, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of some rows in which trimmed cells are one of the words."""
        rows = rows[valid_rows(cells)[rows]] if cells.null_count else rows
        if not len(rows):
            return rows
        hits = pc.is_in(
            pc.utf8_lower(cells.take(integers(rows))), value_set=strings(sorted(self.folded)).cast(cells.type)
        )
        result: NDArray[np.int64] = rows[to_numpy(hits)]
        return result

    @cached_property
    def _first_bytes(self) -> Bytes:
        """The bytes with which white space or a word begins."""
        return _mark_bytes(_SPACES, {form.encode()[0] for form in self._forms})

    @cached_property
    def _last_bytes(self) -> Bytes:
        """The bytes with which white space or a word ends; beyond ASCII any may, in one case or another."""
        return _mark_bytes(_SPACE_ENDS, {*range(128, 256), *(form.encode()[-1] for form in self._forms)})

    @property
    def _forms(self) -> set[str]:
        """The words that are not empty, in all cases that they are usually written in."""
        return {form for word in self.folded - {""} for form in (word, word.upper(), word.title())}

    @cached_property
    def _longest(self) -> int:
        return max(len(form.encode()) for word in self.folded for form in (word, word.upper()))


def words_that_are_values(
    missing: Mapping[str, int], others: Mapping[str, int], *, are_labels: bool = False
) -> tuple[str, ...]:
    """Which of the words for missing values are values of a column after all.

    A minus sign is one beside plus signs. So is a sign that is at least as frequent as any other text of the column, if
    there are few of these and none has a digit: `-` is the usual state of a system that reports a few kinds of errors.

    None is one ("no alert", "no telephone") if it fills a fifth of the cells or more, beside a few such texts.

    missing: how often each word occurs; others: how often every other text of the column does; are_labels: whether
    they are labels, of which there may be more.

    >>> words_that_are_values({"-": 5}, {"+": 3}), words_that_are_values({"-": 1857}, {"ERROR": 100, "FATAL": 43})
    (('-',), ('-',))
    >>> words_that_are_values({"?": 24}, {"bulbous": 37, "equal": 11}), words_that_are_values({"-": 99}, {"1.5": 3})
    ((), ())
    >>> words_that_are_values({"None": 60}, {"mild": 30, "severe": 10}), words_that_are_values({"none": 5}, {"yes": 95})
    (('None',), ())
    """
    signs = {word: n for word, n in missing.items() if word in SIGNS}
    if are_plus_and_minus(others):
        return tuple(word for word in signs if set(word) == {"-"})
    if not others or any(sign.isdigit() for text in others for sign in text):
        return ()
    few = _FEW_LABELS if are_labels else _FEW_WORDS
    most = max(others.values()) if len(others) <= few else math.inf
    values = [word for word, n in signs.items() if n >= max(most, _LEAST_CELLS)]
    none = {word: n for word, n in missing.items() if word.lower() == NONE}
    n_none = sum(none.values()) if len(others) <= _FEW_WORDS else 0
    n_cells = sum(missing.values()) + sum(others.values())
    return (*values, *(none if n_none >= max(_FREQUENT * n_cells, _LEAST_CELLS) else ()))


def are_plus_and_minus(texts: Iterable[str]) -> bool:
    """Whether all texts, at least one, are results written as `+`, `++` or `+/-`."""
    return set().union(*texts) - {" "} != set() and set().union(*texts) <= set("+-/ \N{PLUS-MINUS SIGN}")


def trim_cells(cells: Any) -> Any:
    """Cells of text without the spaces around them.

    >>> trim_cells(pa.array([" yes", "no", None, "\u00a0"])).to_pylist()
    ['yes', 'no', None, '']
    """
    marks = _marks(cells, _mark_bytes(_SPACES), _mark_bytes(_SPACE_ENDS), 0)
    return pc.utf8_trim_whitespace(cells) if (marks & _SPACE).any() else cells


def _mark_bytes(spaces: Iterable[int], words: Iterable[int] = ()) -> Bytes:
    """For every byte, what may begin or end with it."""
    result = np.zeros(256, np.uint8)
    result[[*spaces]] |= _SPACE
    result[[*words]] |= _WORD
    return result


def _marks(cells: Any, first: Bytes, last: Bytes, longest: int) -> Bytes:
    """What cells of text may be, by how they begin and end; nulls are not told apart."""
    bounds, content, _ = text_buffers(cells)
    marks: Bytes = kernels.active.mark_cells(bounds, content, first, last, longest)
    return marks


def _booleans(values: NDArray[np.bool_]) -> Any:
    bits = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, bits])


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return word != "nan"
