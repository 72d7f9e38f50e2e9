"""Runs of buckets: the probabilities of all ways to cut a column into contiguous runs.

`kernels/reference/average_binnings.py` has the model and its formulas.
"""

import numpy as np

from tallybayes.arrays.array_types import Booleans, Floats
from tallybayes.arrays.special import gammaln, logsumexp

__all__ = ["counts_of_runs", "forward_backward", "forward_sums", "log_evidence_of_runs", "shares_at"]

_TINY = 2.3e-308  # the log gamma of what is smaller is infinite


def shares_at(counts: Floats, p: Floats, a: float, rho: float) -> Floats:
    """P(class | bucket) of one column, (buckets, classes), for given class shares, strength and rate."""
    runs, weight = counts_of_runs(counts), np.exp(forward_backward(counts, p, a, rho)[0])
    posterior = (runs + a * p) / (np.abs(runs.sum(axis=2, keepdims=True)) + a)
    share = np.zeros_like(counts)
    for b in range(len(counts)):
        inside = weight[: b + 1, b + 1 :]
        share[b] = (inside[..., None] * posterior[: b + 1, b + 1 :]).sum(axis=(0, 1))
    return share


def forward_backward(counts: Floats, p: Floats, a: float, rho: float) -> tuple[Floats, Floats, Floats]:
    """Log probabilities of runs, (from, to): of a run, of the run before a cut at `to`, and after a cut at `from`."""
    n_buckets, log_m = len(counts), log_evidence_of_runs(counts, p, a)
    forward = forward_sums(log_m, rho)
    backward = forward_sums(log_m[::-1, ::-1].T, rho)[::-1]
    log_cuts = _log_cuts(n_buckets, rho)
    log_cut_after = np.where(np.arange(n_buckets + 1) < n_buckets, np.log(rho), 0.0)
    log_run = forward[:, None] + log_m + (backward + log_cut_after)[None] + log_cuts - forward[-1]
    log_into = forward[:, None] + log_m + log_cuts - forward[None]
    log_length = log_cuts - np.where(np.arange(n_buckets + 1) > 0, np.log(rho), 0.0)[:, None]
    log_out_of = log_m + log_length + (backward + log_cut_after)[None] - backward[:, None]
    upper = _upper(n_buckets)
    log_run, log_into, log_out_of = (np.where(upper, part, -np.inf) for part in (log_run, log_into, log_out_of))
    return log_run, log_into, log_out_of


def _upper(n_buckets: int) -> Booleans:
    """Which (from, to) are runs."""
    return np.triu(np.ones((n_buckets + 1, n_buckets + 1), bool), 1)


def counts_of_runs(counts: Floats) -> Floats:
    """Class counts of every run, (from, to, classes)."""
    cumulative = np.concatenate([np.zeros((1, counts.shape[1])), counts.cumsum(axis=0)])
    return np.asarray(cumulative[None] - cumulative[:, None])


def log_evidence_of_runs(counts: Floats, p: Floats, a: float) -> Floats:
    """Log evidence of every run, (from, to); minus infinity where there is none."""
    upper = _upper(len(counts))
    runs = counts_of_runs(counts)[upper]
    log_m = np.full(upper.shape, -np.inf)
    prior = np.maximum(a * p, _TINY)
    log_m[upper] = (gammaln(prior + runs) - gammaln(prior)).sum(axis=1)
    log_m[upper] += gammaln(a) - gammaln(a + runs.sum(axis=1))
    return log_m


def _log_cuts(n_buckets: int, rho: float) -> Floats:
    """Log probability of the cuts that go with a run from i to j: length - 1 non-cuts, and one cut unless i = 0."""
    i, j = np.arange(n_buckets + 1)[:, None], np.arange(n_buckets + 1)[None]
    log_cut = np.where(i > 0, np.log(rho), 0.0)
    return np.where(j > i, (j - i - 1) * np.log1p(-rho) + log_cut, -np.inf)


def forward_sums(log_m: Floats, rho: float) -> Floats:
    """Log of the summed evidence of all partitions of the buckets before each place."""
    n_buckets = len(log_m) - 1
    log_cuts = _log_cuts(n_buckets, rho)
    forward = np.zeros(n_buckets + 1)
    for j in range(1, n_buckets + 1):
        forward[j] = logsumexp(forward[:j] + log_m[:j, j] + log_cuts[:j, j])
    return forward
