"""Exact sums per (slot, class): the store behind categories, bags of tokens and text.

A slot is the number of a key. An entry (slot, class) exists only where something was counted, so a token seen in 3 of
1,000 classes needs three entries. Entries are kept in sorted arrays that are never changed. A small change is written
to an overlay, a dict from entry to its latest sums, which is folded into new arrays once it has grown to a share of
them: the cost of learning one row is in proportion to the row.

Single rows of categories are counted in an open table instead: a dense array (slots, classes) with room for new keys.

Several threads may read a store at the same time: readers replace the pair (arrays, overlay) as a whole by an equal
one, so that each of them works on a consistent pair. Only `put` and the caller of `open_table` change anything; nobody
may read meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tallybayes.arrays.array_types import Booleans, Floats, Indices, Integers, Integers32
from tallybayes.arrays.memory_budget import check_budget
from tallybayes.tally.exact import Exact, check_amounts, check_counts, check_totals, require
from tallybayes.tally.tally import Arrays, check_ends

__all__ = ["CLASS_BITS", "CLASS_MASK", "EntryChange", "EntryStore", "EntryTable", "entries_from_arrays", "entry_arrays"]

CLASS_BITS = 24  # an entry is slot << 24 | class: up to 16 million classes
CLASS_MASK = np.int64(2**CLASS_BITS - 1)
_OVERLAY = 1024  # the overlay is folded in when it is larger than this and than an eighth of the table
_SHARE = 8
_SMALL = 64  # a change of more than one entry in so many makes new arrays: a dict takes longer for each entry
_MANY = 4096  # slots from which the overlay is folded in before they are read
_UNITS = {"logs": 2.0**-30}  # sums of logarithms are integers in this unit

Slots = Integers
KindSums = dict[str, Exact]


@dataclass(frozen=True, eq=False)
class EntryTable:
    """The entries in use, `slot << 24 | class` in ascending order, with their sums of every kind. Never changed."""

    entries: Slots
    sums: KindSums
    _floats: dict[str, Floats] = field(default_factory=dict, repr=False)

    @classmethod
    def of_dense(cls, dense: Integers, kind: str) -> EntryTable:
        """The entries of a dense table (slots, classes) that are not zero."""
        slot, klass = np.nonzero(dense)
        return cls(slot << CLASS_BITS | klass, {kind: Exact.whole(dense[slot, klass])})

    @property
    def slots(self) -> Slots:
        """The slot of every entry."""
        return self.entries >> CLASS_BITS

    @property
    def classes(self) -> Slots:
        """The class of every entry."""
        return self.entries & CLASS_MASK

    def floats(self, kind: str) -> Floats:
        """The rounded sums of every entry, rounded once; logarithms in units of one."""
        floats = self._floats.get(kind)
        if floats is None:
            floats = self._floats[kind] = self.sums[kind].floats() * _UNITS.get(kind, 1.0)
        return floats

    def at(self, entries: Slots) -> KindSums:
        """The sums of some entries, zero where there is none."""
        place = np.searchsorted(self.entries, entries)
        known = place < len(self.entries)
        known[known] = self.entries[place[known]] == entries[known]
        result = {}
        for kind, part in self.sums.items():
            digits = np.zeros((len(entries), part.digits.shape[-1]), np.int64)
            digits[known] = part.digits[place[known]]
            result[kind] = Exact(digits, part.low)
        return result

    def with_sums(self, entries: Slots, sums: KindSums) -> EntryTable:
        """The table with other sums at some entries (sorted); an entry whose sums are zero disappears."""
        n, place = len(self.entries), np.searchsorted(self.entries, entries)
        known, there = np.append(self.entries, -1)[place] == entries, next(iter(sums.values())).nonzero()
        merged, source = self.entries, np.arange(n)  # where the sums are, in the old ones followed by the given ones
        source[place[known]] = np.where(there, n + np.arange(len(entries)), -1)[known]
        if (new := np.flatnonzero(there & ~known)).size:  # never when rows are forgotten: then no entry moves
            merged, source = np.insert(merged, place[new], entries[new]), np.insert(source, place[new], n + new)
        if (kept := np.flatnonzero(source >= 0)).size < len(source):
            merged, source = merged[kept], source[kept]
        parts = {kind: Exact.concatenate([part, sums[kind]])[source] for kind, part in self.sums.items()}
        return EntryTable(merged, {kind: part.trimmed() for kind, part in parts.items()})

    def mapped(self, slot_of: Slots | None, class_of: Slots | None) -> EntryTable:
        """The sums under other slots and classes: -1 drops an entry, and entries that become one are added up."""
        slots = self.slots if slot_of is None else slot_of[self.slots]
        classes = self.classes if class_of is None else class_of[self.classes]
        kept = np.flatnonzero((slots >= 0) & (classes >= 0))
        entries, group = np.unique(slots[kept] << CLASS_BITS | classes[kept], return_inverse=True)
        if len(entries) < len(kept):
            sums = {kind: part[kept].grouped(group, len(entries)) for kind, part in self.sums.items()}
            return EntryTable(entries, sums)
        kept[group] = kept.copy()
        return EntryTable(entries, {kind: part[kept].trimmed() for kind, part in self.sums.items()})


@dataclass(frozen=True, eq=False)
class EntryChange:
    """Some entries in ascending order, with their sums before and after a change."""

    entries: Slots
    before: KindSums
    after: KindSums

    @property
    def impossible(self) -> Booleans:
        """Where no rows can have the sums after the change: negative, or zero of one kind and not of another."""
        first, *others = self.after.values()
        wrong = first.negative()
        for part in others:
            wrong |= part.negative() | (part.nonzero() != first.nonzero())
        return wrong


class EntryStore:
    """Exact sums per (slot, class) of one or several kinds.

    >>> table = EntryTable(np.array([0, 1 << CLASS_BITS | 1]), {"counts": Exact.whole(np.array([2, 5]))})
    >>> store = EntryStore(2, ("counts",), table)
    >>> store.rows("counts", np.array([1, 7])).tolist(), store.n_in_use
    ([[0.0, 5.0], [0.0, 0.0]], 2)
    """

    def __init__(
        self, n_classes: int, kinds: Sequence[str], table: EntryTable | None = None, *, dense: Integers | None = None
    ) -> None:
        self.n_classes, self.kinds = n_classes, tuple(kinds)
        if table is None and dense is None:
            table = EntryTable(np.zeros(0, np.int64), {kind: Exact.zeros(0) for kind in kinds})
        self._state: tuple[EntryTable, dict[int, tuple[int, ...]]] | None = None if table is None else (table, {})
        self._dense = dense  # (slots, classes) of the one kind; where there is a table too, both are equal
        self._room: Integers | None = None  # the open table, of which `_dense` is the part in use
        self._usage: tuple[Integers32, int] | None = None  # entries per slot, slots that have any

    # Reading

    def _latest(self) -> tuple[EntryTable, dict[int, tuple[int, ...]]]:
        """The entries and the overlay of later sums; a dense table is turned into entries."""
        state = self._state
        if state is None:
            assert self._dense is not None
            self._state = state = (EntryTable.of_dense(self._dense, self.kinds[0]), {})
        return state

    def table(self) -> EntryTable:
        """The entries in use, with all changes folded in."""
        table, overlay = self._latest()
        if overlay:
            entries = np.array(sorted(overlay), np.int64)
            sums = np.array([overlay[entry] for entry in entries.tolist()], np.int64)
            table = table.with_sums(entries, {kind: Exact.whole(sums[:, i]) for i, kind in enumerate(self.kinds)})
            self._state = (table, {})
        return table

    def _used(self) -> tuple[Integers32, int]:
        if self._usage is None:
            dense = self._dense
            if dense is not None:
                live = (dense != 0).sum(axis=1, dtype=np.int32)
            else:
                live = np.bincount(self.table().slots).astype(np.int32)
            self._usage = (live, int(np.count_nonzero(live)))
        return self._usage

    @property
    def live(self) -> Integers32:
        """How many entries each slot has; slots after the end have none."""
        return self._used()[0]

    @property
    def n_in_use(self) -> int:
        """How many slots have entries."""
        return self._used()[1]

    def has(self, slots: Indices) -> Booleans:
        """Which slots have entries; -1 has none."""
        live, n_in_use = self._used()
        if n_in_use == len(live):
            return np.asarray((slots >= 0) & (slots < len(live)))
        inside = (slots >= 0) & (slots < len(live))
        return np.asarray(inside & (live[np.where(inside, slots, 0)] > 0))

    def rows(self, kind: str, slots: Slots) -> Floats:
        """Rounded sums (slots, classes); zeros for slots without entries, among them -1."""
        check_budget(len(slots), self.n_classes, "values")
        dense = self._dense
        if dense is None:
            return self.tables(slots, (kind,))[kind]
        known = (slots >= 0) & (slots < len(dense))
        if known.all():
            return dense[slots].astype(np.float64)
        result = np.zeros((len(slots), self.n_classes))
        result[known] = dense[slots[known]]
        return result

    def tables(self, slots: Slots, kinds: Sequence[str] | None = None) -> dict[str, Floats]:
        """The same of several kinds, without folding the overlay for a few slots."""
        if len(slots) > _MANY:
            self.table()
        table, overlay = self._latest()
        first = np.searchsorted(table.entries, slots << CLASS_BITS)
        if overlay or len(slots) <= _MANY:
            length = np.where(slots >= 0, np.searchsorted(table.entries, (slots + 1) << CLASS_BITS) - first, 0)
        else:  # one look at all slots is quicker than a second search
            live = np.append(self.live, 0)
            length = live[np.where((slots >= 0) & (slots < len(live)), slots, -1)]
        row = np.repeat(np.arange(len(slots)), length)
        entry = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length) + np.repeat(first, length)
        place = row * self.n_classes + (table.entries[entry] & CLASS_MASK)
        late = self._late(overlay, slots)
        result = {}
        for kind in self.kinds if kinds is None else kinds:
            sums = np.zeros(len(slots) * self.n_classes)
            sums[place] = table.floats(kind)[entry]
            if late:
                number, unit = self.kinds.index(kind), _UNITS.get(kind, 1.0)
                sums[[at for at, _ in late]] = [latest[number] * unit for _, latest in late]
            result[kind] = sums.reshape(len(slots), self.n_classes)
        return result

    def _late(self, overlay: dict[int, tuple[int, ...]], slots: Slots) -> list[tuple[int, tuple[int, ...]]]:
        """The sums in the overlay for slots, each with its place in a table (slots, classes)."""
        if not overlay:
            return []
        if len(slots) * self.n_classes <= len(overlay):
            entries = ((slots << CLASS_BITS)[:, None] + np.arange(self.n_classes)).ravel().tolist()
            return [(place, overlay[entry]) for place, entry in enumerate(entries) if entry in overlay]
        row_of: dict[int, list[int]] = {}
        for row, slot in enumerate(slots.tolist()):
            row_of.setdefault(slot, []).append(row)
        return [
            (row * self.n_classes + (entry & int(CLASS_MASK)), sums)
            for entry, sums in overlay.items()
            for row in row_of.get(entry >> CLASS_BITS, ())
        ]

    def __getstate__(self) -> dict[str, object]:
        """What is pickled: an open table is closed, because its two arrays share memory."""
        return self.copy().__dict__

    # Changing

    def copy(self) -> EntryStore:
        """A store with the same sums that can be changed independently; arrays that never change are shared."""
        result = EntryStore(self.n_classes, self.kinds, dense=self._dense)
        if self._state is not None:
            result._state = (self._state[0], dict(self._state[1]))
        if self._room is not None and self._dense is not None:
            result._dense = self._dense.copy()
        if self._usage is not None:
            result._usage = (self._usage[0].copy(), self._usage[1])
        return result

    def mapped(
        self, slot_of: Slots | None = None, class_of: Slots | None = None, n_classes: int | None = None
    ) -> EntryStore:
        """A store with the sums under other slots and classes; see `EntryTable.mapped`."""
        size = self.n_classes if n_classes is None else n_classes
        return EntryStore(size, self.kinds, self.table().mapped(slot_of, class_of))

    def change(self, entries: Slots, sums: KindSums, sign: int) -> EntryChange:
        """The change that adds sums to entries (ascending), or subtracts them; nothing is changed yet."""
        before = self.at(entries)
        after = {kind: part + sums[kind] if sign > 0 else part - sums[kind] for kind, part in before.items()}
        check_counts(after[self.kinds[0]])
        return EntryChange(entries, before, after)

    def at(self, entries: Slots) -> KindSums:
        """The sums of some entries, zero where there is none."""
        table, overlay = self._latest()
        sums = table.at(entries)
        late = [(i, overlay[entry]) for i, entry in enumerate(entries.tolist()) if entry in overlay] if overlay else []
        for i, latest in late:  # an overlay only holds integers, over integers
            for part, value in zip(sums.values(), latest, strict=True):
                part.digits[i, 0] = value
        return sums

    def put(self, change: EntryChange) -> tuple[Slots, Slots]:
        """Make a change. Returns the slots that have their first entry now, and those that have lost their last."""
        entries, after = change.entries, {kind: part.trimmed() for kind, part in change.after.items()}
        slots = self._account(change)
        table, overlay = self._latest()
        self._dense = self._room = None
        are_integers = all(part.is_whole for part in (*after.values(), *table.sums.values()))
        if are_integers and len(entries) * _SMALL < len(table.entries) + len(overlay):
            columns = (after[kind].digits[:, 0].tolist() for kind in self.kinds)
            overlay.update(zip(entries.tolist(), zip(*columns, strict=True), strict=True))
            if len(overlay) > max(_OVERLAY, len(table.entries) // _SHARE):
                self.table()
        else:
            self._state = (self.table().with_sums(entries, after), {})
        return slots

    def _account(self, change: EntryChange) -> tuple[Slots, Slots]:
        """Update the number of entries per slot."""
        first = self.kinds[0]
        difference = change.after[first].nonzero().astype(np.int32) - change.before[first].nonzero()
        slots = change.entries >> CLASS_BITS
        live, n_in_use = self._used()
        size = int(slots[-1]) + 1 if len(slots) else 0
        if len(live) < size:
            live = np.concatenate([live, np.zeros(size - len(live), np.int32)])
        touched = slots[difference != 0]
        touched = touched[np.diff(touched, prepend=-1) != 0]  # they come in order
        were = live[touched] > 0
        np.add.at(live, slots, difference)
        are = live[touched] > 0
        self._usage = (live, n_in_use + int(np.count_nonzero(are)) - int(np.count_nonzero(were)))
        return touched[are & ~were], touched[were & ~are]

    # Single rows, counted in place

    def open_counts(self) -> Integers | None:
        """The open table (slots, classes), to be read until the next change; None if it is not open."""
        return self._dense if self._room is not None else None

    def open_table(self, n_slots: int) -> Integers:
        """The sums as a dense table (slots, classes) that the caller may change; only for one kind, of integers."""
        dense = self._dense
        if self._room is None or dense is None or len(self._room) < n_slots:
            room = np.zeros((n_slots + n_slots // 2 + 64, self.n_classes), np.int64)
            if dense is not None:
                room[: len(dense)] = dense
            else:
                table = self.table()
                room[table.slots, table.classes] = table.sums[self.kinds[0]].digits[:, 0]
            self._room, self._dense = room, room[:n_slots]
        elif len(dense) < n_slots:
            self._dense = self._room[:n_slots]
        self._state = None
        assert self._dense is not None
        return self._dense

    def count_first(self, slot: int) -> bool:
        """Note that the caller of `open_table` has counted the first of an entry; whether it is the slot's first."""
        live, n_in_use = self._used()
        if len(live) <= slot:
            live = np.concatenate([live, np.zeros(slot + 64 - len(live), np.int32)])
        live[slot] += 1
        self._usage = (live, n_in_use + int(live[slot] == 1))
        return bool(live[slot] == 1)


