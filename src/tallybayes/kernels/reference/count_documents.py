"""Sums over documents, and documents scored by leave-one-out."""

import math

import numpy as np

from tallybayes.arrays.array_types import Codes32, Floats, Indices, Integers, Integers32
from tallybayes.kernels.contract import checked

__all__ = ["log_amounts", "merge_cells", "score_documents_leave_one_out", "sum_documents"]


UNIT = 30  # logarithms are integers in units of 2**-30, so that their sums are exact


@checked("indptr: rows+1; amounts: entries; indptr: rows+1 | ends entries; amounts: entries | at_least 0")
def log_amounts(indptr: Indices, amounts: Integers32, unit: bool) -> Integers:
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


@checked(
    "indptr: rows+1; amounts, indices: entries; indptr: rows+1 | ends entries; indices: entries | below tokens; "
    "amounts: entries | at_least 0; codes: rows | codes classes"
)
def sum_documents(
    indptr: Indices,
    indices: Integers32,
    amounts: Integers32,
    codes: Codes32,
    n_classes: int,
    n_tokens: int,
    unit: bool,
    first: int,
    last: int,
) -> tuple[Integers, Integers, Integers, Integers]:
    """Sums over the documents of the classes `first` to `last`, per token and class where there are any.

    The cells `token << 24 | class` in order; their occurrences, documents and `log_amounts`, (3, cells); the totals of
    these per class, (3, classes); and the length of every document (-1 for those of other classes).

    >>> indptr, indices, amounts = np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.array([3, 1, 2], np.int32)
    >>> cells, sums, totals, lengths = sum_documents(indptr, indices, amounts, np.array([1, 1]), 2, 2, True, 0, 2)
    >>> cells.tolist() == [1, 1 << 24 | 1], sums[:2].tolist(), totals[:2].tolist(), lengths.tolist()
    (True, [[5, 1], [2, 1]], [[0, 6], [0, 3]], [4, 2])
    """
    row = np.repeat(np.arange(len(codes)), np.diff(indptr))
    there = (codes >= max(first, 0)) & (codes < last)
    kept, code = there[row], codes[row].astype(np.int64)
    cells, group = np.unique(indices[kept].astype(np.int64) << 24 | code[kept], return_inverse=True)
    parts = (amounts.astype(np.int64), np.ones(len(amounts), np.int64), log_amounts(indptr, amounts, unit))
    sums, totals = np.zeros((3, len(cells)), np.int64), np.zeros((3, n_classes), np.int64)
    for i, part in enumerate(parts):
        np.add.at(sums[i], group, part[kept])
        np.add.at(totals[i], code[kept], part[kept])
    lengths = np.zeros(len(codes), np.int64)
    np.add.at(lengths, row, parts[0])
    return cells, sums, totals, np.where(there, lengths, -1)


@checked("cells_a: a; sums_a: kinds, a; cells_b: b; sums_b: kinds, b; cells_a: a | increasing; cells_b: b | increasing")
def merge_cells(cells_a: Integers, sums_a: Integers, cells_b: Integers, sums_b: Integers) -> tuple[Integers, Integers]:
    """Two lists of cells in order, with their sums (kinds, cells), as one; a cell that both have gets both sums.

    >>> merge_cells(np.array([1, 4]), np.array([[1, 2]]), np.array([2, 4]), np.array([[5, 7]]))
    (array([1, 2, 4]), array([[1, 5, 9]]))
    """
    cells, group = np.unique(np.concatenate([cells_a, cells_b]), return_inverse=True)
    sums = np.zeros((len(sums_a), len(cells)), np.int64)
    for total, part in zip(sums, np.concatenate([sums_a, sums_b], axis=1), strict=True):
        np.add.at(total, group, part)
    return cells, sums


@checked(
    "starts: tokens+1; classes, counts: lines; whole: tokens; totals: classes; indptr: rows+1; "
    "indices, own, amounts: entries; codes, weights: rows; indptr: rows+1 | ends entries; "
    "indices: entries | below tokens; starts: tokens+1 | ends lines; classes: lines | below classes; "
    "codes: rows | own_codes classes"
)
def score_documents_leave_one_out(
    starts: Indices,
    classes: Integers32,
    counts: Floats,
    whole: Floats,
    totals: Floats,
    n_tokens: float,
    indptr: Indices,
    indices: Integers32,
    own: Floats,
    amounts: Floats,
    codes: Codes32,
    weights: Floats,
    k: float,
    complement: bool,
) -> Floats:
    """Log scores (documents, classes) of documents, each by the sums without itself.

    starts: where the cells of each of the documents' tokens begin in `classes`, in order, and `counts`, and where the
    last ones end; whole: the sums of each token over the classes; totals: of all tokens, (classes); n_tokens: how many
    there are in all. What a document has added is `own` times its weight, in its own class; what its tokens count when
    it is scored is `amounts`. A token without any other occurrence contributes nothing, and there is one token fewer.
    """
    table = np.zeros((len(whole), len(totals)))
    used = slice(int(starts[0]), int(starts[-1]))
    table[np.repeat(np.arange(len(whole)), np.diff(starts)), classes[used]] = counts[used]
    out = np.zeros((len(codes), len(totals)))
    for row, (code, weight) in enumerate(zip(codes.tolist(), weights.tolist(), strict=True)):
        entries = slice(int(indptr[row]), int(indptr[row + 1]))
        amount, n = amounts[entries], table[indices[entries]]
        n[:, code] -= weight * own[entries]
        left, total = whole[indices[entries]] - weight * own[entries], totals.copy()
        total[code] -= weight * own[entries].sum()
        known = left > 1e-9 * own[entries]
        v = n_tokens - np.count_nonzero(~known)
        if complement:
            n, total = left[:, None] - n, total.sum() - total
        log_p = np.log(np.maximum(n[known], 0.0) + k) - np.log(total + k * v)
        out[row] = (amount[known, None] * log_p).sum(axis=0) * (-1 if complement else 1)
    return out
