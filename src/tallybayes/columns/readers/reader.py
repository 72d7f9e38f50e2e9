"""What every reader has: what it gives, what it needs of a table, and its facts as plain values.

Raw columns of any kind are made plain before they are read (`unwrap`, `text_of`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import pyarrow as pa

from tallybayes.arrays.column import Column
from tallybayes.arrays.sparse_matrix import is_sparse
from tallybayes.cells.arrow import combine_chunks, is_text_type, strings, to_list, valid_rows
from tallybayes.cells.date_format import DateFormat
from tallybayes.cells.key_form import KeyForm
from tallybayes.cells.missing_words import MissingWords
from tallybayes.cells.number_format import NumberFormat
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.errors import DataError, Described, ParameterError
from tallybayes.families.family import Family
from tallybayes.tables.raw_values import is_masked, is_missing, is_number
from tallybayes.tables.source import Kind
from tallybayes.tables.table import Raw
from tallybayes.tally import Tally

__all__ = [
    "UNREAD",
    "DatePart",
    "Fact",
    "Purpose",
    "ReadContext",
    "Reader",
    "Unread",
    "check_column",
    "check_facts",
    "is_array",
    "is_plain_number",
    "text_of",
    "unwrap",
    "wrong_type",
]

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
    """A part of a column of dates, or the words of a column of numbers: the column, and the name of the part."""

    column: str
    part: str


class Fact(NamedTuple):
    """A fact about a reader in files: its name there, the attribute, and how its values are written and read."""

    name: str
    attribute: str
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]

    @classmethod
    def switch(cls, name: str, attribute: str, meaning: str) -> Fact:
        """A fact that is true or false."""

        def read(value: Any) -> bool:
            if not isinstance(value, bool):
                raise ParameterError(f"true or false: {meaning}", got=value)
            return value

        return cls(name, attribute, bool, read)


class Reader(ABC):
    """How the cells of a column become what its family counts.

    Attributes that only some readers have are empty in the others, so that nobody has to ask which reader it is.
    """

    kind: ClassVar[str]  # its name in files
    column: ClassVar[type[Column] | None]  # what it gives; None: it is not read by itself
    facts: ClassVar[tuple[Fact, ...]] = ()  # what is written about it in files, where it is unusual

    format: NumberFormat | None = None  # how cells of text are read as numbers, unless they are plain
    is_whole: bool = False  # whether the first rows hold whole numbers only: samples are whole numbers then
    only_bits: bool = False  # whether numbers are read as booleans because the first ones were 0 and 1
    form: KeyForm | None = None  # how keys are written, if they mean booleans or numbers
    has_brackets: bool = False  # whether bags are lists in cells of text, with brackets and quotes
    dates: DateFormat | None = None  # how the cells of a column of dates are read
    part: DatePart | None = None  # the column of dates, or of numbers, that the column is a part of
    shows_dates: bool = False  # whether its numbers are days since 1970, which `show` gives as dates
    words: tuple[str, ...] = ()  # the words among numbers that are counted
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

    def show(self, value: Any) -> Any:
        """A value that is scored, as people see it: days since 1970 as a date, any other value as it is."""
        return value

    def with_inputs(self, inputs: tuple[Any, ...]) -> Reader:
        """The reader of a derived column with other inputs; any other reader as it is."""
        return self

    def inputs_in_words(self) -> str:
        """What a derived column is computed from, for people."""
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Its kind, and what is unusual, as plain values."""
        values = [(fact, getattr(self, fact.attribute)) for fact in self.facts]
        unusual = {fact.name: fact.write(value) for fact, value in values if value not in (None, False)}
        return {"kind": self.kind, **unusual}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """The reader from plain values, every one of them checked."""
        check_facts(cls, facts, *(fact.name for fact in cls.facts))
        values = [(fact, facts.get(fact.name, getattr(Reader, fact.attribute))) for fact in cls.facts]
        return cls(**{fact.attribute: fact.read(value) for fact, value in values})


def check_facts(reader: type[Reader], facts: Mapping[str, Any], *names: str) -> None:
    """Refuse facts that a reader does not have."""
    known = ("kind", *names)
    if unknown := facts.keys() - set(known):
        raise ParameterError(f"facts of a reader of kind {reader.kind} ({', '.join(known)})", got=sorted(unknown))


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


def unwrap(raw: Raw, name: str, expected: str) -> Raw:
    """Numbers in native byte order, masks and dictionaries of numbers resolved, other NumPy arrays as lists."""
    if is_masked(raw):
        return raw.tolist() if raw.mask.any() else raw.data
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "fiub":
        return raw if raw.dtype.isnative else raw.astype(raw.dtype.newbyteorder("="))
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "mM":
        return raw.astype(f"{raw.dtype.kind}8[us]").tolist()  # nanoseconds would become integers
    if isinstance(raw, np.ndarray) and raw.dtype.kind != "U":
        return raw.tolist()
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        if isinstance(raw.type, pa.BaseExtensionType):
            raw = combine_chunks(raw).storage
        if pa.types.is_nested(raw.type):
            raise wrong_type(name, raw, expected)
        if pa.types.is_dictionary(raw.type) and pa.types.is_primitive(raw.type.value_type):
            return combine_chunks(raw).dictionary_decode()
    return raw


def wrong_type(name: str, raw: Any, expected: str) -> DataError:
    """The error for an Arrow column of the wrong type, with its first value."""
    valid = np.flatnonzero(valid_rows(combine_chunks(raw)))
    row = int(valid[0]) if len(valid) else None
    got = to_list(raw[row : row + 1])[0] if row is not None else str(raw.type)
    return DataError(expected, got=got, column=name, row=row)


def text_of(raw: Raw, most: int | None = None) -> Any:
    """The first rows of a column of text, or of numbers and text, as an Arrow array of text; None of any other column.

    most: so many rows, or all.
    """
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        if pa.types.is_dictionary(raw.type) and is_text_type(raw.type.value_type):
            return strings(to_list(raw[:most]))
        if not is_text_type(raw.type):
            return None
        raw = combine_chunks(raw[:most])
        return raw.cast(pa.large_string()) if pa.types.is_string_view(raw.type) else raw
    if isinstance(raw, np.ndarray):
        if is_array(raw):
            return None
        raw = raw.tolist()
    if not isinstance(raw, list):
        return None
    types = set(map(type, raw))
    if not any(issubclass(kind, str) for kind in types):
        return None
    if types <= {str, type(None)}:
        return strings(raw[:most])
    values = [None if is_missing(value) else value for value in raw]
    if not all(value is None or isinstance(value, str) or is_plain_number(value) for value in values):
        return None
    return strings([value if value is None or isinstance(value, str) else repr(value) for value in values[:most]])


def is_array(raw: Raw) -> bool:
    """Whether a column is an array of numbers, booleans or dates: it has no text to be read."""
    return isinstance(raw, np.ndarray) and raw.dtype.kind not in "UO"


def is_plain_number(value: Any) -> bool:
    """Whether a value is a number, and no boolean."""
    return is_number(value) and not isinstance(value, (bool, np.bool_))
