"""Log losses and their gradients: of column weights (`weights/weight_fit.py`), and of corrections of tokens."""

import numpy as np

from tallybayes.arrays.array_types import Codes32, Floats, Indices, Integers32
from tallybayes.kernels.contract import checked

__all__ = ["correction_gradient"]


@checked(
    "evidence: classes, columns, rows; weights: classes, columns; values: lines, rows; slopes: classes, lines;"
    " cells: entries, rows; tables: classes, tokens; base: classes, rows; codes: rows | own_codes classes;"
    " row_weights: rows; cells: entries, rows | below tokens"
)
def log_loss(
    evidence: Floats,
    weights: Floats,
    values: Floats,
    slopes: Floats,
    cells: Integers32,
    tables: Floats,
    base: Floats,
    codes: Codes32,
    row_weights: Floats,
) -> tuple[float, Floats, Floats, Floats, Floats]:
    """Log loss of P(class | row), proportional to exp(base + weights * evidence + slopes * values + tables[cells]).

    Arrays are finite. Returns the loss summed over the rows, and its slopes by weight (classes, columns), by slope
    (classes, lines), by entry of a table (classes, tokens), and by the scores of the rows (classes, rows).

    >>> evidence = np.log([[[0.5, 0.25]], [[0.25, 0.5]]])  # two classes, one column, two rows
    >>> values, cells = np.zeros((0, 2)), np.zeros((0, 2), np.int32)
    >>> others = values, np.zeros((2, 0)), cells, np.zeros((2, 0)), np.zeros((2, 2))
    >>> loss, *_, errors = log_loss(evidence, np.ones((2, 1)), *others, np.array([0, 1]), np.ones(2))
    >>> round(loss / 2, 4), errors.round(3).tolist()
    (0.4055, [[-0.333, 0.333], [0.333, -0.333]])
    """
    scores = base + np.einsum("cj,cjn->cn", weights, evidence) + slopes @ values
    scores += tables[:, cells].sum(axis=1)
    scores -= scores.max(axis=0)
    p = np.exp(scores)
    whole = p.sum(axis=0)
    row = np.arange(len(codes))
    loss = float(row_weights @ (np.log(whole) - scores[codes, row]))
    errors = p * (row_weights / whole)
    errors[codes, row] -= row_weights
    by_cell = np.zeros(tables.shape)
    for column in cells:
        for line, error in zip(by_cell, errors, strict=True):
            np.add.at(line, column, error)
    return loss, np.einsum("cn,cjn->cj", errors, evidence), errors @ values.T, by_cell, errors


@checked(
    "table: tokens, classes; base: rows, classes; indptr: rows+1; indices, amounts: entries; codes, weights: rows; "
    "indptr: rows+1 | ends entries; indices: entries | below tokens; codes: rows | own_codes classes"
)
def correction_gradient(
    table: Floats, base: Floats, indptr: Indices, indices: Integers32, amounts: Floats, codes: Codes32, weights: Floats
) -> tuple[float, Floats]:
    """The sum over documents of -weight * log P(class | document), and its gradient with respect to the table.

    P(c | document) is proportional to exp(base_c + sum over tokens of amount * table_tc).

    >>> table, base, ends = np.zeros((1, 2)), np.zeros((1, 2)), np.array([0, 1])
    >>> loss, gradient = correction_gradient(
    ...     table, base, ends, np.array([0], np.int32), np.array([2.0]), np.array([1], np.int32), np.ones(1))
    >>> round(loss, 4), gradient.tolist()
    (0.6931, [[1.0, -1.0]])
    """
    loss, gradient = 0.0, np.zeros_like(table)
    for row, (code, weight) in enumerate(zip(codes.tolist(), weights.tolist(), strict=True)):
        entries = slice(int(indptr[row]), int(indptr[row + 1]))
        tokens, amount = indices[entries], amounts[entries]
        score = base[row] + (amount[:, None] * table[tokens]).sum(axis=0)
        score = score - score.max()
        p = np.exp(score)
        loss += weight * float(np.log(p.sum()) - score[code])
        p /= p.sum()
        p[code] -= 1.0
        np.add.at(gradient, tokens, amount[:, None] * (weight * p))
    return loss, gradient
