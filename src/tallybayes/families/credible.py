"""How well parameters are known: credible intervals, and the spread of a log likelihood.

A probability whose posterior is Beta(alpha, total - alpha) (one of several values: the margin of a Dirichlet), the mean
and standard deviation of a Gaussian and the rate of a Poisson have intervals in closed form, with equal tails.

The credible interval of a predicted probability needs the posterior of log P(x | c), which is a function of the
parameters. It is described by its first three cumulants, which add up over columns as the logs do. The first is given
as E[log P] minus the log of E[P], since the latter is the score. For a probability they are

    psi(alpha) - log alpha,  psi'(alpha),  psi''(alpha),   minus the same of total

with psi the digamma function; for a density or a count, derivatives of log E[P^t] at t = 0. The third matters where
there is little data: the log of a probability about which little is known has a long lower tail and no upper one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tallybayes.arrays.array_types import Indices
from tallybayes.arrays.column import Bag
from tallybayes.arrays.special import betaincinv, digamma, gammaincinv, polygamma, stdtrit
from tallybayes.errors import Described, UnsupportedError
from tallybayes.families.predictive import Floats
from tallybayes.families.shrinkage import by_group, match_beta
from tallybayes.kernels.binning_runs import counts_of_runs, forward_backward
from tallybayes.kernels.densities import log_events, log_gamma_ratio

__all__ = [
    "absence_cumulants",
    "bag_cumulants",
    "beta_cumulants",
    "beta_interval",
    "beta_of_binnings",
    "check_posterior",
    "events_cumulants",
    "gamma_cumulants",
    "interval_rows",
    "mean_interval",
    "presence_cumulants",
    "rate_interval",
    "sd_interval",
    "student_cumulants",
    "with_ends",
]

_FAR = 1e5  # shapes from which on two terms of the asymptotic series of polygamma functions are exact


def check_posterior(known: bool, column: str) -> None:
    """Raise unless the parameters have a posterior: frequencies have none."""
    if not known:
        hint = "fit with smoothing above 0, or 'auto'"
        got = Described("maximum likelihood, which has no posterior")
        raise UnsupportedError("smoothing above 0", got=got, column=column, hint=hint)


# Intervals


def beta_interval(alpha: Floats, total: Floats, level: float) -> tuple[Floats, Floats]:
    """Of a probability that is Beta(alpha, total - alpha).

    >>> [round(float(end), 3) for end in beta_interval(np.array(3.0), np.array(4.0), 0.95)]
    [0.292, 0.992]
    """
    tail = (1 - level) / 2
    alpha, total = np.broadcast_arrays(np.asarray(alpha, np.float64), np.asarray(total, np.float64))
    finite = np.isfinite(total)
    other = np.maximum(np.where(finite, total, 0.0) - np.where(finite, alpha, 0.0), 0.0)
    inside = (alpha > 0) & (other > 0) & finite
    low, high = (betaincinv(np.where(inside, alpha, 1), np.where(inside, other, 1), q) for q in (tail, 1 - tail))
    edge = np.where(finite, np.where(other > 0, 0.0, 1.0), np.nan)  # certain; or infinite smoothing
    return np.where(inside, low, edge), np.where(inside, high, edge)


def mean_interval(mean: Floats, scale: Floats, nu: Floats, level: float) -> tuple[Floats, Floats]:
    """Of the mean of a Gaussian, which is Student's t."""
    reach = scale * stdtrit(nu, (1 + level) / 2)
    return mean - reach, mean + reach


def sd_interval(spread: Floats, nu: Floats, level: float) -> tuple[Floats, Floats]:
    """Of the standard deviation of a Gaussian: its square is `spread` over a chi-squared with nu degrees of freedom."""
    tail = (1 - level) / 2
    low, high = (np.sqrt(spread / (2 * gammaincinv(nu / 2, q))) for q in (1 - tail, tail))
    return low, high


