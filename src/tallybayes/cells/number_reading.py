"""What a column of text was found to hold: numbers in a format, other words, and what is doubtful about that.

The column is then read as that (`as_found`), and cells that turn out to be no numbers are counted (`UnreadNumbers`).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tallybayes.cells.arrow import is_true, pc, word_counts
from tallybayes.cells.number_format import NumberFormat
from tallybayes.doubts import Doubt, as_family, ignored, tell_doubts
from tallybayes.errors import shorten

__all__ = [
    "LEAVE_OUT",
    "NumberReading",
    "UnreadNumbers",
    "all_match",
    "as_found",
    "is_frequent",
    "lack_unit",
    "list_words",
    "without_unit",
]

LEAVE_OUT = "{leave out}"  # in a hint, where the name of the column is not known yet
_LISTED = 5  # words that are shown
_KEPT, _LONGEST = 100, 200  # words that a format remembers, of at most so many characters
_LENGTH = 40  # characters that are shown, and that a word may have which is information
_PLACES = 10  # columns whose first such cell is looked up in the file: it is read from its start for each
_SOME, _SOME_CELLS = 0.05, 20  # share and number of different numbers among text from which on they are said
_MANY_NUMBERS = 50  # different ones, which no categories are, however often they repeat
_FREQUENT, _FREQUENT_CELLS = 0.03, 24  # share and number of cells from which a word among numbers is information
_INTEGER = r"^[+-]?\d{1,18}$"
_BOOLEAN, _TRUE = r"^(?i:true|false)$", r"^(?i:true)$"
_FIRST = 10  # cells that rule out most columns


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
    all_have_unit: whether no number lacks the unit.
    n_different: how many different cells are numbers, where the column is not taken for numbers.
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
    n_different: int = 0
    all_have_unit: bool = False

    @property
    def needed_format(self) -> NumberFormat | None:
        """The format to read the column with, with its words; None if its cells can be cast as they are."""
        if self.is_plain and not self.words:
            return None
        known = [word for word in self.words if len(word) <= _LONGEST][:_KEPT]
        return replace(self.format, words=tuple(known), expects_unit=self.all_have_unit)

    @property
    def remark(self) -> str:
        """What the reason of the column says about its cells; empty if there is nothing to say."""
        if self.has_codes:
            return ""
        if not self.is_numeric:
            return f"{self.n_numbers:,} of {self.n_cells:,} cells are numbers" if self.n_numbers else ""
        facts = [f"the unit {self.format.unit} is dropped"] if self.format.unit else []
        facts += ["K, M and the like multiply"] if self.format.factors else []
        about = f" ({', '.join(facts)})" if facts else ""
        parts = [] if self.example is None else [f"written like {' '.join(self.example.split())}{about}"]
        parts += [f"not numbers: {', '.join(list(self.words)[:_LISTED])}"] if self.words else []
        parts[-1:] = [f"{parts[-1]}, ..."] if len(self.words) > _LISTED else parts[-1:]
        return "; ".join(parts)

    @property
    def doubts_of_model(self) -> tuple[Doubt, ...]:
        """The doubts where a model wants plain numbers, without a unit."""
        if not self.format.unit:
            return self.doubts
        unit = f"the unit {self.format.unit} was dropped: the numbers of the model have none"
        others = (one for one in self.doubts if one.kind != "odd cells")
        return (*others, Doubt("odd cells", unit, hint="check that they are in the same unit"))

    @property
    def frequent_words(self) -> tuple[str, ...]:
        """The words among numbers that are information: in more than a few cells, and not odd ones."""
        words = (word for word, n in self.words.items() if is_frequent(word, n, self.n_cells))
        return tuple(itertools.islice(words, _KEPT)) if self.is_numeric else ()

    @property
    def _has_many_numbers(self) -> bool:
        """Whether half of the cells are numbers; or some are, and mostly different ones or many."""
        is_diverse = 2 * self.n_different > self.n_numbers or self.n_different > _MANY_NUMBERS
        is_diverse = is_diverse and self.n_numbers >= max(_SOME * self.n_cells, _SOME_CELLS)
        return is_diverse or 2 * self.n_numbers >= self.n_cells

    def all_doubts(self, column: str) -> tuple[Doubt, ...]:
        """The doubts, and the words beside the numbers; column: the name of the column."""
        usual = f"{as_family(column, 'histogram')} reads them as numbers"
        if self.is_numeric:
            usual = f"{as_family(column, 'categorical')} takes the cells as they are"
        hints = [(one.hint or usual).replace(LEAVE_OUT, f"{ignored(column)} leaves it out") for one in self.doubts]
        doubts = tuple(replace(one, column=column, hint=hint) for one, hint in zip(self.doubts, hints, strict=True))
        frequent = self.frequent_words
        rare = {word: n for word, n in self.words.items() if word not in frequent}
        if self.is_numeric and rare:
            hint = f"{as_family(column, 'categorical')} counts every word by itself"
            return (*doubts, Doubt("odd cells", _not_numbers(sum(rare.values()), rare), column, hint))
        if not self.is_numeric and not self.doubts and not self.has_codes and self._has_many_numbers:
            text = f"{self.n_numbers:,} of {self.n_cells:,} cells are numbers, too few to take it for numbers"
            hint = f"{as_family(column, 'histogram')} treats the other cells as missing"
            return (Doubt("odd cells", f"{text}: {list_words(self.words)}", column, hint),)
        return doubts


def is_frequent(word: str, n: int, n_cells: int) -> bool:
    """Whether a word among numbers is information, by its cells among all cells.

    >>> is_frequent("unlimited", 30, 100), is_frequent("lost", 2, 100)
    (True, False)
    """
    return n >= max(_FREQUENT * n_cells, _FREQUENT_CELLS) and len(word) <= _LENGTH


def as_found(cells: Any, reading: NumberReading | None) -> Any:
    """A column of trimmed text as integers, reals or booleans; null where a cell is no number among numbers.

    >>> from tallybayes.cells.number_detection import detect_numbers
    >>> cells = {"a": pa.array(["1", None]), "b": pa.array(["1.5"]), "c": pa.array(["true"]), "d": pa.array(["007"])}
    >>> found = detect_numbers(cells)
    >>> [as_found(values, found.get(name)).to_pylist() for name, values in cells.items()]
    [[1, None], [1.5], [True], ['007']]
    """
    if cells.null_count == len(cells):
        return pa.nulls(len(cells))
    if all_match(cells.drop_null(), _BOOLEAN):
        return pc.match_substring_regex(cells, _TRUE)
    if reading is None or not reading.is_numeric:
        return cells
    if reading.needed_format is not None or reading.n_numbers < reading.n_cells:
        return reading.format.parse(cells)
    plain = pc.utf8_ltrim(cells, characters="+")
    return pc.cast(plain, pa.int64() if all_match(cells.drop_null(), _INTEGER) else pa.float64())


def _not_numbers(n: int, words: Mapping[str, int]) -> str:
    """Cells among numbers that are none, in words.

    >>> _not_numbers(12, {"unknown": 9, "refused": 3})
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


