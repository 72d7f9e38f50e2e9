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

from tallybayes.arrays.array_types import Floats, Integers
from tallybayes.errors import DataError
from tallybayes.kernels.binning_runs import forward_sums, log_evidence_of_runs, shares_at
from tallybayes.kernels.contract import checked


@checked("counts: lines, classes; offsets: columns+1 | ends lines")
def average_binnings(
    counts: Floats, offsets: Integers, strengths: Floats, rates: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """P(class | bucket) (buckets, classes), and per column the strength, the rate and the log evidence chosen.

    `counts` is (buckets, classes), the columns one below the other; column j has the buckets offsets[j] ..
    offsets[j+1] - 1. A class that never occurs in a column has the share 0 there. A column of no rows: shares 0.

    >>> share, a, rho, log_evidence = average_binnings(
    ...     np.array([[9.0, 1.0], [1.0, 9.0]]), np.array([0, 2]), np.array([1.0]), np.array([0.5]))
    >>> share.round(3).tolist()
    [[0.863, 0.137], [0.137, 0.863]]
    """
    for name, values in (("strengths", strengths), ("rates", rates)):
        if not len(values):
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
        log_m = log_evidence_of_runs(counts[:, here], p, a)
        for rho in sorted(rates.tolist()):
            log_evidence = float(forward_sums(log_m, rho)[-1])
            if best is None or log_evidence > best[0]:
                best = (log_evidence, a, rho)
    assert best is not None
    log_evidence, a, rho = best
    share = np.zeros_like(counts)
    share[:, here] = shares_at(counts[:, here], p, a, rho)
    return share, a, rho, log_evidence
