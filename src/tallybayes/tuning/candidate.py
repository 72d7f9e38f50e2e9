"""What a column could be instead: other families that can count it, other strengths, other variants of text."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tallybayes.arrays.column import Reals
from tallybayes.data.schema import Field, Schema
from tallybayes.families import Bernoulli, Categorical, Family, Gaussian, Histogram, Multinomial, Poisson, Tags, Text
from tallybayes.families.family import Floats, Smoothing
from tallybayes.model import Model

__all__ = [
    "STRENGTHS",
    "Candidate",
    "grid",
    "has_k",
    "only",
    "other_families",
    "other_strengths",
    "others_of",
    "takes_k",
    "with_strength",
]

STRENGTHS = tuple(4.0**i for i in range(-4, 5))  # of k, tried for each column
_CATEGORIES = 30  # different numbers up to which a column of numbers may be one of categories
_ASKED = "as asked"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A column under a model that has counted it, with a family that counts alike and a strength of its own."""

    model: Model
    name: str
    family: Family
    smoothing: Smoothing | None = None  # None: as the model's settings say

    def __str__(self) -> str:
        k = f", k = {self.smoothing:.3g}" if isinstance(self.smoothing, float) else ""
        return self.family.told().replace(":unseen=missing", "") + k


def takes_k(family: Family) -> bool:
    """Whether Laplace's k has a meaning for a family."""
    return isinstance(family, (Bernoulli, Categorical, Multinomial, Tags, Text))


def grid(n: int) -> list[float]:
    """Strengths from 1/1000 to 1000, evenly spread by their logarithms."""
    return [float(k) for k in np.logspace(-3, 3, n)]


def with_strength(now: Candidate, k: float) -> Candidate:
    """The same column with a k. A category never seen is silent then: with a small k its share would decide alone."""
    family = now.family
    if isinstance(family, Categorical):
        family = dataclasses.replace(family, unseen="missing")
    return dataclasses.replace(now, family=family, smoothing=k)


def other_strengths(now: Candidate) -> Iterator[Candidate]:
    """The same column with other strengths of smoothing."""
    if takes_k(now.family) and not isinstance(now.family, Text):
        yield dataclasses.replace(now, smoothing="auto")
        for k in STRENGTHS:
            yield with_strength(now, k)


def has_k(asked: Family | None) -> bool:
    """Whether a family was asked for with a k of its own."""
    return isinstance(asked, Text) and asked.k != "auto"


def others_of(now: Candidate, asked: Family | None) -> Iterator[Candidate]:
    """A column of text with other variants, tf and strengths, as far as these were not asked for."""
    if not isinstance(now.family, Text):
        return
    told = asked if isinstance(asked, Text) else Text()
    variants = ("counts", "complement") if told.variant == "auto" else (told.variant,)
    tfs = ("count", "once", "log") if told.tf == "auto" and told.variant != "presence" else (now.family.tf,)
    strengths = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0) if told.k == "auto" else (told.k,)
    for variant, tf, k in itertools.product(variants, tfs, strengths):
        family = dataclasses.replace(now.family, variant=variant, tf=tf, k=k)
        if family != now.family:
            yield dataclasses.replace(now, family=family, smoothing=None)


def other_families(schema: Schema, values: dict[str, Floats], *, from_file: bool = False) -> dict[Family, list[str]]:
    """For the columns of numbers that nobody chose a family for: which others could be theirs, and for which columns.

    values: all that was seen of each, at the least a sample; from_file: numbers that may be written in several ways are
    no categories.
    """
    result: dict[Family, list[str]] = {}
    for name, field in schema.fields.items():
        if field.family is None or field.family.column is not Reals or field.reason.startswith(_ASKED):
            continue
        seen = values[name][~np.isnan(values[name])]
        if not len(seen):
            continue
        possible: list[Family] = [Histogram(), Gaussian()]
        possible += [Gaussian(log=True)] if seen.min() > 0 else []
        whole = bool((seen == np.floor(seen)).all())
        possible += [Poisson()] if whole and seen.min() >= 0 and seen.max() < 2**31 else []
        possible += [Categorical()] if whole and not from_file and len(np.unique(seen)) <= _CATEGORIES else []
        for family in possible:
            if family != field.family:
                result.setdefault(family, []).append(name)
    return result


def only(schema: Schema, family: Family, names: list[str]) -> Schema:
    """A schema with some of the columns, of another family."""
    result = schema.copy()
    result.fields = {
        name: Field(name, family if name in names else None, field.reason) for name, field in schema.fields.items()
    }
    return result