def all_match(cells: Any, pattern: str) -> bool:
    """Whether all cells match; most columns are ruled out by their first cells."""
    return all(pc.match_substring_regex(part, pattern).true_count == len(part) for part in (cells[:_FIRST], cells))


def lack_unit(text: Any, values: Any, unit: str) -> Any:
    """Which cells are numbers other than zero without a unit; values: the cells as numbers.

    >>> lack_unit(pa.array(["5 KG", "7", "0", None]), pa.array([5.0, 7, 0, None]), "kg").to_pylist()
    [False, True, False, False]
    """
    start = unit.rstrip("\N{SUPERSCRIPT TWO}\N{SUPERSCRIPT THREE}")  # 5 m2 has it too
    is_bare = pc.invert(pc.match_substring(text, start, ignore_case=True))
    return is_true(pc.and_(is_bare, values.cast(pa.bool_())))


def without_unit(n: int, unit: str, place: str | None = None) -> Doubt:
    """That later numbers have no unit though the first ones do."""
    verbs = "1 later cell has no unit and was" if n == 1 else f"{n:,} later cells have no unit and were"
    where = "" if place is None else f"; the first is in {place}"
    hint = f"check that they are in the unit {unit} too"
    return Doubt("odd cells", f"{verbs} taken as {unit}, as all first ones are{where}", hint=hint)


