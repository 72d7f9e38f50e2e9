"""Column weights fitted on held-out evidence.

    loss = sum over rows of -log P(y | x)  +  1/2 strength * ((t - 1)^2 + sum over columns and classes of (w_jc - t)^2)

with P(c | x) proportional to P(c) exp(o_c + sum over columns of w_jc e_jc), where e_jc is the log P(x_j | c) of a model
without the row, w_jc >= 0 the weights, o_c offsets of the classes, and t a temperature common to all columns. The
weights are shrunk to t, and t to 1. The loss is convex in all variables and is minimised by L-BFGS. e_jc is centred at
log sum over c of P(c) P(x_j | c), because its level matters where the weights of a column differ between the classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Booleans, Codes32, Floats
from tallybayes.arrays.special import logsumexp

__all__ = ["KINDS", "STRENGTH", "Kind", "Weights", "centred", "cross_fitted", "fitted", "losses_of"]

Kind = Literal["none", "temperature", "shared", "per class"]
KINDS: tuple[Kind, ...] = ("none", "temperature", "shared", "per class")
STRENGTH = 10.0  # of the shrinkage to the temperature, and of that to 1: separable rows would have infinite weights
_OFFSETS = 1.0  # strength of the shrinkage of offsets to 0: bounds them for classes with few rows
_FEW = 8  # classes up to which a loop over the classes is faster


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights (columns, classes) and offsets (classes,)."""

    kind: Kind
    weights: Floats
    offsets: Floats

    def log_joint(self, log_prior: Floats, evidence: Floats) -> Floats:
        """Log P(class, row) of evidence (columns, rows, classes)."""
        own = centred(evidence, log_prior) if self.kind == "per class" else evidence
        return np.asarray(log_prior + self.offsets + np.einsum("jc,jnc->nc", self.weights, own))


def losses_of(log_joint: Floats, codes: Codes32) -> Floats:
    """-log P(class | row) of every row."""
    top = log_joint.max(axis=1) if log_joint.shape[1] > _FEW else np.maximum.reduce(list(log_joint.T))
    share = np.exp(log_joint - top[:, None])
    whole = share @ np.ones(share.shape[1])  # faster than a sum along a short axis
    return np.asarray(top + np.log(whole) - log_joint[np.arange(len(codes)), codes])


def centred(evidence: Floats, log_prior: Floats) -> Floats:
    """Evidence minus the log marginal likelihood of each value."""
    return np.asarray(evidence - logsumexp(evidence + log_prior, axis=2)[..., None])


def fitted(
    kind: Kind, log_prior: Floats, evidence: Floats, codes: Codes32, weights: Floats, *, shared: Booleans | None = None
) -> Weights:
    """Fit the weights; evidence: (columns, rows, classes), weights: those of the rows.

    shared: the columns that have one weight for all classes, although the others have one for each.
    """
    n_columns, n_classes = len(evidence), log_prior.shape[1]
    if kind == "none" or not n_columns:
        return Weights(kind, np.ones((n_columns, n_classes)), np.zeros(n_classes))
    problem = _Problem(kind, log_prior, evidence, codes, weights, shared)
    return problem.solved()


def cross_fitted(
    kind: Kind, log_prior: Floats, evidence: Floats, codes: Codes32, weights: Floats, *, folds: int = 5, seed: int = 0
) -> Floats:
    """-log P(y | x) of every row, by weights fitted on the other folds."""
    fold, result = np.random.default_rng(seed).permutation(np.arange(len(codes)) % folds), np.zeros(len(codes))
    for number in range(folds):
        here, there = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        if len(here):
            own = fitted(kind, log_prior[there], evidence[:, there], codes[there], weights[there])
            result[here] = losses_of(own.log_joint(log_prior[here], evidence[:, here]), codes[here])
    return result


class _Problem:
    """The loss and its gradient as functions of the weights, the temperature and the offsets.

    Arrays are (classes, columns, rows), so that the longest axis is contiguous.
    """

    def __init__(
        self, kind: Kind, log_prior: Floats, evidence: Floats, codes: Codes32, weights: Floats, shared: Booleans | None
    ) -> None:
        self._kind, self._row_weights, self._codes = kind, weights, codes
        self._shape = log_prior.shape[1], len(evidence)
        if kind == "per class":
            evidence = centred(evidence, log_prior)
        elif kind == "temperature":
            evidence = evidence.sum(axis=0)[None]
        self._evidence = np.ascontiguousarray(evidence.transpose(2, 0, 1))
        self._log_prior = np.ascontiguousarray(log_prior.T)
        self._number = self._numbers(len(evidence), shared)  # of the variable of every (class, column)
        self._n = int(self._number.max()) + 1
        self._truth = np.zeros_like(self._log_prior)
        self._truth[codes, np.arange(len(codes))] = 1.0

    def _numbers(self, n_columns: int, shared: Booleans | None) -> NDArray[np.int64]:
        n_classes = self._shape[0]
        one = np.ones(n_columns, bool) if self._kind != "per class" else shared
        own = np.arange(n_classes * n_columns).reshape(n_classes, n_columns)
        if one is not None:
            own[:, one] = own[0, one]
        return np.unique(own, return_inverse=True)[1].reshape(own.shape)

    def solved(self) -> Weights:
        """The weights and offsets that minimise the loss."""
        n_classes, n_columns = self._shape
        variables = self.minimum()
        own, offsets = variables[: self._n], variables[self._n + 1 :]
        weights = np.broadcast_to(own[self._number].T, (n_columns, n_classes)).copy()
        return Weights(self._kind, weights, np.asarray(offsets - offsets.mean()))

    def minimum(self) -> Floats:
        """The variables that minimise the loss: weights, temperature, offsets."""
        from scipy.optimize import minimize

        n_classes = self._shape[0]
        start = np.concatenate([np.full(self._n, 0.5), [0.5], np.zeros(n_classes)])
        bounds = [(0.0, 20.0)] * (self._n + 1) + [(-20.0, 20.0)] * n_classes
        found = minimize(self._loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200})
        return np.asarray(found.x)

    def _loss(self, variables: Floats) -> tuple[float, Any]:
        own, centre, offsets = variables[: self._n], variables[self._n], variables[self._n + 1 :]
        joint = np.einsum("cj,cjn->cn", own[self._number], self._evidence)
        joint += self._log_prior
        joint += offsets[:, None]
        joint -= joint.max(axis=0)
        p = np.exp(joint)
        whole = p.sum(axis=0)
        p /= whole
        losses = np.log(whole) - joint[self._codes, np.arange(len(self._codes))]
        error = (p - self._truth) * self._row_weights
        slope = np.einsum("cn,cjn->cj", error, self._evidence)
        by_variable = np.bincount(self._number.ravel(), weights=slope.ravel(), minlength=self._n)
        gap, far = own - centre, centre - 1.0
        penalty = STRENGTH * (gap @ gap) + STRENGTH * far * far + _OFFSETS * (offsets @ offsets)
        of_centre = STRENGTH * far - STRENGTH * gap.sum()
        gradient = np.concatenate([by_variable + STRENGTH * gap, [of_centre], error.sum(axis=1) + _OFFSETS * offsets])
        return float((losses * self._row_weights).sum() + penalty / 2), gradient
