"""Numbers in buckets, and neighbouring buckets divided into cells, where the classes change."""

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Floats, Integers
from tallybayes.errors import DataError
from tallybayes.kernels.contract import checked

__all__ = ["cut_buckets", "find_steps"]


@checked("values: rows; edges: entries | ascending")
def find_steps(values: NDArray[np.floating], edges: Floats) -> Integers:
    """How many of some edges in increasing order are not above each value, (rows,); all of them for NaN.

    >>> find_steps(np.array([1.0, 2.0, 3.5, np.nan]), np.array([2.0, 3.0])).tolist()
    [0, 1, 2, 2]
    """
    return np.asarray(np.searchsorted(edges, values.astype(np.float64), side="right"), np.int64)


@checked(
    "buckets: lines, classes; terms: entries; buckets: lines, classes | below entries; large: | known; least: | known; "
    "cost: | known"
)
def cut_buckets(buckets: Integers, terms: Floats, n_cells: int, large: float, least: float, cost: float) -> Integers:
    """The first bucket of each cell but the first, in the order of the divisions; buckets are (buckets, classes).

    The cell with the most rows is divided as long as it has more than `large`, then the cell whose division says most
    about the class. A cut says how many nats of entropy it takes away over all rows of its cell; where that is not more
    than `cost` it counts as 0, and the cell is cut into halves. Both sides have at least `least` rows. terms: n log n
    for every number of rows. Of equal cells and cuts the first is taken.

    >>> buckets, n = np.array([[9, 1], [9, 1], [1, 9], [1, 9]]), np.arange(41)
    >>> cut_buckets(buckets, n * np.log(np.maximum(n, 1)), 4, 10.0, 1.0, 3.0).tolist()
    [2, 1, 3]
    """
    if (n_rows := int(buckets.sum())) >= len(terms):
        raise DataError("fewer rows than terms", got=n_rows)
    runs, cuts = _Runs(buckets, terms, least, cost), list[int]()
    best = {(0, len(buckets)): runs.best_cut(0, len(buckets))}  # of each cell
    while len(cuts) + 1 < n_cells:
        possible = {cell: cut for cell, cut in best.items() if cut is not None}
        if not possible:
            break
        cell = max(possible, key=lambda run: (runs.rows(*run), -run[0]))
        if runs.rows(*cell) <= large:
            cell = max(possible, key=lambda run: (possible[run][0], -run[0]))
            if not possible[cell][0]:
                break
        cut = possible[cell][1]
        del best[cell]
        best |= {part: runs.best_cut(*part) for part in ((cell[0], cut), (cut, cell[1]))}
        cuts.append(cut)
    return np.array(cuts, np.int64)


class _Runs:
    """Runs of buckets from one to before another: their rows, and the rows times the entropy of the class, in nats."""

    def __init__(self, buckets: Integers, terms: Floats, least: float, cost: float) -> None:
        sums = np.zeros((buckets.shape[1], len(buckets) + 1), np.int64)
        np.cumsum(buckets.T, axis=1, out=sums[:, 1:])
        self._before, self._least, self._cost = sums.sum(axis=0), least, cost
        counts = np.maximum(sums[:, None] - sums[:, :, None], 0)  # (classes, from, to)
        self._nats = terms[counts.sum(axis=0)] - sum(terms[row] for row in counts)

    def rows(self, start: int, stop: int) -> int:
        """The rows of a run."""
        return int(self._before[stop] - self._before[start])

    def best_cut(self, start: int, stop: int) -> tuple[float, int] | None:
        """The best cut of a run and what it says about the class; None if no cut leaves enough rows."""
        inner = self._before[start + 1 : stop]
        left, right = inner - self._before[start], self._before[stop] - inner
        possible = np.flatnonzero((left >= self._least) & (right >= self._least))
        if not len(possible):
            return None
        cuts = possible + (start + 1)
        gain = self._nats[start, stop] - self._nats[start, cuts] - self._nats[cuts, stop]
        best = int(np.argmax(gain))
        if gain[best] > self._cost:
            return float(gain[best]), int(cuts[best])
        return 0.0, int(cuts[np.argmin(np.abs(left - right)[possible])])
