"""Priors as a user gives them: pseudo-counts of values and classes, and where a mean is expected.

    Beta(a, b)                  of a boolean: a times true, b times false
    Dirichlet({v: a_v})         of categories, or of the classes: each value a_v times
    {v: a} or {v: {c: a}}       `PseudoCounts`: so many more of some values, beside the smoothing of the others
    {c: Beta or Dirichlet}      `ByClass`: another one for each class
    NormalInverseGamma(...)     of a column of numbers: mean and scale, and how many rows they weigh

Pseudo-counts are rows that nobody has seen: a column with them scores as if it had been counted in so many more rows
of each class, with nothing but that value. So the posterior means are those of the conjugate prior,
P(v | c) = (n_vc + a_vc) / (n_c + sum of a_vc). They are settings and no sums: nothing can forget or merge them.

The smallest pseudo-count of a Beta or a Dirichlet is the strength of a symmetric prior over all values, those that are
not listed included; what the others have beyond it is added to the counts (`scoring/prior_rows.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from tallybayes.arrays.column import Bag, Codes, Flags, Reals
from tallybayes.doubts import as_family
from tallybayes.errors import ParameterError, did_you_mean
from tallybayes.families.family import Family
from tallybayes.formatting import number, rows_of, shown

__all__ = [
    "Beta",
    "ByClass",
    "ColumnPrior",
    "Dirichlet",
    "NormalInverseGamma",
    "PseudoCounts",
    "check_labels",
    "column_prior",
]

_LEAST, _MOST = 1e-300, 1e15  # beyond, sums with counts are rounded or leave the range of 64 bits
_LEAST_SCALE, _MOST_SCALE = 1e-150, 1e100  # of numbers, whose squares are needed


def _positive(what: str, value: Any, least: float = _LEAST, most: float = _MOST) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not least <= float(value) <= most:
        raise ParameterError(f"{what}: a number above 0, from {number(least)} to {number(most)}", got=value)
    return float(value)


def _counts(what: str, counts: Any) -> dict[Any, float]:
    if not isinstance(counts, Mapping) or not counts:
        raise ParameterError(f"{what}: a pseudo-count for each value, such as {{'yes': 1, 'no': 2}}", got=counts)
    _check_values(what, counts)
    return {value: _positive(f"{what}: the pseudo-count of {shown(value)}", count) for value, count in counts.items()}


def _check_values(what: str, counts: Mapping[Any, Any]) -> None:
    """Raise a ParameterError for a value that no cell of a table can have."""
    for value in counts:
        if value is None or isinstance(value, tuple | frozenset | bytes):
            raise ParameterError(f"{what}: values of a column, such as 'yes' or 3", got=value)


class ColumnPrior:
    """What all priors of columns have, with the answers of one that has no pseudo-counts."""

    @property
    def smoothing(self) -> float | None:
        """The pseudo-count of every value of the column, which replaces its smoothing; None: that is kept."""
        return None

    @property
    def values(self) -> list[Any]:
        """The values that have more."""
        return []

    def beyond(self, value: Any, label: Any) -> float:
        """How much more of a value there is in a class."""
        return 0.0

    @property
    def labels(self) -> list[Any]:
        """The classes that it names."""
        return []

    def check_family(self, name: str, family: Family) -> None:
        """Raise a ParameterError unless columns of the family can have it."""
        if not family.takes_smoothing or family.column not in (Codes, Flags):
            expected = f"{self} for a column of categories or booleans"
            hint = f'column_priors={{"{name}": {{"a value": 5}}}} adds pseudo-counts to tokens and tags'
            if family.column is Codes:
                hint = f"{as_family(name, 'categorical')} counts categories, without their order"
            if family.column is Reals:
                hint = f"tb.NormalInverseGamma is the prior of numbers; {as_family(name, 'categorical')} counts values"
            raise ParameterError(expected, got=family.display_name(), column=name, hint=hint)

    def of_family(self, family: Family) -> Family:
        """The family whose columns have it."""
        return family


@dataclass(frozen=True)
class Beta(ColumnPrior):
    """The prior of a boolean: `a` times true and `b` times false, before any row is seen.

    >>> import numpy as np
    >>> import tallybayes as tb
    >>> rows = {"smokes": [True, True, False], "ill": ["yes", "yes", "yes"]}
    >>> model = tb.fit(rows, label="ill", column_priors={"smokes": tb.Beta(2, 8)})
    >>> np.exp(model.log_likelihood({"smokes": True})).round(4).tolist()  # (2 + 2) / (3 + 10)
    [[0.3077]]
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", _positive("Beta: a, the pseudo-count of true", self.a))
        object.__setattr__(self, "b", _positive("Beta: b, the pseudo-count of false", self.b))

    @property
    def smoothing(self) -> float:
        """The smaller pseudo-count."""
        return min(self.a, self.b)

    @property
    def values(self) -> list[Any]:
        """True and false."""
        return [True, False]

    def beyond(self, value: Any, label: Any) -> float:
        """The pseudo-count beyond the smaller one."""
        return (self.a if value else self.b) - self.smoothing

    def check_family(self, name: str, family: Family) -> None:
        """Only for booleans."""
        if family.column is not Flags:
            hint = f'column_priors={{"{name}": {{"a value": 5}}}} adds pseudo-counts to tokens and tags'
            if family.column is Codes:
                hint = "tb.Dirichlet has a pseudo-count for each category"
            if family.column is Reals:
                hint = f"tb.NormalInverseGamma is the prior of numbers; {as_family(name, 'bernoulli')} counts 0 and 1"
            raise ParameterError(f"{self} for a column of booleans", got=family.display_name(), column=name, hint=hint)

    def __str__(self) -> str:
        return f"Beta({number(self.a)}, {number(self.b)})"


