"""Sets of tags: "Biography|Action", lists.

One Bernoulli per tag, as in the presence variant of `multinomial.py`. A tag never seen contributes nothing;
new tags are added as they arrive. A null is a missing set, an empty text or list is the empty set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tallybayes.errors import ParameterError
from tallybayes.families.tokens.multinomial import BagFamily
from tallybayes.families.tokens.token_options import TokenOptions

__all__ = ["Tags"]


@dataclass(frozen=True)
class Tags(BagFamily):
    """One probability per tag and class; text is split at the separator.

    >>> import numpy as np
    >>> from tallybayes.arrays.column import Bag
    >>> bag = Bag(np.array([0, 2, 3]), np.array([0, 1, 1]), None, ["Action", "War"])
    >>> tally = Tags().observe(("genre",), [bag], np.array([0, 1], np.int32), 2, None)
    >>> np.exp(Tags().derive(tally, 1.0).log_prob([bag])).round(3).tolist()
    [[0.444, 0.222], [0.222, 0.444]]
    """

    separator: str = "|"

    name: ClassVar[str] = "tags"

    def __post_init__(self) -> None:
        if not self.separator:
            raise ParameterError("a separator of at least one character", got=self.separator)

    @property
    def options(self) -> TokenOptions:
        """Presence."""
        return TokenOptions("presence")
