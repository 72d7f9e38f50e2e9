"""Sums over documents, and documents scored by the sums without themselves."""

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["document_sums", "left_out", "log_amounts"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

UNIT = 30  # logarithms are whole numbers of 2**-30, so that their sums are exact


def log_amounts(indptr: NDArray[np.integer], amounts: NDArray[np.int32], unit: bool) -> Whole:
    """log(1 + amount) of every token of every document, in units of 2**-30.

    With `unit` each is divided by the root of the document's sum of squares, taken in the order of its tokens.

    >>> (log_amounts(np.array([0, 2, 3]), np.array([1, 1, 7], np.int32), True) / 2**30).round(3).tolist()
    [0.707, 0.707, 1.0]
    """
    result = np.zeros(len(amounts), np.int64)
    for start, stop in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
        logs = [math.log1p(amount) for amount in amounts[start:stop].tolist()]
        square = 0.0
        for log in logs:
            square += log * log
        scale = 2.0**UNIT / math.sqrt(square) if unit and square else 2.0**UNIT
        result[start:stop] = [round(log * scale) for log in logs]
    return result


def document_sums(
    indptr: NDArray[np.integer],
    indices: NDArray[np.int32],
    amounts: NDArray[np.int32],
    logs: Whole,
    codes: NDArray[np.int32],
    n_classes: int,
    first: int,
    last: int,
) -> tuple[Whole, Whole, Whole, Whole]:
    """Sums over documents of the tokens `first` to `last` per class, where there are any.

    The places `token * n_classes + class` in order, the total amount, the documents and the total of the logarithms.

    >>> indptr, indices, amounts = np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.array([3, 1, 2], np.int32)
    >>> document_sums(indptr, indices, amounts, np.array([20, 10, 15]), np.array([1, 1], np.int32), 2, 0, 2)
    (array([1, 3]), array([5, 1]), array([2, 1]), array([35, 10]))
    """
    code = np.repeat(codes, np.diff(indptr)).astype(np.int64)
    kept = (code >= 0) & (indices >= first) & (indices < last)
    place, group = np.unique(indices[kept].astype(np.int64) * n_classes + code[kept], return_inverse=True)
    result = [np.zeros(len(place), np.int64) for _ in range(3)]
    ones = np.ones(len(group), np.int64)
    for total, part in zip(result, (amounts[kept].astype(np.int64), ones, logs[kept]), strict=True):
        np.add.at(total, group, part)
    return place, result[0], result[1], result[2]


def left_out(
    table: Floats,
    totals: Floats,
    n_tokens: float,
    indptr: NDArray[np.integer],
    indices: NDArray[np.int32],
    amounts: Floats,
    codes: NDArray[np.int32],
    weights: Floats,
    k: float,
    complement: bool,
) -> Floats:
    """Log scores (documents, classes) of documents, each by the sums without itself.

    table: of the documents' tokens, (tokens, classes); totals: of all tokens, (classes); n_tokens: how many there are
    in all. What a document has added is its amounts times its weight, in its own class. A token that nothing is
    left of is silent, and one token fewer.
    """
    out = np.zeros((len(codes), len(totals)))
    for row, (code, weight) in enumerate(zip(codes.tolist(), weights.tolist(), strict=True)):
        entries = slice(int(indptr[row]), int(indptr[row + 1]))
        amount, n = amounts[entries], table[indices[entries]]
        n[:, code] -= weight * amount
        left, total = n.sum(axis=1), totals.copy()
        total[code] -= weight * amount.sum()
        known = left > 1e-9 * amount
        v = n_tokens - np.count_nonzero(~known)
        if complement:
            n, total = left[:, None] - n, total.sum() - total
        log_p = np.log(np.maximum(n[known], 0.0) + k) - np.log(total + k * v)
        out[row] = (amount[known, None] * log_p).sum(axis=0) * (-1 if complement else 1)
    return out
