"""The interface of a file format: first rows, batches of rows, and the line on which a row is."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

from tallybayes.cells.missing_words import MissingWords
from tallybayes.cells.number_reading import NumberReading, UnreadNumbers
from tallybayes.doubts import Doubt
from tallybayes.errors import FileError, TallyError
from tallybayes.tables.source import BadRows, Kind
from tallybayes.tables.table import RowOrigin, Table

__all__ = ["FileFormat", "ReadOptions", "import_reader"]


@dataclass(frozen=True)
class ReadOptions:
    """How to read files: the options of `tallybayes.read`; what is None is detected.

    used: the columns that are used, if that is known; the types of others are not inferred from their cells.
    """

    format: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: MissingWords | None = None
    header: bool = True
    table: str | None = None
    thousands: str | None = None
    skip_lines: int = 0
    comment: str | None = None
    quote: str | None = None
    used: frozenset[str] | None = None

    @property
    def given_words(self) -> tuple[str, ...]:
        """The words for missing values that were given, for formats that have nulls of their own."""
        return () if self.missing is None else self.missing.words


class FileFormat(ABC):
    """One file, table or query. `name` is used in messages; `size` is in bytes, for files."""

    kind: ClassVar[str]
    name: str
    size: int | None = None
    doubts: Sequence[Doubt] = ()  # what was assumed about the file
    unread_numbers: UnreadNumbers | None = None  # where cells are counted that are not numbers
    readings: Mapping[str, NumberReading] = MappingProxyType({})  # how columns of text were read as numbers

    @abstractmethod
    def head(self, n: int, *, skip_bad: bool = False) -> Table:
        """The first n rows, with types inferred from them."""

    @abstractmethod
    def tables(self, wanted: Mapping[str, Kind | None] | None, *, keep: bool, bad: BadRows | None) -> Iterator[Table]:
        """The rows, as `Source.batches` gives them."""

    def some(self, names: Sequence[str], n: int, *, skip_bad: bool = False) -> dict[str, Any]:
        """Up to n values of each column that are not missing, wherever they are; columns without any are absent."""
        return {}

    def with_header(self, names: Sequence[str]) -> Self:
        """The file itself; one whose columns have none of these names, read from the line that has one on."""
        return self

    def reconsider(self, error: TallyError) -> Self | None:
        """The file read in another way, after an error about it that this may avoid; None if there is no other way."""
        return None

    def n_expected(self) -> int | None:
        """About how many rows there are, if that is known without reading them."""
        return None

    def line_of(self, row: int) -> int | None:
        """The line, from 1, on which a row begins; None where there are no lines."""
        return None

    def origin(self, first: int) -> RowOrigin:
        """Where the rows from a number on are."""
        return RowOrigin(first, self.name, self.line_of)

    @property
    def original_names(self) -> list[str] | None:
        """The columns of the file, if they are others than those of its tables."""
        return None

    def facts(self) -> dict[str, Any]:
        """What was detected and is unusual: delimiter, encoding and the like."""
        return {}


def import_reader(name: str, extra: str, file: str) -> Any:
    """A package that reads a file, imported only now; without it, an error that says how to install it.

    >>> import_reader("no_such_reader", "excel", "a.xlsx")
    Traceback (most recent call last):
        ...
    tallybayes.errors.FileError: a.xlsx: this format needs a package that is not installed (no_such_reader)
    hint: pip install 'tallybayes[excel]'
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        text = f"this format needs a package that is not installed ({error.name})"
        raise FileError(text, file=file, hint=f"pip install 'tallybayes[{extra}]'") from error
