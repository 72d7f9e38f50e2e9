"""What a column of a model is: its family, where that came from, and whether the column is used.

`origin` and `status` are for code, `reason` is for people: no code reads it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

from tallybayes.arrays.column import Cells
from tallybayes.cells.date_format import DATE_PARTS, DateFormat
from tallybayes.cells.key_form import KeyForm
from tallybayes.cells.number_format import NumberFormat
from tallybayes.columns.coarse_cells import CellInput
from tallybayes.errors import ParameterError, is_real_number
from tallybayes.families import Family, parse

__all__ = ["SPECIFIED", "ColumnSpec", "DatePart", "Origin", "Status", "parse_column"]

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
    IDENTIFIER = "identifier"
    NUMBER_IDENTIFIER = "identifier of numbers"
    ROW_ORIGIN = "origin of the row"  # the file or sheet that it was read from
    MAIL_DATE = "date of a mail"
    SAME_DATE = "all the same"
    NESTED = "nested values"
    NO_FAMILY = "no family"  # values of a type that no family takes


class DatePart(NamedTuple):
    """A part of a column of dates: the column, and the name of the part."""

    column: str
    part: str


@dataclass(frozen=True)
class ColumnSpec:
    """One column: its family (None if it has none) and the reason for it.

    inputs: of a derived column, the columns of the table that it is computed from.
    format: how cells of text are read as numbers, unless they are plain.
    key_form: of a column of categories, how these are written, if they mean booleans or numbers.
    dates: of a column of dates, how its cells are read; it has no family itself, but its parts have.
    part: of such a part (the weekday of a date), the column of dates that it is a part of.
    is_whole: whether the first rows of a column of numbers hold whole numbers only; samples are whole numbers then.
    only_bits: whether numbers were taken for booleans because they were 0 and 1; others are missing in rows to score.
    selected_on: the rows of the model when options of the family were selected from the data; 0: they were given.
    """

    name: str
    family: Family | None
    reason: str
    inputs: tuple[CellInput, ...] = field(default=(), repr=False)
    status: Status = field(default=Status.USED, repr=False)
    origin: Origin = field(default=Origin.INFERRED, repr=False)
    format: NumberFormat | None = field(default=None, repr=False)
    key_form: KeyForm | None = field(default=None, repr=False)
    dates: DateFormat | None = field(default=None, repr=False)
    part: DatePart | None = field(default=None, repr=False)
    is_whole: bool = field(default=False, repr=False)
    only_bits: bool = field(default=False, repr=False)
    selected_on: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        if (self.status is Status.USED) != (self.family is not None or self.dates is not None):
            expected = "a family of a column that is used, and none of another one"
            raise ParameterError(expected, got=self.status.value, column=self.name)
        if self.family is not None and (self.family.column is Cells) != bool(self.inputs):
            if self.inputs:
                expected = "a family of derived columns"
                raise ParameterError(expected, got=self.family.display_name(), column=self.name)
            hint = "this family is for derived columns only: see dependence in the options of fit"
            expected = "a family of columns of the table"
            raise ParameterError(expected, got=self.family.display_name(), column=self.name, hint=hint)

    @classmethod
    def unused(cls, name: str, status: Status, reason: str | None = None) -> ColumnSpec:
        """A column without a family; the reason is the status, unless there is more to say.

        >>> ColumnSpec.unused("path", Status.ROW_ORIGIN)
        ColumnSpec(name='path', family=None, reason='origin of the row')
        """
        return cls(name, None, status.value if reason is None else reason, status=status)

    def without_family(self, status: Status, reason: str | None = None) -> ColumnSpec:
        """The column, not used any longer."""
        return replace(self, family=None, dates=None, status=status, reason=status.value if reason is None else reason)

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
        family = self.dates or self.family
        facts: dict[str, Any] = {"family": None if family is None else str(family), "reason": self.reason}
        facts |= {"status": self.status.value} if self.status is not Status.USED else {}
        facts |= {"origin": self.origin.value} if self.origin is not Origin.INFERRED else {}
        facts |= {"inputs": [own.to_dict() for own in self.inputs]} if self.inputs else {}
        facts |= {"format": self.format.to_dict()} if self.format is not None else {}
        facts |= {"key_form": list(self.key_form.words)} if self.key_form is not None else {}
        facts |= {"part": self.part._asdict()} if self.part is not None else {}
        facts |= {"whole": True} if self.is_whole else {}
        facts |= {"only_bits": True} if self.only_bits else {}
        return facts | ({"selected_on": float(self.selected_on)} if self.selected_on else {})

    @classmethod
    def from_dict(cls, name: str, given: Any) -> ColumnSpec:
        """The column from plain values, every one of them checked.

        >>> ColumnSpec.from_dict("age", {"family": "histogram"})
        ColumnSpec(name='age', family=Histogram(), reason='as in the schema')
        """
        if not isinstance(given, Mapping) or given.keys() - _FACTS or "family" not in given:
            raise ParameterError("the family (or null) and the reason of a column", got=given, column=name)
        text, reason = given["family"], given.get("reason", "as in the schema")
        if not isinstance(text, (str, type(None))) or not isinstance(reason, str):
            raise ParameterError("a family by its name, and a reason", got=given, column=name)
        known = None if text is None else parse_column(text)
        for fact, meaning in _SWITCHES.items():
            if not isinstance(given.get(fact, False), bool):
                raise ParameterError(f"true or false: {meaning}", got=given[fact], column=name)
        if not is_real_number(selected_on := given.get("selected_on", 0.0)) or not 0 <= selected_on < math.inf:
            expected = "the rows that the options of a column were selected on"
            raise ParameterError(expected, got=selected_on, column=name)
        usual = Status.BY_USER if known is None else Status.USED
        return cls(
            name,
            None if isinstance(known, DateFormat) else known,
            reason,
            _inputs(name, given),
            status=_member(Status, "status", name, given, usual),
            origin=_member(Origin, "origin", name, given, Origin.INFERRED),
            format=None if given.get("format") is None else NumberFormat.from_dict(given["format"]),
            key_form=KeyForm.from_list(given.get("key_form")),
            dates=known if isinstance(known, DateFormat) else None,
            part=_part(name, given),
            is_whole=given.get("whole", False),
            only_bits=given.get("only_bits", False),
            selected_on=float(selected_on),
        )


_SWITCHES = {"whole": "whether numbers are whole", "only_bits": "whether booleans are numbers that were 0 and 1"}
_FACTS = {"family", "reason", "status", "origin", "inputs", "format", "key_form", "part", "selected_on", *_SWITCHES}


def _member(kind: Any, fact: str, name: str, given: Mapping[str, Any], usual: Any) -> Any:
    """The member of an enumeration that is written in a fact of a column."""
    texts = {member.value: member for member in kind}
    if not isinstance(text := given.get(fact, usual.value), str) or text not in texts:
        raise ParameterError(f"the {fact} of a column ({', '.join(texts)})", got=text, column=name)
    return texts[text]


def _inputs(name: str, given: Mapping[str, Any]) -> tuple[CellInput, ...]:
    """The inputs of a derived column."""
    if not isinstance(inputs := given.get("inputs", []), list):
        raise ParameterError("a list of the inputs of a derived column", got=inputs, column=name)
    found = tuple(map(CellInput.from_dict, inputs))
    if len({own.column for own in found}) < len(found):
        raise ParameterError("every column once as an input", got=[own.column for own in found], column=name)
    return found


def _part(name: str, given: Mapping[str, Any]) -> DatePart | None:
    """The column of dates that a column is a part of, if it is one."""
    if (own := given.get("part")) is None:
        return None
    if not isinstance(own, Mapping) or own.keys() != {"column", "part"} or own["part"] not in DATE_PARTS:
        raise ParameterError(f"the column and the part ({', '.join(DATE_PARTS)}) of a date", got=own, column=name)
    return DatePart(str(own["column"]), own["part"])


def parse_column(text: Any) -> Family | DateFormat:
    """A family, or how a column of dates is read, from its string form.

    >>> parse_column("histogram"), parse_column("date:day_first")
    (Histogram(), DateFormat(day_first=True, epoch=None, zone=None))
    """
    if isinstance(text, DateFormat):
        return text
    return DateFormat.parse(text) if DateFormat.is_text(text) else parse(text, others=("date",))
