"""Real numbers of any distribution: the average over all ways to bin them.

Values are counted on a fine grid (`tallybayes.tally.histogram_grid`). For scoring, the cells in use are gathered into
at most 128 buckets of about equal count; every partition of the buckets into runs is weighted by its evidence, and
P(class | bucket) is averaged over all of them (`tallybayes.kernels.reference.average_binnings`). By Bayes' rule

    P(cell | c) = P(bucket) / cells in the bucket * P(c | bucket) / sum over buckets of P(b) P(c | b)

so probabilities are of grid cells and sum to one over the cells in use. A value in no bucket takes the nearest. The
strength a of the class shares and the rate rho of cuts are chosen from a grid by evidence, per column. The plug-in is
the frequency of each cell. Laplace's k has no meaning here except 0 (plug-in) and infinity (contributes nothing).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Weights
from tallybayes.arrays.chunks import SMALL, in_threads, n_threads
from tallybayes.arrays.column import Column, Reals
from tallybayes.arrays.float_order import ordered
from tallybayes.families.block_arrays import first_true, real_arrays, refuse
from tallybayes.families.family import Codes32, Family, Floats, Score, Smoothing
from tallybayes.families.leave_one_out_scores import as_score
from tallybayes.families.numbers.histogram_buckets import (
    FixedBinning,
    HistogramPrior,
    average_shares,
    binning_scores,
    buckets_of,
    frequency_scores,
)
from tallybayes.families.numbers.histogram_predictive import (
    HistogramPredictive,
    average_predictive,
    frequency_predictive,
    predictive_at,
)
from tallybayes.tally import Exact, Grid
from tallybayes.tally.histogram_grid import LIMIT

__all__ = ["Histogram", "HistogramPredictive", "HistogramPrior", "PendingRows"]

Result = TypeVar("Result")

_COLUMNS = 256  # columns counted or derived at a time, where there are many
_MANY_COLUMNS, _FEW_CLASSES = 64, 4  # of a matrix whose rows are counted in parts
_FEW_COLUMNS = 8  # and where there are few: fewer would cost more in calls than threads can gain
_WAITING_ROWS = 1024  # that wait at most: counting so many at once costs little more than one
_WAITING_CELLS = 2**20  # numbers that wait at most, where a row has many
_DENSE = 2**23  # (cell, class) of a table, 64 MB
_DENSE_CLASSES = 256  # above, a dense table of cells x classes would be mostly empty


@dataclass(frozen=True)
class Histogram(Family[Grid, HistogramPrior]):
    """Fine counts, averaged over all binnings.

    >>> column, codes = Reals(np.array([1.0, 2.0, 8.0, 9.0] * 5)), np.array([0, 0, 1, 1] * 5, np.int32)
    >>> tally = Histogram().observe(("length",), [column], codes, 2, None)
    >>> log_p = Histogram().derive(tally, "auto").log_prob([Reals(np.array([1.5, 8.5]))])
    >>> (log_p[:, 1] > log_p[:, 0]).tolist()
    [False, True]
    """

    name: ClassVar[str] = "histogram"
    takes_class_weights: ClassVar[bool] = True
    column: ClassVar[type[Column]] = Reals

    @property
    def em_form(self) -> None:
        """Cells: binnings are averaged with weights that depend on how the rows are divided."""
        return None

    def observe(
        self, features: tuple[str, ...], columns: Sequence[Reals], codes: Codes32, n_classes: int, weights: Weights
    ) -> Grid:
        """Count cells."""
        arrays = real_arrays(columns)
        if weights is not None or n_classes > _DENSE_CLASSES:
            return _observe_sparse(features, arrays, codes, n_classes, weights)
        threads, bad = n_threads(), list[int]()
        by_column = len(features) >= threads and _pays_by_column(arrays, n_classes)

        def count(start: int, stop: int) -> Grid:
            first, end = (start, stop) if by_column else (0, len(features))
            rows = (0, len(codes)) if by_column else (start, stop)
            levels, offsets, cells, table, place = kernels.active.count_cells(
                arrays[first:end], codes, n_classes, LIMIT, *rows
            )
            if place >= 0:
                row, column = divmod(place, end - first)
                bad.append(row * len(features) + first + column)
            return Grid.of_table(features[first:end], levels, offsets, cells, Exact.whole(table))

        if by_column:
            size = min(_COLUMNS, -(-len(features) // threads)) if len(codes) > SMALL else _COLUMNS
            parts = in_threads(count, len(features), size=size, small=0)
        else:
            parts = in_threads(count, len(codes))
        refuse(min(bad, default=-1), features, arrays, "a finite number")
        if by_column:
            return Grid.side_by_side(features, parts, n_classes)
        for part in parts[1:]:
            parts[0].prepare(part, 1)()
        return parts[0]

    def adder(self, tally: Grid, values: Floats) -> PendingRows:
        """Rows wait: every change of the cells writes all of them anew."""
        return PendingRows(self, tally, values)

    def without(self, tally: Grid, columns: Sequence[Reals], codes: Codes32, weights: Weights) -> Grid:
        """Look up the cells of the rows among those of the tally, unless they have weights or the table is large."""
        if weights is not None or len(tally.cell) * tally.n_classes > _DENSE:
            return super().without(tally, columns, codes, weights)
        return tally.without(real_arrays(columns), codes)

    def derives_by_selection(self, smoothing: Smoothing) -> bool:
        """Buckets, strength and rate, unless the column contributes nothing or is a table of frequencies."""
        return 0 < (1.0 if smoothing == "auto" else smoothing) < np.inf

    def prior(self, tally: Grid, smoothing: Smoothing) -> HistogramPrior:
        """The grid of strengths and rates; the choice is made by evidence in `predictive`."""
        return HistogramPrior(share=0.0 if smoothing == np.inf else 1.0)

    def predictive(self, tally: Grid, prior: HistogramPrior) -> HistogramPredictive:
        """The average over all binnings."""
        if prior.held is not None:
            return predictive_at(tally, prior.held, prior.share)
        parts = _by_columns(tally, lambda part: average_predictive(part, prior))
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        first = np.cumsum([0, *(len(part.edges) for part in parts)])
        return HistogramPredictive(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([part.edges for part in parts]),
            np.concatenate([part.log_p for part in parts]),
            tally,
            np.concatenate([part.step_of_cell + start for part, start in zip(parts, first, strict=False)]),
            prior,
        )

    def leave_one_out(
        self, tally: Grid, prior: HistogramPrior | None, columns: Sequence[Reals], codes: Codes32, weights: Any
    ) -> list[Score]:
        """A table of buckets and classes for each column, with fixed buckets, class shares and strengths."""
        arrays = real_arrays(columns)
        for name, array in zip(tally.features, arrays, strict=True):
            refuse(first_true(np.isinf(array)), (name,), [array], "a finite number")

        def score_column(j: int, _: int) -> Score:
            if prior is None:
                return frequency_scores(tally.between(j, j + 1), arrays[j], codes, weights)
            if prior.share == 0:
                return as_score(np.zeros((len(codes), tally.n_classes)))
            return binning_scores(FixedBinning.of(tally.between(j, j + 1), prior), arrays[j], codes, weights)

        return in_threads(score_column, len(arrays), size=1, small=0)

    def held(self, tally: Grid, prior: HistogramPrior) -> HistogramPrior:
        """With the buckets of a column and what is chosen by evidence for it."""
        return replace(prior, held=FixedBinning.of(tally, prior))

    @classmethod
    def candidates(cls, values: Floats) -> list[Family]:
        """For all numbers."""
        return [cls()]

    def plug_in(self, tally: Grid) -> HistogramPredictive:
        """The frequency of each cell; 0 between cells."""
        return frequency_predictive(tally)

    def evidence(self, tally: Grid, prior: HistogramPrior) -> Floats:
        """Of the classes given the buckets, summed over all partitions, at the best strength and rate."""
        parts = _by_columns(tally, lambda part: average_shares(buckets_of(part), prior)[3])
        return np.asarray(np.concatenate(parts) * prior.share)

    def independence(self, tally: Grid, prior: HistogramPrior) -> Floats:
        """Of the classes by their shares, the same in every bucket."""
        n = tally.rows_seen().floats()
        total = n.sum(axis=1, keepdims=True)
        shares = np.where(n > 0, n / np.where(total > 0, total, 1.0), 1.0)
        return np.asarray((n * np.log(shares)).sum(axis=1) * prior.share)


class PendingRows:
    """The adder of histograms (see `Family.adder`), which keeps rows until `settle`.

    Adding a row writes all cells anew, and a thousand rows cost hardly more. So rows are kept as they are read, and
    counted when somebody reads the sums or when a thousand are waiting: nothing can be wrong with finite numbers.
    """

    def __init__(self, family: Histogram, tally: Grid, values: Floats) -> None:
        self._family, self._tally, self._values = family, tally, values
        n_rows = max(1, min(_WAITING_ROWS, _WAITING_CELLS // max(1, len(values))))
        self._rows, self._codes, self._n = np.empty((n_rows, len(values))), np.empty(n_rows, np.int32), 0

    def __call__(self, code: int, sign: int) -> bool:
        """Keep the row that was read (sign 1), or drop the last one (-1)."""
        if sign < 0:
            self._n -= 1
            return True
        if self._n == len(self._codes):
            self.settle()
        self._rows[self._n], self._codes[self._n] = self._values, code
        self._n += 1
        return True

    def extend(self, rows: Floats, codes: Sequence[int]) -> None:
        """Keep several rows (rows, columns) of these classes."""
        size = len(self._codes)
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            if self._n + len(part) > size:
                self.settle()
            end = self._n + len(part)
            self._rows[self._n : end], self._codes[self._n : end] = part, codes[start : start + size]
            self._n = end

    def settle(self) -> None:
        """Count the rows that are waiting."""
        if n := self._n:
            tally, columns = self._tally, [Reals(column) for column in self._rows[:n].T]
            rows = self._family.observe(tally.features, columns, self._codes[:n], tally.n_classes, None)
            commit = tally.prepare(rows, 1)
            self._n = 0  # not before: what is interrupted above is done again
            commit()


def _by_columns(tally: Grid, work: Callable[[Grid], Result]) -> list[Result]:
    """Work on a few columns at a time, in threads, to limit the memory of intermediate results."""
    n = len(tally.features)
    size = max(_FEW_COLUMNS, min(_COLUMNS, -(-n // 8)))
    return in_threads(lambda start, stop: work(tally.between(start, stop)), n, size=size, small=1)


def _pays_by_column(arrays: Sequence[np.ndarray], n_classes: int) -> bool:
    """Whether threads share the columns, not the rows: nothing is merged, but each reads the rows of a matrix."""
    return len(arrays) >= _MANY_COLUMNS or n_classes > _FEW_CLASSES or arrays[0].strides[0] == arrays[0].itemsize


def _observe_sparse(
    features: tuple[str, ...], arrays: Sequence[Any], codes: Codes32, n_classes: int, weights: Weights
) -> Grid:
    """The general path: weighted rows, or so many classes that a table of cells x classes would be mostly empty."""
    counted = codes >= 0 if weights is None else (codes >= 0) & (weights != 0)
    grids = []
    for j, array in enumerate(arrays):
        refuse(first_true(np.isinf(array) & counted), (features[j],), [array], "a finite number")
        row = np.flatnonzero(counted & ~np.isnan(array))
        distinct, position = np.unique(ordered(array[row]), return_inverse=True)
        pair, group = np.unique(position * n_classes + codes[row], return_inverse=True)
        amounts = Exact.summed(np.ones(len(row)) if weights is None else weights[row], group, len(pair))
        level, owner = np.zeros(1, np.int64), np.zeros(len(pair), np.int64)
        cell, klass = distinct[pair // n_classes], pair % n_classes
        grids.append(Grid((features[j],), n_classes, level, owner, cell, klass, amounts).summed())
    return Grid.side_by_side(features, grids, n_classes)
