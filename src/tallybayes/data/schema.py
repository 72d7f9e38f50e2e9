"""The columns of a model: the family of each and the reason for it; excluded columns have no family."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from tallybayes.arrays.column import Cells
from tallybayes.atomic_file import write_file
from tallybayes.data.coarse_cells import CellInput
from tallybayes.data.date_format import DATE_PARTS, DateFormat
from tallybayes.data.key_form import KeyForm
from tallybayes.data.label_bins import LabelBins
from tallybayes.data.missing_words import MissingWords
from tallybayes.data.number_format import NumberFormat
from tallybayes.errors import Described, FileError, ParameterError, TallyError, is_real_number
from tallybayes.families import Family, parse
from tallybayes.notebook_view import TextGrid, data_frame, html_view

__all__ = ["SPECIFIED", "DatePart", "Field", "Schema", "parse_column"]

_ENTRIES = ("label", "label_form", "bins", "weight", "missing", "also_missing", "columns")
SPECIFIED = "specified by the user"  # the reason of a family that was not inferred


class DatePart(NamedTuple):
    """A part of a column of dates: the column, and the name of the part."""

    column: str
    part: str


@dataclass(frozen=True)
class Field:
    """One column: its family (None if it is excluded) and the reason for it.

    inputs: of a derived column, the columns of the table that it is computed from.
    format: how cells of text are read as numbers, unless they are plain.
    key_form: of a column of categories, how these are written, if they mean booleans or numbers.
    dates: of a column of dates, how its cells are read; it has no family itself, but its parts have.
    part: of such a part (the weekday of a date), the column of dates that it is a part of.
    is_whole: whether the first rows of a column of numbers hold whole numbers only; samples are whole numbers then.
    selected_on: the rows of the model when options of the family were selected from the data; 0: they were given.
    """

    name: str
    family: Family | None
    reason: str
    inputs: tuple[CellInput, ...] = field(default=(), repr=False)
    format: NumberFormat | None = field(default=None, repr=False)
    key_form: KeyForm | None = field(default=None, repr=False)
    dates: DateFormat | None = field(default=None, repr=False)
    part: DatePart | None = field(default=None, repr=False)
    is_whole: bool = field(default=False, repr=False)
    selected_on: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        if self.family is not None and (self.family.column is Cells) != bool(self.inputs):
            if self.inputs:
                expected = "a family of derived columns"
                raise ParameterError(expected, got=self.family.display_name(), column=self.name)
            hint = "this family is for derived columns only: see dependence in the options of fit"
            expected = "a family of columns of the table"
            raise ParameterError(expected, got=self.family.display_name(), column=self.name, hint=hint)

    @property
    def is_text(self) -> bool:
        """Whether the column holds texts that are tokenised."""
        return self.family is not None and self.family.tokeniser is not None


class _Used(NamedTuple):
    """What follows from the fields of a schema: it is asked for many times for every batch of rows."""

    fields: dict[str, Field]  # a copy of those that it follows from
    families: dict[str, Family]
    derived: dict[str, Field]
    formats: dict[str, NumberFormat]
    date_parts: dict[str, dict[str, str]]

    @classmethod
    def of(cls, fields: dict[str, Field]) -> _Used:
        names = sorted(fields)
        families = {name: family for name in names if (family := fields[name].family) is not None}
        derived = {name: fields[name] for name in names if fields[name].inputs and name in families}
        formats = {name: field.format for name, field in fields.items() if field.format is not None}
        parts: dict[str, dict[str, str]] = {}
        for name in sorted(_counted(families, derived)):
            if name in fields and (part := fields[name].part) is not None:
                parts.setdefault(part.column, {})[name] = part.part
        return cls(dict(fields), families, derived, formats, parts)


def _counted(families: dict[str, Family], derived: dict[str, Field]) -> set[str]:
    """The columns that are counted, by themselves or for derived columns."""
    return {*families.keys() - derived.keys(), *(own.column for field in derived.values() for own in field.inputs)}


@dataclass(repr=False)
class Schema:
    """The columns of a model by name, printable.

    >>> from tallybayes.families import Gaussian
    >>> print(Schema("y", {"age": Field("age", Gaussian(), "real numbers")}))
    label: y
    age   gaussian   real numbers
    """

    label: str | None
    fields: dict[str, Field] = field(default_factory=dict)
    weight: str | None = None
    missing: MissingWords | None = None  # the words that mean a missing value in files of text, if they were given
    label_form: KeyForm | None = None  # how labels are written, if they mean booleans or numbers
    bins: LabelBins | None = None  # the ranges that a label of numbers is cut into
    _remembered: _Used | None = field(default=None, init=False, compare=False)

    @property
    def _used(self) -> _Used:
        """What follows from the fields, which may be changed in place: computed anew when they have been."""
        found = self._remembered
        if found is None or found.fields != self.fields:
            self._remembered = found = _Used.of(self.fields)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: not what is remembered."""
        return self.__dict__ | {"_remembered": None}

    @property
    def families(self) -> dict[str, Family]:
        """The family of every column that is used, in the order of their names."""
        return self._used.families.copy()

    @property
    def derived(self) -> dict[str, Field]:
        """The columns that are used and computed from other columns, in the order of their names."""
        return self._used.derived.copy()

    @property
    def formats(self) -> dict[str, NumberFormat]:
        """How cells of text are read as numbers, of the columns where they are not plain."""
        return self._used.formats.copy()

    @property
    def columns_counted(self) -> list[str]:
        """The columns that the model counts, by themselves or for derived columns, parts of dates among them."""
        used = self._used
        return sorted(_counted(used.families, used.derived))

    @property
    def columns_in_use(self) -> list[str]:
        """The columns of the table that the model uses, in the order of names: a column of dates, not its parts."""
        parts = {name: date for date, names in self.date_parts.items() for name in names}
        return sorted({parts.get(name, name) for name in self.columns_counted})

    @property
    def date_parts(self) -> dict[str, dict[str, str]]:
        """By column of dates, the columns that are parts of it and are used, each with the name of the part."""
        return {column: dict(parts) for column, parts in self._used.date_parts.items()}

    def family_of(self, name: str) -> Family | None:
        """The family of one column; None if it is excluded or unknown."""
        field = self.fields.get(name)
        return None if field is None else field.family

    def family_name(self, name: str) -> str:
        """The family of a column for people; "input" if it is used for derived columns only, else "excluded"."""
        field = self.fields[name]
        if field.dates is not None:
            return str(field.dates)
        if field.family is not None:
            return field.family.display_name()
        is_input = any(name == own.column for derived in self.derived.values() for own in derived.inputs)
        return "input" if is_input else "excluded"

    def copy(self) -> Schema:
        """A copy that can be changed."""
        return replace(self, fields=dict(self.fields))

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain values, as it is written to files."""
        return {
            "label": self.label,
            **({"label_form": list(self.label_form.words)} if self.label_form is not None else {}),
            **({"bins": list(self.bins.edges)} if self.bins is not None else {}),
            "weight": self.weight,
            "missing": list(self.missing.words) if self.missing is not None and self.missing.only else None,
            **({"also_missing": list(self.missing.words)} if self.missing and not self.missing.only else {}),
            "columns": {name: _plain(field) for name, field in self.fields.items()},
        }

    @classmethod
    def from_dict(cls, given: Any) -> Schema:
        """The schema from plain values, every one of them checked.

        >>> Schema.from_dict({"label": "y", "columns": {"genre": {"family": "tags:;"}}}).families
        {'genre': Tags(separator=';')}
        """
        if not isinstance(given, Mapping) or not isinstance(given.get("columns"), Mapping):
            raise ParameterError("a schema: an object with label and columns", got=given)
        if unknown := given.keys() - set(_ENTRIES):
            raise ParameterError(f"{', '.join(_ENTRIES[:-1])} and {_ENTRIES[-1]} in a schema", got=sorted(unknown))
        for name in ("label", "weight"):
            if not isinstance(given.get(name), (str, type(None))):
                raise ParameterError(f"the name of a column as the {name} of a schema", got=given[name])
        fields = {str(name): _field(str(name), field) for name, field in given["columns"].items()}
        form, bins = _form(given.get("label_form")), LabelBins.from_list(given.get("bins"))
        return cls(given.get("label"), fields, given.get("weight"), _missing_words(given), form, bins)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema as JSON, to be edited and used again: `fit(schema=...)`."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        write_file(path, text.encode("utf-8", "backslashreplace"), "the schema")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """The schema in a file that `save` wrote."""
        try:
            with open(path, encoding="utf-8") as file:
                return cls.from_dict(json.load(file))
        except OSError as error:
            raise FileError(f"cannot be read: {error.strerror}", file=os.fspath(path)) from error
        except TallyError as error:
            raise FileError(f"a schema cannot be read from it: {error}", file=os.fspath(path)) from error
        except (ValueError, RecursionError) as error:
            expected, line = "a schema, as Schema.save (--save-schema) writes it", getattr(error, "lineno", None)
            raise FileError(
                expected, got=Described("text that is not JSON"), file=os.fspath(path), line=line
            ) from error

    def __repr__(self) -> str:
        return str(self)

    def to_frame(self) -> Any:
        """The columns as a pandas DataFrame: column, family, reason."""
        names = ["column", "family", "reason"]
        return data_frame([dict(zip(names, row, strict=True)) for row in self._rows()], names)

    def _repr_html_(self) -> str:
        return html_view(self._title(), [TextGrid(["column", "family", "reason"], self._rows())])

    def _title(self) -> str:
        cut = f", cut {self.bins}" if self.bins is not None else ""
        return f"label: {self.label or '(given as an array)'}{cut}"

    def _rows(self) -> list[tuple[str, str, str]]:
        return [(f.name, self.family_name(f.name), _why(f)) for f in self.fields.values()]

    def __str__(self) -> str:
        rows = self._rows()
        widths = [max((len(row[i]) for row in rows), default=0) for i in (0, 1)]
        lines = [f"{name:<{widths[0]}}   {family:<{widths[1]}}   {why}" for name, family, why in rows]
        return "\n".join([self._title(), *lines])


def _why(field: Field) -> str:
    """The reason for a family; of a derived column also its inputs and their numbers of cells."""
    inputs = ", ".join(f"{own.column} ({own.n_cells})" for own in field.inputs)
    return f"{field.reason}; cells of {inputs}" if inputs else field.reason


def _plain(field: Field) -> dict[str, Any]:
    """A column as plain values; what is unusual only where it is set."""
    more: dict[str, Any] = {"inputs": [own.to_dict() for own in field.inputs]} if field.inputs else {}
    more |= {"format": field.format.to_dict()} if field.format is not None else {}
    more |= {"key_form": list(field.key_form.words)} if field.key_form is not None else {}
    more |= {"part": field.part._asdict()} if field.part is not None else {}
    more |= {"whole": True} if field.is_whole else {}
    more |= {"selected_on": float(field.selected_on)} if field.selected_on else {}
    family = field.dates or field.family
    return {"family": None if family is None else str(family), "reason": field.reason} | more


def _missing_words(given: Mapping[str, Any]) -> MissingWords | None:
    """The words of a schema: instead of the usual ones, or besides them."""
    for name, only in (("missing", True), ("also_missing", False)):
        words = given.get(name)
        if words is None:
            continue
        if not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
            raise ParameterError("a list of words that mean a missing value", got=words)
        if only and given.get("also_missing") is not None:
            raise ParameterError("missing or also_missing in a schema, not both", got=sorted(given))
        return MissingWords(tuple(words), only)
    return None


def _field(name: str, given: Any) -> Field:
    if (
        not isinstance(given, Mapping)
        or given.keys() - {"family", "reason", "inputs", "format", "key_form", "part", "whole", "selected_on"}
        or "family" not in given
    ):
        raise ParameterError("the family (or null) and the reason of a column", got=given, column=name)
    family, reason = given["family"], given.get("reason", "as in the schema")
    if not isinstance(family, (str, type(None))) or not isinstance(reason, str):
        raise ParameterError("a family by its name, and a reason", got=given, column=name)
    inputs = given.get("inputs", [])
    if not isinstance(inputs, list):
        raise ParameterError("a list of the inputs of a derived column", got=inputs, column=name)
    found = tuple(map(CellInput.from_dict, inputs))
    if len({own.column for own in found}) < len(found):
        raise ParameterError("every column once as an input", got=[own.column for own in found], column=name)
    known = None if family is None else parse_column(family)
    dates = known if isinstance(known, DateFormat) else None
    if not isinstance(is_whole := given.get("whole", False), bool):
        raise ParameterError("true or false: whether numbers are whole", got=is_whole, column=name)
    if not is_real_number(selected_on := given.get("selected_on", 0.0)) or not 0 <= selected_on < math.inf:
        expected = "the rows that the options of a column were selected on"
        raise ParameterError(expected, got=selected_on, column=name)
    own = None if isinstance(known, DateFormat) else known
    form = None if given.get("format") is None else NumberFormat.from_dict(given["format"])
    return Field(
        name,
        own,
        reason,
        found,
        format=form,
        key_form=_form(given.get("key_form")),
        dates=dates,
        part=_part(name, given),
        is_whole=is_whole,
        selected_on=float(selected_on),
    )


def _form(given: Any) -> KeyForm | None:
    if given is not None and not (isinstance(given, list) and all(isinstance(word, str) for word in given)):
        raise ParameterError("a list of words that say how keys are written", got=given)
    return None if given is None else KeyForm(tuple(given))


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
