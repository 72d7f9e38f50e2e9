"""What a model knows about its columns: the family of each, why, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass, field

from tallybayes.families.base import Family

__all__ = ["Field", "Schema"]


@dataclass(frozen=True)
class Field:
    """One column: its family (None if it is left out) and the reason for it."""

    name: str
    family: Family | None
    reason: str


@dataclass(repr=False)
class Schema:
    """The columns of a model by name, printable.

    >>> from tallybayes.families import Gaussian
    >>> print(Schema("y", {"age": Field("age", Gaussian(), "asked for")}))
    label: y
    age   gaussian   asked for
    """

    label: str | None
    fields: dict[str, Field] = field(default_factory=dict)
    weight: str | None = None

    @property
    def families(self) -> dict[str, Family]:
        """The family of every column that is used, in the order of their names."""
        return {
            name: self.fields[name].family  # type: ignore[misc]
            for name in sorted(self.fields)
            if self.fields[name].family is not None
        }

    def copy(self) -> Schema:
        """A schema of its own."""
        return Schema(self.label, dict(self.fields), self.weight)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        rows = [(f.name, str(f.family) if f.family else "left out", f.reason) for f in self.fields.values()]
        widths = [max((len(row[i]) for row in rows), default=0) for i in (0, 1)]
        lines = [f"{name:<{widths[0]}}   {family:<{widths[1]}}   {why}" for name, family, why in rows]
        return "\n".join([f"label: {self.label or '(given as an array)'}", *lines])
