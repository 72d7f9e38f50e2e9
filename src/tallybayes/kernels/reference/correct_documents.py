"""The loss of corrections of tokens, and its gradient."""

import numpy as np

from tallybayes.arrays.array_types import Codes32, Floats, Indices, Integers32
from tallybayes.kernels.contract import checked

__all__ = ["correction_gradient"]


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
