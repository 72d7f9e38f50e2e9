"""The tables of a model that was given instead of learned: P(class), and P(value | class) of every column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.arrays.axis import sort_keys
from tallybayes.arrays.column import Codes, Column, Key
from tallybayes.families.block_arrays import score_codes
from tallybayes.families.family import Floats, Predictive, Score
from tallybayes.families.predictive import value_rows

__all__ = ["GivenProbabilities", "GivenTables"]


@dataclass(frozen=True, eq=False)
class GivenProbabilities:
    """Classes in sorted order, log P(class), and the tables of the columns."""

    classes: tuple[Any, ...]
    log_prior: Floats
    tables: GivenTables

    @classmethod
    def of(cls, prior: Mapping[Any, float], tables: Mapping[str, tuple[list[Key], Floats]]) -> GivenProbabilities:
        """From P(class), and by column its values and their log probabilities, (values, classes in sorted order)."""
        classes, features = tuple(sort_keys(prior)), tuple(sorted(tables))
        with np.errstate(divide="ignore"):
            log_prior = np.log(np.array([prior[label] for label in classes], np.float64))
        by_column = GivenTables(features, len(classes), tuple(tables[name] for name in features))
        return cls(classes, log_prior, by_column)

    def same(self, other: GivenProbabilities) -> bool:
        """Whether classes, prior and tables are equal."""
        if self.classes != other.classes or not np.array_equal(self.log_prior, other.log_prior):
            return False
        return self.tables.table() == other.tables.table()


@dataclass(frozen=True, eq=False)
class GivenTables(Predictive):
    """The values of each column and their log probabilities, (values, classes)."""

    features: tuple[str, ...]
    n_classes: int
    tables: tuple[tuple[list[Key], Floats], ...]

    def bind(self, columns: Sequence[Column]) -> Score:
        """Prepare to score categorical columns; a value that is in no table has probability 0."""
        coded = [column for column in columns if isinstance(column, Codes)]
        tables = []
        for (values, log_p), column in zip(self.tables, coded, strict=True):
            index = {value: i for i, value in enumerate(values)}
            padded = np.concatenate([log_p, np.full((1, self.n_classes), -np.inf)])
            tables.append(padded[[index.get(key, len(values)) for key in column.keys]].reshape(-1, self.n_classes))
        return score_codes(coded, tables, self.n_classes)

    def part(self, number: int) -> GivenTables:
        """One column."""
        rows = slice(number, number + 1)
        return GivenTables(self.features[rows], self.n_classes, self.tables[rows])

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Values drawn from the tables."""
        return [
            [values[i] for i in rng.choice(len(values), size=n, p=np.exp(log_p[:, code]))]
            for values, log_p in self.tables
        ]

    def outcomes(self, number: int) -> Floats:
        """Every value of the table."""
        return self.tables[number][1]

    def table(self) -> list[dict[str, Any]]:
        """The tables as they were given."""
        tables = zip(self.features, self.tables, strict=True)
        return [row for name, (values, log_p) in tables for row in value_rows(name, values, np.exp(log_p))]
