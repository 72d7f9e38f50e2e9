"""Averaging over all binnings of one real column.

The buckets 0 .. B-1 of a column are cut into contiguous runs. A run whose class counts are n_c (n in all) has the
Dirichlet-multinomial evidence

    log m(run) = lgamma(a) - lgamma(a + n) + sum over c of lgamma(a p_c + n_c) - lgamma(a p_c)

with p the class shares of the whole column; each of the B-1 places between buckets is a cut with probability rho.
Forward and backward sums over all 2**(B-1) partitions give the probability of every run, and with it
P(class | bucket) = sum over runs that hold the bucket of P(run) * (n_c + a p_c) / (n + a).
The strength a and the rate rho are those with the greatest total evidence; ties go to the greater a, then the
smaller rho. (The dynamic programme is that of Yao 1984 and Fearnhead 2006 for change points.)
"""

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.special import gammaln, logsumexp
from tallybayes.errors import DataError
from tallybayes.kernels.contract import checked

Floats = NDArray[np.float64]


@checked("counts: lines, classes; offsets: columns+1 | ends lines")
def average_binnings(
    counts: Floats, offsets: NDArray[np.int64], strengths: Floats, rates: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """P(class | bucket) (buckets, classes), and per column the strength, the rate and the log evidence chosen.

    `counts` is (buckets, classes), the columns one below the other; column j has the buckets offsets[j] ..
    offsets[j+1] - 1. A class that never occurs in a column has the share 0 there. A column of no rows: shares 0.

    >>> share, a, rho, log_evidence = average_binnings(
    ...     np.array([[9.0, 1.0], [1.0, 9.0]]), np.array([0, 2]), np.array([1.0]), np.array([0.5]))
    >>> share.round(3).tolist()
    [[0.863, 0.137], [0.137, 0.863]]
    """
    for name, given in (("strengths", strengths), ("rates", rates)):
        if not len(given):
            raise DataError(f"at least one of the {name}", got=0)
    share = np.zeros_like(counts)
    chosen = np.zeros((3, len(offsets) - 1))
    for j in range(len(offsets) - 1):
        rows = slice(int(offsets[j]), int(offsets[j + 1]))
        share[rows], *chosen[:, j] = _column(counts[rows], strengths, rates)
    return share, chosen[0], chosen[1], chosen[2]


def _column(counts: Floats, strengths: Floats, rates: Floats) -> tuple[Floats, float, float, float]:
    total = counts.sum()
    if total == 0:
        return np.zeros_like(counts), float(strengths.max()), float(rates.min()), 0.0
    here = counts.sum(axis=0) > 0
    p = counts.sum(axis=0)[here] / total
    best: tuple[float, float, float] | None = None
    for a in sorted(strengths.tolist(), reverse=True):
        log_m = _log_evidence(counts[:, here], p, a)
        for rho in sorted(rates.tolist()):
            log_evidence = float(_forward(log_m, rho)[-1])
            if best is None or log_evidence > best[0]:
                best = (log_evidence, a, rho)
    assert best is not None
    log_evidence, a, rho = best
    share = np.zeros_like(counts)
    share[:, here] = shares_at(counts[:, here], p, a, rho)
    return share, a, rho, log_evidence


def shares_at(counts: Floats, p: Floats, a: float, rho: float) -> Floats:
    """P(class | bucket) of one column, (buckets, classes), for given class shares, strength and rate."""
    runs, weight = _runs(counts), np.exp(forward_backward(counts, p, a, rho)[0])
    posterior = (runs + a * p) / (np.abs(runs.sum(axis=2, keepdims=True)) + a)
    share = np.zeros_like(counts)
    for b in range(len(counts)):
        inside = weight[: b + 1, b + 1 :]
        share[b] = (inside[..., None] * posterior[: b + 1, b + 1 :]).sum(axis=(0, 1))
    return share


def forward_backward(counts: Floats, p: Floats, a: float, rho: float) -> tuple[Floats, Floats, Floats]:
    """Log probabilities of runs, (from, to): of a run, of the run before a cut at `to`, and after a cut at `from`."""
    n_buckets, log_m = len(counts), _log_evidence(counts, p, a)
    forward = _forward(log_m, rho)
    backward = _forward(log_m[::-1, ::-1].T, rho)[::-1]
    log_cuts = _log_cuts(n_buckets, rho)
    log_cut_after = np.where(np.arange(n_buckets + 1) < n_buckets, np.log(rho), 0.0)
    log_run = forward[:, None] + log_m + (backward + log_cut_after)[None] + log_cuts - forward[-1]
    log_into = forward[:, None] + log_m + log_cuts - forward[None]
    log_length = log_cuts - np.where(np.arange(n_buckets + 1) > 0, np.log(rho), 0.0)[:, None]
    log_out_of = log_m + log_length + (backward + log_cut_after)[None] - backward[:, None]
    upper = _upper(n_buckets)
    log_run, log_into, log_out_of = (np.where(upper, part, -np.inf) for part in (log_run, log_into, log_out_of))
    return log_run, log_into, log_out_of


def _upper(n_buckets: int) -> NDArray[np.bool_]:
    """Which (from, to) are runs."""
    return np.triu(np.ones((n_buckets + 1, n_buckets + 1), bool), 1)


def _runs(counts: Floats) -> Floats:
    """Class counts of every run, (from, to, classes)."""
    cumulative = np.concatenate([np.zeros((1, counts.shape[1])), counts.cumsum(axis=0)])
    return np.asarray(cumulative[None] - cumulative[:, None])


def _log_evidence(counts: Floats, p: Floats, a: float) -> Floats:
    """Log evidence of every run, (from, to); minus infinity where there is none."""
    upper = _upper(len(counts))
    runs = _runs(counts)[upper]
    log_m = np.full(upper.shape, -np.inf)
    log_m[upper] = (gammaln(a * p + runs) - gammaln(a * p)).sum(axis=1)
    log_m[upper] += gammaln(a) - gammaln(a + runs.sum(axis=1))
    return log_m


def _log_cuts(n_buckets: int, rho: float) -> Floats:
    """Log probability of the cuts that go with a run from i to j: length - 1 non-cuts, and one cut unless i = 0."""
    i, j = np.arange(n_buckets + 1)[:, None], np.arange(n_buckets + 1)[None]
    log_cut = np.where(i > 0, np.log(rho), 0.0)
    return np.where(j > i, (j - i - 1) * np.log1p(-rho) + log_cut, -np.inf)


def _forward(log_m: Floats, rho: float) -> Floats:
    """Log of the summed evidence of all partitions of the buckets before each place."""
    n_buckets = len(log_m) - 1
    log_cuts = _log_cuts(n_buckets, rho)
    forward = np.zeros(n_buckets + 1)
    for j in range(1, n_buckets + 1):
        forward[j] = logsumexp(forward[:j] + log_m[:j, j] + log_cuts[:j, j])
    return forward
