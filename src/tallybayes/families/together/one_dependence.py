"""Averaged one-dependence estimators over the coarse cells of several columns.

    P(x | c) = mean over parents j of P(x_j | c) * product over the other columns k of P(x_k | c, x_j)

(Webb, Boughton and Wang 2005, "Not so naive Bayes"). Each value x_j that at least 20 rows have is a parent once: the
other columns depend on the class and on it. Without any parent it is naive Bayes over the cells. Counts n of rows with

    P(x_k | c)      = (n_ck + 1 / V_k) / (n_c + 1)              V_k: cells of column k
    P(x_k | c, x_j) = (n_cjk + 5 P(x_k | c)) / (n_cj + 5)

where n_c and n_cj are of the rows in which x_k is not missing. A missing value is neither parent nor child. The
probabilities of all cells add up to 1 as long as the same columns are parents in all rows, that is, if at least 20
rows have each of the cells. A smoothing k multiplies both strengths, 1 and 5; "auto" is k = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Codes32, Integers, Weights
from tallybayes.arrays.column import Cells, Column
from tallybayes.errors import Described, UnsupportedError
from tallybayes.families.family import Floats, Predictive, Score, Smoothing
from tallybayes.families.predictive import value_rows
from tallybayes.families.strength import Strength
from tallybayes.families.together.cell_pair_family import CellPairFamily
from tallybayes.families.together.one_dependence_tables import OneDependenceTables, PairSums, leave_one_out_score
from tallybayes.tally import CellPairCounts

__all__ = ["OneDependence", "OneDependencePredictive", "OneDependencePrior"]


@dataclass(frozen=True)
class OneDependencePrior:
    """What the strengths of smoothing are multiplied by; infinity: all cells are equally probable."""

    k: float


@dataclass(frozen=True)
class OneDependence(CellPairFamily[OneDependencePrior]):
    """The mean of models in which all columns depend on one of them.

    >>> equal = Cells(np.repeat([[0, 0], [1, 1]], 50, axis=0).astype(np.int16), (2, 2))
    >>> tally = OneDependence().observe(("both",), [equal], np.zeros(100, np.int32), 1, None)
    >>> some = Cells(np.array([[0, 0], [0, 1]], np.int16), (2, 2))
    >>> np.exp(OneDependence().derive(tally, "auto").log_prob([some])).round(3).tolist()
    [[0.477], [0.023]]
    """

    name: ClassVar[str] = "one_dependence"
    takes_smoothing: ClassVar[bool] = True

    def table_of(self, sizes: tuple[int, ...], pairs: Floats) -> PairSums:
        """The counts of cells, of pairs and of inputs."""
        return PairSums.of_pairs(sizes, pairs)

    def prior_of(self, tables: Sequence[PairSums], smoothing: Smoothing) -> OneDependencePrior:
        """The strengths times k."""
        return OneDependencePrior(1.0 if smoothing == "auto" else float(smoothing))

    def strengths(self, tally: CellPairCounts, smoothing: Smoothing) -> list[Strength]:
        """The factor k of both strengths."""
        return [Strength(self.prior_of([], smoothing).k)] * len(tally.features)

    def predictive_of(
        self, features: tuple[str, ...], n_classes: int, tables: Sequence[PairSums], prior: OneDependencePrior
    ) -> OneDependencePredictive:
        """Smoothed frequencies."""
        logs = tuple(OneDependenceTables.of(sums, prior.k) for sums in tables)
        return OneDependencePredictive(features, n_classes, logs)

    def evidence(self, tally: CellPairCounts, prior: OneDependencePrior) -> Floats:
        """A mean of models with common counts has no marginal likelihood in closed form."""
        column = tally.features[0] if tally.features else None
        hint = "averaged models have no marginal likelihood; leave-one-out can be used instead"
        got = Described(self.name)
        raise UnsupportedError("a family with an evidence in closed form", got=got, column=column, hint=hint)

    def leave_one_out(
        self,
        tally: CellPairCounts,
        prior: OneDependencePrior | None,
        columns: Sequence[Cells],
        codes: Codes32,
        weights: Weights,
    ) -> list[Score]:
        """From the counts without the row, which change only for its own class."""
        k = 0.0 if prior is None else prior.k
        return [
            leave_one_out_score(sums, k, name, column, codes, weights)
            for sums, name, column in zip(self.tables_of(tally), tally.features, columns, strict=True)
        ]

    def derives_by_selection(self, smoothing: Smoothing) -> bool:
        """The strengths are fixed."""
        return False


@dataclass(frozen=True, eq=False)
class OneDependencePredictive(Predictive):
    """Tables of logs for every column."""

    by_column: ClassVar[tuple[str, ...]] = ("features", "tables")

    features: tuple[str, ...]
    n_classes: int
    tables: tuple[OneDependenceTables, ...]

    def bind(self, columns: Sequence[Column]) -> Score:
        """Prepare to score cells."""
        cells = [column.codes for column in columns if isinstance(column, Cells)]
        bound = [
            (codes, np.array(tables.sizes, np.int64), tables.single, tables.pair, tables.is_parent)
            for codes, tables in zip(cells, self.tables, strict=True)
        ]

        def score(out: Floats, start: int, stop: int) -> None:
            for arguments in bound:
                kernels.active.add_one_dependence(*arguments, out, start, stop)

        return score

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Cells of every column, (rows, inputs): a parent drawn at random, then the other inputs given its cell."""
        return [_draw_cells(tables, rng, code, n) for tables in self.tables]

    def n_parameters(self, number: int) -> int:
        """Of the joint distributions of all pairs of inputs: of each input, and of each pair beyond these."""
        free = np.array([size - 1 for size in self.tables[number].sizes])
        pairs = (free.sum() ** 2 - (free**2).sum()) // 2
        return int(self.n_classes * (free.sum() + pairs))

    def table(self) -> list[dict[str, Any]]:
        """Probability of every cell, which is given as the number of its input and its own."""
        rows = []
        for name, tables in zip(self.features, self.tables, strict=True):
            cells = [(i, cell) for i, size in enumerate(tables.sizes) for cell in range(size)]
            rows += value_rows(name, cells, np.exp(tables.single))
        return rows


def _draw_cells(tables: OneDependenceTables, rng: np.random.Generator, code: int, n: int) -> Integers:
    """Rows of cells of one column, (rows, inputs)."""
    offsets, n_inputs = tables.offsets, len(tables.sizes)
    cells = np.zeros((n, n_inputs), np.int64)
    parent = rng.integers(0, n_inputs, n) if n_inputs else np.zeros(n, np.int64)

    def draw(log_p: Floats) -> Integers:
        """A number for each row of log probabilities."""
        ends = np.cumsum(np.exp(log_p - log_p.max(axis=1, keepdims=True)), axis=1)
        drawn = rng.random((len(ends), 1)) * ends[:, -1:]
        return np.asarray((drawn >= ends[:, :-1]).sum(axis=1))

    for j in range(n_inputs):
        rows, parent_cells = np.flatnonzero(parent == j), slice(offsets[j], offsets[j + 1])
        cells[rows, j] = draw(np.repeat(tables.single[None, parent_cells, code], len(rows), axis=0))
        cell = offsets[j] + cells[rows, j]
        for k in range(n_inputs):
            if k != j:
                other = slice(offsets[k], offsets[k + 1])
                is_parent = tables.is_parent[cell][:, None]
                cells[rows, k] = draw(np.where(is_parent, tables.pair[cell, other, code], tables.single[other, code]))
    return cells
