"""Sums of tokens, to be read, in which tokens that were declared exist before they are counted.

The sums are those of the vocabulary: only which tokens there are, and how many, differs. So a given vocabulary is the
set of outcomes of a multinomial, whatever part of it has been seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tallybayes.arrays.array_types import Booleans, Indices, Integers
from tallybayes.tally.entry_store import EntryStore
from tallybayes.tally.vocabulary import Vocabulary

__all__ = ["DeclaredTokens"]

Slots = Integers


class DeclaredTokens(Vocabulary):
    """The sums of a vocabulary with some more tokens.

    >>> words = Vocabulary.of_dense(["cash", "lunch"], np.array([[2, 0], [0, 5]]))
    >>> more = DeclaredTokens(words, ["cash", "zebra"])
    >>> more.n_keys, more.n_unseen, more.rows("amounts", more.index.find(["zebra"])).tolist(), words.n_keys
    (3, 1, [[0.0, 0.0]], 2)
    """

    has_declared = True

    def __init__(self, words: Vocabulary, tokens: Sequence[str]) -> None:
        index, slots = words.index, words.index.find(tokens)
        if new := [token for token, slot in zip(tokens, slots.tolist(), strict=True) if slot < 0]:
            index = index.copy()
            index.add(new)
            slots = index.find(tokens)
        super().__init__(index, _DeclaredStore(words.store, slots), words.totals)
        self.n_unseen = self.n_keys - words.n_keys

    def slots_in_use(self) -> Slots:
        """Those of declared tokens too."""
        assert isinstance(self.store, _DeclaredStore)
        return np.flatnonzero(self.store.exists)


class _DeclaredStore(EntryStore):
    """The entries of another store; `exists` says which slots have entries or were declared."""

    def __init__(self, store: EntryStore, slots: Slots) -> None:
        self.__dict__.update(store.copy().__dict__)
        live = self.live
        n_slots = max(len(live), int(slots.max(initial=-1)) + 1)
        live = np.concatenate([live, np.zeros(n_slots - len(live), live.dtype)])
        self.exists: Booleans = live > 0
        self.exists[slots] = True
        self._usage = (live, int(np.count_nonzero(self.exists)))

    def has(self, slots: Indices) -> Booleans:
        """Which slots have entries or were declared."""
        inside = (slots >= 0) & (slots < len(self.exists))
        return np.asarray(inside & self.exists[np.where(inside, slots, 0)])