@dataclass(frozen=True)
class Dirichlet(ColumnPrior):
    """The prior of categories, or of the classes: a pseudo-count for each of them.

    others: the pseudo-count of a value that is not listed; by default the smallest one that is.

    >>> import numpy as np
    >>> import tallybayes as tb
    >>> rows = {"grade": ["A", "A", "B"], "passed": ["yes", "yes", "yes"]}
    >>> model = tb.fit(rows, label="passed", column_priors={"grade": tb.Dirichlet({"A": 1, "B": 2})})
    >>> np.exp(model.log_likelihood({"grade": "B"})).round(4).tolist()  # (1 + 2) / (3 + 3)
    [[0.5]]
    """

    counts: Mapping[Any, float] = field(hash=False)
    others: float | None = None  # a number, once it is made

    def __post_init__(self) -> None:
        counts = _counts("Dirichlet", self.counts)
        least = min(counts.values())
        others = least if self.others is None else _positive("Dirichlet: others", self.others)
        if others > least:
            hint = "every listed value has at least the pseudo-count of those that are not listed"
            raise ParameterError(f"others of Dirichlet: at most {number(least)}", got=self.others, hint=hint)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "others", others)

    @property
    def smoothing(self) -> float:
        """The pseudo-count of a value that is not listed."""
        assert self.others is not None
        return self.others

    @property
    def values(self) -> list[Any]:
        """The listed values."""
        return list(self.counts)

    def beyond(self, value: Any, label: Any) -> float:
        """The pseudo-count beyond that of values that are not listed."""
        return self.count_of(value) - self.smoothing

    def count_of(self, value: Any) -> float:
        """The pseudo-count of a value."""
        return self.counts.get(value, self.smoothing)

    def __str__(self) -> str:
        return f"Dirichlet({_listed(self.counts)})"


@dataclass(frozen=True)
class ByClass(ColumnPrior):
    """A Beta or a Dirichlet for each class.

    A value or a class that is not listed has the smallest pseudo-count of all.
    """

    priors: Mapping[Any, Beta | Dirichlet] = field(hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.priors, Mapping) or not self.priors:
            raise ParameterError("a Beta or a Dirichlet for each class", got=self.priors)
        if wrong := [part for part in self.priors.values() if not isinstance(part, Beta | Dirichlet)]:
            hint = "a mean and a scale are those of all classes" if isinstance(wrong[0], NormalInverseGamma) else None
            raise ParameterError("a Beta or a Dirichlet for each class", got=wrong[0], hint=hint)

    @property
    def smoothing(self) -> float:
        """The smallest of all."""
        return min(prior.smoothing for prior in self.priors.values())

    @property
    def values(self) -> list[Any]:
        """Those of any class."""
        return list(dict.fromkeys(value for prior in self.priors.values() for value in prior.values))

    def beyond(self, value: Any, label: Any) -> float:
        """That of the prior of the class."""
        prior = self.priors.get(label)
        return 0.0 if prior is None else prior.beyond(value, label) + (prior.smoothing - self.smoothing)

    @property
    def labels(self) -> list[Any]:
        """The classes with a prior."""
        return list(self.priors)

    def check_family(self, name: str, family: Family) -> None:
        """What all of them need."""
        for prior in self.priors.values():
            prior.check_family(name, family)

    def __str__(self) -> str:
        return ", ".join(f"{shown(label)}: {prior}" for label, prior in self.priors.items())


