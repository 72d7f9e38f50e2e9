"""What the families of tokens share: multinomial, tags and text."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tallybayes.arrays.column import Bag, Column
from tallybayes.families.family import Codes32, Family, Floats, Score
from tallybayes.families.shrinkage import dirichlet_evidence_of, log_gamma
from tallybayes.families.tokens.bag_leave_one_out import bag_score
from tallybayes.families.tokens.token_options import TokenOptions, TokenScales
from tallybayes.families.tokens.token_predictive import TokenPredictive
from tallybayes.tally import TokenTally

__all__ = ["TokenFamily", "TokenPrior", "beta_evidence"]


@dataclass(frozen=True, eq=False)
class TokenPrior:
    """Laplace's k of each column: Dirichlet(k) over tokens, or Beta(k, k) for the presence of each token.

    held: by column, what weights are multiplied with where that is not derived from the sums (`TokenScales`).
    """

    k: Floats
    held: Mapping[str, TokenScales] | None = None


@dataclass(frozen=True)
class TokenFamily(Family[TokenTally, TokenPrior]):
    """Multinomials over tokens, or one Bernoulli per token."""

    column: ClassVar[type[Column]] = Bag
    takes_smoothing: ClassVar[bool] = True

    @property
    @abstractmethod
    def options(self) -> TokenOptions:
        """How sums become weights."""

    @property
    def is_likelihood(self) -> bool:
        """Whether scores are log likelihoods of the values."""
        return self.options.is_likelihood

    def predictive(self, tally: TokenTally, prior: TokenPrior) -> TokenPredictive:
        """Posterior means."""
        return TokenPredictive(
            tally.features, tally.n_classes, tally, self.display_name(), self.options, prior.k, prior.held
        )

    def plug_in(self, tally: TokenTally) -> TokenPredictive:
        """Frequencies."""
        return self.predictive(tally, TokenPrior(np.zeros(len(tally.features))))

    def leave_one_out(
        self, tally: TokenTally, prior: TokenPrior | None, columns: Sequence[Bag], codes: Codes32, weights: Any
    ) -> list[Score]:
        """In closed form, unless rare tokens are excluded or amounts depend on the tokens of the document.

        The sums of pooled tokens stay as they are.
        """
        has_closed_form = self.options.min_count == 1 and not self.options.has_caps
        if prior is None or not has_closed_form or not all(0 < k < math.inf for k in prior.k.tolist()):
            return super().leave_one_out(tally, prior, columns, codes, weights)
        row_weights = np.ones(len(codes)) if weights is None else weights
        weights_of = self.predictive(tally, prior).columns
        pairs = zip(tally.features, columns, strict=True)
        return [bag_score(name, weights_of[name], bag, codes, row_weights) for name, bag in pairs]

    def held(self, tally: TokenTally, prior: TokenPrior) -> TokenPrior:
        """With the idf and the balance of all rows, unless they also exclude tokens."""
        if not (self.options.idf or self.options.balanced) or self.options.min_count > 1:
            return prior
        columns = self.predictive(tally, prior).columns
        return replace(prior, held={name: column.scales for name, column in columns.items()})

    def evidence(self, tally: TokenTally, prior: TokenPrior) -> Floats:
        """Of the amounts of tokens (presence: of the rows that have a token) given the classes.

        Multinomial coefficients are not part of it.
        """
        result, columns = np.zeros(len(tally.features)), self.predictive(tally, prior).columns
        for j, (name, k) in enumerate(zip(tally.features, prior.k.tolist(), strict=True)):
            words = columns[name].words
            if self.options.variant == "presence":
                klass, n = words.named_entries("documents")
                result[j] = beta_evidence(n, klass, tally.n_rows(name).floats(), len(words.named()), k)
            else:
                result[j] = dirichlet_evidence_of(words.floats("counts"), words.total("counts"), words.n_keys, k)
        return result


def beta_evidence(seen: Floats, klass: np.ndarray, rows: Floats, n_tokens: int, k: float) -> float:
    """Log evidence of presence under Beta(k, k) for every token and class, tokens never seen in a class included."""
    if np.isinf(k):
        return float(-n_tokens * rows.sum() * np.log(2.0))
    base = log_gamma(2 * k) - log_gamma(2 * k + rows)
    never = base + log_gamma(rows + k) - log_gamma(k)
    some = base[klass] + log_gamma(seen + k) + log_gamma(rows[klass] - seen + k) - 2 * log_gamma(k)
    n_seen = np.bincount(klass, minlength=len(rows))
    return float(np.sort(some).sum() + ((n_tokens - n_seen) * never).sum())
