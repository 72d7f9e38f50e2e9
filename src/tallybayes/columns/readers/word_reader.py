"""Words among numbers as a column of their own: `limit.word` beside `limit`, whose cells are 5, 20 and "unlimited".

limit        the numbers; missing where a cell is a word
limit.word   the word, or (number); missing where the cell is missing or another word

So a cell says first what it is, and then which number it is: nothing is counted twice. Only words that were frequent in
the first rows are counted; any other word is a missing value. The words are put into a table before it is encoded
(`columns/batch.py`), like the parts of a date.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.arrays.column import Codes
from tallybayes.cells.arrow import pc, strings, text_scalar
from tallybayes.cells.missing_words import MissingWords
from tallybayes.cells.number_format import NumberFormat
from tallybayes.columns.readers.key_reader import KeyReader
from tallybayes.columns.readers.number_reader import as_reals
from tallybayes.columns.readers.reader import DatePart, ReadContext, Reader, check_facts, text_of
from tallybayes.errors import ParameterError
from tallybayes.tables.source import Kind
from tallybayes.tables.table import Raw
from tallybayes.tally import Tally

__all__ = ["NUMBER_KEY", "WORD_PART", "WordReader", "words_among"]

WORD_PART = "word"
NUMBER_KEY = "(number)"  # the category of all numbers
_KEYS = KeyReader()


@dataclass(frozen=True)
class WordReader(Reader):
    """The words of a column of numbers, once they are a column of their own."""

    kind = "word"
    column = Codes

    part: DatePart = field()  # required: the default of other readers is none
    words: tuple[str, ...] = ()

    def encode(self, inputs: Mapping[Any, Any], context: ReadContext) -> Codes:
        """Encode the words, which the table has as a column."""
        return _KEYS.encode(inputs, context)

    def kernel_entry(self, place: int, name: str, tally: Tally | None) -> Any:
        """As categories are read, where a row has them."""
        return _KEYS.kernel_entry(place, name, tally)

    def source_types(self, name: str) -> dict[str, Kind | None]:
        """The column of numbers, as it is."""
        return {self.part.column: None}

    def to_dict(self) -> dict[str, Any]:
        """The column of numbers, and the words."""
        return super().to_dict() | {"column": self.part.column, "words": list(self.words)}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> WordReader:
        """The reader from plain values, every one of them checked."""
        check_facts(cls, facts, "column", "words")
        column, words = facts.get("column"), facts.get("words")
        if not isinstance(column, str) or not isinstance(words, list) or not all(isinstance(w, str) for w in words):
            raise ParameterError("the column of numbers and a list of words among them", got=[column, words])
        return cls(DatePart(column, WORD_PART), tuple(words))


def words_among(raw: Raw, form: NumberFormat | None, words: tuple[str, ...], context: ReadContext) -> Raw:
    """The words of a column of numbers, and (number) where there is a number.

    >>> cells, form = ["5", "unlimited", None, "lost"], NumberFormat(words=("lost", "unlimited"))
    >>> words_among(cells, form, ("unlimited",), ReadContext("limit", 4)).to_pylist()
    ['(number)', 'unlimited', None, None]
    """
    if (text := text_of(raw)) is None:
        there = ~np.isnan(as_reals(context.name, raw).values.astype(np.float64))
        return strings([NUMBER_KEY if is_number else None for is_number in there.tolist()])
    cells = (context.missing or MissingWords()).clean(text)
    known = pc.is_in(cells, value_set=strings(list(words)).cast(cells.type))
    kept = pc.if_else(known, cells, pa.nulls(1, cells.type)[0])
    is_number = pc.is_valid((form or NumberFormat()).parse(cells))
    return pc.if_else(is_number, text_scalar(NUMBER_KEY, cells.type), kept)
