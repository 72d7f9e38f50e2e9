"""Pairs of coarse cells: counting them per class, and averaged one-dependence estimators.

`cells` is (rows, inputs), -1 where an input is missing; input i has sizes[i] cells. The cells of the inputs are
numbered one behind the other, S is the number of all cells.
"""

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Booleans, Codes32, Floats, Integers
from tallybayes.errors import DataError
from tallybayes.kernels.contract import checked

_MOST_CELLS = 65536  # their square is the number of lines of a table


def check_sizes(sizes: Integers) -> int:
    """The number of all cells; too many are refused."""
    n_cells = 0
    for size in sizes.tolist():
        if n_cells + size > _MOST_CELLS:
            raise DataError(f"sizes that add up to at most {_MOST_CELLS}", got=size)
        n_cells += size
    return n_cells


def number_cells(cells: NDArray[np.int16], sizes: Integers, start: int, stop: int) -> Integers:
    """The number of each cell of rows start to stop among all cells, -1 where it is missing; others are refused."""
    codes = cells[start:stop].astype(np.int64)
    if (strange := codes >= sizes).any():
        row, column = np.argwhere(strange)[0].tolist()
        raise DataError(f"a cell below {sizes[column]}", got=int(codes[row, column]), row=row + start)
    return np.where(codes < 0, -1, codes + np.cumsum(sizes) - sizes)


@checked("cells: rows, inputs; sizes: inputs | at_least 0; codes: rows | codes classes")
def count_cell_pairs(
    cells: NDArray[np.int16], sizes: Integers, codes: Codes32, n_classes: int, start: int, stop: int
) -> Integers:
    """How often each cell and each pair of cells occurs with each class, (S * S + 1, classes).

    Line `first * S + second` is of a pair of cells of different inputs (first < second), line `first * S + first` of a
    single cell; the last line counts the rows in which some input is not missing.

    >>> cells, sizes = np.array([[0, 1], [0, -1]], np.int16), np.array([1, 2])
    >>> count_cell_pairs(cells, sizes, np.zeros(2, np.int32), 1, 0, 2)[:, 0].tolist()
    [2, 0, 1, 0, 0, 0, 0, 0, 1, 2]
    """
    n_cells = check_sizes(sizes)
    number, code = number_cells(cells, sizes, start, stop), codes[start:stop]
    number, code = number[code >= 0], code[code >= 0]
    table = np.zeros((n_cells * n_cells + 1, n_classes), np.int64)
    for i in range(number.shape[1]):
        for j in range(i, number.shape[1]):
            there = (number[:, i] >= 0) & (number[:, j] >= 0)
            np.add.at(table, (number[there, i] * n_cells + number[there, j], code[there]), 1)
    table[-1] = np.bincount(code[(number >= 0).any(axis=1)], minlength=n_classes)
    return table


@checked("cells: rows, inputs; sizes: inputs | at_least 0; values: rows, columns")
def sum_cell_pairs(cells: NDArray[np.int16], sizes: Integers, values: Floats, start: int, stop: int) -> Floats:
    """Sums of values over the rows of each pair of cells of different inputs (first < second), (S, S, columns).

    >>> cells, sizes = np.array([[0, 1], [0, 1]], np.int16), np.array([1, 2])
    >>> sum_cell_pairs(cells, sizes, np.array([[0.5], [2.0]]), 0, 2)[..., 0].tolist()
    [[0.0, 0.0, 2.5], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    n_cells = check_sizes(sizes)
    number, table = number_cells(cells, sizes, start, stop), np.zeros((n_cells, n_cells, values.shape[1]))
    for row, value in zip(number, values[start:stop], strict=True):
        here = row[row >= 0]
        first, second = np.triu_indices(len(here), 1)
        table[here[first], here[second]] += value
    return table


@checked(
    "out: rows, classes; cells: rows, inputs; sizes: inputs | at_least 0; single: cells, classes; "
    "pair: cells, cells, classes; is_parent: cells"
)
def add_one_dependence(
    cells: NDArray[np.int16],
    sizes: Integers,
    single: Floats,
    pair: Floats,
    is_parent: Booleans,
    out: Floats,
    start: int,
    stop: int,
) -> None:
    """Add log of the mean over parents j of P(x_j | c) * product over the other inputs k of P(x_k | c, x_j).

    single: log P(cell | c); pair: log P(second cell | c, first cell). Missing inputs do not take part. A row without
    parents has the sum of `single`.

    >>> out, half = np.zeros((1, 1)), np.log(np.full((2, 1), 0.5))
    >>> pair = np.log(np.full((2, 2, 1), 0.25))
    >>> cells, sizes = np.zeros((1, 2), np.int16), np.array([1, 1])
    >>> add_one_dependence(cells, sizes, half, pair, np.array([True, False]), out, 0, 1)
    >>> np.exp(out).round(6).tolist()
    [[0.125]]
    """
    if check_sizes(sizes) != len(single):
        raise DataError(f"{sizes.sum()} cells in the tables", got=len(single))
    number = number_cells(cells, sizes, start, stop)
    scores, n_inputs = out[start:stop], number.shape[1]
    there = number >= 0
    naive, terms = np.zeros(scores.shape), np.full((n_inputs, *scores.shape), -np.inf)
    for j in range(n_inputs):
        naive[there[:, j]] += single[number[there[:, j], j]]
        rows = np.flatnonzero(there[:, j])
        rows = rows[is_parent[number[rows, j]]]
        terms[j, rows] = single[number[rows, j]]
        for k in range(n_inputs):
            if k != j:
                both = rows[there[rows, k]]
                terms[j, both] += pair[number[both, j], number[both, k]]
    n_parents = np.zeros(len(scores))
    for j in range(n_inputs):
        n_parents[there[:, j]] += is_parent[number[there[:, j], j]]
    top = terms.max(axis=0, initial=-np.inf)
    total, shift = np.zeros(scores.shape), np.where(np.isinf(top), 0.0, top)
    for j in range(n_inputs):
        total += np.exp(terms[j] - shift)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(np.isinf(top), top, shift + np.log(total) - np.log(n_parents)[:, None])
    scores += np.where(n_parents[:, None] > 0, mean, naive)
