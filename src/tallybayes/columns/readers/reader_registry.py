"""All readers by their names in files, and the usual one of a family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallybayes.arrays.column import Bag, Codes, Column, Flags, Reals
from tallybayes.cells.date_format import DATE_PARTS
from tallybayes.columns.readers.bag_reader import BagReader
from tallybayes.columns.readers.cells_reader import CellsReader
from tallybayes.columns.readers.date_reader import DatePartReader, DateReader
from tallybayes.columns.readers.flag_reader import FlagReader
from tallybayes.columns.readers.key_reader import KeyReader
from tallybayes.columns.readers.number_reader import NumberReader
from tallybayes.columns.readers.reader import UNREAD, DatePart, Reader, Unread, check_facts
from tallybayes.columns.readers.text_reader import TextReader
from tallybayes.columns.readers.vector_reader import VectorReader
from tallybayes.columns.readers.word_reader import WordReader
from tallybayes.errors import ParameterError
from tallybayes.families import Family

__all__ = ["READERS", "reader_for", "reader_from_dict", "reader_of_kind"]

_PLAIN: tuple[type[Reader], ...] = (
    NumberReader,
    FlagReader,
    KeyReader,
    BagReader,
    TextReader,
    CellsReader,
    VectorReader,
    DateReader,
    WordReader,
    Unread,
)
READERS: Mapping[str, type[Reader]] = {reader.kind: reader for reader in _PLAIN}
_BY_COLUMN: Mapping[type[Column], Reader] = {
    Reals: NumberReader(),
    Flags: FlagReader(),
    Codes: KeyReader(),
    Bag: BagReader(),
}


def reader_for(family: Family | None) -> Reader:
    """The usual reader of a column that a family counts.

    >>> from tallybayes.families import Histogram, Text
    >>> reader_for(Histogram()), reader_for(Text()), reader_for(None)
    (NumberReader(format=None, is_whole=False), TextReader(), Unread())
    """
    if family is None:
        return UNREAD
    return TextReader() if family.tokeniser is not None else reader_of_kind(family.column)


def reader_of_kind(column: type[Column]) -> Reader:
    """The usual reader that gives a kind of column; derived columns have none."""
    return _BY_COLUMN.get(column, UNREAD)


def reader_from_dict(facts: Any) -> Reader:
    """The reader from plain values, every one of them checked.

    >>> reader_from_dict({"kind": "key", "form": ["no", "yes"]})
    KeyReader(form=KeyForm(words=('no', 'yes')))
    """
    if not isinstance(facts, Mapping) or not isinstance(kind := facts.get("kind"), str):
        raise ParameterError("a reader: its kind, and facts about it", got=facts)
    if kind == DatePartReader.kind:
        return _date_part(facts)
    if kind not in READERS:
        raise ParameterError(f"a kind of reader ({', '.join((*READERS, DatePartReader.kind))})", got=kind)
    return READERS[kind].from_dict(facts)


def _date_part(facts: Mapping[str, Any]) -> DatePartReader:
    """The reader of a part of a date, and the one of its values."""
    check_facts(DatePartReader, facts, "column", "part", "values")
    column, part = facts.get("column"), facts.get("part")
    if not isinstance(column, str) or part not in DATE_PARTS:
        raise ParameterError(f"the column and the part ({', '.join(DATE_PARTS)}) of a date", got=[column, part])
    values = reader_from_dict(facts.get("values"))
    if isinstance(values, (DatePartReader, DateReader, WordReader)):
        raise ParameterError("a reader of the values of a part", got=values.kind)
    return DatePartReader(DatePart(column, part), values)