# Entries in a model file


def entry_arrays(table: EntryTable, n_keys: int) -> tuple[KindSums, dict[str, Integers]]:
    """The sums of entries, and the places that say which entries belong to which of the keys, numbered from 0."""
    entry_ends = np.cumsum(np.bincount(table.slots, minlength=n_keys), dtype=np.int64)
    sums = {kind: part.trimmed() for kind, part in table.sums.items()}
    return sums, {"cell_ends": entry_ends, "classes": table.classes}


def entries_from_arrays(arrays: Arrays, kinds: Sequence[str], n_classes: int) -> tuple[Integers, EntryTable]:
    """The column of every key, and the entries by the number of their key; a ValueError if rows cannot have them."""
    classes, n_keys = arrays.places["classes"], len(arrays.keys["keys"])
    sums = {kind: arrays.sums[kind] for kind in kinds}
    require(classes.ndim == 1 and all(part.shape == classes.shape for part in sums.values()), "one sum for each cell")
    require(((classes >= 0) & (classes < n_classes)).all() and n_classes <= CLASS_MASK, "classes out of range")
    owner = check_ends(arrays.places["key_ends"], len(arrays.features), n_keys, "keys")
    slots = check_ends(arrays.places["cell_ends"], n_keys, len(classes), "cells")
    entries = slots << CLASS_BITS | classes
    require((np.diff(entries) > 0).all(), "classes out of order")
    require((np.bincount(slots, minlength=n_keys) > 0).all(), "keys without a count")
    for kind, part in sums.items():
        if kind not in _UNITS:
            check_amounts(part, kind)
        require((part.floats() > 0).all(), "cells without a count")
    if (totals := arrays.sums.get("totals")) is not None:  # text has none
        n_columns = len(arrays.features)
        require(totals.shape == (n_columns, n_classes), "one total for each column and class")
        check_totals(totals.reshaped(n_columns * n_classes), sums[kinds[0]], owner[slots] * n_classes + classes)
    return owner, EntryTable(entries, sums)
