"""Pairs of columns whose coarse cells explain what a fitted model gets wrong.

With p the held-out P(class | row), the residual 1[y = c] - p has mean 0 in every pair of cells if the two columns do
not interact. For a pair of cells and a class, U is the sum of the residuals and H that of p (1 - p); a correction
U / (H + t) of the score, drawn from a normal distribution with variance 1 / t, has the log Bayes factor

    1/2 (U^2 / (H + t) - log(1 + H / t))

The gain of a pair of columns is the sum over its cells and classes, for the best t. (The classes are not independent,
their residuals add up to 0: the sum is multiplied by (classes - 1) / classes.) If one pair interacts, and each is as
likely to be it as the others, the Bayes factor of that is the mean of those of the pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.array_types import Codes32, Floats

__all__ = ["PairGains", "pair_gains"]

_PRECISIONS = (3.0, 10.0, 30.0, 100.0)  # t, of which the best is taken
_LEAST_GAIN = 1.0  # nats; what does not help in the end has a small weight
_SUMS = 2**22  # sums of pairs of cells at most, 32 MB


@dataclass(frozen=True, eq=False)
class PairGains:
    """What the interaction of each pair of inputs explains, in nats; first, second: the numbers of the inputs."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    gain: Floats

    def best(self, limit: int) -> list[tuple[int, int]]:
        """The pairs with the greatest gains, the greatest first."""
        order = np.argsort(-self.gain, kind="stable")[:limit]
        return [(int(self.first[i]), int(self.second[i])) for i in order if self.gain[i] > _LEAST_GAIN]

    @property
    def log_evidence(self) -> float:
        """The log Bayes factor of one interaction, whichever it is, against none."""
        top = float(self.gain.max())
        return top + float(np.log(np.exp(self.gain - top).mean()))


def pair_gains(
    cells: NDArray[np.int16],
    sizes: Sequence[int],
    log_score: Floats,
    codes: Codes32,
    weights: Floats,
    *,
    spread: Callable[[], Floats],
) -> PairGains:
    """The gains of the pairs of two or more inputs.

    cells: (rows, inputs), -1 where missing; log_score: (rows, classes); spread: how much each input contributes, for
    the case that there are too many to look at all.
    """
    n_rows, n_classes = log_score.shape
    p = np.exp(log_score - log_score.max(axis=1, keepdims=True))
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
    return PairGains(chosen[first], chosen[second], gains[first, second])


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