def rate_interval(shape: Floats, rate: Floats, level: float) -> tuple[Floats, Floats]:
    """Of the rate of a Poisson, which is Gamma(shape, rate)."""
    tail = (1 - level) / 2
    low, high = (gammaincinv(shape, q) / rate for q in (tail, 1 - tail))
    return low, high


def interval_rows(
    column: str, values: Sequence[Any], alpha: Floats, total: Floats, level: float, *, p: Floats | None = None
) -> list[dict[str, Any]]:
    """Rows about the probabilities of values, (values, classes): P(class | value), or P(value) if `p` is given."""
    low, high = beta_interval(alpha, total, level)
    what, estimate = ("P(class | value)", alpha / total) if p is None else ("P(value)", p)
    return [
        {
            "column": column,
            "class": c,
            "value": value,
            what: float(estimate[i, c]),
            "low": float(low[i, c]),
            "high": float(high[i, c]),
        }
        for i, value in enumerate(values)
        for c in range(alpha.shape[1])
        if alpha[i, c] > 0
    ]


def with_ends(rows: list[dict[str, Any]], tokens: list[Any], low: Floats, high: Floats) -> list[dict[str, Any]]:
    """Rows about tokens with the ends of their intervals, which are (tokens, classes)."""
    place = {token: i for i, token in enumerate(tokens)}
    at = [(place[row["token"]], row["class"]) for row in rows]
    return [row | {"low": float(low[i]), "high": float(high[i])} for row, i in zip(rows, at, strict=True)]


# Cumulants of log likelihoods, (3, ...): E[log P] - log E[P], the variance, the third cumulant


def gamma_cumulants(alpha: Floats) -> Floats:
    """Of the log of a Gamma(alpha): of a class share in odds to others. 0 where nothing is unknown (0 and infinity)."""
    random = (alpha > 0) & np.isfinite(alpha)
    shape = np.where(random, alpha, 1.0)
    return np.where(random, np.stack([digamma(shape) - np.log(shape), polygamma(1, shape), polygamma(2, shape)]), 0.0)


def beta_cumulants(alpha: Floats, total: Floats) -> Floats:
    """Of the log of a probability that is Beta(alpha, total - alpha)."""
    return gamma_cumulants(alpha) - gamma_cumulants(total)


def student_cumulants(w: Floats, kappa: Floats, nu: Floats) -> Floats:
    """Of the log density of a Gaussian at a value whose squared distance from the mean is w * nu s^2.

    With lambda = 1 / sigma^2 of shape a = nu / 2, mu ~ N(m, 1 / (kappa lambda)) and u = t / (1 + t / kappa),
    log E[N^t] = -log(1 + t / kappa) / 2 + log gamma(a + t/2) / gamma(a) - (a + t/2) log(1 + w u) + a multiple of t.
    """
    a, r = nu / 2, 1 / kappa
    bias = (np.log1p(r) - r + digamma(a)) / 2 - log_gamma_ratio(a) - a * w + (a + 0.5) * np.log1p(w / (1 + r))
    variance = polygamma(1, a) / 4 + r * r / 2 + 2 * a * w * r + a * w * w - w
    third = polygamma(2, a) / 8 - r**3 - a * (6 * w * r * r + 6 * w * w * r + 2 * w**3) + 3 * w * r + 1.5 * w * w
    return np.stack([bias, variance, third])


