"""One temperature for the scores of rows, and an offset for each class, fitted to the classes of the rows.

    loss = sum over rows of -log P(y | x)  +  1/2 sum over classes of o_c^2,   P(c | x) prop. to P(c) exp(o_c + w s_c)

Ways of scoring have scores of different scales: a document of length one has small scores, and dependent words make
large ones. The loss at its own best temperature tells how well a way of scoring separates the classes. The loss is
convex and is minimised by Newton's method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallybayes.arrays.array_types import Booleans, Codes32, Floats

__all__ = ["Tempered", "tempered"]

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


def tempered(log_prior: Floats, scores: Floats, codes: Codes32, weights: Floats) -> Tempered:
    """Fit a temperature to scores (rows, classes); log_prior: (rows, classes); weights: of the rows.

    >>> scores = np.array([[10.0, 0.0], [0.0, 10.0], [10.0, 0.0], [0.0, 10.0]])
    >>> found = tempered(np.zeros((4, 2)), scores, np.array([0, 1, 1, 1], np.int32), np.ones(4))
    >>> 0.0 < found.temperature < 0.2, bool(found.losses[2] > found.losses[0])
    (True, True)
    """
    finite = np.where(np.isfinite(scores), scores, 0.0)
    finite = finite - finite.mean(axis=1, keepdims=True)
    unit = float(np.sqrt((finite**2).mean()))
    if not unit > 0.0:
        fit, unit, best = _Fit(log_prior, finite, codes, weights), 1.0, np.eye(1, 1 + scores.shape[1])[0]
    else:
        fit = _Fit(log_prior, finite / unit, codes, weights)
        best = fit.minimum()
    return Tempered(float(best[0]) / unit, fit.losses(best), fit.log_joint(best).argmax(axis=1) != codes)


@dataclass(frozen=True, eq=False)
class _Fit:
    """The loss as a function of the temperature and the offsets, (1 + classes,)."""

    log_prior: Floats
    scores: Floats
    codes: Codes32
    weights: Floats

    def log_joint(self, at: Floats) -> Floats:
        """Log P(class, row) up to a constant of each row; the greatest is 0."""
        joint = self.log_prior + at[1:] + at[0] * self.scores
        return np.asarray(joint - joint.max(axis=1, keepdims=True))

    def losses(self, at: Floats) -> Floats:
        """-log P(y | x) of every row."""
        joint = self.log_joint(at)
        return np.asarray(np.log(np.exp(joint).sum(axis=1)) - joint[np.arange(len(joint)), self.codes])

    def loss(self, at: Floats) -> float:
        """The loss with the shrinkage."""
        penalty = _WEAK * at[0] ** 2 + (at[1:] ** 2).sum()
        return float((self.weights * self.losses(at)).sum() + 0.5 * penalty)

    def step(self, at: Floats) -> Floats:
        """Newton's step."""
        (n, n_classes), scores, weights = self.scores.shape, self.scores, self.weights
        p = np.exp(self.log_joint(at))
        p /= (p @ np.ones(n_classes))[:, None]
        mean = np.einsum("nc,nc->n", p, scores)
        slope = float(weights @ (mean - scores[np.arange(n), self.codes])) + _WEAK * at[0]
        steepness = float(weights @ (np.einsum("nc,nc,nc->n", p, scores, scores) - mean**2)) + _WEAK
        if n_classes > _OFFSETS:
            return np.concatenate([[-slope / steepness], np.zeros(n_classes)])
        own = weights[:, None] * p
        size = weights @ p
        slopes = size - np.bincount(self.codes, weights, n_classes) + at[1:]
        curvature = np.empty((1 + n_classes, 1 + n_classes))
        curvature[0, 0] = steepness
        curvature[0, 1:] = curvature[1:, 0] = np.einsum("nc,nc->c", own, scores) - mean @ own
        curvature[1:, 1:] = np.diag(size + 1.0) - own.T @ p
        return np.asarray(-np.linalg.solve(curvature, np.concatenate([[slope], slopes])))

    def minimum(self) -> Floats:
        """The temperature and the offsets with the least loss."""
        at = np.zeros(1 + self.scores.shape[1])
        at[0] = 1.0
        loss = self.loss(at)
        for _ in range(_STEPS):
            step = self.step(at)
            for halving in range(_HALVINGS):
                new = at + step * 0.5**halving
                new[0] = max(new[0], 1e-6)
                if (new_loss := self.loss(new)) < loss:
                    break
            else:
                return at
            gain, at, loss = loss - new_loss, new, new_loss
            if gain < _ENOUGH * len(self.codes):
                break
        return at
