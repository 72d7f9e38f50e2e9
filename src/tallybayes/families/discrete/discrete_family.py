"""What the families of values with probabilities of their own share: bernoulli and categorical.

`tallybayes.families.shrinkage` explains the two ways of smoothing.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tallybayes.families.family import Family, Floats, Predictive, Smoothing, TallyT
from tallybayes.families.leave_one_out_scores import Shrunk
from tallybayes.families.shrinkage import Shares, strengths_by_evidence
from tallybayes.families.strength import Strength

__all__ = ["DiscreteFamily", "DiscretePrior", "dirichlet_penalty"]


@dataclass(frozen=True, eq=False)
class DiscretePrior:
    """Either k of the symmetric Dirichlet(k), or a strength per column of the shrunk class shares."""

    k: float | None
    strengths: Floats | None = None


def dirichlet_penalty(prior: DiscretePrior, log_p: Floats) -> float | None:
    """K times the sum of log P(value | class), (values, classes); None for shrunk class shares.

    >>> dirichlet_penalty(DiscretePrior(2.0), np.log([[0.5], [0.5]])).__round__(3)
    -2.773
    """
    if prior.k is None or math.isinf(prior.k):
        return None
    return float(prior.k * log_p.sum()) if prior.k else 0.0


@dataclass(frozen=True)
class DiscreteFamily(Family[TallyT, DiscretePrior]):
    """Probabilities of values, smoothed by Laplace's k or by shrunk class shares."""

    takes_smoothing: ClassVar[bool] = True

    @abstractmethod
    def shares(self, tally: TallyT) -> Shares:
        """The counts as class shares."""

    @abstractmethod
    def dirichlet_evidence(self, tally: TallyT, k: float) -> Floats:
        """Log marginal likelihood of each column given the classes, under a symmetric Dirichlet(k), (columns,)."""

    def prior(self, tally: TallyT, smoothing: Smoothing) -> DiscretePrior:
        """Dirichlet(k), or the strength of shrinkage by evidence."""
        if smoothing == "auto":
            return DiscretePrior(None, strengths_by_evidence(self.shares(tally)))
        return DiscretePrior(smoothing)

    def strengths(self, tally: TallyT, smoothing: Smoothing) -> list[Strength]:
        """Laplace's k, or the strength of shrinkage that evidence selects."""
        selected = self.prior(tally, smoothing).strengths
        if selected is None:
            return super().strengths(tally, smoothing)
        return [Strength(a, "strength", is_selected=True) for a in selected.tolist()]

    def plug_in(self, tally: TallyT) -> Predictive:
        """Frequencies."""
        return self.predictive(tally, DiscretePrior(0.0))

    def evidence(self, tally: TallyT, prior: DiscretePrior) -> Floats:
        """Of the column given the classes for a k; of the classes given the column for shrunk shares."""
        if prior.strengths is not None:
            return self.shares(tally).evidence(prior.strengths)
        assert prior.k is not None
        return np.asarray(self.dirichlet_evidence(tally, prior.k))

    def independence(self, tally: TallyT, prior: DiscretePrior) -> Floats:
        """One distribution for all classes for a k; the same class shares for every value for shrunk shares."""
        return super().independence(tally, prior) if prior.strengths is None else self.shares(tally).independence()

    def log_bayes_factor(self, tally: TallyT, smoothing: Smoothing) -> Floats:
        """By the evidence of the column given the classes, so that columns can be compared: k = 1 for "auto"."""
        return super().log_bayes_factor(tally, 1.0 if smoothing == "auto" else smoothing)

    def smoothing_by_column(self, tally: TallyT, prior: DiscretePrior | None) -> list[float | Shrunk]:
        """The smoothing of each column for leave-one-out scores; without a prior, none."""
        if prior is not None and prior.strengths is not None:
            return list(Shrunk.each(self.shares(tally), prior.strengths))
        return [0.0 if prior is None or prior.k is None else prior.k] * len(tally.features)
