"""The columns of a model: the family of each and the reason for it; excluded columns have no family."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from tallybayes.atomic_file import write_file
from tallybayes.cells.missing_words import MissingWords
from tallybayes.columns.column_spec import ColumnSpec, Status
from tallybayes.columns.label_spec import LabelBins, LabelSpec
from tallybayes.columns.old_schema import SCHEMA_FORMAT, upgrade_schema
from tallybayes.doubts import Doubt
from tallybayes.errors import Described, FileError, ParameterError, TallyError
from tallybayes.families import Family
from tallybayes.notebook_view import TextGrid, data_frame, html_view

__all__ = ["Schema"]

_ENTRIES = (
    *("label", "label_form", "bins", "weight", "group"),
    *("missing", "also_missing", "not_missing", "doubts", "columns"),
)


class _Used(NamedTuple):
    """What follows from the columns of a schema: it is asked for many times for every batch of rows."""

    columns: dict[str, ColumnSpec]  # a copy of those that it follows from
    families: dict[str, Family]
    derived: dict[str, ColumnSpec]
    parts: dict[str, dict[str, str]]

    @classmethod
    def of(cls, columns: dict[str, ColumnSpec]) -> _Used:
        names = sorted(columns)
        families = {name: family for name in names if (family := columns[name].family) is not None}
        derived = {name: columns[name] for name in names if columns[name].reader.inputs and name in families}
        parts: dict[str, dict[str, str]] = {}
        for name in sorted(_counted_names(families, derived)):
            if name in columns and (part := columns[name].reader.part) is not None:
                parts.setdefault(part.column, {})[name] = part.part
        return cls(dict(columns), families, derived, parts)


def _counted_names(families: dict[str, Family], derived: dict[str, ColumnSpec]) -> set[str]:
    """The columns that are counted, by themselves or for derived columns."""
    return {
        *families.keys() - derived.keys(),
        *(cell_input.column for spec in derived.values() for cell_input in spec.reader.inputs),
    }


@dataclass(repr=False, init=False)
class Schema:
    """The columns of a model by name, printable.

    >>> from tallybayes.families import Gaussian
    >>> print(Schema("y", {"age": ColumnSpec("age", Gaussian(), "real numbers")}))
    label: y
    age   gaussian   real numbers
    """

    label_spec: LabelSpec
    columns: dict[str, ColumnSpec]
    weight: str | None
    missing: MissingWords | None  # the words that mean a missing value in files of text, if they were given
    group: str | None  # the column of groups, whose rows are held out together
    doubts: tuple[Doubt, ...] = field(compare=False)  # about the data that the schema was made from
    _remembered: _Used | None = field(compare=False)

    def __init__(
        self,
        label: str | LabelSpec | None,
        columns: dict[str, ColumnSpec] | None = None,
        weight: str | None = None,
        missing: MissingWords | None = None,
        group: str | None = None,
        doubts: Iterable[Doubt] = (),
    ) -> None:
        """label: its name (None: it is given as an array), or more than that."""
        self.label_spec = label if isinstance(label, LabelSpec) else LabelSpec(label)
        self.columns = {} if columns is None else columns
        self.weight, self.missing, self.group, self.doubts = weight, missing, group, tuple(doubts)
        self._remembered = None

    @property
    def label(self) -> str | None:
        """The name of the label; None: it is given as an array."""
        return self.label_spec.name

    @property
    def bins(self) -> LabelBins | None:
        """The ranges that a label of numbers is cut into."""
        return self.label_spec.bins

    @property
    def _used(self) -> _Used:
        """What follows from the columns, which may be changed in place: computed anew when they have been."""
        used = self._remembered
        if used is None or used.columns != self.columns:
            self._remembered = used = _Used.of(self.columns)
        return used

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: not what is remembered."""
        return self.__dict__ | {"_remembered": None}

    @property
    def families(self) -> dict[str, Family]:
        """The family of every column that is used, in the order of their names."""
        return self._used.families.copy()

    @property
    def derived(self) -> dict[str, ColumnSpec]:
        """The columns that are used and computed from other columns, in the order of their names."""
        return self._used.derived.copy()

    @property
    def columns_counted(self) -> list[str]:
        """The columns that the model counts, by themselves or for derived columns, parts of dates among them."""
        used = self._used
        return sorted(_counted_names(used.families, used.derived))

    @property
    def columns_in_use(self) -> list[str]:
        """The columns of the table that the model uses, in the order of names: a column of dates, not its parts."""
        parts = {name: column for column, names in self.parts.items() for name in names}
        return sorted({parts.get(name, name) for name in self.columns_counted})

    @property
    def parts(self) -> dict[str, dict[str, str]]:
        """By column of dates, or of numbers with words, its parts that are used, each with the name of the part."""
        return {column: dict(parts) for column, parts in self._used.parts.items()}

    @property
    def divided(self) -> set[str]:
        """The columns of numbers whose words are a column: that says already whether a number is missing."""
        return {column for column in self._used.parts if column in self._used.families}

    def family_of(self, name: str) -> Family | None:
        """The family of one column; None if it is excluded or unknown."""
        spec = self.columns.get(name)
        return None if spec is None else spec.family

    def family_name(self, name: str) -> str:
        """The family of a column for people; "input" if it is used for derived columns only, else "excluded"."""
        spec = self.columns[name]
        if spec.reader.dates is not None:
            return str(spec.reader.dates)
        if spec.family is not None:
            return spec.family.display_name()
        is_input = any(
            name == cell_input.column for derived in self.derived.values() for cell_input in derived.reader.inputs
        )
        return "input" if is_input else "excluded"

    def copy(self) -> Schema:
        """A copy that can be changed."""
        return self.with_columns(dict(self.columns))

    def with_columns(self, columns: dict[str, ColumnSpec]) -> Schema:
        """The schema with other columns."""
        return Schema(self.label_spec, columns, self.weight, self.missing, self.group, self.doubts)

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain values, as it is written to files."""
        return {
            **self.label_spec.to_dict(),
            "weight": self.weight,
            **({} if self.group is None else {"group": self.group}),
            **_missing_facts(self.missing),
            **({"doubts": [one.to_dict() for one in self.doubts]} if self.doubts else {}),
            "columns": {name: spec.to_dict() for name, spec in self.columns.items()},
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
        label_spec = LabelSpec.from_dict(given)
        weight, group = (_column_name(given, word) for word in ("weight", "group"))
        columns = {str(name): ColumnSpec.from_dict(str(name), facts) for name, facts in given["columns"].items()}
        for name in {
            cell_input.column for spec in columns.values() for cell_input in spec.reader.inputs
        } & columns.keys():
            if columns[name].family is None and "status" not in given["columns"][name]:
                columns[name] = replace(columns[name], status=Status.INPUT)
        if not isinstance(doubts := given.get("doubts", []), list):
            raise ParameterError("a list of doubts", got=doubts)
        return cls(label_spec, columns, weight, _missing_words(given), group, map(Doubt.from_dict, doubts))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema as JSON, to be edited and used again: `fit(schema=...)`."""
        text = json.dumps({"format": SCHEMA_FORMAT, **self.to_dict()}, indent=2, ensure_ascii=False) + "\n"
        write_file(path, text.encode("utf-8", "backslashreplace"), "the schema")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """The schema in a file that `save` wrote."""
        try:
            with open(path, encoding="utf-8") as file:
                return cls.from_dict(upgrade_schema(json.load(file)))
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
        return html_view(f"label: {self.label_spec}", [TextGrid(["column", "family", "reason"], self._rows())])

    def _rows(self) -> list[tuple[str, str, str]]:
        return [(spec.name, self.family_name(spec.name), _why(spec)) for spec in self.columns.values()]

    def __str__(self) -> str:
        rows = self._rows()
        widths = [max((len(row[i]) for row in rows), default=0) for i in (0, 1)]
        lines = [f"{name:<{widths[0]}}   {family:<{widths[1]}}   {why}" for name, family, why in rows]
        return "\n".join([f"label: {self.label_spec}", *lines])


