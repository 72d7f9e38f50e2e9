"""The columns of a model: the family of each and the reason for it; excluded columns have no family."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tallybayes.arrays.column import Cells
from tallybayes.atomic_file import write_file
from tallybayes.data.coarse_cells import CellInput
from tallybayes.data.missing_words import MissingWords
from tallybayes.data.number_format import NumberFormat
from tallybayes.errors import Described, FileError, ParameterError, TallyError
from tallybayes.families import Family, parse

__all__ = ["SPECIFIED", "Field", "Schema"]

SPECIFIED = "specified by the user"  # the reason of a family that was not inferred


@dataclass(frozen=True)
class Field:
    """One column: its family (None if it is excluded) and the reason for it.

    inputs: of a derived column, the columns of the table that it is computed from.
    format: how cells of text are read as numbers, unless they are plain.
    """

    name: str
    family: Family | None
    reason: str
    inputs: tuple[CellInput, ...] = field(default=(), repr=False)
    format: NumberFormat | None = field(default=None, repr=False)

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

    @property
    def families(self) -> dict[str, Family]:
        """The family of every column that is used, in the order of their names."""
        return {
            name: self.fields[name].family  # type: ignore[misc]
            for name in sorted(self.fields)
            if self.fields[name].family is not None
        }

    @property
    def derived(self) -> dict[str, Field]:
        """The columns that are used and computed from other columns, in the order of their names."""
        used = {name: self.fields[name] for name in sorted(self.fields) if self.fields[name].inputs}
        return {name: field for name, field in used.items() if field.family is not None}

    @property
    def columns_in_use(self) -> list[str]:
        """The columns of the table that the model uses, by themselves or for derived columns, in the order of names."""
        derived = self.derived
        inputs = {own.column for field in derived.values() for own in field.inputs}
        return sorted({*self.families.keys() - derived.keys(), *inputs})

    def family_name(self, name: str) -> str:
        """The family of a column for people; "input" if it is used for derived columns only, else "excluded"."""
        field = self.fields[name]
        if field.family is not None:
            return field.family.display_name()
        is_input = any(name == own.column for derived in self.derived.values() for own in derived.inputs)
        return "input" if is_input else "excluded"

    def copy(self) -> Schema:
        """A copy that can be changed."""
        return Schema(self.label, dict(self.fields), self.weight, self.missing)

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain values, as it is written to files."""
        return {
            "label": self.label,
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
        if unknown := given.keys() - {"label", "weight", "missing", "also_missing", "columns"}:
            raise ParameterError("label, weight, missing, also_missing and columns in a schema", got=sorted(unknown))
        for name in ("label", "weight"):
            if not isinstance(given.get(name), (str, type(None))):
                raise ParameterError(f"the name of a column as the {name} of a schema", got=given[name])
        fields = {str(name): _field(str(name), field) for name, field in given["columns"].items()}
        return cls(given.get("label"), fields, given.get("weight"), _missing_words(given))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema as JSON, to be edited and used again: `fit(schema=...)`."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        write_file(path, text.encode("utf-8", "backslashreplace"), "the schema")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """The schema in a file that `save` wrote."""
        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
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

    def __str__(self) -> str:
        rows = [(f.name, self.family_name(f.name), _why(f)) for f in self.fields.values()]
        widths = [max((len(row[i]) for row in rows), default=0) for i in (0, 1)]
        lines = [f"{name:<{widths[0]}}   {family:<{widths[1]}}   {why}" for name, family, why in rows]
        return "\n".join([f"label: {self.label or '(given as an array)'}", *lines])


def _why(field: Field) -> str:
    """The reason for a family; of a derived column also its inputs and their numbers of cells."""
    inputs = ", ".join(f"{own.column} ({own.n_cells})" for own in field.inputs)
    return f"{field.reason}; cells of {inputs}" if inputs else field.reason


def _plain(field: Field) -> dict[str, Any]:
    """A column as plain values; inputs and a format only where there are any."""
    more: dict[str, Any] = {"inputs": [own.to_dict() for own in field.inputs]} if field.inputs else {}
    more |= {"format": field.format.to_dict()} if field.format is not None else {}
    return {"family": None if field.family is None else str(field.family), "reason": field.reason} | more


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
        or given.keys() - {"family", "reason", "inputs", "format"}
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
    form = None if given.get("format") is None else NumberFormat.from_dict(given["format"])
    return Field(name, None if family is None else parse(family), reason, found, form)
