"""Column weights fitted on leave-one-out evidence.

    loss = sum over rows of -log P(y | x)  +  1/2 strength * ((t - 1)^2 + sum over columns of (w_j - t)^2)

with P(c | x) proportional to P(c) exp(o_c + sum over columns of w_j e_jc), where e_jc is the leave-one-out log
P(x_j | c), w_j >= 0 the weights, o_c offsets of the classes, and t a temperature common to all columns. The weights are
shrunk to t, and t to 1. The loss is convex in all variables and is minimised by L-BFGS. With weights per class, e_jc
is centred at log sum over c of P(c) P(x_j | c), because then its level matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tallybayes.arrays.special import logsumexp
from tallybayes.families.family import Codes32, Floats
from tallybayes.tuning.column_evidence import losses_of

__all__ = ["KINDS", "STRENGTH", "Weights", "cross_fitted", "fitted"]

Kind = Literal["none", "temperature", "shared", "per class"]
KINDS: tuple[Kind, ...] = ("none", "temperature", "shared", "per class")
STRENGTH = 10.0  # of the shrinkage to the temperature, and of that to 1: separable rows would have infinite weights
_OFFSETS = 1.0  # strength of the shrinkage of offsets to 0: bounds them for classes with few rows


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


def centred(evidence: Floats, log_prior: Floats) -> Floats:
    """Evidence minus the log marginal likelihood of each value."""
    return np.asarray(evidence - logsumexp(evidence + log_prior, axis=2)[..., None])


def fitted(kind: Kind, log_prior: Floats, evidence: Floats, codes: Codes32, weights: Floats) -> Weights:
    """Fit the weights; evidence: (columns, rows, classes), weights: those of the rows."""
    n_columns, n_classes = len(evidence), log_prior.shape[1]
    if kind == "none":
        return Weights(kind, np.ones((n_columns, n_classes)), np.zeros(n_classes))
    problem = _Problem(kind, log_prior, evidence, codes, weights)
    found = problem.solved()
    return Weights(kind, problem.table(found), problem.offsets_of(found))


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
    """The loss and its gradient as functions of the weights, the temperature and the offsets."""

    def __init__(self, kind: Kind, log_prior: Floats, evidence: Floats, codes: Codes32, weights: Floats) -> None:
        self._kind, self._log_prior, self._codes, self._row_weights = kind, log_prior, codes, weights
        self._shape = evidence.shape[0], log_prior.shape[1]
        if kind == "temperature":
            evidence = evidence.sum(axis=0)[None]
        self._evidence = centred(evidence, log_prior) if kind == "per class" else evidence
        self._n = len(evidence) * (self._shape[1] if kind == "per class" else 1)
        self._truth = np.zeros_like(log_prior)
        self._truth[np.arange(len(codes)), codes] = 1.0

    def solved(self) -> Floats:
        """The variables that minimise the loss."""
        from scipy.optimize import minimize

        start = np.concatenate([np.full(self._n, 0.5), [0.5], np.zeros(self._shape[1])])
        bounds = [(0.0, 20.0)] * (self._n + 1) + [(-20.0, 20.0)] * self._shape[1]
        found = minimize(self._loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200})
        return np.asarray(found.x)

    def table(self, variables: Floats) -> Floats:
        """The weights, (columns, classes)."""
        own = variables[: self._n]
        if self._kind == "per class":
            return np.asarray(own.reshape(self._shape))
        return np.broadcast_to(own[:, None], self._shape).copy()

    def offsets_of(self, variables: Floats) -> Floats:
        """The offsets, which add up to 0."""
        own = variables[self._n + 1 :]
        return np.asarray(own - own.mean())

    def _loss(self, variables: Floats) -> tuple[float, Any]:
        own, centre, offsets = variables[: self._n], variables[self._n], variables[self._n + 1 :]
        if self._kind == "per class":
            joint = np.einsum("jc,jnc->nc", own.reshape(self._shape), self._evidence)
        else:
            joint = np.tensordot(own, self._evidence, axes=1)
        joint = joint + self._log_prior + offsets
        joint -= joint.max(axis=1, keepdims=True)
        p = np.exp(joint)
        whole = p.sum(axis=1, keepdims=True)
        p /= whole
        losses = np.log(whole[:, 0]) - joint[np.arange(len(joint)), self._codes]
        error = (p - self._truth) * self._row_weights[:, None]
        if self._kind == "per class":
            slope = np.einsum("nc,jnc->jc", error, self._evidence).ravel()
        else:
            slope = np.tensordot(self._evidence, error, axes=2)
        gap, far = own - centre, centre - 1.0
        penalty = STRENGTH * (gap @ gap) + STRENGTH * far * far + _OFFSETS * (offsets @ offsets)
        of_centre = STRENGTH * far - STRENGTH * gap.sum()
        gradient = np.concatenate([slope + STRENGTH * gap, [of_centre], error.sum(axis=0) + _OFFSETS * offsets])
        return float((losses * self._row_weights).sum() + penalty / 2), gradient
