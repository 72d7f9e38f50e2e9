"""Bags of counts: sparse matrices, lists, maps.

Three variants, of which the first two share their counts (`families/tokens/token_weights.py` has the formulas):

    counts      a multinomial; the multinomial coefficient, which no class depends on, is not part of the score
    complement  the score is minus that of the other classes' tokens together (Rennie et al. 2003): a way of scoring
                and not a likelihood, so it has no evidence, no samples and no log p(x)
    presence    one Bernoulli per token, present or not

V is the number of tokens seen so far; a token never seen contributes nothing. "auto" selects k from 2**-10 .. 2**5 by
evidence.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from tallybayes.arrays.array_types import Weights
from tallybayes.arrays.column import Bag
from tallybayes.errors import ParameterError, UnsupportedError
from tallybayes.families.family import Codes32, Floats, Smoothing
from tallybayes.families.strength import Strength
from tallybayes.families.tokens.bag_counts import add_columns, check_products, collapse_repeated, count_tokens
from tallybayes.families.tokens.token_family import TokenFamily, TokenPrior
from tallybayes.families.tokens.token_options import TokenOptions
from tallybayes.tally import TokenTally, Vocabulary
from tallybayes.tally.key_index import KeyIndex
from tallybayes.tally.vocabulary import BAG_KINDS

__all__ = ["BagFamily", "Multinomial"]

STRENGTHS = 2.0 ** np.arange(-10, 6)
Variant = Literal["counts", "complement", "presence"]


class BagFamily(TokenFamily):
    """Tokens with amounts, of any type: what multinomial and tags share."""

    def observe(
        self, features: tuple[str, ...], columns: Sequence[Bag], codes: Codes32, n_classes: int, weights: Weights
    ) -> TokenTally:
        """Add up amounts of tokens (presence: count the bags that have a token), and count bags by length."""
        tokens, lengths = {}, []
        for name, bag in zip(features, columns, strict=True):
            if self.options.variant == "presence" and bag.amounts is not None:
                bag = dataclasses.replace(bag, amounts=(bag.amounts != 0).astype(np.float64))
            bag_codes = codes if bag.present is None else np.where(bag.present, codes, np.int32(-1))
            bag, bag_codes, bag_weights = collapse_repeated(bag, bag_codes, n_classes, weights)
            check_products(name, bag, bag_weights)
            tokens[name], bag_lengths = count_tokens(name, bag, bag_codes, n_classes, bag_weights)
            lengths.append(bag_lengths)
        return TokenTally(tokens, add_columns(lengths, n_classes), Vocabulary.empty(KeyIndex(), n_classes, BAG_KINDS))

    def prior(self, tally: TokenTally, smoothing: Smoothing) -> TokenPrior:
        """Dirichlet(k) (presence: Beta(k, k)), k by evidence for "auto"."""
        n = len(tally.features)
        if smoothing != "auto":
            return TokenPrior(np.full(n, float(smoothing)))
        log_evidence = [TokenFamily.evidence(self, tally, TokenPrior(np.full(n, k))) for k in STRENGTHS[::-1]]
        return TokenPrior(STRENGTHS[::-1][np.stack(log_evidence).argmax(axis=0)])

    def strengths(self, tally: TokenTally, smoothing: Smoothing) -> list[Strength]:
        """Laplace's k, given or by evidence."""
        is_selected = smoothing == "auto"
        return [Strength(k, is_selected=is_selected) for k in self.prior(tally, smoothing).k.tolist()]


@dataclass(frozen=True)
class Multinomial(BagFamily):
    """Tokens with amounts.

    >>> bag = Bag(np.array([0, 2, 3]), np.array([0, 1, 1]), None, ["cash", "lunch"])
    >>> tally = Multinomial().observe(("mail",), [bag], np.array([0, 1], np.int32), 2, None)
    >>> np.exp(Multinomial().derive(tally, 1.0).log_prob([bag])).round(3).tolist()
    [[0.25, 0.222], [0.5, 0.667]]
    """

    variant: Variant = "counts"

    name: ClassVar[str] = "multinomial"

    def __post_init__(self) -> None:
        if self.variant not in ("counts", "complement", "presence"):
            raise ParameterError("a variant of multinomial: 'counts', 'complement' or 'presence'", got=self.variant)

    @property
    def em_form(self) -> Multinomial:
        """Counts, if the variant is no likelihood."""
        return self if self.is_likelihood else Multinomial()

    @property
    def options(self) -> TokenOptions:
        """The variant."""
        return TokenOptions(self.variant)

    def evidence(self, tally: TokenTally, prior: TokenPrior) -> Floats:
        """Of the tokens given the classes (without the multinomial coefficients)."""
        if self.variant == "complement":
            raise UnsupportedError("complement is a way of scoring, not a likelihood: it has no evidence")
        return super().evidence(tally, prior)
