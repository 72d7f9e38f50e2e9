"""The log loss of a weighted sum of evidence and its gradient, for fitting column weights (`scoring/weight_fit.py`)."""

import numpy as np

from tallybayes.arrays.array_types import Codes32, Floats
from tallybayes.kernels.contract import checked


@checked(
    "evidence: classes, columns, rows; weights: classes, columns; base: classes, rows; codes: rows | own_codes classes;"
    " row_weights: rows"
)
def log_loss(
    evidence: Floats, weights: Floats, base: Floats, codes: Codes32, row_weights: Floats
) -> tuple[float, Floats, Floats]:
    """Log loss of P(class | row), proportional to exp(base + sum over columns of weight * evidence).

    Arrays are finite. Returns the loss summed over the rows, its slopes by weight (classes, columns), and its slopes by
    the scores of the rows (classes, rows).

    >>> evidence = np.log([[[0.5, 0.25]], [[0.25, 0.5]]])  # two classes, one column, two rows
    >>> loss, slopes, errors = log_loss(evidence, np.ones((2, 1)), np.zeros((2, 2)), np.array([0, 1]), np.ones(2))
    >>> round(loss / 2, 4), errors.round(3).tolist()
    (0.4055, [[-0.333, 0.333], [0.333, -0.333]])
    """
    scores = base + np.einsum("cj,cjn->cn", weights, evidence)
    scores -= scores.max(axis=0)
    p = np.exp(scores)
    whole = p.sum(axis=0)
    row = np.arange(len(codes))
    loss = float(row_weights @ (np.log(whole) - scores[codes, row]))
    errors = p * (row_weights / whole)
    errors[codes, row] -= row_weights
    return loss, np.einsum("cn,cjn->cj", errors, evidence), errors
