"""How well parameters are known: intervals from their posteriors, and what that means for a likelihood.

A probability whose posterior is Beta(alpha, total - alpha) (one of several values: the margin of a Dirichlet), the mean
and standard deviation of a Gaussian and the rate of a Poisson have intervals in closed form; they leave out the same
share on both sides.

For a predicted probability it matters how sure log P(x | c) is. P(x | c) is a function of the parameters, and so has a
posterior too; it is taken for a lognormal with the same mean and variance:

    variance of log P = log E[P^2] - 2 log E[P]

which for a probability is log(1 + 1/alpha) - log(1 + 1/total). (The variance of the logarithm itself, a trigamma, is
all in the lower tail where alpha is small: a probability of about 0 would leap to 1.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.column import Bag
from tallybayes.arrays.special import betaincinv, gammaincinv, gammaln, stdtrit
from tallybayes.errors import UnsupportedError
from tallybayes.families.base import Floats
from tallybayes.families.shrinkage import by_group, matched_beta
from tallybayes.kernels.reference.binnings import forward_backward
from tallybayes.kernels.reference.derive import log_gamma_ratio

__all__ = [
    "absence_variance",
    "averaged_binnings",
    "bag_variance",
    "beta_interval",
    "beta_variance",
    "check_posterior",
    "events_variance",
    "mean_interval",
    "presence_variance",
    "rate_interval",
    "sd_interval",
    "share_variance",
    "student_variance",
    "with_ends",
]


def check_posterior(known: bool, column: str) -> None:
    """Raise where parameters are frequencies, which have no posterior."""
    if not known:
        hint = "fit with smoothing above 0, or 'auto'"
        raise UnsupportedError("smoothing above 0: maximum likelihood has no posterior", column=column, hint=hint)


# Intervals


def beta_interval(alpha: Floats, total: Floats, level: float) -> tuple[Floats, Floats]:
    """Of a probability that is Beta(alpha, total - alpha).

    >>> [round(float(end), 3) for end in beta_interval(np.array(3.0), np.array(4.0), 0.95)]
    [0.292, 0.992]
    """
    tail = (1 - level) / 2
    alpha, total = np.broadcast_arrays(np.asarray(alpha, np.float64), np.asarray(total, np.float64))
    other = np.maximum(total - alpha, 0.0)
    inside = (alpha > 0) & (other > 0) & np.isfinite(total)
    low, high = (betaincinv(np.where(inside, alpha, 1), np.where(inside, other, 1), q) for q in (tail, 1 - tail))
    edge = np.where(other > 0, 0.0, 1.0)  # no doubt is left
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


def with_ends(rows: list[dict[str, Any]], tokens: list[Any], low: Floats, high: Floats) -> list[dict[str, Any]]:
    """Rows about tokens with the ends of their intervals, which are (tokens, classes)."""
    place = {token: i for i, token in enumerate(tokens)}
    at = [(place[row["token"]], row["class"]) for row in rows]
    return [row | {"low": float(low[i]), "high": float(high[i])} for row, i in zip(rows, at, strict=True)]


# Variances of log likelihoods


def beta_variance(alpha: Floats, total: Floats) -> Floats:
    """Of the log of a probability that is Beta(alpha, total - alpha)."""
    return np.asarray(np.maximum(np.log1p(1 / alpha) - np.log1p(1 / total), 0.0))


def share_variance(alpha: Floats) -> Floats:
    """Of the log of a class share in odds to other classes: each is a Gamma(alpha); 0 where alpha is 0."""
    return np.asarray(np.where(alpha > 0, np.log1p(1 / np.where(alpha > 0, alpha, 1.0)), 0.0))


def student_variance(square: Floats, kappa: Floats, nu: Floats) -> Floats:
    """Of the log density of a Gaussian at a value whose squared distance from the mean is `square` * nu s^2.

    With lambda = 1 / sigma^2 of shape nu / 2 and mu ~ N(m, 1 / (kappa lambda)), E[N] is Student's t and
    E[N^2] = 1 / (2 pi sqrt(1 + 2 / kappa)) * E[lambda exp(-lambda (x - m)^2 / (1 + 2 / kappa))].
    """
    alpha = nu / 2
    constant = np.log(alpha) - 2 * log_gamma_ratio(alpha) + np.log1p(1 / kappa) - 0.5 * np.log1p(2 / kappa)
    once, twice = np.log1p(square / (1 + 1 / kappa)), np.log1p(2 * square / (1 + 2 / kappa))
    return np.asarray(np.maximum(constant + (2 * alpha + 1) * once - (alpha + 1) * twice, 0.0))


def events_variance(x: Floats, shape: Floats, rate: Floats) -> Floats:
    """Of the log probability of x events whose rate is Gamma(shape, rate)."""
    gammas = gammaln(2 * x + shape) + gammaln(shape) - 2 * gammaln(x + shape)
    logs = 2 * (x + shape) * np.log1p(1 / rate) - (2 * x + shape) * np.log1p(2 / rate)
    return np.asarray(np.maximum(gammas + logs, 0.0))


def bag_variance(bag: Bag, indices: NDArray[np.integer], amounts: Floats, alpha: Floats, total: Floats) -> Floats:
    """Of what bags add to a score, (bags, classes): the sum of amount^2 times the variance of each token.

    alpha, total: of a Dirichlet over tokens, (tokens, classes) and (classes,). That its tokens take from each other is
    left out, which errs on the wide side.
    """
    each = beta_variance(alpha, total)[indices] * (amounts * amounts)[:, None]
    return _by_bag(bag, each)


def _by_bag(bag: Bag, each: Floats) -> Floats:
    """The sums over the tokens of every bag, (bags, classes)."""
    row = np.repeat(np.arange(len(bag)), np.diff(bag.indptr))
    return np.stack([np.bincount(row, part, len(bag)) for part in each.T], axis=1)


def absence_variance(seen: Floats, klass: NDArray[np.integer], n_tokens: int, bags: Floats, k: float) -> Floats:
    """Of the log probability that no token is there, (classes,): one Beta(k, k) for each token.

    seen, klass: the bags of a class that have had a token, for every pair that there is.
    """
    never = beta_variance(bags + k, bags + 2 * k)
    some = beta_variance(np.maximum(bags[klass] - seen, 0.0) + k, bags[klass] + 2 * k)
    n_never = n_tokens - np.bincount(klass, minlength=len(bags))
    return by_group(klass, some, len(bags)) + n_never * never


def presence_variance(
    bag: Bag, indices: NDArray[np.integer], amounts: Floats, alpha: Floats, total: Floats, absent: Floats
) -> Floats:
    """Of the log probability of sets, (sets, classes): tokens that are there instead of `absent`."""
    other = np.maximum(total - alpha, 1e-12)
    change = (beta_variance(alpha, total) - beta_variance(other, total))[indices] * (amounts != 0)[:, None]
    result = absent + _by_bag(bag, change)
    if bag.present is not None:
        result[~bag.present] = 0.0
    return np.asarray(np.maximum(result, 0.0))


def averaged_binnings(counts: Floats, strength: float, rate: float) -> tuple[Floats, Floats]:
    """The Beta of P(class | bucket) over all ways to cut buckets into runs, as alpha and total, (buckets, classes)."""
    here = counts.sum(axis=0) > 0
    own = counts[:, here]
    p = own.sum(axis=0) / own.sum()
    weight = np.exp(forward_backward(own, p, strength, rate)[0])[..., None]
    sums = np.concatenate([np.zeros((1, own.shape[1])), own.cumsum(axis=0)])
    alpha = np.maximum(sums[None] - sums[:, None], 0.0) + strength * p
    whole = alpha.sum(axis=2, keepdims=True)
    once, twice = weight * alpha / whole, weight * alpha / whole * (alpha + 1) / (whole + 1)
    first, second = np.zeros_like(counts), np.zeros_like(counts)
    for b in range(len(own)):
        first[b, here], second[b, here] = (part[: b + 1, b + 1 :].sum(axis=(0, 1)) for part in (once, twice))
    return matched_beta(first, second)
