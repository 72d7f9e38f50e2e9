"""Sets of tags: "Biography|Action", lists.

One Bernoulli per tag, as in the presence variant of `tallybayes.families.multinomial`; tags never seen are silent and
new ones appear as they come. A null is a missing set, an empty text or list the empty set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tallybayes.arrays.column import Bag, Column
from tallybayes.errors import ParameterError
from tallybayes.families.family import Codes32, Family, Floats, Score, Smoothing
from tallybayes.families.multinomial import BagPredictive, Multinomial, MultinomialPrior
from tallybayes.tally import Bags

__all__ = ["Tags"]

_PRESENCE = Multinomial(variant="presence")


@dataclass(frozen=True)
class Tags(Family[Bags, MultinomialPrior]):
    """One probability per tag and class; text is split at the separator.

    >>> import numpy as np
    >>> bag = Bag(np.array([0, 2, 3]), np.array([0, 1, 1]), None, ["Action", "War"])
    >>> tally = Tags().observe(("genre",), [bag], np.array([0, 1], np.int32), 2, None)
    >>> np.exp(Tags().derive(tally, 1.0).log_prob([bag])).round(3).tolist()
    [[0.444, 0.222], [0.222, 0.444]]
    """

    separator: str = "|"

    def __post_init__(self) -> None:
        if not self.separator:
            raise ParameterError("a separator of at least one character", got=self.separator)

    name: ClassVar[str] = "tags"
    column: ClassVar[type[Column]] = Bag
    takes_smoothing: ClassVar[bool] = True

    def observe(
        self, features: tuple[str, ...], columns: Sequence[Bag], codes: Codes32, n_classes: int, weights: Floats | None
    ) -> Bags:
        """Count the sets that hold each tag."""
        return _PRESENCE.observe(features, columns, codes, n_classes, weights)

    def prior(self, tally: Bags, smoothing: Smoothing) -> MultinomialPrior:
        """Beta(k, k), k by evidence for "auto"."""
        return _PRESENCE.prior(tally, smoothing)

    def predictive(self, tally: Bags, prior: MultinomialPrior) -> BagPredictive:
        """Posterior means."""
        return _PRESENCE.predictive(tally, prior)

    def plug_in(self, tally: Bags) -> BagPredictive:
        """Frequencies."""
        return _PRESENCE.plug_in(tally)

    def left_out(
        self, tally: Bags, prior: MultinomialPrior | None, columns: Sequence[Bag], codes: Codes32, weights: Any
    ) -> list[Score]:
        """In closed form."""
        return _PRESENCE.left_out(tally, prior, columns, codes, weights)

    def evidence(self, tally: Bags, prior: Any) -> Floats:
        """Of the tags given the classes."""
        return _PRESENCE.evidence(tally, prior)

    def independence(self, tally: Bags, prior: Any) -> Floats:
        """Of the tags whatever the class."""
        return _PRESENCE.independence(tally, prior)
