"""The candidates of a column in tuning: other families, values of k, and variants of text."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.arrays.column import Codes, Reals
from tallybayes.columns.column_spec import Origin, Status
from tallybayes.errors import DataError
from tallybayes.families import FAMILIES, Family
from tallybayes.families.family import Smoothing
from tallybayes.model import Model
from tallybayes.state.model_state import ModelState
from tallybayes.tables.source import Source, TableSource
from tallybayes.tuning.column_evidence import ColumnEvidence

__all__ = ["Candidate", "grid", "other_families", "other_options", "other_strengths", "with_strength"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A column of a fitted model, with a family of the same sufficient statistics and a smoothing."""

    model: Model
    name: str
    family: Family
    smoothing: Smoothing | None = None  # None: as in the settings of the model

    def __str__(self) -> str:
        k = f", k = {self.smoothing:.3g}" if isinstance(self.smoothing, float) else ""
        k = ", k by evidence" if self.smoothing == "auto" else k
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


def other_families(
    evidence: ColumnEvidence, source: Source, label: Any, progress: Callable[[float], None]
) -> dict[str, list[Candidate]]:
    """For numeric columns whose family was inferred: candidates of the other possible families, by column."""
    model, values, from_file = evidence.model, evidence.numbers(), not isinstance(source, TableSource)
    columns: dict[Family, list[str]] = {}
    for name, spec in model.schema.columns.items():
        if spec.family is None or spec.family.column is not Reals or spec.origin is Origin.SPECIFIED:
            continue
        seen = values[name][~np.isnan(values[name])]
        possible = (family for kind in FAMILIES.values() for family in kind.candidates(seen)) if len(seen) else ()
        for family in possible:
            # Numbers in a file may be written in several ways, and so are not categories.
            if family != spec.family and not (from_file and family.column is Codes):
                columns.setdefault(family, []).append(name)
    result: dict[str, list[Candidate]] = {}
    for i, (family, names) in enumerate(columns.items()):
        progress(i / len(columns))
        schema = model.schema.copy()
        for name, spec in model.schema.columns.items():
            if spec.family is not None:
                other = spec.with_family(family) if name in names else spec.without_family(Status.BY_TUNING)
                schema.columns[name] = other
        other_model = Model(ModelState(schema, model.settings))
        try:
            other_model.learn(source, label=label)
        except DataError:  # a row outside the sample has a value outside the support of the family
            continue
        for name in names:
            result.setdefault(name, []).append(Candidate(other_model, name, other_model.schema.families[name]))
    return result
