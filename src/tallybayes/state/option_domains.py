"""The domains of the options of `fit`: what values they take, in words, and how a value is checked.

>>> choice("bayes", "mle").check("estimate", "map")
Traceback (most recent call last):
    ...
tallybayes.errors.ParameterError: expected estimate to be 'bayes' or 'mle', got 'map'

The command line and the model file convert values by domain. Importing this module is cheap, because the help of the
command line needs it: NumPy and the families are imported when a value is checked.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from tallybayes.errors import ParameterError

__all__ = [
    "BINS",
    "CLASS_PRIOR",
    "CLASS_WEIGHTS",
    "FAMILIES",
    "FAMILY",
    "NAMES",
    "PRESET",
    "SCHEMA",
    "STRENGTH",
    "STRENGTHS",
    "WEIGHTS",
    "Domain",
    "choice",
]

_LEAST, _MOST = 1e-300, 1e100  # beyond, products with counts underflow or overflow


class _Outside(Exception):  # noqa: N818 - caught by `Domain.check`
    """A value is outside the domain."""


@dataclass(frozen=True)
class Domain:
    """A set of values: their description, a conversion to the form that is kept, and the values if they are few."""

    words: str
    convert: Callable[[Any], Any]
    choices: tuple[str, ...] = ()

    def check(self, name: str, value: Any) -> Any:
        """The value of the option `name` in its one form; a ParameterError if it is outside the domain."""
        try:
            return self.convert(value)
        except _Outside:
            raise ParameterError(f"{name} to be {self.words}", got=value) from None


def choice(*values: str) -> Domain:
    """One of a few words."""

    def convert(value: Any) -> str:
        if not isinstance(value, str) or value not in values:
            raise _Outside
        return value

    return Domain(" or ".join(map(repr, values)), convert, values)


def _number(value: Any) -> float:
    """A real number that is not negative, as a float."""
    if not isinstance(value, Real) or isinstance(value, bool) or not float(value) >= 0:
        raise _Outside
    return float(value) + 0.0  # no negative zero


def _strength(value: Any) -> float:
    try:
        k = _number(value)
    except OverflowError:  # an integer beyond the range of floats
        raise _Outside from None
    if k not in (0, math.inf) and not _LEAST <= k <= _MOST:
        raise _Outside
    return k


def _strengths(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {column: _auto_or_strength(k) for column, k in value.items()}
    return _auto_or_strength(value)


def _auto_or_strength(value: Any) -> Any:
    return value if isinstance(value, str) and value == "auto" else _strength(value)


def _class_prior(value: Any) -> Any:
    if isinstance(value, str) and value in ("empirical", "uniform"):
        return value
    if not isinstance(value, Mapping):
        raise _Outside
    prior = {label: _number(p) for label, p in value.items()}
    if not math.isclose(sum(prior.values()), 1.0, rel_tol=0, abs_tol=1e-9):
        raise _Outside
    return prior


def _class_weights(value: Any) -> Any:
    if value is None or (isinstance(value, str) and value == "balanced"):
        return value
    if not isinstance(value, Mapping) or not value:
        raise _Outside
    weights = {label: _number(weight) for label, weight in value.items()}
    if not all(0 < weight < math.inf for weight in weights.values()):
        raise _Outside
    return weights


def _family(value: Any) -> Any:
    from tallybayes.families import parse

    return parse(value)


def _families(value: Any) -> Any:
    from tallybayes.columns.column_spec import parse_column

    if isinstance(value, Mapping):
        return {str(column): parse_column(family) for column, family in value.items()}
    return None if value is None else parse_column(value)


def _names(value: Any) -> list[str] | None:
    if value is None or isinstance(value, str):
        return None if value is None else [value]
    if not isinstance(value, Iterable):
        raise _Outside
    return [str(column) for column in value]


def _schema(value: Any) -> Any:
    from tallybayes.columns.schema import Schema

    if value is not None and not isinstance(value, Schema):
        raise _Outside
    return value


def _bins(value: Any) -> Any:
    if value is None or (isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 2):
        return None if value is None else int(value)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _Outside
    edges = list(value)
    if not edges or not all(isinstance(edge, Real) and math.isfinite(edge) for edge in edges):
        raise _Outside
    if any(not a < b for a, b in itertools.pairwise(edges)):
        raise _Outside
    return tuple(map(float, edges))


def _auto_or_bool(value: Any) -> Any:
    if isinstance(value, bool) or (isinstance(value, str) and value == "auto"):
        return value
    raise _Outside


def _switches(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(column): _auto_or_bool(switch) for column, switch in value.items()}
    return _auto_or_bool(value)


def _weights(value: Any) -> Any:
    from tallybayes.state.column_weights import ColumnWeights

    if value is None or (isinstance(value, str) and value == "auto") or isinstance(value, ColumnWeights):
        return value
    if not isinstance(value, Mapping):
        raise _Outside
    return ColumnWeights(value)


def _preset(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value == "textbook"):
        return value
    raise _Outside


_RANGE = f"0, a number from {_LEAST} to {_MOST}, or inf"
STRENGTH = Domain(_RANGE, _strength)
STRENGTHS = Domain(f"'auto', {_RANGE}; or a dict of these by column", _strengths)
CLASS_PRIOR = Domain("'empirical', 'uniform', or a dict of probabilities by label that add up to 1", _class_prior)
CLASS_WEIGHTS = Domain("None, 'balanced', or a dict of weights above 0 by label", _class_weights)
FAMILY = Domain("a family, such as 'gaussian'", _family)
FAMILIES = Domain("a dict of families by column, one family for all columns, or None", _families)
NAMES = Domain("names of columns", _names)
PRESET = Domain("'textbook' or None", _preset, ("textbook",))
WEIGHTS = Domain("'auto', None, or a dict of weights by column", _weights)
SWITCHES = Domain("'auto', True or False; or a dict of these by column", _switches)
BINS = Domain("a number of bins of at least 2, or the edges between them in ascending order", _bins)
SCHEMA = Domain("a Schema, as Schema.load returns it", _schema)
