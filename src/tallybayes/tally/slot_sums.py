"""The sums of some slots of a store, gathered for many of them at once."""

from __future__ import annotations

import numpy as np

from tallybayes.arrays.array_types import Floats, Integers, Integers32
from tallybayes.tally.entry_store import CLASS_MASK, EntryStore

__all__ = ["SlotSums"]


class SlotSums:
    """The rounded sums of slots, each kind once it is asked for; a slot without entries, among them -1, has zeros.

    >>> from tallybayes.tally.entry_store import CLASS_BITS, EntryTable
    >>> from tallybayes.tally.exact import Exact
    >>> entries, counts = np.array([0, 1 << CLASS_BITS, 1 << CLASS_BITS | 1]), Exact.whole(np.array([2, 5, 1]))
    >>> sums = SlotSums(EntryStore(2, ("counts",), EntryTable(entries, {"counts": counts})), np.array([1, -1]))
    >>> sums.table("counts").tolist(), sums.whole("counts").tolist()
    ([[5.0, 1.0], [0.0, 0.0]], [6.0, 0.0])
    """

    def __init__(self, store: EntryStore, slots: Integers) -> None:
        self._table, self._n_classes, self._n_slots = store.table(), store.n_classes, len(slots)
        live = np.append(store.live, 0)  # the last for slots that have no entries
        known = np.where((slots >= 0) & (slots < len(live)), slots, -1)
        length = live[known].astype(np.int64)
        first = (np.cumsum(live, dtype=np.int64) - live)[known]
        self.starts: Integers = np.concatenate([[0], np.cumsum(length)])  # of the entries of each slot, and their end
        self.row: Integers = np.repeat(np.arange(len(slots)), length)  # the position of the slot of each entry
        self._entry = np.arange(len(self.row)) + np.repeat(first - self.starts[:-1], length)
        self.classes: Integers32 = (self._table.entries[self._entry] & CLASS_MASK).astype(np.int32)
        self._counts: dict[str, Floats] = {}
        self._wholes: dict[str, Floats] = {}

    def counts(self, kind: str) -> Floats:
        """The sums of every entry."""
        if kind not in self._counts:
            self._counts[kind] = np.asarray(self._table.floats(kind)[self._entry])
        return self._counts[kind]

    def table(self, kind: str) -> Floats:
        """The sums by class, (slots, classes)."""
        result = np.zeros((self._n_slots, self._n_classes))
        result[self.row, self.classes] = self.counts(kind)
        return result

    def whole(self, kind: str) -> Floats:
        """The sums over the classes, (slots,), added in the order of the classes."""
        if kind not in self._wholes:
            self._wholes[kind] = self.summed(self.counts(kind))
        return self._wholes[kind]

    def summed(self, counts: Floats) -> Floats:
        """Values of entries summed up for each slot, in the order of the classes."""
        return np.asarray(np.bincount(self.row, counts, self._n_slots), np.float64)
