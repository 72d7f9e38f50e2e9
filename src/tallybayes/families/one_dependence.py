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
from tallybayes.arrays.array_types import Booleans, Integers
from tallybayes.arrays.column import Cells, Column
from tallybayes.errors import Described, UnsupportedError
from tallybayes.families.cell_pair_family import CellPairFamily, check_pairs
from tallybayes.families.family import Floats, Predictive, Score, Smoothing
from tallybayes.tally import CellPairCounts

__all__ = ["OneDependence", "OneDependencePredictive", "OneDependencePrior"]

PARENT_ROWS = 20.0  # of a parent, at least (a study of 52 tables; Webb et al. had 30)
CELL_STRENGTH = 1.0  # rows added to a column, spread over its cells (the same study)
PAIR_STRENGTH = 5.0  # rows added to a parent, spread as P(x_k | c) (the same study)


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

    def prior(self, tally: CellPairCounts, smoothing: Smoothing) -> OneDependencePrior:
        """The strengths times k."""
        return OneDependencePrior(1.0 if smoothing == "auto" else float(smoothing))

    def predictive(self, tally: CellPairCounts, prior: OneDependencePrior) -> OneDependencePredictive:
        """Smoothed frequencies."""
        tables = tuple(_Tables.of(tally, name, prior.k) for name in tally.features)
        return OneDependencePredictive(tally.features, tally.n_classes, tables)

    def plug_in(self, tally: CellPairCounts) -> OneDependencePredictive:
        """Frequencies."""
        return self.predictive(tally, OneDependencePrior(0.0))

    def evidence(self, tally: CellPairCounts, prior: OneDependencePrior) -> Floats:
        """A mean of models with common counts has no marginal likelihood in closed form."""
        column = tally.features[0] if tally.features else None
        raise UnsupportedError("a family with an evidence in closed form", got=Described(self.name), column=column)

    def derives_by_selection(self, smoothing: Smoothing) -> bool:
        """The strengths are fixed."""
        return False


@dataclass(frozen=True, eq=False)
class _Tables:
    """Log probabilities of one column: log P(cell | c), log P(second cell | c, first cell), and which are parents."""

    sizes: tuple[int, ...]
    single: Floats  # (cells, classes)
    pair: Floats  # (cells, cells, classes)
    is_parent: Booleans  # (cells,)

    @property
    def offsets(self) -> Integers:
        """The first cell of each input, and the number of all cells."""
        return np.cumsum([0, *self.sizes])

    @classmethod
    def of(cls, tally: CellPairCounts, feature: str, k: float) -> _Tables:
        sizes = tally.sizes[feature]
        check_pairs(feature, sum(sizes), tally.n_classes)
        counts, first = tally.pair_table(feature), np.cumsum([0, *sizes])[:-1]
        input_of = np.repeat(np.arange(len(sizes)), sizes)
        n = np.diagonal(counts).T
        share = 1.0 / np.repeat(sizes, sizes)[:, None]
        total = np.add.reduceat(n, first, axis=0)[input_of] if len(sizes) else n
        in_pairs = np.add.reduceat(counts, first, axis=1)[:, input_of] if len(sizes) else counts
        if np.isinf(k):
            p, pair = np.broadcast_to(share, n.shape), np.broadcast_to(np.log(share), counts.shape)
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                p = (n + k * CELL_STRENGTH * share) / (total + k * CELL_STRENGTH)
                pair = np.log((counts + k * PAIR_STRENGTH * p) / (in_pairs + k * PAIR_STRENGTH))
        with np.errstate(divide="ignore", invalid="ignore"):
            single = np.log(p)
        return cls(sizes, _silent(single), _silent(pair), n.sum(axis=1) >= PARENT_ROWS)


def _silent(log_p: Floats) -> Floats:
    """0 where nothing is known: 0 / 0 without smoothing."""
    return np.ascontiguousarray(np.where(np.isnan(log_p), 0.0, log_p))


@dataclass(frozen=True, eq=False)
class OneDependencePredictive(Predictive):
    """Tables of logs for every column."""

    features: tuple[str, ...]
    n_classes: int
    tables: tuple[_Tables, ...]

    def bind(self, columns: Sequence[Column]) -> Score:
        """Prepare to score cells."""
        cells = [column.codes for column in columns if isinstance(column, Cells)]
        own = [
            (codes, np.array(tables.sizes, np.int64), tables.single, tables.pair, tables.is_parent)
            for codes, tables in zip(cells, self.tables, strict=True)
        ]

        def score(out: Floats, start: int, stop: int) -> None:
            for arguments in own:
                kernels.active.add_one_dependence(*arguments, out, start, stop)

        return score

    def part(self, number: int) -> OneDependencePredictive:
        """One column."""
        rows = slice(number, number + 1)
        return OneDependencePredictive(self.features[rows], self.n_classes, self.tables[rows])

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Cells of every column, (rows, inputs): a parent drawn at random, then the other inputs given its cell."""
        return [_drawn(tables, rng, code, n) for tables in self.tables]

    def table(self) -> list[dict[str, Any]]:
        """Probability of every cell."""
        return [
            {"column": name, "class": c, "input": i, "cell": cell, "P(cell)": float(np.exp(tables.single[at, c]))}
            for name, tables in zip(self.features, self.tables, strict=True)
            for c in range(self.n_classes)
            for at, (i, cell) in enumerate((i, cell) for i, size in enumerate(tables.sizes) for cell in range(size))
        ]


def _drawn(tables: _Tables, rng: np.random.Generator, code: int, n: int) -> Integers:
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
        rows, own = np.flatnonzero(parent == j), slice(offsets[j], offsets[j + 1])
        cells[rows, j] = draw(np.repeat(tables.single[None, own, code], len(rows), axis=0))
        given = offsets[j] + cells[rows, j]
        for k in range(n_inputs):
            if k != j:
                other = slice(offsets[k], offsets[k + 1])
                is_parent = tables.is_parent[given][:, None]
                cells[rows, k] = draw(np.where(is_parent, tables.pair[given, other, code], tables.single[other, code]))
    return cells
