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
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from tallybayes.errors import ParameterError

__all__ = [
    "AUTO_OR_POSITIVE",
    "BINS",
    "CLASS_PRIOR",
    "CLASS_WEIGHTS",
    "COLUMN_PRIORS",
    "FAMILIES",
    "FAMILY",
    "GROUP",
    "MODEL",
    "NAMES",
    "POSITIVE",
    "PRESET",
    "SCHEMA",
    "STRENGTH",
    "STRENGTHS",
    "TABLE",
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


def _refuse(value: Any) -> Any:
    raise _Outside


def _one_of(*values: Any, otherwise: Callable[[Any], Any] = _refuse) -> Callable[[Any], Any]:
    """A conversion that leaves some values as they are."""

    def convert(value: Any) -> Any:
        is_known = any(value is known or (isinstance(value, str) and value == known) for known in values)
        return value if is_known else otherwise(value)

    return convert


def _or_by_column(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A conversion of one value for all columns, or of a dict with one for each."""

    def convert_all(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(column): convert(part) for column, part in value.items()}
        return convert(value)

    return convert_all


def _families(value: Any) -> Any:
    """Families by column, or by a tuple of columns that have one together; or one family for all columns."""
    if not isinstance(value, Mapping):
        return _column_family(value)
    names = [tuple(map(str, key)) if isinstance(key, tuple) else str(key) for key in value]
    return dict(zip(names, map(_column_family, value.values()), strict=True))


def choice(*values: str) -> Domain:
    """One of a few words."""
    *others, last = map(repr, values)
    return Domain(f"{', '.join(others)} or {last}", _one_of(*values), values)


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


def _class_prior(value: Any) -> Any:
    from tallybayes.state.prior_values import Dirichlet

    if isinstance(value, Dirichlet):
        return value
    if not isinstance(value, Mapping):
        raise _Outside
    prior = {label: _number(p) for label, p in value.items()}
    if not math.isclose(sum(prior.values()), 1.0, rel_tol=0, abs_tol=1e-9):
        raise _Outside
    return prior


def _column_priors(value: Any) -> Any:
    from tallybayes.state.prior_values import column_prior

    if not isinstance(value, Mapping):
        raise _Outside
    return {str(name): column_prior(prior) for name, prior in value.items()} or None


def _class_weights(value: Any) -> Any:
    if not isinstance(value, Mapping) or not value:
        raise _Outside
    weights = {label: _number(weight) for label, weight in value.items()}
    if not all(0 < weight < math.inf for weight in weights.values()):
        raise _Outside
    return weights


def _family(value: Any) -> Any:
    from tallybayes.families import parse

    return parse(value)


def _column_family(value: Any) -> Any:
    from tallybayes.columns.column_spec import parse_column

    return parse_column(value)


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        raise _Outside
    return [str(column) for column in value]


def _group(value: Any) -> Any:
    if isinstance(value, bool) or not (isinstance(value, str | int) or hasattr(value, "__len__")):
        raise _Outside
    return str(value) if isinstance(value, int) else value


def _schema(value: Any) -> Any:
    from tallybayes.columns.schema import Schema

    if not isinstance(value, Schema):
        raise _Outside
    return value


def _bins(value: Any) -> Any:
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 2:
        return int(value)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _Outside
    edges = list(value)
    if not edges or not all(isinstance(edge, Real) and math.isfinite(edge) for edge in edges):
        raise _Outside
    if any(not a < b for a, b in itertools.pairwise(edges)):
        raise _Outside
    return tuple(map(float, edges))


def _weights(value: Any) -> Any:
    from tallybayes.state.column_weights import ColumnWeights

    if not isinstance(value, Mapping | ColumnWeights):
        raise _Outside
    return value if isinstance(value, ColumnWeights) else ColumnWeights(value)


def _model(value: Any) -> Any:
    if isinstance(value, str | os.PathLike) or hasattr(value, "snapshot"):
        return value
    raise _Outside


def _positive(value: Any) -> float:
    number = _number(value)
    if not _LEAST <= number <= _MOST:
        raise _Outside
    return number


def _table(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        raise _Outside
    return value


_RANGE = f"0, a number from {_LEAST} to {_MOST}, or inf"
STRENGTH = Domain(_RANGE, _strength)
STRENGTHS = Domain(
    f"'auto', {_RANGE}; or a dict of these by column", _or_by_column(_one_of("auto", otherwise=_strength))
)
CLASS_PRIOR = Domain(
    "'empirical', 'uniform', a dict of probabilities by label that add up to 1, or a Dirichlet of pseudo-counts",
    _one_of("empirical", "uniform", otherwise=_class_prior),
)
COLUMN_PRIORS = Domain("a dict of priors by column, or None", _one_of(None, otherwise=_column_priors))
MODEL = Domain("a model, the path of one, or None", _one_of(None, otherwise=_model))
TABLE = Domain("a table of any kind, as data, or None", _one_of(None, otherwise=_table))
AUTO_OR_POSITIVE = Domain(f"'auto', or a number from {_LEAST} to {_MOST}", _one_of("auto", otherwise=_positive))
POSITIVE = Domain(f"a number from {_LEAST} to {_MOST}", _positive)
CLASS_WEIGHTS = Domain(
    "None, 'balanced', or a dict of weights above 0 by label", _one_of(None, "balanced", otherwise=_class_weights)
)
FAMILY = Domain("a family, such as 'gaussian'", _family)
FAMILIES = Domain(
    "a dict of families by column, or by tuples of columns; one family for all columns, or None",
    _one_of(None, otherwise=_families),
)
NAMES = Domain("names of columns", _one_of(None, otherwise=_names))
GROUP = Domain("the name of a column, an array, or None", _one_of(None, otherwise=_group))
PRESET = Domain("'textbook' or None", _one_of(None, "textbook"), ("textbook",))
WEIGHTS = Domain("'auto', None, or a dict of weights by column", _one_of(None, "auto", otherwise=_weights))
SWITCHES = Domain("'auto', True or False; or a dict of these by column", _or_by_column(_one_of("auto", True, False)))
BINS = Domain(
    "a number of bins of at least 2, or the edges between them in ascending order", _one_of(None, otherwise=_bins)
)
SCHEMA = Domain("a Schema, as Schema.load returns it", _one_of(None, otherwise=_schema))
