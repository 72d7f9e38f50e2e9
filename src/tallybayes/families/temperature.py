"""One temperature for the scores of rows, and an offset for each class, fitted to the classes of the rows.

    loss = sum over rows of -log P(y | x)  +  1/2 sum over classes of o_c^2,   P(c | x) prop. to P(c) exp(o_c + w s_c)

Ways of scoring have scores of different scales: a document of length one has small scores, and dependent words make
large ones. The loss at its own best temperature tells how well a way of scoring separates the classes. The loss is
convex and is minimised by Newton's method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Booleans, Codes32, Floats

__all__ = ["Tempered", "temper_scores"]

_OFFSETS = 24  # classes up to which offsets are fitted: there is an equation for each of them
_STEPS = 12  # of Newton's method; four or five suffice almost always
_HALVINGS = 8
_ENOUGH = 1e-4  # nats per row that a step must gain
_WEAK = 0.1  # strength of the shrinkage of the temperature to 0, with scores of standard deviation 1: it bounds the
# temperature where rows are separable (50 such rows: about 3) and is negligible elsewhere


@dataclass(frozen=True, eq=False)
class Tempered:
    """The temperature, -log P(y | x) of every row at it, and which rows are misclassified."""

    temperature: float
    losses: Floats
    errors: Booleans


def temper_scores(log_prior: Floats, scores: Floats, codes: Codes32, weights: Floats) -> Tempered:
    """Fit a temperature to scores (rows, classes); log_prior: (rows, classes); weights: of the rows.

    >>> scores = np.array([[10.0, 0.0], [0.0, 10.0], [10.0, 0.0], [0.0, 10.0]])
    >>> result = temper_scores(np.zeros((4, 2)), scores, np.array([0, 1, 1, 1], np.int32), np.ones(4))
    >>> 0.0 < result.temperature < 0.2, bool(result.losses[2] > result.losses[0])
    (True, True)
    """
    finite = np.where(np.isfinite(scores), scores, 0.0)
    finite = finite - finite.mean(axis=1, keepdims=True)
    unit = float(np.sqrt((finite**2).mean()))
    if unit > 0.0:
        finite /= unit
        by_class = [np.ascontiguousarray(part.T) for part in (finite, log_prior)]
        rows = np.ascontiguousarray(codes, np.int32), np.ascontiguousarray(weights, np.float64)
        has_offsets = scores.shape[1] <= _OFFSETS
        best = kernels.active.fit_temperature(*by_class, *rows, _WEAK, has_offsets, _STEPS, _HALVINGS, _ENOUGH)
    else:
        unit, best = 1.0, np.eye(1, 1 + scores.shape[1])[0]
    joint = log_prior + best[1:] + best[0] * finite
    joint -= joint.max(axis=1, keepdims=True)
    losses = np.log(np.exp(joint).sum(axis=1)) - joint[np.arange(len(joint)), codes]
    return Tempered(float(best[0]) / unit, losses, joint.argmax(axis=1) != codes)