class UnreadNumbers:
    """Counts of the cells that are not numbers, by column; nothing is said twice.

    with_unit: the columns all of whose first numbers have a unit; numbers without it are counted there.

    >>> import warnings
    >>> cells = UnreadNumbers()
    >>> cells.add("age", pa.array(["unknown", "n.k.", "unknown"]), known=["n.k."], place=lambda: "a.csv, line 3")
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     cells.tell()
    >>> print(found[0].message)
    column 'age': 2 cells are not numbers and were treated as missing: unknown (2); the first is in a.csv, line 3
    hint: when fitting, families={"age": "categorical"} (--as age=categorical) counts every word by itself
    """

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}
        self._places: dict[str, str] = {}
        self._told: set[Doubt] = set()
        self._expected: dict[str, set[str]] = {}
        self._bare: dict[str, tuple[int, str, str | None]] = {}
        self.with_unit: frozenset[str] = frozenset()

    def add_without_unit(self, column: str, n: int, unit: str, *, place: Callable[[], str | None]) -> None:
        """Count numbers that lack the unit which the first ones of their column have."""
        before, _, first = self._bare.get(column) or (0, unit, place())
        self._bare[column] = before + n, unit, first

    def add(
        self,
        column: str,
        cells: Any,
        *,
        known: Sequence[str] = (),
        expected: Sequence[str] = (),
        place: Callable[[], str | None],
    ) -> None:
        """Count cells of a column, except words that are known already; `place` says where the first one is.

        expected: words that are counted, but were seen when the column was decided: they do not decide once more.
        """
        new = {word: n for word, n in word_counts(cells).items() if word not in known}
        if not new:
            return
        if column not in self._counts and len(self._counts) < _PLACES and (first := place()) is not None:
            self._places[column] = first
        self._counts.setdefault(column, Counter()).update(new)
        self._expected.setdefault(column, set()).update(expected)

    def frequent_word(self, column: str, n_cells: int) -> str | None:
        """The most frequent word that was counted in a column, if it is information among all cells."""
        counts = {word: n for word, n in self._counts[column].items() if word not in self._expected[column]}
        word, n = max(counts.items(), key=lambda item: (item[1], item[0]), default=("", 0))
        return word if is_frequent(word, n, n_cells) else None

    @property
    def columns(self) -> list[str]:
        """The columns with cells that were counted."""
        return list(self._counts)

    def tell(self) -> None:
        """Say which cells were counted, and start again."""
        for column, counts in self._counts.items():
            ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))  # however rows came in batches
            text = _not_numbers(counts.total(), dict(ordered))
            where = f"; the first is in {self._places[column]}" if column in self._places else ""
            hint = f"when fitting, {as_family(column, 'categorical')} counts every word by itself"
            self.tell_once([Doubt("odd cells", text + where, column, hint)])
        for column, (n, unit, place) in self._bare.items():
            self.tell_once([replace(without_unit(n, unit, place), column=column)])
        self._counts, self._places, self._bare = {}, {}, {}

    def tell_once(self, doubts: Iterable[Doubt]) -> None:
        """Say what was assumed about columns; nothing is said twice."""
        new = [one for one in doubts if one not in self._told]
        self._told.update(new)
        tell_doubts(new)
