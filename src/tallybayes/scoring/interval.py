"""Credible intervals of predicted probabilities.

A predicted probability is a function of parameters, which are uncertain because rows are finite. Each column has the
mean, variance and third cumulant of log P(x | c) under its posterior (`families/credible.py`), the class prior those of
log P(c). Cumulants of independent terms add up, so those of the log score are known. It is drawn a few hundred times
for each class from a gamma distribution with these cumulants (Pearson's type III, by the Wilson-Hilferty
transformation), and the interval contains the given share of the resulting P(c | x). It covers the uncertainty of the
parameters only, not the assumption that columns are independent given the class; calibration addresses that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.special import ndtri
from tallybayes.errors import ParameterError
from tallybayes.families.credible import gamma_cumulants
from tallybayes.families.family import Floats
from tallybayes.scoring.posterior import Posterior
from tallybayes.scoring.scorer import Columns, Scorer
from tallybayes.state.prior_values import Dirichlet
from tallybayes.state.settings import Settings

__all__ = ["IntervalScorer", "check_level", "class_prior_alpha"]

_DRAWS = 500
_NUMBERS = 2**18  # scores that are drawn for at a time
_STRAIGHT = 1e-6  # a skewness below which a distribution is normal


def check_level(level: Any) -> float:
    """A level from 0 (the point itself) to below 1."""
    if isinstance(level, bool) or not isinstance(level, (int, float, np.number)) or not 0 <= level < 1:
        raise ParameterError("level: a number from 0 to below 1, such as 0.95", got=level)
    return float(level)


@dataclass(frozen=True, eq=False)
class IntervalScorer:
    """A scorer that computes intervals as well; `class_rows` are the rows of every class."""

    scorer: Scorer
    posterior: Posterior
    settings: Settings
    class_rows: Floats
    level: float
    seed: int = 0

    def __post_init__(self) -> None:
        check_level(self.level)

    def __call__(self, columns: Columns, n_rows: int) -> tuple[Floats, Floats]:
        """The log score of every class, (rows, classes), and the intervals of P(class | row), (rows, classes, 2)."""
        log_score = self.scorer.log_score(columns, n_rows)
        return log_score, self.draw_intervals(log_score, self.cumulants(columns, n_rows) if self.level > 0 else None)

    def cumulants(self, columns: Columns, n_rows: int) -> Floats:
        """Cumulants of the log score, (3, rows, classes): mean less the score, variance, third cumulant."""
        alpha = class_prior_alpha(self.settings, self.scorer.classes, self.class_rows)
        cumulants = np.zeros((3, len(self.class_rows))) if alpha is None else gamma_cumulants(alpha)
        result = np.repeat(cumulants[:, None], n_rows, axis=1)
        for predictive in self.scorer.predictives:
            result += predictive.log_cumulants([columns[name] for name in predictive.features])
        return result

    def draw_intervals(self, log_score: Floats, cumulants: Floats | None) -> Floats:
        """The intervals; P(class | row) itself is always inside.

        The same draws for every row, evenly spread (a Latin hypercube), so that rows can be compared.
        """
        point = self._probabilities(log_score)
        result = np.stack([point, point], axis=2)
        if cumulants is None:
            return result
        z, tail = _normal(self.seed, log_score.shape[1]), (1 - self.level) / 2
        size = max(1, _NUMBERS // max(z.size, 1))

        def chunk(start: int, stop: int) -> None:
            part = log_score[start:stop, :, None]
            moved = np.where(np.isneginf(part), part, part + _pearson(cumulants[:, start:stop, :, None], z))
            low, high = np.quantile(self._probabilities(moved), [tail, 1 - tail], axis=2)
            result[start:stop, :, 0] = np.minimum(low, point[start:stop])
            result[start:stop, :, 1] = np.maximum(high, point[start:stop])

        in_threads(chunk, len(log_score), size=size)
        return result

    def _probabilities(self, log_score: Floats) -> Floats:
        """P(class | row) of the log score, the classes along the second axis."""
        last = np.moveaxis(log_score, 1, -1)
        proba = np.exp(self.posterior.log_proba(last.reshape(-1, last.shape[-1])))
        return np.moveaxis(proba.reshape(last.shape), -1, 1)


def _normal(seed: int, n: int) -> Floats:
    """Draws from the normal distribution, (n, draws), each line one from every 1 / _DRAWS of it."""
    rng = np.random.default_rng(seed)
    places = np.array([rng.permutation(_DRAWS) for _ in range(n)]).reshape(n, _DRAWS)
    return np.asarray(ndtri((places + 0.5) / _DRAWS))


def _pearson(cumulants: Floats, z: Floats) -> Floats:
    """Normal draws turned into those of a gamma distribution with a mean, a variance and a third cumulant."""
    mean, variance, third = cumulants
    sd = np.sqrt(np.maximum(variance, 0.0))
    skew = np.clip(third / np.maximum(sd, 1e-100) ** 3, -2.0, 2.0)  # the log of a gamma has -2 to 0
    skew = np.where(np.abs(skew) < _STRAIGHT, _STRAIGHT, skew)
    return np.asarray(mean + sd * 2 / skew * (np.maximum(1 + skew * z / 6 - skew * skew / 36, 0.0) ** 3 - 1))


def class_prior_alpha(settings: Settings, labels: Sequence[Any], class_rows: Floats) -> Floats | None:
    """The Dirichlet posterior of the class shares; None where they are given, uniform or weighted."""
    if settings.has_class_prior and not isinstance(settings.class_prior, Dirichlet):
        return None
    pseudo_counts = settings.class_pseudo_counts(labels)
    return None if np.isinf(pseudo_counts).any() or settings.class_weight is not None else class_rows + pseudo_counts
