"""Counts of values per class turned into probabilities, with the strength of smoothing chosen by evidence.

Laplace's rule adds k to every count: P(v | c) = (n_vc + k) / (n_c + k V). The default, "auto", models the classes given
the values instead. The classes of the rows with a value v are draws from a distribution that is itself drawn from a
Dirichlet with mean p (the class shares of the column) and strength a:

    P(c | v) = (n_vc + a p_c) / (n_v + a)

a is one of 2**-3 .. 2**16, per column, chosen by the Dirichlet-multinomial evidence of all values together, so that a
column independent of the class contributes almost nothing. By Bayes' rule,

    P(v | c) = P(v) P(c | v) / sum over v of P(v) P(c | v)

with P(v) = (n_v + 1) / (n + V). A class without rows in the column has P(v).
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from tallybayes import kernels
from tallybayes.arrays.special import gammaln
from tallybayes.families.predictive import Floats

__all__ = [
    "STRENGTHS",
    "Shares",
    "beta_of_shares",
    "by_group",
    "dirichlet_evidence",
    "dirichlet_evidence_of",
    "distinct",
    "log_gamma",
    "match_beta",
    "strengths_by_evidence",
]

_TINY = 2.3e-308  # a share of tiny weights may underflow, and the log gamma of what is smaller is infinite

STRENGTHS = 2.0 ** np.arange(-3, 17)
_TERMS = 2**16  # cells times strengths computed at a time
_FEW_TERMS = 4096  # terms up to which finding equal ones costs more than it saves
_MOST_BITS = 62  # of keys that are sorted as one integer


def log_gamma(values: ArrayLike) -> Floats:
    """Log gamma of positive finite numbers, in any shape: SciPy's would take longer to load than a model.

    >>> np.exp(log_gamma([[4.0, 5.0]])).round(12).tolist()
    [[6.0, 24.0]]
    """
    x = np.asarray(values, np.float64)
    result: Floats = kernels.active.log_gamma(np.ascontiguousarray(x).reshape(-1))
    return result.reshape(x.shape)


def by_group(groups: np.ndarray, terms: Floats, n_groups: int) -> Floats:
    """Sums of terms (..., terms) by group that do not depend on the order of the keys: the terms are sorted first."""
    lines = terms.reshape(math.prod(terms.shape[:-1]), terms.shape[-1])
    order = np.lexsort((lines, np.broadcast_to(groups, lines.shape)))
    bins = groups[order] + n_groups * np.arange(len(lines))[:, None]
    sums = np.bincount(bins.ravel(), np.take_along_axis(lines, order, -1).ravel(), n_groups * len(lines))
    return np.asarray(sums, np.float64).reshape(*terms.shape[:-1], n_groups)


def distinct(*keys: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """The different combinations of keys that are not negative, in order, and how often each occurs.

    >>> distinct(np.array([1, 0, 1]), np.array([2.0, 5.0, 2.0]))
    ([array([0, 1]), array([5., 2.])], array([1, 2]))
    """
    widths = [_bits(key) for key in keys]
    if sum(widths) <= _MOST_BITS:  # as one integer: sorting integers is much faster
        packed = np.zeros(len(keys[0]), np.int64)
        for key, width in zip(keys, widths, strict=True):
            packed = (packed << int(width)) | key.astype(np.int64)
        whole, times = np.unique(packed, return_counts=True)
        parts = []
        for key, width in zip(keys[::-1], widths[::-1], strict=True):
            parts.append((whole & ((1 << int(width)) - 1)).astype(key.dtype))
            whole = whole >> int(width)
        return parts[::-1], times
    order = np.lexsort(keys[::-1])
    placed = [key[order] for key in keys]
    first = np.ones(len(order), bool)
    first[1:] = np.any([key[1:] != key[:-1] for key in placed], axis=0)
    start = np.flatnonzero(first)
    return [key[start] for key in placed], np.diff(np.append(start, len(order)))


def _collapse_equal(*keys: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """The same where there are many; few are left as they are, and once stands for all."""
    return distinct(*keys) if len(keys[0]) > _FEW_TERMS else (list(keys), np.ones(1, np.int64))


def _bits(key: np.ndarray) -> float:
    """How many bits the greatest of whole numbers has; infinite if they are not whole."""
    greatest = key.max(initial=0)
    if greatest >= 2**_MOST_BITS or (key.dtype.kind == "f" and (key != np.floor(key)).any()):
        return math.inf
    return int(greatest).bit_length()


def dirichlet_evidence(counts: Floats, k: float) -> Floats:
    """Log evidence of counts (..., values) under a symmetric Dirichlet(k), summed over the last axis.

    >>> round(float(np.exp(dirichlet_evidence(np.array([1.0, 1.0]), 1.0))), 4)
    0.1667
    """
    n, size = counts.sum(axis=-1), counts.shape[-1]
    if np.isinf(k):
        return np.asarray(-n * np.log(size))
    return np.asarray(gammaln(k * size) - gammaln(n + k * size) + (gammaln(counts + k) - gammaln(k)).sum(axis=-1))


def dirichlet_evidence_of(cells: Floats, totals: Floats, n_values: int, k: float) -> float:
    """The same of several groups of counts together, from the counts above zero and the total of each group.

    >>> round(float(np.exp(dirichlet_evidence_of(np.array([1.0, 1.0]), np.array([2.0]), 2, 1.0))), 4)
    0.1667
    """
    if np.isinf(k):
        return float(-totals.sum() * np.log(max(n_values, 1)))
    (different,), times = distinct(cells)
    size = k * max(n_values, 1)
    result = (times * (gammaln(different + k) - gammaln(k))).sum() + (gammaln(size) - gammaln(totals + size)).sum()
    return float(result)


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

    @cached_property
    def _distinct_cells(self) -> tuple[list[np.ndarray], np.ndarray]:
        """The different (column, class, amount) of cells and how often each occurs: the evidence needs no more."""
        return _collapse_equal(self.owner[self.value], self.klass, self.amount)

    @cached_property
    def _distinct_values(self) -> tuple[list[np.ndarray], np.ndarray]:
        """The different (column, amount) of values and how often each occurs."""
        return _collapse_equal(self.owner, self.per_value)

    def evidence(self, a: Floats) -> Floats:
        """Log evidence of the classes given the values, (..., columns), for a strength per column, (..., columns)."""
        (column, klass, amount), n_cells = self._distinct_cells
        prior = np.maximum(a[..., column] * self.p[column, klass], _TINY)
        cells = n_cells * (log_gamma(prior + amount) - log_gamma(prior))
        (owner, total), n_values = self._distinct_values
        values = n_values * (log_gamma(a[..., owner]) - log_gamma(a[..., owner] + total))
        return by_group(column, cells, self.n_features) + by_group(owner, values, self.n_features)

    @property
    def n_distinct(self) -> int:
        """How many terms the evidence has."""
        return len(self._distinct_cells[0][0])

    def independence(self) -> Floats:
        """Log probability of the classes by their shares in the column, for every value the same, (columns,)."""
        shares = np.where(self.per_class > 0, self.p, 1.0)
        return np.asarray((self.per_class * np.log(shares)).sum(axis=1))

    def normaliser(self, a: Floats, n_values: Floats) -> Floats:
        """Sum over the values of P(v) P(c | v), (columns, classes)."""
        base, cells = self.normaliser_parts(a)
        return np.asarray((base[:, None] * self.p + cells) / (self.per_class.sum(axis=1) + n_values)[:, None])

    def normaliser_parts(self, a: Floats) -> tuple[Floats, Floats]:
        """The sums over the values of (n_v + 1) a / (n_v + a), (columns,), and of (n_v + 1) n_vc / (n_v + a)."""
        (owner, total), n_values = self._distinct_values
        base = by_group(owner, n_values * ((total + 1) / (total + a[owner]) * a[owner]), self.n_features)
        n_classes = self.per_class.shape[1]
        place = self.owner[self.value] * n_classes + self.klass
        (place, amount, per_value), n_cells = _collapse_equal(place, self.amount, self.per_value[self.value])
        share = (per_value + 1) / (per_value + a[place // n_classes])
        cells = by_group(place, n_cells * (share * amount), self.n_features * n_classes)
        return base, cells.reshape(self.n_features, n_classes)


def strengths_by_evidence(shares: Shares) -> Floats:
    """The strength with the greatest evidence for each column; the greatest strength if all are equal."""
    return np.asarray(STRENGTHS[::-1][_evidence_of_strengths(shares).argmax(axis=0)])


def _evidence_of_strengths(shares: Shares) -> Floats:
    """Log evidence of every strength, the greatest strength first, (strengths, columns)."""
    at_once = max(1, _TERMS // max(shares.n_distinct, 1))
    tried = np.repeat(STRENGTHS[::-1, None], shares.n_features, axis=1)
    parts = [shares.evidence(tried[first : first + at_once]) for first in range(0, len(tried), at_once)]
    return np.concatenate(parts)


def beta_of_shares(shares: Shares, counts: Floats) -> tuple[Floats, Floats]:
    """Of one column: the Beta of P(class | value) for counts (values, classes), as alpha and their sum.

    The strength is unknown too, so this is the average over all strengths, weighted by their evidence: the Beta with
    the mean and the variance of that mixture.
    """
    log_evidence, p = _evidence_of_strengths(shares)[:, 0], shares.p[0]
    weights = np.exp(log_evidence - log_evidence.max())
    first, second = np.zeros(counts.shape), np.zeros(counts.shape)
    for a, weight in zip(STRENGTHS[::-1].tolist(), (weights / weights.sum()).tolist(), strict=True):
        total = counts.sum(axis=1, keepdims=True) + a
        share = (counts + a * p) / total
        first += weight * share
        second += weight * share * (share + (1 - share) / (total + 1))
    return match_beta(first, second)


def match_beta(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """The Beta with a mean and a mean square, as alpha and the sum of both parameters.

    >>> [round(float(part), 6) for part in match_beta(np.array(0.75), np.array(0.6))]  # Beta(3, 1)
    [3.0, 4.0]
    """
    spread, variance = first * (1 - first), np.maximum(second - first * first, 1e-300)
    total = np.where(spread > 0, np.maximum(spread / variance - 1, 1e-12), 1e300)  # a single class is certain
    return first * total, total
