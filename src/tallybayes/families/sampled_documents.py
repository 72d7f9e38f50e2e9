"""A sample of the documents that a column of text has learned, to select its options on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.arrays.array_types import Codes32, Integers
from tallybayes.arrays.column import Bag
from tallybayes.families.predictive import Floats
from tallybayes.tally import Vocabulary

__all__ = ["SampledDocuments"]


@dataclass(frozen=True, eq=False)
class SampledDocuments:
    """Documents with their classes and weights. The keys of the bag are numbers of `lexicon`; if it is None, tokens."""

    bag: Bag
    codes: Codes32
    weights: Floats
    lexicon: Any

    def slots(self, words: Vocabulary) -> Integers:
        """The slots of the keys in a vocabulary, -1 for those that have none."""
        if words.index.is_hashed or (self.lexicon is not None and self.lexicon is words.index.lexicon):
            return np.asarray(self.bag.keys, np.int64)
        return words.index.find(self.tokens())

    def tokens(self) -> list[Any]:
        """The keys as tokens; of buckets, their numbers."""
        if self.lexicon is None or not hasattr(self.lexicon, "packed"):
            return list(self.bag.keys)
        data, offsets = self.lexicon.packed()
        content, numbers = data.tobytes(), np.asarray(self.bag.keys, np.int64)
        return [content[a:b] for a, b in zip(offsets[numbers], offsets[numbers + 1], strict=True)]
