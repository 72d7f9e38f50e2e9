"""What a column of a model is: its family, where that came from, and whether the column is used.

`origin` and `status` are for code, `reason` is for people: no code reads it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from tallybayes.arrays.column import Bag, Cells, Vectors
from tallybayes.cells.date_format import DateFormat
from tallybayes.columns.readers.date_reader import DatePartReader, DateReader
from tallybayes.columns.readers.reader import UNREAD, Reader
from tallybayes.columns.readers.reader_registry import reader_for, reader_from_dict
from tallybayes.errors import ParameterError, is_real_number
from tallybayes.families import Family, parse

__all__ = ["SPECIFIED", "ColumnSpec", "Origin", "Status", "parse_column"]

SPECIFIED = "specified by the user"  # the usual reason of such a family


class Origin(Enum):
    """Where the family of a column came from."""

    SPECIFIED = "specified"  # by the user
    INFERRED = "inferred"  # from the first rows, or taken from a schema
    BY_TYPE = "by type"  # from the type of a column that had no value in the first rows
    NEW = "new"  # inferred for a column that came while the model was learning; it leaves when its rows are forgotten
    TUNED = "tuned"  # found or selected by tuning


class Status(Enum):
    """Whether a column is used, and if not, why."""

    USED = "used"
    UNDECIDED = "no values yet"  # a later batch decides
    INPUT = "input"  # counted for derived columns only
    BY_USER = "excluded by the user"
    BY_TUNING = "excluded by tuning"
    NOT_IN_SCHEMA = "not in the schema"
    GROUP = "group"  # its rows are held out together
    IDENTIFIER = "identifier"
    NUMBER_IDENTIFIER = "identifier of numbers"
    ROW_ORIGIN = "origin of the row"  # the file or sheet that it was read from
    MAIL_DATE = "date of a mail"
    SAME_DATE = "all the same"
    NESTED = "nested values"
    REAL_LISTS = "lists of real numbers"  # vectors, whose numbers hardly repeat: they are no tags
    NO_FAMILY = "no family"  # values of a type that no family takes


@dataclass(frozen=True)
class ColumnSpec:
    """One column: its family (None if it has none), the reason for it, and how its cells are read.

    reader: by default the usual one of the family (`reader_for`).
    selected_on: the rows of the model when options of the family were selected from the data; 0: they were given.
    """

    name: str
    family: Family | None
    reason: str
    reader: Reader = field(default=UNREAD, repr=False)
    status: Status = field(default=Status.USED, repr=False)
    origin: Origin = field(default=Origin.INFERRED, repr=False)
    selected_on: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        if self.reader is UNREAD:
            object.__setattr__(self, "reader", reader_for(self.family))
        if (self.status is Status.USED) != (self.family is not None or self.reader.dates is not None):
            expected = "a family of a column that is used, and none of another one"
            raise ParameterError(expected, got=self.status.value, column=self.name)
        if self.family is not None and self.family.column is not self.reader.column:
            self._refuse_reader(self.family)

    def _refuse_reader(self, family: Family) -> None:
        """Raise an error that says why the reader is not one for the family."""
        if self.reader.inputs:
            raise ParameterError("a family of derived columns", got=family.display_name(), column=self.name)
        if family.column in (Cells, Vectors):
            hint = "this family is for derived columns only: see dependence in the options of fit"
            if family.column is Vectors:
                hint = 'it is for several columns: families={("a", "b"): ...}, or dependence="gaussian"'
            expected = "a family of columns of the table"
            raise ParameterError(expected, got=family.display_name(), column=self.name, hint=hint)
        expected = f"a reader of what the family {family.display_name()} counts"
        raise ParameterError(expected, got=self.reader.kind, column=self.name)

    @classmethod
    def unused(cls, name: str, status: Status, reason: str | None = None) -> ColumnSpec:
        """A column without a family; the reason is the status, unless there is more to say.

        >>> ColumnSpec.unused("path", Status.ROW_ORIGIN)
        ColumnSpec(name='path', family=None, reason='origin of the row')
        """
        return cls(name, None, status.value if reason is None else reason, status=status)

    def without_family(self, status: Status, reason: str | None = None) -> ColumnSpec:
        """The column, not used any longer; how its cells are read stays known, because derived columns may use it."""
        reader = UNREAD if self.reader.dates is not None or self.reader.inputs else self.reader
        reason = status.value if reason is None else reason
        return replace(self, family=None, reader=reader, status=status, reason=reason)

    def with_family(self, family: Family, **changes: Any) -> ColumnSpec:
        """The column with another family; how its cells are read stays as it is, as far as the family allows.

        >>> from tallybayes.columns.readers.number_reader import NumberReader
        >>> from tallybayes.families import Gaussian, Histogram
        >>> spec = ColumnSpec("age", Histogram(), "integers", NumberReader(is_whole=True))
        >>> spec.with_family(Gaussian()).reader.is_whole
        True
        """
        reader, usual = self.reader, reader_for(family)
        if reader.part is not None and reader.column is not family.column:
            reader = DatePartReader(reader.part, usual) if isinstance(reader, DatePartReader) else reader
        elif reader.column is not family.column or (reader.column is Bag and reader.kind != usual.kind):
            reader = usual
        return replace(self, family=family, reader=reader, **changes)

    @property
    def is_text(self) -> bool:
        """Whether the column holds texts that are tokenised."""
        return self.family is not None and self.family.tokeniser is not None

    @property
    def is_undecided(self) -> bool:
        """Whether the column had no value so far, and its type does not tell its family."""
        return self.status is Status.UNDECIDED

    @property
    def has_no_value(self) -> bool:
        """Whether the column had no value so far, whatever its type tells."""
        return self.is_undecided or self.origin is Origin.BY_TYPE

    def to_dict(self) -> dict[str, Any]:
        """The column as plain values; what is unusual only where it is set."""
        family = self.reader.dates or self.family
        facts: dict[str, Any] = {"family": None if family is None else str(family), "reason": self.reason}
        facts |= {"status": self.status.value} if self.status is not Status.USED else {}
        facts |= {"origin": self.origin.value} if self.origin is not Origin.INFERRED else {}
        is_usual = self.reader.dates is not None or self.reader == reader_for(self.family)
        facts |= {} if is_usual else {"reader": self.reader.to_dict()}
        return facts | ({"selected_on": float(self.selected_on)} if self.selected_on else {})

    @classmethod
    def from_dict(cls, name: str, facts: Any) -> ColumnSpec:
        """The column from plain values, every one of them checked.

        >>> ColumnSpec.from_dict("age", {"family": "histogram"})
        ColumnSpec(name='age', family=Histogram(), reason='as in the schema')
        """
        if not isinstance(facts, Mapping) or facts.keys() - _FACTS or "family" not in facts:
            raise ParameterError("the family (or null) and the reason of a column", got=facts, column=name)
        text, reason = facts["family"], facts.get("reason", "as in the schema")
        if not isinstance(text, (str, type(None))) or not isinstance(reason, str):
            raise ParameterError("a family by its name, and a reason", got=facts, column=name)
        known = None if text is None else parse_column(text)
        if not is_real_number(selected_on := facts.get("selected_on", 0.0)) or not 0 <= selected_on < math.inf:
            expected = "the rows that the options of a column were selected on"
            raise ParameterError(expected, got=selected_on, column=name)
        return cls(
            name,
            None if isinstance(known, DateFormat) else known,
            reason,
            DateReader(known) if isinstance(known, DateFormat) else _reader(name, facts),
            status=_member(Status, "status", name, facts, Status.BY_USER if known is None else Status.USED),
            origin=_member(Origin, "origin", name, facts, Origin.INFERRED),
            selected_on=float(selected_on),
        )


_FACTS = {"family", "reason", "status", "origin", "reader", "selected_on"}


def _member(kind: Any, fact: str, name: str, facts: Mapping[str, Any], usual: Any) -> Any:
    """The member of an enumeration that is written in a fact of a column."""
    texts = {member.value: member for member in kind}
    if not isinstance(text := facts.get(fact, usual.value), str) or text not in texts:
        raise ParameterError(f"the {fact} of a column ({', '.join(texts)})", got=text, column=name)
    return texts[text]


def _reader(name: str, facts: Mapping[str, Any]) -> Reader:
    """The reader that is written in the facts of a column; errors name the column."""
    if "reader" not in facts:
        return UNREAD
    try:
        return reader_from_dict(facts["reader"])
    except ParameterError as error:
        raise error.at(column=name) from None


def parse_column(text: Any) -> Family | DateFormat:
    """A family, or how a column of dates is read, from its string form.

    >>> parse_column("histogram"), parse_column("date:day_first")
    (Histogram(), DateFormat(day_first=True, epoch=None, zone=None, years_from=None, points_day_first=True))
    """
    if isinstance(text, DateFormat):
        return text
    return DateFormat.parse(text) if DateFormat.is_text(text) else parse(text, others=("date",))
