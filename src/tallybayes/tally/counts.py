"""Counts of keys per class, for several columns: categories, and the lengths of bags.

The entries are in an `EntryStore`; here are the keys of each column, and the amounts per column and class.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import ClassVar, Self

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Floats, Integers
from tallybayes.arrays.axis import merge_keys, positions, sort_keys
from tallybayes.arrays.column import Key
from tallybayes.tally.entry_store import CLASS_BITS, EntryStore, EntryTable, entries_from_arrays, entry_arrays
from tallybayes.tally.exact import Exact, check_counts, require
from tallybayes.tally.key_index import in_order
from tallybayes.tally.tally import Arrays, Commit, Tally
from tallybayes.tally.vocabulary import BAG_KINDS, not_learned

__all__ = ["Counts"]

_AMOUNTS = BAG_KINDS[0]
_OPEN = 2**16  # entries of a table that may be open, however few of them are in use


class Counts(Tally):
    """Exact amounts per (column, key, class).

    Every (column, key) has a slot, given out in order of arrival: `index[column][key]` is the slot, `column_of` and
    `key_of` lead back. `totals[column]` is the amount per class over all keys.

    >>> a = Counts.of_table(("colour",), [["blue", "red"]], Exact.whole(np.array([[1, 0], [2, 5]])))
    >>> a.table("colour", ["red", "green"]).tolist(), a.n_keys("colour")
    ([[2.0, 5.0], [0.0, 0.0]], 2)
    """

    has_keys: ClassVar[bool] = True

    def __init__(self, features: tuple[str, ...], n_classes: int) -> None:
        self.features = features
        self.index: dict[str, dict[Key, int]] = {name: {} for name in features}
        self.column_of: list[str] = []
        self.key_of: list[Key] = []
        self.store = EntryStore(n_classes, BAG_KINDS)
        self.totals: dict[str, Exact] = {name: Exact.zeros(n_classes) for name in features}
        self._open_totals: Integers | None = None  # (columns, classes): while open, `totals` are views of it
        self._keys_in_use: dict[str, int] = dict.fromkeys(features, 0)

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """How many classes there are."""
        return self.store.n_classes

    # Counting

    @classmethod
    def of_table(cls, features: tuple[str, ...], keys: Sequence[Sequence[Key]], table: Exact) -> Counts:
        """From a dense table (keys of all columns one below the other, classes)."""
        row, klass = np.nonzero(table.nonzero())
        owner = np.repeat(np.arange(len(features)), [len(column_keys) for column_keys in keys]).tolist()
        first = [0, *itertools.accumulate(len(column_keys) for column_keys in keys)]

        def names_of(rows: list[int]) -> list[tuple[str, Key]]:
            return [(features[owner[r]], keys[owner[r]][r - first[owner[r]]]) for r in rows]

        return cls._of_entries(features, table.shape[1], row, klass, table[row, klass], names_of)

    @classmethod
    def of_places(cls, feature: str, keys: Sequence[Key], places: Integers, amounts: Exact, n_classes: int) -> Counts:
        """Amounts of one column at sorted places `key number * n_classes + class`; those of zero are dropped."""
        there = amounts.nonzero()
        row, klass = np.divmod(places[there], max(n_classes, 1))
        return cls._of_entries(
            (feature,), n_classes, row, klass, amounts[there], lambda rows: [(feature, keys[r]) for r in rows]
        )

    @classmethod
    def _of_entries(
        cls,
        features: tuple[str, ...],
        n_classes: int,
        rows: Integers,
        classes: Integers,
        amounts: Exact,
        names_of: Callable[[list[int]], list[tuple[str, Key]]],
    ) -> Counts:
        """From entries sorted by row and class; `names_of` gives the (column, key) of rows."""
        result = cls(features, n_classes)
        is_first = np.ones(len(rows), bool)
        is_first[1:] = rows[1:] != rows[:-1]
        result._add_keys(names_of(rows[is_first].tolist()))
        slots = np.cumsum(is_first) - 1
        check_counts(amounts := amounts.trimmed())
        result._fill(EntryTable(slots << CLASS_BITS | classes, {_AMOUNTS: amounts}))
        return result

    def _add_keys(self, names: Sequence[tuple[str, Key]]) -> None:
        for feature, group in itertools.groupby(names, key=itemgetter(0)):  # one column after the other
            keys, first = [key for _, key in group], len(self.key_of)
            self.index[feature].update(zip(keys, range(first, first + len(keys)), strict=True))
            self.column_of += [feature] * len(keys)
            self.key_of += keys

    def _fill(self, table: EntryTable) -> None:
        """Take the entries of a table, and derive totals and keys in use."""
        self.store = EntryStore(self.n_classes, BAG_KINDS, table)
        owner = self.owners()
        groups = owner[table.slots] * self.n_classes + table.classes
        total = table.sums[_AMOUNTS].grouped(groups, len(self.features) * self.n_classes)
        for i, name in enumerate(self.features):
            self.totals[name] = total[i * self.n_classes : (i + 1) * self.n_classes]
        in_use = np.bincount(owner[np.flatnonzero(self.store.live)], minlength=len(self.features))
        self._keys_in_use = dict(zip(self.features, in_use.tolist(), strict=True))

    # Reading

    def rows_seen(self) -> Exact:
        """Amount per (column, class) over all keys: a row has one key of a column."""
        return self._amounts()

    def _amounts(self) -> Exact:
        """Amount per (column, class) over all keys."""
        if self._open_totals is not None:
            return Exact.whole(self._open_totals.copy())
        parts = [self.totals[name][None] for name in self.features]
        return Exact.concatenate(parts) if parts else Exact.zeros((0, self.n_classes))

    def n_keys(self, feature: str) -> int:
        """How many keys of a column have been counted."""
        return self._keys_in_use.get(feature, 0)

    def _slots_in_use(self, feature: str) -> list[int]:
        slots = np.array(list(self.index.get(feature, {}).values()), np.int64)
        return slots[self.store.has(slots)].tolist()  # type: ignore[no-any-return]

    def keys(self, feature: str) -> list[Key]:
        """The keys of a column that have been counted, sorted."""
        return sort_keys(self.key_of[slot] for slot in self._slots_in_use(feature))

    def key_amounts(self, feature: str) -> dict[Key, float]:
        """The rounded amount of every key of a column over all classes."""
        slots = self._slots_in_use(feature)
        amounts = self.rows(np.array(slots, np.int64)).sum(axis=1).tolist()
        return {self.key_of[slot]: amount for slot, amount in zip(slots, amounts, strict=True)}

    def any_key(self, feature: str) -> Key | None:
        """One key of a column that has been counted, or None."""
        live = self.store.live
        slots = self.index.get(feature, {}).values()
        return next((self.key_of[slot] for slot in slots if slot < len(live) and live[slot] > 0), None)

    @property
    def n_dead(self) -> int:
        """How many keys have no counts any more."""
        return len(self.key_of) - self.store.n_in_use

    def entries(self) -> tuple[Integers, Integers, Floats]:
        """Slot, class and rounded amount of every entry."""
        table = self.store.table()
        return table.slots, table.classes, table.floats(_AMOUNTS)

    def owners(self) -> Integers:
        """The number of the column that each slot belongs to."""
        if len(self.features) == 1:
            return np.zeros(len(self.key_of), np.int64)
        return positions(self.column_of, self.features)

    def slots(self, feature: str, keys: Sequence[Key]) -> Integers:
        """The slots of keys, -1 for keys that have none."""
        index = self.index.get(feature, {})
        return np.array([index.get(key, -1) for key in keys], np.int64)

    def rows(self, slots: Integers) -> Floats:
        """Rounded amounts (slots, classes); zeros where a slot is -1."""
        return self.store.rows(_AMOUNTS, slots)

    def table(self, feature: str, keys: Sequence[Key]) -> Floats:
        """Rounded amounts (keys, classes); zeros for keys never counted."""
        return self.rows(self.slots(feature, keys))

    # Other forms

    def _empty(self, features: tuple[str, ...]) -> Self:
        """A tally of some of the columns without any sums."""
        return type(self)(features, self.n_classes)

    def copy(self) -> Self:
        """A tally with the same sums that can be changed independently."""
        result = self._empty(())
        result.features = self.features
        result.index = {name: dict(keys) for name, keys in self.index.items()}
        result.column_of, result.key_of = list(self.column_of), list(self.key_of)
        result.store = self.store.copy()
        result.totals = dict(self.totals)
        if self._open_totals is not None:
            result.totals = {name: Exact(total.digits.copy()) for name, total in self.totals.items()}
        result._keys_in_use = dict(self._keys_in_use)
        return result

    def __getstate__(self) -> dict[str, object]:
        """What is pickled: closed (an open table shares its totals), and no key without counts."""
        return self.freed().copy().__dict__

    def with_classes(self, positions: Integers, n_classes: int) -> Self:
        """The same sums with class c at positions[c]."""
        result = self.copy()
        result.store = EntryStore(n_classes, BAG_KINDS)
        result._fill(self.store.table().mapped(None, positions))
        return result

    def only(self, features: tuple[str, ...]) -> Self:
        """The sums of some of the columns, without keys that have no counts."""
        slots = [slot for feature in features for slot in self._slots_in_use(feature)]
        result = self._empty(features)
        result._add_keys([(self.column_of[slot], self.key_of[slot]) for slot in slots])
        slot_of = np.full(len(self.key_of), -1)
        slot_of[slots] = np.arange(len(slots))
        result._fill(self.store.table().mapped(slot_of, None))
        return result

    def freed(self) -> Self:
        """The same sums without the keys that have no counts any more; itself if there are none."""
        return self.only(self.features) if self.n_dead else self

    # Single rows, counted in place

    def can_open(self) -> bool:
        """Whether single rows can be counted in place: integers, and not too many entries without any."""
        if self.open_counts() is not None:
            return True
        table = self.store.table()
        few = len(self.key_of) * self.n_classes <= max(_OPEN, 4 * len(table.entries))
        return few and table.sums[_AMOUNTS].is_whole and all(total.is_whole for total in self.totals.values())

    def open_counts(self) -> Integers | None:
        """The open table (slots, classes), to be read until the next change; None if it is not open."""
        return self.store.open_counts()

    def count_row(self, values: Floats, code: int) -> bool:
        """Count one row of class `code` in place: the slot of its key in every column, NaN where it is missing."""
        dense, totals = self._open_table()
        if kernels.active.count_value_row(dense, totals, values, code):
            for slot in values[~np.isnan(values)].astype(np.int64).tolist():
                if dense[slot, code] == 1 and self.store.count_first(slot):  # it was 0
                    self._keys_in_use[self.column_of[slot]] += 1
        return True

    def key_slots(self, feature: str) -> Mapping[Key, int]:
        """The slot of every key of a column."""
        return self.index[feature]

    def slot_for(self, feature: str, key: Key) -> int:
        """The slot of a key, a new one if it has none: until something is counted there, it is not in use."""
        if (slot := self.index[feature].get(key, -1)) < 0:
            slot = len(self.key_of)
            self._add_keys([(feature, key)])
            self._open_table()
        return slot

    def _open_table(self) -> tuple[Integers, Integers]:
        """The counts as a dense table (slots, classes) that may be changed in place, and the totals as well."""
        if self._open_totals is None or self.store.open_counts() is None:
            self._open_totals = totals = self._amounts().digits[..., 0]
            self.totals = {name: Exact(totals[i][:, None]) for i, name in enumerate(self.features)}
        return self.store.open_table(len(self.key_of)), self._open_totals

    # Adding and subtracting

    def prepare(self, other: Counts, sign: int) -> Commit:
        """Check that `other` can be added or subtracted; the function returned does it."""
        slots, new = self._slots_of(other)
        placed = other.store.table().mapped(slots, None)
        change = self.store.change(placed.entries, placed.sums, sign)
        if sign < 0 and change.impossible.any():
            slot = int(change.entries[change.impossible][0] >> CLASS_BITS)
            known = len(self.key_of)
            feature, key = (self.column_of[slot], self.key_of[slot]) if slot < known else new[slot - known]
            raise not_learned(repr(key), feature)
        features = tuple(merge_keys(self.features, other.features))
        none = Exact.zeros(self.n_classes)
        totals = {
            name: self.totals.get(name, none) + (total if sign > 0 else -total) for name, total in other.totals.items()
        }

        def commit() -> None:
            self.features = features
            for name in other.features:
                self.index.setdefault(name, {})
                self._keys_in_use.setdefault(name, 0)
            self._add_keys(new)
            self._open_totals = None
            self.totals |= totals
            appeared, vanished = self.store.put(change)
            for slots, step in ((appeared, 1), (vanished, -1)):
                for slot in slots.tolist():
                    self._keys_in_use[self.column_of[slot]] += step

        return commit

    def _slots_of(self, other: Counts) -> tuple[Integers, list[tuple[str, Key]]]:
        """Where the other's slots are among ours, and the (column, key) that are new here."""
        new: list[tuple[str, Key]] = []
        slots = np.full(len(other.key_of), -1, np.int64)
        live = np.flatnonzero(other.store.live)
        for i in live.tolist():
            feature, key = other.column_of[i], other.key_of[i]
            slot = self.index.get(feature, {}).get(key, -1)
            if slot < 0:
                slot = len(self.key_of) + len(new)
                new.append((feature, key))
            slots[i] = slot
        return slots, new

    # The model file

    def arrays(self) -> Arrays:
        """Keys, classes and amounts of the columns that have counts."""
        return self.arrays_of(tuple(name for name in self.features if self.n_keys(name)))

    def arrays_of(self, features: tuple[str, ...]) -> Arrays:
        """The arrays for given columns, which must be all that have counts.

        Amounts per (column, class) are stored as well, although they follow from the entries: a model needs memory for
        them, so the file that it is read from has to be as large.
        """
        keys: list[Key] = []
        key_ends, rank = [], np.full(len(self.key_of), -1)
        for name in features:
            slots = self._slots_in_use(name)
            slot_of = in_order([self.key_of[slot] for slot in slots], slots)
            rank[list(slot_of.values())] = len(keys) + np.arange(len(slot_of))
            keys += slot_of
            key_ends.append(len(keys))
        sums, places = entry_arrays(self.store.table().mapped(rank, None), len(keys))
        sums["totals"] = self._amounts()[positions(features, self.features)].trimmed()
        return Arrays(features, sums, {"key_ends": np.array(key_ends, np.int64)} | places, {"keys": keys})

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_classes: int, like: Counts) -> Counts:
        """Counts that rows can have, or a ValueError."""
        features, keys, totals = arrays.features, arrays.keys["keys"], arrays.sums["totals"]
        owner, table = entries_from_arrays(arrays, BAG_KINDS, n_classes)
        result = cls(features, n_classes)
        result._add_keys([(features[i], key) for i, key in zip(owner.tolist(), keys, strict=True)])
        ends = arrays.places["key_ends"].tolist()
        for i, (name, start, stop) in enumerate(zip(features, [0, *ends], ends, strict=False)):
            column_keys = keys[start:stop]
            in_order = len(result.index[name]) == len(column_keys) and sort_keys(column_keys) == column_keys
            require(in_order, f"column {name!r}: keys in order")
            result._keys_in_use[name], result.totals[name] = len(column_keys), totals[i]
        result.store = EntryStore(n_classes, BAG_KINDS, table)
        return result
