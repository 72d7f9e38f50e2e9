"""Pairs of columns whose coarse cells explain what a fitted model gets wrong.

With p the held-out P(class | row), the residual 1[y = c] - p has mean 0 in every pair of cells if the two columns do
not interact. For a pair of cells and a class, U is the sum of the residuals and H that of p (1 - p); a correction
U / (H + t) of the score, drawn from a normal distribution with variance 1 / t, has the log Bayes factor

    1/2 (U^2 / (H + t) - log(1 + H / t))

The gain of a pair of columns is the sum over its cells and classes, for the best t. (The classes are not independent,
their residuals add up to 0: the sum is multiplied by (classes - 1) / classes.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.array_types import Codes32, Floats

__all__ = ["find_interactions"]

_PRECISIONS = (3.0, 10.0, 30.0, 100.0)  # t, of which the best is taken
_LEAST_GAIN = 1.0  # nats; what does not help in the end has a small weight
_SUMS = 2**22  # sums of pairs of cells at most, 32 MB


def find_interactions(
    cells: NDArray[np.int16],
    sizes: Sequence[int],
    log_joint: Floats,
    codes: Codes32,
    weights: Floats,
    *,
    spread: Callable[[], Floats],
    limit: int,
) -> list[tuple[int, int]]:
    """The pairs of inputs with the greatest gains, the greatest first.

    cells: (rows, inputs), -1 where missing; log_joint: (rows, classes); spread: how much each input contributes, for
    the case that there are too many to look at all.
    """
    n_rows, n_classes = log_joint.shape
    p = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    residual = -p
    residual[np.arange(n_rows), codes] += 1.0
    values = np.concatenate([residual, p * (1 - p)], axis=1) * weights[:, None]
    chosen = np.arange(len(sizes))
    if sum(sizes) ** 2 * 2 * n_classes > _SUMS:
        order = np.argsort(-spread(), kind="stable")
        n_cells = np.cumsum(np.array(sizes)[order])
        chosen = np.sort(order[: max(2, int((n_cells**2 * 2 * n_classes <= _SUMS).sum()))])
    own_sizes = np.array([sizes[i] for i in chosen.tolist()], np.int64)
    own_cells = np.ascontiguousarray(cells[:, chosen])
    table = kernels.active.sum_cell_pairs(own_cells, own_sizes, np.ascontiguousarray(values), 0, n_rows)
    gains = _gains(table[..., :n_classes], table[..., n_classes:], own_sizes) * (n_classes - 1) / n_classes
    first, second = np.triu_indices(len(chosen), 1)
    order = np.argsort(-gains[first, second], kind="stable")[:limit]
    return [(int(chosen[first[i]]), int(chosen[second[i]])) for i in order if gains[first[i], second[i]] > _LEAST_GAIN]


def _gains(sums: Floats, curvature: Floats, sizes: NDArray[np.int64]) -> Floats:
    """The gain of every pair of inputs, (inputs, inputs)."""
    input_of = np.repeat(np.arange(len(sizes)), sizes)
    first, second = np.nonzero(curvature.any(axis=2))  # pairs of cells that have rows
    pair, n = input_of[first] * len(sizes) + input_of[second], len(sizes) ** 2
    u, h = sums[first, second], curvature[first, second]
    best = np.full(n, -np.inf)
    for t in _PRECISIONS:
        cells = (u**2 / (h + t) - np.log1p(h / t)) @ np.full(u.shape[1], 0.5)
        best = np.maximum(best, np.bincount(pair, weights=cells, minlength=n))
    return best.reshape(len(sizes), len(sizes))
