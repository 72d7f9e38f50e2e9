"""Column weights applied to log likelihoods, line by line."""

from __future__ import annotations

import numpy as np

from tallybayes.arrays.array_types import Floats
from tallybayes.arrays.special import logsumexp

__all__ = ["weight_lines"]

_FEW_CLASSES = 8  # classes up to which a loop over the classes is faster


def weight_lines(log_p: Floats, weights: Floats, log_prior: Floats) -> Floats:
    """Log P(value | class) times weights, (lines, classes); a weight of 0 gives 0 whatever the likelihood is.

    weights: (classes,) or one for each line. Lines whose weights differ are centred first, at log sum over c of
    P(c) P(value | c), because their level matters. log_prior: log P(c), (classes,), or one for each line that adds up
    to 1.

    >>> weight_lines(np.log([[0.5, 0.25]]), np.array([2.0, 2.0]), np.log([0.5, 0.5])).round(2).tolist()
    [[-1.39, -2.77]]
    """
    log_prior = log_prior - logsumexp(log_prior) if log_prior.ndim == 1 else log_prior
    lines = weights.reshape(-1, weights.shape[-1])
    differ = (lines != lines[:, :1]).any(axis=1)
    if differ.all():
        result = log_p - _average(log_p, log_prior)
    else:
        result = np.array(log_p, np.float64)
        if (at := np.flatnonzero(np.broadcast_to(differ, len(log_p)))).size:
            result[at] -= _average(log_p[at], log_prior if log_prior.ndim == 1 else log_prior[at])
    if not lines.all():
        result[np.broadcast_to(weights == 0, result.shape)] = 0.0
    with np.errstate(invalid="ignore"):
        result *= weights
    return np.asarray(result)


def _average(log_p: Floats, log_prior: Floats) -> Floats:
    """Log of the average of P, (lines, 1); 0 where it is 0."""
    joint = log_p + log_prior
    if joint.shape[1] > _FEW_CLASSES:
        average = np.asarray(logsumexp(joint, axis=1))
    else:
        top = np.maximum.reduce(list(joint.T))
        np.copyto(top, 0.0, where=np.isinf(top))
        joint -= top[:, None]
        np.exp(joint, out=joint)
        with np.errstate(divide="ignore"):
            average = top + np.log(joint @ np.ones(joint.shape[1]))  # faster than a sum along a short axis
    return np.where(np.isinf(average), 0.0, average)[:, None]
