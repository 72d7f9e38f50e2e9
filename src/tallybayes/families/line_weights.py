"""Column weights applied to log likelihoods, line by line."""

from __future__ import annotations

import numpy as np

from tallybayes.arrays.array_types import Floats
from tallybayes.arrays.special import logsumexp

__all__ = ["weighted_lines"]


def weighted_lines(log_p: Floats, weights: Floats, log_prior: Floats) -> Floats:
    """Log P(value | class) times weights, (lines, classes); a weight of 0 gives 0 whatever the likelihood is.

    weights: (classes,) or one for each line; log_prior: the same. Lines whose weights differ are centred first, at log
    sum over c of P(c) P(value | c), because their level matters.

    >>> weighted_lines(np.log([[0.5, 0.25]]), np.array([2.0, 2.0]), np.log([0.5, 0.5])).round(2).tolist()
    [[-1.39, -2.77]]
    """
    weights = np.broadcast_to(weights, log_p.shape)
    differ = np.flatnonzero((weights != weights[:, :1]).any(axis=1))
    result = np.array(log_p, np.float64)
    if len(differ):
        prior = np.broadcast_to(log_prior, log_p.shape)[differ]
        result[differ] -= _average(result[differ], prior)
    result[weights == 0] = 0.0
    with np.errstate(invalid="ignore"):
        return np.asarray(result * weights)


def _average(log_p: Floats, log_prior: Floats) -> Floats:
    """Log of the average of P, (lines, 1); 0 where it is 0."""
    with np.errstate(divide="ignore"):
        average = np.asarray(logsumexp(log_p + log_prior - logsumexp(log_prior, axis=1)[:, None], axis=1))[:, None]
    return np.where(np.isinf(average), 0.0, average)