@dataclass(frozen=True)
class PseudoCounts(ColumnPrior):
    """So many more of some values, of every class or of some classes, beside the smoothing of the column."""

    counts: Mapping[Any, float | Mapping[Any, float]] = field(hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.counts, Mapping) or not self.counts:
            raise ParameterError("pseudo-counts: a number for each value, or numbers by class", got=self.counts)
        _check_values("pseudo-counts", self.counts)
        kept: dict[Any, Any] = {
            value: _counts(f"pseudo-counts of {shown(value)}", part)
            if isinstance(part, Mapping)
            else _positive(f"the pseudo-count of {shown(value)}", part)
            for value, part in self.counts.items()
        }
        object.__setattr__(self, "counts", kept)

    @property
    def values(self) -> list[Any]:
        """The listed values."""
        return list(self.counts)

    def beyond(self, value: Any, label: Any) -> float:
        """The pseudo-count of a value in a class."""
        part = self.counts.get(value, 0.0)
        return part.get(label, 0.0) if isinstance(part, Mapping) else part

    @property
    def labels(self) -> list[Any]:
        """The classes with a number of their own."""
        parts = [part for part in self.counts.values() if isinstance(part, Mapping)]
        return list(dict.fromkeys(label for part in parts for label in part))

    def check_family(self, name: str, family: Family) -> None:
        """For columns of values that are counted one by one."""
        if family.column not in (Codes, Flags, Bag):
            hint = "tb.NormalInverseGamma is the prior of a column of the family gaussian"
            expected = "pseudo-counts for a column of categories, booleans, tags, tokens or text"
            raise ParameterError(expected, got=family.display_name(), column=name, hint=hint)

    def __str__(self) -> str:
        parts = {v: f"{{{_listed(part)}}}" if isinstance(part, Mapping) else part for v, part in self.counts.items()}
        return f"pseudo-counts {_listed(parts)}"


@dataclass(frozen=True)
class NormalInverseGamma(ColumnPrior):
    """The prior of the mean and variance of a column of numbers, in place of the pooled data.

    mean, scale: the expected mean, and standard deviation. strength: how many rows the mean weighs; freedom:
    how many the scale weighs.

    >>> import tallybayes as tb
    >>> prior = {"height": tb.NormalInverseGamma(mean=170, scale=10)}
    >>> model = tb.fit({"height": [180.0], "sex": ["m"]}, label="sex", numeric="gaussian", column_priors=prior)
    >>> model.intervals().columns["height"][0]["estimate"]  # (3 * 170 + 180) / 4
    172.5
    """

    mean: float
    scale: float
    strength: float = 3.0
    freedom: float = 5.0

    def __post_init__(self) -> None:
        if isinstance(self.mean, bool) or not isinstance(self.mean, Real) or not abs(self.mean) <= _MOST_SCALE:
            raise ParameterError("NormalInverseGamma: mean, a finite number up to 1e100", got=self.mean)
        object.__setattr__(self, "mean", float(self.mean))
        for name in ("scale", "strength", "freedom"):
            value = _positive(f"NormalInverseGamma: {name}", getattr(self, name), _LEAST_SCALE, _MOST_SCALE)
            object.__setattr__(self, name, value)

    def check_family(self, name: str, family: Family) -> None:
        """For families whose prior has a mean and a scale."""
        if family.with_prior_moments(self.mean, self.scale, self.strength, self.freedom) is None:
            hint = as_family(name, "gaussian")
            expected = "a prior of mean and scale for a column of the family gaussian"
            raise ParameterError(expected, got=family.display_name(), column=name, hint=hint)

    def of_family(self, family: Family) -> Family:
        """The family with this prior."""
        return family.with_prior_moments(self.mean, self.scale, self.strength, self.freedom) or family

    def __str__(self) -> str:
        mean = f"mean {number(self.mean)} as {rows_of(self.strength)}"
        return f"normal-inverse-gamma: {mean}, scale {number(self.scale)} as {rows_of(self.freedom)}"


def column_prior(value: Any) -> ColumnPrior:
    """The prior that a value means: itself, or pseudo-counts, or one by class, of a mapping.

    >>> print(column_prior({"viagra": {"spam": 5}}))
    pseudo-counts viagra: {spam: 5}
    """
    if isinstance(value, ColumnPrior):
        return value
    if not isinstance(value, Mapping):
        raise ParameterError("a prior: Beta, Dirichlet, NormalInverseGamma, or pseudo-counts by value", got=value)
    if not any(isinstance(part, ColumnPrior) for part in value.values()):
        return PseudoCounts(value)
    return ByClass(dict(value))


def check_labels(
    priors: Mapping[str, ColumnPrior], class_prior: Any, classes: Iterable[Any], *, is_part: bool = False
) -> None:
    """Raise a ParameterError for a prior of a class that the data does not have.

    is_part: the data may lack classes that other parts have, so that only a name that is near another one is refused.
    """
    known = list(classes)
    labels: list[tuple[Any, str | None]]
    labels = [(label, name) for name, prior in priors.items() for label in prior.labels]
    labels += [(label, None) for label in class_prior.counts] if isinstance(class_prior, Dirichlet) else []
    for label, name in labels:
        if label not in known:
            hint = did_you_mean(label, known, None if is_part else "classes")
            if is_part and hint is None:
                continue
            raise ParameterError("priors for classes of the data", got=label, column=name, hint=hint)


def _listed(counts: Mapping[Any, Any]) -> str:
    return ", ".join(f"{shown(v)}: {part if isinstance(part, str) else number(part)}" for v, part in counts.items())
