"""What every reader has: what it gives, what it needs of a table, and its facts as plain values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import pyarrow as pa

from tallybayes.arrays.column import Column
from tallybayes.arrays.sparse_matrix import is_sparse
from tallybayes.cells.date_format import DateFormat
from tallybayes.cells.key_form import KeyForm
from tallybayes.cells.missing_words import MissingWords
from tallybayes.cells.number_format import NumberFormat
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.errors import DataError, Described, ParameterError
from tallybayes.families.family import Family
from tallybayes.tables.source import Kind
from tallybayes.tables.table import Raw
from tallybayes.tally import Tally

__all__ = ["UNREAD", "DatePart", "Purpose", "ReadContext", "Reader", "Unread", "check_column", "check_facts"]

ColumnT = TypeVar("ColumnT", bound=Column)


class Purpose(Enum):
    """What rows are read for."""

    LEARN = "learn"  # to be counted
    HELD_OUT = "held out"  # rows that were counted, to be scored without themselves
    SCORE = "score"  # new rows, without tokens that are counted but not scored


class ReadContext(NamedTuple):
    """What reading a column depends on besides its cells.

    lexicon: of a column of text, if it has one; known_key: one category learned so far, whose type others get.
    missing: the words that mean a missing value in cells of text.
    """

    name: str
    n_rows: int
    family: Family | None = None
    purpose: Purpose = Purpose.SCORE
    lexicon: Any = None
    known_key: Any = None
    missing: MissingWords | None = None


class DatePart(NamedTuple):
    """A part of a column of dates: the column, and the name of the part."""

    column: str
    part: str


class Reader(ABC):
    """How the cells of a column become what its family counts.

    Attributes that only some readers have are empty in the others, so that nobody has to ask which reader it is.
    """

    kind: ClassVar[str]  # its name in files
    column: ClassVar[type[Column] | None]  # what it gives; None: it is not read by itself

    format: NumberFormat | None = None  # how cells of text are read as numbers, unless they are plain
    is_whole: bool = False  # whether the first rows hold whole numbers only: samples are whole numbers then
    only_bits: bool = False  # whether numbers are read as booleans because the first ones were 0 and 1
    form: KeyForm | None = None  # how keys are written, if they mean booleans or numbers
    dates: DateFormat | None = None  # how the cells of a column of dates are read
    part: DatePart | None = None  # the column of dates that the column is a part of
    inputs: tuple[CellInput, ...] = ()  # the columns that a derived column is computed from

    @abstractmethod
    def encode(self, inputs: Mapping[Any, Any], context: ReadContext) -> Column:
        """Check and encode the cells of a batch; a column that is absent is missing in every row.

        inputs: the raw columns of the table by name; for a derived column, the cells of its inputs, by input.
        """

    def source_types(self, name: str) -> dict[str, Kind | None]:
        """The columns of a source of batches that it needs, and the type to read each as; None: as it is."""
        return {name: None}

    def kernel_entry(self, place: int, name: str, tally: Tally | None) -> Any:
        """How the kernel `read_row` reads a single value: the place where it is put, and the codes of its keys.

        `kernels/reference/single_rows.py` defines what it does with that; any other value takes the general path.
        """
        return place

    def with_fractions(self) -> Reader:
        """The reader of numbers that are not all whole; any other reader as it is."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Its kind, and what is unusual, as plain values."""
        return {"kind": self.kind}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The reader from plain values, every one of them checked."""
        check_facts(cls, facts)
        return cls()


def check_facts(
    reader: type[Reader], facts: Mapping[str, Any], *names: str, switches: Mapping[str, str] | None = None
) -> None:
    """Refuse facts that a reader does not have, and switches that are neither true nor false."""
    switches = switches or {}
    known = ("kind", *names, *switches)
    if unknown := facts.keys() - set(known):
        raise ParameterError(f"facts of a reader of kind {reader.kind} ({', '.join(known)})", got=sorted(unknown))
    for name, meaning in switches.items():
        if not isinstance(facts.get(name, False), bool):
            raise ParameterError(f"true or false: {meaning}", got=facts[name])


@dataclass(frozen=True)
class Unread(Reader):
    """A column that is not read."""

    kind = "unread"
    column = None

    def encode(self, inputs: Mapping[Any, Any], context: ReadContext) -> Column:
        """Refuse: nothing counts the column."""
        raise DataError("a column that is read", got=Described("one that is not used"), column=context.name)


UNREAD = Unread()


def check_column(work: Callable[[str, Raw], ColumnT], name: str, raw: Raw, expected: str) -> ColumnT:
    """The encoded column; errors of other libraries become a DataError."""
    if is_sparse(raw) and expected != "bags of tokens":
        raise DataError(expected, got=Described(f"a sparse matrix of shape {raw.shape}"), column=name)
    try:
        return work(name, raw)
    except DataError:
        raise
    except (TypeError, ValueError, ArithmeticError, pa.ArrowException) as error:
        is_arrow = isinstance(raw, (pa.Array, pa.ChunkedArray))
        kind = str(raw.type if is_arrow else getattr(raw, "dtype", type(raw).__name__))
        raise DataError(f"a column that can be read as {expected}", got=kind, column=name, hint=str(error)) from error
