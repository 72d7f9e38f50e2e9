"""The tokens of one column: exact sums per token and class.

A bag has one kind of sum, its amounts. A text has three (`kernels/reference/count_documents.py`): occurrences,
documents that have the token, and log(1 + occurrences) over documents in units of 2**-30.

A vocabulary may be limited. Then the rarest tokens are pooled: their sums are added up under the empty key, which no
text has. Totals per class stay exact; only the names are lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tallybayes.arrays.array_types import Floats, Integers
from tallybayes.arrays.axis import distinct_numbers
from tallybayes.arrays.column import Key
from tallybayes.errors import ForgetError
from tallybayes.tally.entry_store import CLASS_BITS, CLASS_MASK, EntryChange, EntryStore, EntryTable, KindSums, Slots
from tallybayes.tally.exact import Exact, check_counts
from tallybayes.tally.key_index import POOLED, KeyIndex, LexiconIndex, TokenIndex, in_order
from tallybayes.tally.tally import Commit

__all__ = ["BAG_KINDS", "TEXT_KINDS", "Vocabulary", "not_learned"]

BAG_KINDS = ("amounts",)
TEXT_KINDS = ("counts", "documents", "logs")
_KEPT = 0.8  # the share of the limit that keeps its names, so that not every document makes tokens lose theirs


class Vocabulary:
    """Exact sums per (token, class).

    >>> words = Vocabulary.of_dense(["cash", "lunch"], np.array([[2, 0], [0, 5]]))
    >>> words.rows("amounts", words.index.find(["lunch", "dinner"])).tolist(), words.n_keys
    ([[0.0, 5.0], [0.0, 0.0]], 2)
    """

    has_declared: ClassVar[bool] = False  # whether tokens exist before they are counted (`DeclaredTokens`)
    n_unseen: int = 0  # how many of them have no counts

    def __init__(self, index: TokenIndex, store: EntryStore, totals: KindSums | None = None) -> None:
        self.index, self.store = index, store
        self._index_is_shared = False
        if totals is None:
            table = store.table()
            check_counts(table.sums[store.kinds[0]])
            totals = {kind: part.grouped(table.classes, store.n_classes) for kind, part in table.sums.items()}
        self.totals = totals  # per kind, (classes,)

    @classmethod
    def empty(cls, index: TokenIndex, n_classes: int, kinds: Sequence[str]) -> Vocabulary:
        """No tokens yet."""
        return cls(index, EntryStore(n_classes, kinds), {kind: Exact.zeros(n_classes) for kind in kinds})

    @classmethod
    def of_dense(cls, keys: Sequence[Key], table: Integers) -> Vocabulary:
        """A bag's integer amounts from a dense table (keys, classes), which is kept until entries are needed."""
        used = np.flatnonzero(table.any(axis=1))
        if len(used) < len(table):
            table, keys = table[used], _keys_at(keys, used)
        store = EntryStore(table.shape[1], BAG_KINDS, dense=table)
        return cls(KeyIndex(keys), store, {"amounts": Exact.whole(table).sum(axis=0)})

    @classmethod
    def of_places(cls, keys: Sequence[Key], places: Slots, amounts: Exact, n_classes: int) -> Vocabulary:
        """A bag's amounts at sorted places `key number * n_classes + class`; places without an amount are dropped."""
        there = amounts.nonzero()
        token, klass = np.divmod(places[there], max(n_classes, 1))
        used, slots = distinct_numbers(token, len(keys))
        table = EntryTable(slots.astype(np.int64) << CLASS_BITS | klass, {"amounts": amounts[there].trimmed()})
        return cls(KeyIndex(_keys_at(keys, used)), EntryStore(n_classes, BAG_KINDS, table))

    # Reading

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return self.store.n_classes

    @property
    def n_keys(self) -> int:
        """How many tokens have been counted; those that are pooled are one."""
        return self.store.n_in_use

    @property
    def n_slots(self) -> int:
        """One more than the last slot that has been counted."""
        return len(self.store.live)

    @property
    def n_dead(self) -> int:
        """How many slots have no counts any more."""
        return 0 if self.index.is_hashed else len(self.index) - self.n_keys

    def kind(self, wanted: str) -> str:
        """The kind of sum to be used for one that is wanted: a bag has only its amounts."""
        return wanted if wanted in self.store.kinds else self.store.kinds[0]

    def floats(self, kind: str) -> Floats:
        """The rounded sums of every entry of `store.table()`."""
        return self.store.table().floats(self.kind(kind))

    def total(self, kind: str) -> Floats:
        """The rounded sums of every class."""
        unit = 2.0**-30 if self.kind(kind) == "logs" else 1.0
        return np.asarray(self.totals[self.kind(kind)].floats() * unit)

    def rows(self, kind: str, slots: Slots) -> Floats:
        """Rounded sums (slots, classes); zeros where a slot is -1."""
        return self.store.rows(self.kind(kind), slots)

    def slots_in_use(self) -> Slots:
        """The slots that have counts."""
        return np.flatnonzero(self.store.live)

    def named(self) -> Slots:
        """The slots in use that have a name: all but that of the pooled tokens."""
        used = self.slots_in_use()
        return np.asarray(used[used != self.index.pooled_slot])

    def named_entries(self, kind: str) -> tuple[Slots, Floats]:
        """The class and the rounded sum of every entry whose token has a name."""
        table = self.store.table()
        named = table.slots != self.index.pooled_slot
        return table.classes[named], table.floats(self.kind(kind))[named]

    def has_pooled(self) -> bool:
        """Whether tokens have been pooled."""
        return self.index.pooled_slot >= 0

    def pooled(self, kind: str) -> Floats:
        """Rounded sums of the pooled tokens, (classes,)."""
        return np.asarray(self.rows(kind, np.array([self.index.pooled_slot]))[0])

    def in_order(self) -> tuple[list[Any], EntryTable]:
        """The one form of these sums: keys in order, and entries by the number of their key."""
        live = np.flatnonzero(self.store.live)
        slot_of = in_order(self.index.keys(live), live.tolist())
        rank = np.full(self.n_slots, -1)
        rank[list(slot_of.values())] = np.arange(len(slot_of))
        return list(slot_of), self.store.table().mapped(rank, None)

    def up_to(self, n_words: int) -> Vocabulary:
        """The sums of the n-grams of at most so many words, to be read; itself if there are no longer ones."""
        assert isinstance(self.index, LexiconIndex)
        table = self.store.table()
        kept = np.flatnonzero((self.index.n_words() <= n_words)[table.slots])
        if len(kept) == len(table.entries):
            return self
        part = EntryTable(table.entries[kept], {kind: sums[kept].trimmed() for kind, sums in table.sums.items()})
        return Vocabulary(self.index, EntryStore(self.n_classes, self.store.kinds, part))

    # Changing

    def copy(self) -> Vocabulary:
        """A vocabulary with the same sums that can be changed independently; the index is copied once a key is new."""
        result = Vocabulary(self.index, self.store.copy(), dict(self.totals))
        result._index_is_shared = self._index_is_shared = True
        return result

    def with_classes(self, positions: Integers, n_classes: int) -> Vocabulary:
        """The same sums with class c at positions[c]."""
        result = Vocabulary(self.index, self.store.mapped(class_of=positions, n_classes=n_classes))
        result._index_is_shared = self._index_is_shared = True
        return result

    def freed(self) -> Vocabulary:
        """The same sums without the tokens that have no counts any more; itself if there are none."""
        if not self.n_dead:
            return self
        live = np.flatnonzero(self.store.live)
        slot_of = np.full(self.n_slots, -1)
        slot_of[live] = np.arange(len(live))
        index = self.index.with_keys(self.index.keys(live))
        return Vocabulary(index, self.store.mapped(slot_of), dict(self.totals))

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: no token without counts."""
        return self.freed().__dict__ | {"_index_is_shared": False}

    def prepare(self, other: Vocabulary, sign: int, column: str) -> Commit:
        """Check that `other` can be added or subtracted; the function returned does it."""
        entries, sums, new = self._place(other)
        change = self.store.change(entries, sums, sign)
        if sign < 0 and self.has_pooled():
            change = self._with_pool(change, column)
        elif sign < 0 and change.impossible.any():
            slot = entries[change.impossible][:1] >> CLASS_BITS
            raise not_learned(repr((other.index.keys(new[:1]) if len(new) else self.index.keys(slot))[0]), column)
        totals = {
            kind: (part + other.totals[kind] if sign > 0 else part - other.totals[kind]).trimmed()
            for kind, part in self.totals.items()
        }

        def commit() -> None:
            if len(new) and sign > 0:
                if self._index_is_shared:
                    self.index, self._index_is_shared = self.index.copy(), False
                self.index.add(other.index.keys(new))
            self.totals = totals
            self.store.put(change)

        return commit

    def _place(self, other: Vocabulary) -> tuple[Slots, KindSums, Slots]:
        """The other's entries by our slots, in order, their sums, and those of the other's slots that are new here."""
        table = other.store.table()
        if self.index.is_hashed or (other.index.lexicon is not None and other.index.lexicon is self.index.lexicon):
            return table.entries, table.sums, np.zeros(0, np.int64)
        slots = self.index.find(other.index)[: other.n_slots]
        new = np.flatnonzero((slots < 0) & (other.store.live > 0))
        slots[new] = len(self.index) + np.arange(len(new))
        placed = table.mapped(slots, None)
        return placed.entries, placed.sums, new

    # Limits

    def _with_pool(self, change: EntryChange, column: str) -> EntryChange:
        """The change when rows are forgotten by a vocabulary that has pooled tokens.

        Part of what is forgotten of a token may have been counted in the pool, before the token had a name. Where the
        sums under the name would become impossible, all that is left of them moves to the pool, and the rest is
        subtracted there. So the sums under a name are never more than those of the rows that remain.
        """
        pool = np.int64(self.index.pooled_slot)
        slots, classes = change.entries >> CLASS_BITS, change.entries & CLASS_MASK
        is_pool = slots == pool
        moved = change.impossible | (change.after["counts"] - change.after["documents"]).negative() | is_pool
        used, group = np.unique(classes[moved], return_inverse=True)
        pool_entries, known = pool << CLASS_BITS | used, (slots < len(self.index)) & ~is_pool
        pool_before = self.store.at(pool_entries)
        before, after = {}, {}
        for kind, part in change.after.items():
            rest = part - change.before[kind].where(is_pool)
            left = pool_before[kind] + rest[moved].grouped(group, len(used))
            before[kind] = Exact.concatenate([change.before[kind][known], pool_before[kind]])
            after[kind] = Exact.concatenate([part.where(~moved)[known], left])
        entries = np.concatenate([change.entries[known], pool_entries])
        order = np.argsort(entries, kind="stable")
        result = EntryChange(
            entries[order],
            {kind: part[order] for kind, part in before.items()},
            {kind: part[order] for kind, part in after.items()},
        )
        if result.impossible.any():
            raise not_learned("a token without a name", column)
        return result

    def limit(self, most: int) -> None:
        """Pool the rarest tokens if there are more than `most`."""
        if self.n_keys <= most or self.index.is_hashed:
            return
        live = np.flatnonzero(self.store.live)
        table = self.store.table()
        often = np.bincount(table.slots, weights=self.floats("counts"))[live]
        often[live == self.index.pooled_slot] = -np.inf
        n_names = min(max(int(most * _KEPT), 1), most - 1)
        named = np.sort(live[np.argsort(-often, kind="stable")[:n_names]])
        slot_of = np.full(self.n_slots, len(named))
        slot_of[named] = np.arange(len(named))
        self.index = self.index.with_keys([*self.index.keys(named), POOLED])
        self.store, self._index_is_shared = self.store.mapped(slot_of), False


def not_learned(what: str, column: str) -> ForgetError:
    """The error for a key that is to be forgotten more often than it was learned."""
    return ForgetError(f"{what} was not learned that often in this class", column=column)


def _keys_at(keys: Sequence[Key], places: Slots) -> list[Key]:
    """Some of the keys; those of a matrix are the numbers of its columns."""
    if isinstance(keys, range):
        return list((keys.start + keys.step * places).tolist())
    return [keys[i] for i in places.tolist()]
