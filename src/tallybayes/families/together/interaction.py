"""What two columns say together beyond what each says by itself: an interaction term over coarse cells.

With a and b the cells of the two columns, the classes of the rows in a pair of cells are draws from a distribution that
is itself drawn from a Dirichlet with strength s and mean q, the prediction of naive Bayes from a and b:

    q(c | a, b)  proportional to  P(c | a) P(c | b) / P(c)
    P(c | a, b) = (n_abc + s q(c | a, b)) / (n_ab + s)
    score       = log P(c | a, b) - log q(c | a, b)

P(c | a) = (n_ac + P(c)) / (n_a + 1), and so for b. The strength is chosen by evidence, per column, so that two columns
that are independent given the class contribute almost nothing. The score corrects the columns of the model, which add
what each of the two says by itself; it is not a likelihood. A row in which one of the two is missing is not counted and
scores 0. All of it is derived from the counts of pairs of cells, so it follows what is learned and forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tallybayes.arrays.column import Cells, Codes, Column
from tallybayes.arrays.special import gammaln
from tallybayes.errors import DataError, Described, UnsupportedError
from tallybayes.families.block_arrays import score_codes
from tallybayes.families.family import Codes32, Floats, Predictive, Score, Smoothing
from tallybayes.families.strength import Strength
from tallybayes.families.together.cell_pair_family import CellPairFamily
from tallybayes.tally import CellPairCounts

__all__ = ["Interaction", "InteractionPredictive", "InteractionPrior"]

STRENGTHS = 4.0 ** np.arange(0, 9)  # rows; chosen by evidence
_TINY = 1e-300  # log gammas of smaller numbers are infinite


@dataclass(frozen=True, eq=False)
class InteractionPrior:
    """The strength of the shrinkage to naive Bayes, (columns,)."""

    strengths: Floats


@dataclass(frozen=True)
class Interaction(CellPairFamily[InteractionPrior]):
    """The difference between the classes of pairs of cells and those that naive Bayes predicts.

    >>> cells, codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 50, np.int16), np.array([0, 1, 1, 0] * 50, np.int32)
    >>> tally = Interaction().observe(("a x b",), [Cells(cells, (2, 2))], codes, 2, None)
    >>> predictive = Interaction().derive(tally, "auto")
    >>> predictive.table()[0]["value"], round(predictive.table()[0]["score"], 2)
    (((0, 0), (1, 0)), 0.68)
    """

    name: ClassVar[str] = "interaction"
    takes_smoothing: ClassVar[bool] = True
    is_correction: ClassVar[bool] = True
    is_divided: ClassVar[bool] = False

    def observe(
        self, features: tuple[str, ...], columns: Sequence[Cells], codes: Codes32, n_classes: int, weights: Any
    ) -> CellPairCounts:
        """Count the pairs of cells of rows that have both."""
        for name, column in zip(features, columns, strict=True):
            if len(column.sizes) != 2:
                raise DataError("two inputs of an interaction", got=len(column.sizes), column=name)
        return super().observe(features, columns, codes, n_classes, weights)

    def to_count(self, column: Cells) -> Cells:
        """A row counts if it has both cells."""
        gap = np.asarray((column.codes < 0).any(axis=1, keepdims=True))
        return Cells(np.where(gap, np.int16(-1), column.codes), column.sizes)

    def table_of(self, sizes: tuple[int, ...], pairs: Floats) -> _Table:
        """The counts of pairs of cells."""
        return _Table.of_pairs(pairs[: sizes[0], sizes[0] :])

    def prior_of(self, tables: Sequence[_Table], smoothing: Smoothing) -> InteractionPrior:
        """The given strength, or those with the greatest evidence."""
        strengths = [table.best_strength() if smoothing == "auto" else float(smoothing) for table in tables]
        return InteractionPrior(np.array(strengths))

    def strengths(self, tally: CellPairCounts, smoothing: Smoothing) -> list[Strength]:
        """Rows by which scores are shrunk to naive Bayes, given or by evidence."""
        is_selected = smoothing == "auto"
        chosen = self.prior_of(self.tables_of(tally), smoothing).strengths.tolist()
        return [Strength(rows, "strength", is_selected) for rows in chosen]

    def predictive_of(
        self, features: tuple[str, ...], n_classes: int, tables: Sequence[_Table], prior: InteractionPrior
    ) -> InteractionPredictive:
        """Shrunk shares over those of naive Bayes."""
        scores = tuple(table.scores(float(s)) for table, s in zip(tables, prior.strengths, strict=True))
        return InteractionPredictive(features, n_classes, tuple(table.counts.shape[:2] for table in tables), scores)

    def evidence(self, tally: CellPairCounts, prior: InteractionPrior) -> Floats:
        """Of the classes given the pairs of cells."""
        tables = zip(self.tables_of(tally), prior.strengths, strict=True)
        return np.array([table.evidence(float(strength)) for table, strength in tables])

    def independence(self, tally: CellPairCounts, prior: InteractionPrior) -> Floats:
        """Of the classes by naive Bayes."""
        return np.array([table.evidence(np.inf) for table in self.tables_of(tally)])

    def example(self, rng: np.random.Generator, n: int) -> Column:
        """Two inputs."""
        cells = np.stack([np.where(rng.random(n) < 0.2, -1, rng.integers(0, size, n)) for size in (2, 3)], axis=1)
        return Cells(cells.astype(np.int16), (2, 3))


@dataclass(frozen=True, eq=False)
class _Table:
    """The counts of the pairs of cells of one column, (first, second, classes), and what naive Bayes predicts."""

    counts: Floats
    naive: Floats

    @classmethod
    def of_pairs(cls, counts: Floats) -> _Table:
        """From the counts of pairs of cells, (first, second, classes)."""
        share = counts.sum(axis=(0, 1)) + 1.0 / max(counts.shape[2], 1)
        p = share / share.sum()
        marginals = (counts.sum(1), counts.sum(0))
        logs = [np.log((table + p) / (table.sum(axis=1, keepdims=True) + 1)) for table in marginals]
        log_q = logs[0][:, None] + logs[1][None] - np.log(p)
        q = np.exp(log_q - log_q.max(axis=2, keepdims=True, initial=-np.inf))
        return cls(counts, np.maximum(q / np.maximum(q.sum(axis=2, keepdims=True), _TINY), _TINY))

    def evidence(self, strength: float) -> float:
        """Log probability of the classes, given the pairs of cells."""
        if np.isinf(strength):
            return float((self.counts * np.log(self.naive)).sum())
        prior = np.maximum(strength * self.naive, _TINY)
        total = self.counts.sum(axis=2)
        pairs = gammaln(prior + self.counts) - gammaln(prior)
        return float(pairs.sum() + (gammaln(strength) - gammaln(strength + total)).sum())

    def best_strength(self) -> float:
        """The strength with the greatest evidence; the greatest of those that are as good."""
        counts = self.counts.reshape(-1, self.counts.shape[2])
        total = counts.sum(axis=1)
        known = total > 0  # nothing is known about pairs of cells without rows, whatever the strength
        counts, total, strengths = counts[known], total[known], STRENGTHS[::-1]
        prior = np.maximum(np.multiply.outer(strengths, self.naive.reshape(-1, counts.shape[1])[known]), _TINY)
        there = counts > 0
        pairs = gammaln((prior + counts)[:, there]) - gammaln(prior[:, there])
        rows = gammaln(strengths)[:, None] - gammaln(np.add.outer(strengths, total))
        return float(strengths[np.argmax(pairs.sum(axis=1) + rows.sum(axis=1))])

    def scores(self, strength: float) -> Floats:
        """Log ratios of every pair of cells, (pairs, classes); 0 where nothing is known."""
        shape = -1, self.counts.shape[2]
        if np.isinf(strength):
            return np.zeros(self.counts.shape).reshape(shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            p = (self.counts + strength * self.naive) / (self.counts.sum(axis=2, keepdims=True) + strength)
            scores = np.log(p) - np.log(self.naive)
        return np.where(np.isnan(scores), 0.0, scores).reshape(shape)


@dataclass(frozen=True, eq=False)
class InteractionPredictive(Predictive):
    """Scores of every pair of cells, (pairs, classes) for each column."""

    by_column: ClassVar[tuple[str, ...]] = ("features", "sizes", "scores")

    features: tuple[str, ...]
    n_classes: int
    sizes: tuple[tuple[int, ...], ...]
    scores: tuple[Floats, ...]

    def bind(self, columns: Sequence[Column]) -> Score:
        """Prepare to score cells."""
        pairs = [_pairs(column, sizes) for column, sizes in zip(columns, self.sizes, strict=True)]
        return score_codes(pairs, self.scores, self.n_classes)

    def weighted(self, weights: Floats, log_prior: Floats) -> InteractionPredictive | None:
        """With weights in the tables, if the classes share them."""
        if (weights != weights[:, :1]).any():
            return None
        scores = tuple(
            np.where(weight[0] == 0, 0.0, table * weight[0]) for weight, table in zip(weights, self.scores, strict=True)
        )
        return replace(self, scores=scores)

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """A correction has no samples."""
        raise UnsupportedError("a family with a likelihood", got=Described(Interaction.name), column=self.features[0])

    def n_parameters(self, number: int) -> int:
        """The shares of the classes in every pair of cells."""
        first, second = self.sizes[number]
        return first * second * max(self.n_classes - 1, 0)

    def table(self) -> list[dict[str, Any]]:
        """What every pair of cells adds to the score of each class; a cell is given with the number of its input."""
        return [
            {"column": name, "class": c, "value": ((0, i // size[1]), (1, i % size[1])), "score": float(line[c])}
            for name, size, table in zip(self.features, self.sizes, self.scores, strict=True)
            for c in range(self.n_classes)
            for i, line in enumerate(table)
        ]


def _pairs(column: Column, sizes: tuple[int, ...]) -> Codes:
    """The number of the pair of cells of each row, -1 where one of them is missing."""
    assert isinstance(column, Cells)
    cells = column.codes.astype(np.int32)
    inside = (cells >= 0).all(axis=1) & (cells < np.maximum(sizes, 0)).all(axis=1)
    numbers = np.where(inside, cells[:, 0] * sizes[1] + cells[:, 1], -1)
    return Codes(numbers.astype(np.int32), range(sizes[0] * sizes[1]))
