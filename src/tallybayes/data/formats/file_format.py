"""What every format can do: show its first rows, stream its rows as they are wanted, and say on which line a row is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tallybayes.data.source import BadRows, Kind
from tallybayes.data.table import Origin, Table

__all__ = ["MISSING", "Format", "Reading"]

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")  # what files of text call missing, unless told


@dataclass(frozen=True)
class Reading:
    """How files are to be read; what is None is found out.

    format: csv, tsv, json, parquet, duckdb, sqlite, sql, text, mail or mbox.
    delimiter, decimal, encoding: of files of text.
    missing: the words that stand for a missing value, besides the empty cell.
    header: whether the first line has the names of the columns (x0, x1, ... if not).
    table: the table, or a query, of a database file.
    """

    format: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] | None = None
    header: bool = True
    table: str | None = None


class Format(ABC):
    """One file, table or query. `name` is what people call it; `size` its bytes, if it is a file."""

    kind: ClassVar[str]
    name: str
    size: int | None = None

    @abstractmethod
    def head(self, n: int, *, skip_bad: bool = False) -> Table:
        """The first n rows, typed as well as can be told from them."""

    @abstractmethod
    def tables(self, wanted: Mapping[str, Kind | None] | None, *, keep: bool, bad: BadRows | None) -> Iterator[Table]:
        """The rows as `Source.batches` gives them."""

    def some(self, name: str, n: int, *, skip_bad: bool = False) -> Any:
        """Up to n values of a column that are not null, wherever they are; None if there are none."""
        return None

    def n_expected(self) -> int | None:
        """How many rows there will be, about, if that can be told without reading them."""
        return None

    def line_of(self, row: int) -> int | None:
        """The line, from 1, on which a row begins; None where there are no lines."""
        return None

    def origin(self, first: int) -> Origin:
        """Where rows from a number on come from."""
        return Origin(first, self.name, self.line_of)

    def facts(self) -> dict[str, Any]:
        """What was found out about the file, for people: delimiter, encoding and the like, where unusual."""
        return {}
