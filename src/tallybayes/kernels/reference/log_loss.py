"""The log loss of a weighted sum of evidence and its gradient, for fitting column weights (`weights/weight_fit.py`)."""

import numpy as np

from tallybayes.arrays.array_types import Codes32, Floats, Integers32
from tallybayes.kernels.contract import checked


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
    for own in cells:
        for line, error in zip(by_cell, errors, strict=True):
            np.add.at(line, own, error)
    return loss, np.einsum("cn,cjn->cj", errors, evidence), errors @ values.T, by_cell, errors