def _why(spec: ColumnSpec) -> str:
    """The reason for a family; of a derived column also its inputs."""
    inputs = spec.reader.inputs_in_words()
    return f"{spec.reason}; {inputs}" if inputs else spec.reason


def _column_name(facts: Mapping[str, Any], word: str) -> str | None:
    """The name of the weight or the group of a schema, if it has one."""
    if not isinstance(name := facts.get(word), (str, type(None))):
        raise ParameterError(f"the name of a column as the {word} of a schema", got=name)
    return name


def _missing_facts(words: MissingWords | None) -> dict[str, Any]:
    """The words for missing values as entries of a schema."""
    facts: dict[str, Any] = {"missing": None}
    if words is None:
        return facts
    if words.only or words.words or not words.values:
        facts["missing" if words.only else "also_missing"] = list(words.words)
    return facts | ({"not_missing": {name: list(texts) for name, texts in words.values}} if words.values else {})


def _missing_words(facts: Mapping[str, Any]) -> MissingWords | None:
    """The words of a schema: instead of the usual ones, or besides them; and those that are values in some columns."""
    missing, more, values = (facts.get(name) for name in ("missing", "also_missing", "not_missing"))
    if missing is not None and more is not None:
        raise ParameterError("missing or also_missing in a schema, not both", got=sorted(facts))
    if not isinstance(values, (Mapping, type(None))):
        raise ParameterError("the words of each column that are values", got=values)
    words = missing if missing is not None else more
    if words is None and values is None:
        return None
    by_column = tuple((str(name), _check_words(texts)) for name, texts in (values or {}).items())
    return MissingWords(_check_words(words or []), missing is not None, by_column)


def _check_words(words: Any) -> tuple[str, ...]:
    if not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
        raise ParameterError("a list of words that mean a missing value", got=words)
    return tuple(words)
