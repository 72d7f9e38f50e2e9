"""Counts of values per class turned into probabilities, with the strength of smoothing chosen by evidence.

Laplace's rule adds k to every count: P(v | c) = (n_vc + k) / (n_c + k V). The default, "auto", looks at it from the
other side. The classes of the rows that share a value v are draws from a distribution that is itself drawn from a
Dirichlet with mean p (the class shares of the column) and strength a:

    P(c | v) = (n_vc + a p_c) / (n_v + a)

a is one of 2**-3 .. 2**16, per column, by the Dirichlet-multinomial evidence of all values together, so a column that
says nothing about the class is shrunk to silence. Turned round by Bayes' rule,

    P(v | c) = P(v) P(c | v) / sum over v of P(v) P(c | v)

with P(v) = (n_v + 1) / (n + V). A class without rows in the column is given P(v): it stays silent.
"""

from dataclasses import dataclass

import numpy as np

from tallybayes.arrays.special import gammaln
from tallybayes.families.base import Floats

__all__ = ["STRENGTHS", "Shares", "by_group", "dirichlet_evidence", "laplace", "strengths_by_evidence"]

STRENGTHS = 2.0 ** np.arange(-3, 17)


def by_group(groups: np.ndarray, terms: Floats, n_groups: int) -> Floats:
    """Sums of rounded terms by group that do not depend on the order in which keys have arrived."""
    order = np.lexsort((terms, groups))
    return np.asarray(np.bincount(groups[order], weights=terms[order], minlength=n_groups), np.float64)


def laplace(counts: Floats, totals: Floats, k: float, n_values: Floats | int) -> Floats:
    """Log of (n + k) / (N + k V); 0/0 is silence (0), k infinite is uniform.

    >>> np.exp(laplace(np.array([[2.0]]), np.array([3.0]), 1.0, 2)).round(3).tolist()
    [[0.6]]
    """
    values = np.broadcast_to(np.asarray(n_values, np.float64), counts.shape)
    if np.isinf(k):
        return np.asarray(-np.log(values))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = np.log(counts + k) - np.log(totals + k * values)
    return np.where(np.isnan(log_p), 0.0, log_p)


def dirichlet_evidence(counts: Floats, k: float) -> Floats:
    """Log evidence of counts (..., values) under a symmetric Dirichlet(k), summed over the last axis.

    >>> round(float(np.exp(dirichlet_evidence(np.array([1.0, 1.0]), 1.0))), 4)
    0.1667
    """
    n, size = counts.sum(axis=-1), counts.shape[-1]
    if np.isinf(k):
        return np.asarray(-n * np.log(size))
    return np.asarray(gammaln(k * size) - gammaln(n + k * size) + (gammaln(counts + k) - gammaln(k)).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class Shares:
    """Counts as a flat list of cells, with the class shares p (columns, classes) of each column.

    `owner` is the column of each value, `value`, `klass`, `amount` list the cells that are not zero.
    """

    n_features: int
    owner: np.ndarray
    value: np.ndarray
    klass: np.ndarray
    amount: Floats
    per_class: Floats  # (columns, classes)

    @property
    def p(self) -> Floats:
        """Class shares of each column."""
        total = self.per_class.sum(axis=1, keepdims=True)
        return np.asarray(self.per_class / np.where(total > 0, total, 1.0))

    @property
    def per_value(self) -> Floats:
        """Amount of each value over all classes."""
        return np.asarray(np.bincount(self.value, weights=self.amount, minlength=len(self.owner)), np.float64)

    def evidence(self, a: Floats) -> Floats:
        """Log evidence of the classes given the values, for a strength per column."""
        column = self.owner[self.value]
        prior = a[column] * self.p[column, self.klass]
        cells = gammaln(prior + self.amount) - gammaln(prior)
        values = gammaln(a[self.owner]) - gammaln(a[self.owner] + self.per_value)
        return by_group(column, cells, self.n_features) + by_group(self.owner, values, self.n_features)

    def normaliser(self, a: Floats, n_values: Floats) -> Floats:
        """Sum over the values of P(v) P(c | v), (columns, classes)."""
        per_value, column = self.per_value, self.owner[self.value]
        total = self.per_class.sum(axis=1)
        p_value = (per_value + 1) / (total + n_values)[self.owner]
        base = by_group(self.owner, p_value * a[self.owner] / (per_value + a[self.owner]), self.n_features)
        seen = p_value[self.value] * self.amount / (per_value + a[self.owner])[self.value]
        n_classes = self.per_class.shape[1]
        cells = by_group(column * n_classes + self.klass, seen, self.n_features * n_classes)
        return np.asarray(base[:, None] * self.p + cells.reshape(self.n_features, n_classes))


def strengths_by_evidence(shares: Shares) -> Floats:
    """The strength with the greatest evidence for each column; the greatest strength where the data is silent."""
    log_evidence = np.stack([shares.evidence(np.full(shares.n_features, a)) for a in STRENGTHS[::-1]])
    return np.asarray(STRENGTHS[::-1][log_evidence.argmax(axis=0)])
