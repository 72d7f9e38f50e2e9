"""The candidates of a column in tuning: other families, values of k, and variants of text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tallybayes.arrays.column import Codes, Reals
from tallybayes.columns.column_spec import Origin, Status
from tallybayes.columns.schema import Schema
from tallybayes.families import FAMILIES, Family
from tallybayes.families.family import Floats, Smoothing
from tallybayes.model import Model

__all__ = [
    "STRENGTHS",
    "Candidate",
    "grid",
    "only",
    "other_families",
    "other_options",
    "other_strengths",
    "with_strength",
]

STRENGTHS = tuple(4.0**i for i in range(-4, 5))  # the values of k evaluated for each column


@dataclass(frozen=True, eq=False)
class Candidate:
    """A column of a fitted model, with a family of the same sufficient statistics and a smoothing."""

    model: Model
    name: str
    family: Family
    smoothing: Smoothing | None = None  # None: as in the settings of the model

    def __str__(self) -> str:
        k = f", k = {self.smoothing:.3g}" if isinstance(self.smoothing, float) else ""
        return self.family.display_name().replace(":unseen=missing", "") + k


def grid(n: int) -> list[float]:
    """Values of k from 1/1000 to 1000, evenly spaced in their logarithms."""
    return [float(k) for k in np.logspace(-3, 3, n)]


def with_strength(now: Candidate, k: Smoothing) -> Candidate:
    """The same column with a k. An unseen category is treated as missing: with a small k it would dominate."""
    family = now.family if k == "auto" else now.family.with_unseen("missing")
    return dataclasses.replace(now, family=family, smoothing=k)


def other_strengths(now: Candidate) -> Iterator[Candidate]:
    """The same column with other values of k, and with smoothing "auto"."""
    return (with_strength(now, k) for k in now.family.smoothing_candidates)


def other_options(now: Candidate, specified: Family | None) -> Iterator[Candidate]:
    """The same column with other options of its family, except for those that the user gave."""
    for family in now.family.alternatives(specified):
        if family != now.family:
            yield dataclasses.replace(now, family=family, smoothing=None)


def other_families(schema: Schema, values: dict[str, Floats], *, from_file: bool = False) -> dict[Family, list[str]]:
    """For numeric columns whose family was inferred: the other possible families, each with its columns.

    values: a sample of each column; from_file: whether numbers may be written in several ways, and so are not
    categories.
    """
    result: dict[Family, list[str]] = {}
    for name, spec in schema.columns.items():
        if spec.family is None or spec.family.column is not Reals or spec.origin is Origin.SPECIFIED:
            continue
        seen = values[name][~np.isnan(values[name])]
        if not len(seen):
            continue
        possible = [family for kind in FAMILIES.values() for family in kind.candidates(seen)]
        for family in possible:
            if family != spec.family and not (from_file and family.column is Codes):
                result.setdefault(family, []).append(name)
    return result


def only(schema: Schema, family: Family, names: list[str]) -> Schema:
    """A schema with some of the columns, with another family."""
    result = schema.copy()
    result.columns = {
        name: spec
        if spec.family is None
        else spec.with_family(family)
        if name in names
        else spec.without_family(Status.BY_TUNING)
        for name, spec in schema.columns.items()
    }
    return result