def events_cumulants(x: Floats, shape: Floats, rate: Floats) -> Floats:
    """Of the log probability of x events whose rate is Gamma(shape, rate), in a form without cancellation.

    With s the shape and m = s / rate: x (psi(s) - log s) + log Poisson(x; m) - log NegativeBinomial(x; s, rate),
    x^2 psi'(s) - 2 x m / s + m^2 / s, and x^3 psi''(s) + (3 x m^2 - 2 m^3) / s^2.
    """
    mean, silent = shape / rate, np.zeros_like(shape, bool)
    near = np.minimum(shape, _FAR)
    first, second, third = gamma_cumulants(near) - np.stack([np.zeros_like(near), 1 / near, -1 / near**2])
    first = np.where(shape > _FAR, -1 / (2 * shape) - 1 / (12 * shape**2), first)
    second = np.where(shape > _FAR, 1 / (2 * shape**2) + 1 / (6 * shape**3), second)
    third = np.where(shape > _FAR, -1 / shape**3 - 1 / (2 * shape**4), third)
    bias = x * first + log_events(x, None, mean, silent) - log_events(x, shape, rate, silent)
    variance = (x - mean) ** 2 / shape + x * x * second
    return np.stack([bias, variance, x**3 * third - ((x - mean) / shape) ** 2 * (x + 2 * mean)])


def bag_cumulants(bag: Bag, indices: Indices, amounts: Floats, alpha: Floats, total: Floats) -> Floats:
    """Of the scores of bags, (3, bags, classes), by a Dirichlet: alpha is (tokens, classes), total (classes,)."""
    each, whole = gamma_cumulants(alpha)[:, indices], gamma_cumulants(total)
    length = _by_bag(bag, amounts[:, None])
    parts = [_by_bag(bag, each[i] * amounts[:, None] ** (i + 1)) - length ** (i + 1) * whole[i] for i in range(3)]
    return np.stack(parts)


def _by_bag(bag: Bag, each: Floats) -> Floats:
    """The sums over the tokens of every bag, (bags, classes)."""
    row = np.repeat(np.arange(len(bag)), np.diff(bag.indptr))
    return np.stack([np.bincount(row, part, len(bag)) for part in each.T], axis=1)


def absence_cumulants(seen: Floats, klass: Indices, n_tokens: int, bags: Floats, k: float) -> Floats:
    """Of the log probability that every token is absent, (3, classes): one Beta(k, k) for each token.

    seen, klass: how many bags of a class hold a token, for every such pair.
    """
    never = beta_cumulants(bags + k, bags + 2 * k)
    some = beta_cumulants(np.maximum(bags[klass] - seen, 0.0) + k, bags[klass] + 2 * k)
    n_never = n_tokens - np.bincount(klass, minlength=len(bags))
    return by_group(klass, some, len(bags)) + n_never * never


def presence_cumulants(
    bag: Bag, indices: Indices, amounts: Floats, alpha: Floats, total: Floats, absent: Floats
) -> Floats:
    """Of the log probability of sets, (3, sets, classes): tokens that are present instead of `absent`, (3, classes)."""
    change = gamma_cumulants(alpha) - gamma_cumulants(np.maximum(total - alpha, 1e-12))
    changes = change[:, indices] * (amounts != 0)[:, None]
    result = absent[:, None] + np.stack([_by_bag(bag, part) for part in changes])
    if bag.present is not None:
        result[:, ~bag.present] = 0.0
    return np.asarray(result)


def beta_of_binnings(counts: Floats, strength: float, rate: float) -> tuple[Floats, Floats]:
    """The Beta of P(class | bucket), averaged over all binnings, as alpha and total, (buckets, classes)."""
    here = counts.sum(axis=0) > 0
    counts_here = counts[:, here]
    p = counts_here.sum(axis=0) / counts_here.sum()
    weight = np.exp(forward_backward(counts_here, p, strength, rate)[0])[..., None]
    alpha = np.maximum(counts_of_runs(counts_here), 0.0) + strength * p
    whole = alpha.sum(axis=2, keepdims=True)
    once, twice = weight * alpha / whole, weight * alpha / whole * (alpha + 1) / (whole + 1)
    first, second = np.zeros_like(counts), np.zeros_like(counts)
    for b in range(len(counts_here)):
        first[b, here], second[b, here] = (part[: b + 1, b + 1 :].sum(axis=(0, 1)) for part in (once, twice))
    return match_beta(first, second)
