"""The domains that options of `fit` take their values from: each checks a value and describes itself in words.

>>> Choice("bayes", "mle").check("estimate", "map")
Traceback (most recent call last):
    ...
tallybayes.errors.ParameterError: expected estimate to be 'bayes' or 'mle', got 'map'

The command line and the model file have one reader and one writer per domain. Importing this module is cheap, because
the command line needs the declarations for its help: NumPy and the families are imported when a value is checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from tallybayes.errors import ParameterError

__all__ = [
    "Choice",
    "ClassPrior",
    "ColumnFamilies",
    "ColumnNames",
    "ColumnStrengths",
    "Domain",
    "OneFamily",
    "OneSchema",
    "Strength",
]

_LEAST, _MOST = 1e-100, 1e100  # beyond, products with counts underflow or overflow


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


@dataclass(frozen=True)
class Domain:
    """A set of values; `words` describes them."""

    @property
    def words(self) -> str:
        """The values, to follow "expected"."""
        raise NotImplementedError

    def check(self, name: str, value: Any) -> Any:
        """The value of the option `name` in its one form; a ParameterError if it is outside the domain."""
        return value

    def refuse(self, name: str, value: Any) -> ParameterError:
        """The error for a value outside the domain."""
        return ParameterError(f"{name} to be {self.words}", got=value)


@dataclass(frozen=True, init=False)
class Choice(Domain):
    """One of a few words."""

    values: tuple[str, ...]

    def __init__(self, *values: str) -> None:
        object.__setattr__(self, "values", values)

    @property
    def words(self) -> str:
        """The values, quoted."""
        return " or ".join(map(repr, self.values))

    def check(self, name: str, value: Any) -> str:
        """One of the words."""
        if not isinstance(value, str) or value not in self.values:
            raise self.refuse(name, value)
        return value


@dataclass(frozen=True)
class Strength(Domain):
    """How many observations a prior counts for.

    >>> Strength().check("prior_smoothing", 1), Strength().check("prior_smoothing", math.inf)
    (1.0, inf)
    """

    words = f"0, a number from {_LEAST} to {_MOST}, or inf"

    def check(self, name: str, value: Any) -> Any:
        """A float."""
        try:
            k = float(value) if _is_number(value) else math.nan
        except OverflowError:  # an integer beyond the range of floats
            k = math.nan
        if k not in (0, math.inf) and not _LEAST <= k <= _MOST:
            raise self.refuse(name, value)
        return k + 0.0  # no negative zero


class ColumnStrengths(Strength):
    """A strength of smoothing, "auto", or a dict of these by column ("auto" for the others)."""

    words = f"'auto', {Strength.words}; or a dict of these by column"

    def check(self, name: str, value: Any) -> Any:
        """A float, "auto" or a dict of these."""
        if isinstance(value, Mapping):
            return {column: self._one(name, k) for column, k in value.items()}
        return self._one(name, value)

    def _one(self, name: str, value: Any) -> Any:
        return value if isinstance(value, str) and value == "auto" else super().check(name, value)


class ClassPrior(Domain):
    """Class probabilities, or the rule that gives them."""

    words = "'empirical', 'uniform', or a dict of probabilities by label that add up to 1"

    def check(self, name: str, value: Any) -> Any:
        """A rule, or a dict of floats."""
        if isinstance(value, str) and value in ("empirical", "uniform"):
            return value
        if not isinstance(value, Mapping):
            raise self.refuse(name, value)
        probabilities = list(value.values())
        if not all(_is_number(p) and 0 <= p <= 1 for p in probabilities):
            raise self.refuse(name, dict(value))
        if not math.isclose(math.fsum(probabilities), 1.0, rel_tol=0, abs_tol=1e-9):
            raise self.refuse(name, dict(value))
        return {label: float(p) for label, p in value.items()}


class OneFamily(Domain):
    """A family, by its object or its string form."""

    words = "a family, such as 'gaussian'"

    def check(self, name: str, value: Any) -> Any:
        """The family as an object."""
        from tallybayes.families import parse

        return parse(value)


class ColumnFamilies(Domain):
    """Families by column, or one for all."""

    words = "a dict of families by column, one family for all columns, or None"

    def check(self, name: str, value: Any) -> Any:
        """A dict of families, a family or None."""
        from tallybayes.families import parse

        if isinstance(value, Mapping):
            return {str(column): parse(family) for column, family in value.items()}
        return None if value is None else parse(value)


class ColumnNames(Domain):
    """Names of columns."""

    words = "names of columns"

    def check(self, name: str, value: Any) -> list[str] | None:
        """A list of names, or None."""
        if value is None or isinstance(value, str):
            return None if value is None else [value]
        if not isinstance(value, Iterable):
            raise self.refuse(name, value)
        return [str(column) for column in value]


class OneSchema(Domain):
    """A schema."""

    words = "a Schema, as Schema.load returns it"

    def check(self, name: str, value: Any) -> Any:
        """A schema or None."""
        from tallybayes.data.schema import Schema

        if value is not None and not isinstance(value, Schema):
            raise self.refuse(name, value)
        return value
