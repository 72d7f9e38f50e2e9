"""Counts of keys per class: categories, tokens, tags.

A cell (key, class) exists only where something was counted, so a token seen in 3 of 1,000 classes costs three cells.
Cells are sorted arrays; small changes go into an overlay of the latest amounts, which is folded in when it has grown
to a share of the table, so that learning one row costs time in proportion to the row. While single rows are counted
one after the other (`count_row`), the cells lie open instead: a dense table with room for new keys, changed in place.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.axis import merged, positions, sort_keys
from tallybayes.arrays.column import Key
from tallybayes.arrays.memory_budget import check_budget
from tallybayes.errors import ForgetError
from tallybayes.tally.exact import Exact, check_amounts, check_counts, check_totals, require
from tallybayes.tally.tally import Arrays, Commit, Tally, check_ends, plain

__all__ = ["Counts"]

_CLASS_BITS = 24  # a cell is slot << 24 | class: up to 16 million classes
_CLASSES = np.int64(2**_CLASS_BITS - 1)
_LOCK = threading.RLock()  # readers in several threads may fold and expand at once
_OVERLAY = 1024  # fold the overlay in when it is larger than this and than an eighth of the table
_OPEN = 2**16  # cells of a table that may lie open, however few of them are in use


class Counts(Tally):
    """Exact amounts per (column, key, class).

    Every (column, key) has a slot, given out in order of arrival: `index[column][key]` finds it, `column_of` and
    `key_of` lead back. `totals[column]` is the amount per class over all keys.

    >>> a = Counts.of_table(("colour",), [["blue", "red"]], Exact.whole(np.array([[1, 0], [2, 5]])))
    >>> a.table("colour", ["red", "green"]).tolist(), a.n_keys("colour")
    ([[2.0, 5.0], [0.0, 0.0]], 2)
    """

    has_keys: ClassVar[bool] = True

    def __init__(self, features: tuple[str, ...], n_classes: int) -> None:
        self.features = features
        self.n_classes = n_classes
        self.index: dict[str, dict[Key, int]] = {name: {} for name in features}
        self.column_of: list[str] = []
        self.key_of: list[Key] = []
        self._cells: NDArray[np.int64] = np.zeros(0, np.int64)
        self._amounts = Exact.zeros(0)
        self._dense: NDArray[np.int64] | None = None  # (slots, classes): what cells and amounts are made from
        self._room: NDArray[np.int64] | None = None  # an open table, of which _dense is the part in use
        self._open_totals = np.zeros((0, 0), np.int64)  # (columns, classes): what `totals` are views of, then
        self.totals: dict[str, Exact] = {name: Exact.zeros(n_classes) for name in features}
        self._overlay: dict[int, int] = {}
        self._live = np.zeros(0, np.int32)  # cells in use per slot
        self._keys_in_use: dict[str, int] = dict.fromkeys(features, 0)
        self._floats: NDArray[np.float64] | None = None

    @classmethod
    def of_table(cls, features: tuple[str, ...], keys: Sequence[Sequence[Key]], table: Exact) -> Counts:
        """From a dense table (keys of all columns one below the other, classes)."""
        row, klass = np.nonzero(table.nonzero())
        owner = np.repeat(np.arange(len(features)), [len(k) for k in keys]).tolist()
        first = [0, *itertools.accumulate(len(k) for k in keys)]
        return cls.of_entries(
            features,
            table.shape[1],
            row,
            klass,
            table[row, klass],
            lambda used: ([features[owner[r]] for r in used], [keys[owner[r]][r - first[owner[r]]] for r in used]),
        )

    @classmethod
    def of_dense(cls, feature: str, keys: Sequence[Key], table: NDArray[np.int64]) -> Counts:
        """From a dense table (keys, classes) of one column, kept as it is until single cells are asked for."""
        result = cls((feature,), table.shape[1])
        live = (table != 0).sum(axis=1, dtype=np.int32)
        used = np.flatnonzero(live)
        result.column_of, result.key_of = (
            [feature] * len(used),
            list(keys) if len(used) == len(keys) else [keys[i] for i in used.tolist()],
        )
        result.index[feature] = dict(zip(result.key_of, range(len(used)), strict=True))
        result._dense = table if len(used) == len(table) else table[used]
        result.totals[feature] = Exact.whole(result._dense).sum(axis=0)
        result._live, result._keys_in_use = live[used], {feature: len(used)}
        return result

    @property
    def cells(self) -> NDArray[np.int64]:
        """The cells in use, slot << 24 | class, sorted."""
        self._expand()
        return self._cells

    @property
    def amounts(self) -> Exact:
        """The amounts of the cells in use."""
        self._expand()
        return self._amounts

    def _expand(self) -> None:
        """Turn a dense table into cells."""
        with _LOCK:
            if self._dense is not None:
                slot, klass = np.nonzero(self._dense)
                self._cells = (slot << _CLASS_BITS) | klass
                self._amounts, self._dense, self._room = Exact.whole(self._dense[slot, klass]), None, None

    def __getstate__(self) -> dict[str, object]:
        """What is pickled and copied: cells (an open table would not share its totals), and no key without any."""
        self._expand()
        return self.freed().__dict__

    @property
    def n_dead(self) -> int:
        """How many keys have no counts any more."""
        return len(self.key_of) - int(np.count_nonzero(self._live))

    def freed(self) -> Counts:
        """The same sums without the keys that have no counts any more; itself if there are none."""
        return self.only(self.features) if self.n_dead else self

    @classmethod
    def of_bag(
        cls, feature: str, keys: Sequence[Key], place: NDArray[np.int64], amounts: Exact, n_classes: int
    ) -> Counts:
        """From sorted places `token * n_classes + class` of one column."""
        token, klass = np.divmod(place, max(n_classes, 1))
        return cls.of_entries(
            (feature,), n_classes, token, klass, amounts, lambda used: ([feature] * len(used), [keys[t] for t in used])
        )

    @classmethod
    def of_entries(
        cls,
        features: tuple[str, ...],
        n_classes: int,
        rows: NDArray[np.int64],
        klass: NDArray[np.int64],
        amounts: Exact,
        names_of: Callable[[list[int]], tuple[list[str], list[Key]]],
    ) -> Counts:
        """From entries sorted by row and class, no two alike; `names_of` tells the columns and the keys of rows."""
        result = cls(features, n_classes)
        new = np.ones(len(rows), bool)
        new[1:] = rows[1:] != rows[:-1]
        result.column_of, result.key_of = names_of(rows[new].tolist())
        if len(features) == 1:
            result.index[features[0]] = dict(zip(result.key_of, range(len(result.key_of)), strict=True))
        else:
            for i, (feature, key) in enumerate(zip(result.column_of, result.key_of, strict=True)):
                result.index[feature][key] = i
        slot = np.cumsum(new) - 1
        result._cells = (slot.astype(np.int64) << _CLASS_BITS) | klass.astype(np.int64)
        result._amounts = amounts.trimmed()
        check_counts(result._amounts)
        result._recount()
        return result

    def _recount(self) -> None:
        """Derive totals and keys in use from the cells."""
        slot, klass = self.cells >> _CLASS_BITS, self.cells & _CLASSES
        owner = self.owners()
        group = owner[slot] * self.n_classes + klass
        total = self.amounts.grouped(group, len(self.features) * self.n_classes)
        for i, name in enumerate(self.features):
            self.totals[name] = total[i * self.n_classes : (i + 1) * self.n_classes]
        self._live = np.bincount(slot, minlength=len(self.key_of)).astype(np.int32)
        in_use = np.bincount(owner[self._live > 0], minlength=len(self.features))
        self._keys_in_use = dict(zip(self.features, in_use.tolist(), strict=True))
        self._floats = None

    def rows_seen(self) -> Exact:
        """Amount per (column, class) over all keys."""
        if self._room is not None:
            return Exact.whole(self._open_totals.copy())
        parts = [self.totals[name][None] for name in self.features]
        return Exact.concatenate(parts) if parts else Exact.zeros((0, self.n_classes))

    def n_keys(self, feature: str) -> int:
        """How many keys of a column have been counted."""
        return self._keys_in_use.get(feature, 0)

    def any_key(self, feature: str) -> Key | None:
        """One key of a column that has been counted, or None."""
        return next((key for key, slot in self.index.get(feature, {}).items() if self._live[slot] > 0), None)

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Slot, class and rounded amount of every cell."""
        dense = self._dense
        if dense is not None:
            slot, klass = np.nonzero(dense)
            return slot, klass, dense[slot, klass].astype(np.float64)
        self._fold()
        if self._floats is None:
            self._floats = self.amounts.floats()
        return self.cells >> _CLASS_BITS, self.cells & _CLASSES, self._floats

    def owners(self) -> NDArray[np.int64]:
        """The number of the column that each slot belongs to."""
        if len(self.features) == 1:
            return np.zeros(len(self.key_of), np.int64)
        number = {name: i for i, name in enumerate(self.features)}
        return np.array([number[feature] for feature in self.column_of], np.int64)

    def keys(self, feature: str) -> list[Key]:
        """The keys of a column that have been counted, sorted."""
        return sort_keys(key for key, slot in self.index.get(feature, {}).items() if self._live[slot] > 0)

    def table(self, feature: str, keys: Sequence[Key]) -> NDArray[np.float64]:
        """Rounded amounts (keys, classes); zeros for keys never counted."""
        return self.rows(self.slots(feature, keys))

    def slots(self, feature: str, keys: Sequence[Key]) -> NDArray[np.int64]:
        """The slots of keys, -1 for keys that have none."""
        index = self.index.get(feature, {})
        return np.array([index.get(key, -1) for key in keys], np.int64)

    def rows(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """Rounded amounts (slots, classes); zeros where a slot is -1."""
        check_budget(len(slots), self.n_classes, "values")
        dense = self._dense
        if dense is not None:
            known = slots >= 0
            if known.all():
                return dense[slots].astype(np.float64)
            result = np.zeros((len(slots), self.n_classes))
            result[known] = dense[slots[known]]
            return result
        result = np.zeros((len(slots), self.n_classes))
        if self._floats is None:
            self._floats = self.amounts.floats()
        first = np.searchsorted(self.cells, slots << _CLASS_BITS)
        last = np.searchsorted(self.cells, (slots + 1) << _CLASS_BITS)
        length = np.where(slots >= 0, last - first, 0)
        row = np.repeat(np.arange(len(slots)), length)
        cell = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length) + np.repeat(first, length)
        result[row, self.cells[cell] & _CLASSES] = self._floats[cell]
        if self._overlay:
            wanted = {slot: row for row, slot in enumerate(slots.tolist()) if slot >= 0}
            for place, amount in self._overlay.items():
                if (row_number := wanted.get(place >> _CLASS_BITS)) is not None:
                    result[row_number, place & int(_CLASSES)] = amount
        return result

    def copy(self) -> Counts:
        """A tally of its own with the same sums."""
        self._fold()
        result = Counts(self.features, self.n_classes)
        result.index = {name: dict(keys) for name, keys in self.index.items()}
        result.column_of, result.key_of = list(self.column_of), list(self.key_of)
        result._cells, result._amounts = self.cells, self.amounts
        result.totals = dict(self.totals)
        result._live, result._keys_in_use = self._live.copy(), dict(self._keys_in_use)
        return result

    def with_classes(self, positions: NDArray[np.int64], n_classes: int) -> Counts:
        """The same sums with class c at positions[c]."""
        result = self.copy()
        result.n_classes = n_classes
        klass = positions[result.cells & _CLASSES] if len(result.cells) else np.zeros(0, np.int64)
        kept = klass >= 0
        cells = ((result.cells >> _CLASS_BITS) << _CLASS_BITS | klass)[kept]
        order = np.argsort(cells, kind="stable")
        result._cells, result._amounts = cells[order], result.amounts[kept][order].trimmed()
        result._recount()
        return result

    def only(self, features: tuple[str, ...]) -> Counts:
        """The sums of some of the columns."""
        slot, klass, _ = self.entries()
        names = [(feature, key) for feature in features for key in self.keys(feature)]
        rank = np.full(len(self.key_of), -1)
        rank[[self.index[feature][key] for feature, key in names]] = np.arange(len(names))
        kept = np.flatnonzero(rank[slot] >= 0)
        kept = kept[np.lexsort((klass[kept], rank[slot[kept]]))]
        return Counts.of_entries(
            features,
            self.n_classes,
            rank[slot[kept]],
            klass[kept],
            self.amounts[kept],
            lambda used: ([feature for feature, _ in names], [key for _, key in names]),
        )

    def can_open(self) -> bool:
        """Whether single rows can be counted in place: whole amounts, and not too many cells without any."""
        if self._room is not None:
            return True
        few = len(self.key_of) * self.n_classes <= max(_OPEN, 4 * len(self.cells))
        return few and self.amounts.is_whole and all(total.is_whole for total in self.totals.values())

    def open_counts(self) -> NDArray[np.int64] | None:
        """The counts (slots, classes) while they lie open, to be read until the next change."""
        return self._dense if self._room is not None else None

    def count_row(self, values: NDArray[np.float64], code: int) -> bool:
        """Count one row of class `code` in place: the slot of its key in every column, NaN where it is missing."""
        dense = self._opened()
        if kernels.active.count_row(dense, self._open_totals, values, code):
            for slot in values[~np.isnan(values)].astype(np.int64).tolist():
                if dense[slot, code] == 1:  # it was 0
                    self._keys_in_use[self.column_of[slot]] += int(self._live[slot] == 0)
                    self._live[slot] += 1
        return True

    def key_slots(self, feature: str) -> Mapping[Key, int]:
        """The slot of every key of a column."""
        return self.index[feature]

    def slot_for(self, feature: str, key: Key) -> int:
        """The slot of a key, a new one if it has none: until something is counted there, it does not show."""
        if (slot := self.index[feature].get(key, -1)) >= 0:
            return slot
        dense, slot = self._opened(), len(self.key_of)
        if self._room is None or slot == len(self._room):
            self._room = np.zeros((2 * slot + 64, self.n_classes), np.int64)
            self._room[:slot] = dense
        self._dense = self._room[: slot + 1]
        self.index[feature][key] = slot
        self.column_of.append(feature)
        self.key_of.append(key)
        self._live = np.append(self._live, np.int32(0))
        return slot

    def _opened(self) -> NDArray[np.int64]:
        """The cells as a dense table that may be changed in place, and the totals too."""
        if self._room is None or self._dense is None:
            with _LOCK:
                self._fold()
                n_slots = len(self.key_of)
                room = np.zeros((n_slots + n_slots // 2 + 64, self.n_classes), np.int64)
                room[self.cells >> _CLASS_BITS, self.cells & _CLASSES] = self.amounts.digits[:, 0]
                self._open_totals = self.rows_seen().digits[..., 0]
                self.totals = {name: Exact(self._open_totals[i][:, None]) for i, name in enumerate(self.features)}
                self._dense, self._room, self._floats = room[:n_slots], room, None
        return self._dense

    def prepare(self, other: Counts, sign: int) -> Commit:
        """Check that `other` can be added or taken away; the function returned does it."""
        other._fold()
        slots, new = self._slots_of(other)
        cells = (slots[other.cells >> _CLASS_BITS] << _CLASS_BITS) | (other.cells & _CLASSES)
        order = np.argsort(cells, kind="stable")
        cells, change = cells[order], other.amounts[order]
        before = self._amounts_at(cells)
        after = (before + change if sign > 0 else before - change).trimmed()
        if (sign < 0 and after.negative().any()) or (sign < 0 and new):
            raise self._impossible(cells, after.negative(), new)
        check_counts(after)
        features = tuple(merged(self.features, other.features))
        totals = {
            name: (self.totals[name] if name in self.totals else Exact.zeros(self.n_classes))
            + (other.totals[name] if sign > 0 else -other.totals[name])
            for name in other.features
        }

        def commit() -> None:
            self.features = features
            for name in other.features:
                self.index.setdefault(name, {})
                self._keys_in_use.setdefault(name, 0)
            for feature, key in new:
                self.index[feature][key] = len(self.key_of)
                self.column_of.append(feature)
                self.key_of.append(key)
            self.totals |= totals
            self._put(cells, before.nonzero(), after)

        return commit

    def _slots_of(self, other: Counts) -> tuple[NDArray[np.int64], list[tuple[str, Key]]]:
        """Where the other's slots are among ours, and the names that are new here."""
        new: list[tuple[str, Key]] = []
        slots = np.empty(len(other.key_of), np.int64)
        for i, (feature, key) in enumerate(zip(other.column_of, other.key_of, strict=True)):
            slot = self.index.get(feature, {}).get(key, -1)
            if slot < 0 and other._live[i] > 0:
                slot = len(self.key_of) + len(new)
                new.append((feature, key))
            slots[i] = slot
        return slots, new

    def _amounts_at(self, cells: NDArray[np.int64]) -> Exact:
        """The amounts of some cells, zero where there is none."""
        place = np.searchsorted(self.cells, cells)
        found = place < len(self.cells)
        found[found] = self.cells[place[found]] == cells[found]
        digits = np.zeros((len(cells), self.amounts.digits.shape[-1]), np.int64)
        digits[found] = self.amounts.digits[place[found]]
        amounts = Exact(digits, self.amounts.low)
        if self._overlay:
            late = [(i, self._overlay[c]) for i, c in enumerate(cells.tolist()) if c in self._overlay]
            if late:
                where, value = map(np.array, zip(*late, strict=True))
                digits = digits.copy()
                digits[where] = 0
                digits[where, 0] = value  # an overlay only lies over whole amounts
                amounts = Exact(digits, self.amounts.low)
        return amounts

    def _put(self, cells: NDArray[np.int64], was: NDArray[np.bool_], after: Exact) -> None:
        """Write new amounts, into the overlay if they are few."""
        change = after.nonzero().astype(np.int32) - was.astype(np.int32)
        slot = cells >> _CLASS_BITS
        self._live = np.concatenate([self._live, np.zeros(len(self.key_of) - len(self._live), np.int32)])
        touched = np.unique(slot[change != 0])
        in_use_before = self._live[touched] > 0
        np.add.at(self._live, slot, change)
        for i, delta in zip(touched.tolist(), ((self._live[touched] > 0) * 1 - in_use_before).tolist(), strict=True):
            self._keys_in_use[self.column_of[i]] += delta
        small = len(cells) * 8 < len(self.cells) + len(self._overlay)
        if small and after.is_whole and self.amounts.is_whole:
            self._overlay.update(zip(cells.tolist(), after.digits[:, 0].tolist(), strict=True))
            if len(self._overlay) > max(_OVERLAY, len(self.cells) // 8):
                self._fold()
            return
        self._fold()
        self._replace(cells, after)

    def _fold(self) -> None:
        """Move the overlay into the table."""
        with _LOCK:
            if self._overlay:
                cells = np.array(sorted(self._overlay), np.int64)
                after = Exact.whole(np.array([self._overlay[c] for c in cells.tolist()], np.int64))
                self._replace(cells, after)
                self._overlay = {}

    def _replace(self, cells: NDArray[np.int64], after: Exact) -> None:
        """Set the amounts of some cells (sorted); a cell that becomes zero disappears."""
        kept = ~np.isin(self.cells, cells, assume_unique=True)
        there = after.nonzero()
        all_cells = np.concatenate([self.cells[kept], cells[there]])
        all_amounts = Exact.concatenate([self.amounts[kept], after[there]])
        order = np.argsort(all_cells, kind="stable")
        self._floats = None
        self._cells, self._amounts = all_cells[order], all_amounts[order].trimmed()

    def _impossible(
        self, cells: NDArray[np.int64], below: NDArray[np.bool_], new: list[tuple[str, Key]]
    ) -> ForgetError:
        known = list(zip(self.column_of, self.key_of, strict=True))
        feature, key = [*known, *new][int(cells[below][0] >> _CLASS_BITS) if below.any() else len(known)]
        return ForgetError(f"{key!r} was not learned that often in this class", column=feature)

    def same(self, other: Counts) -> bool:
        """Whether the sums are equal."""
        return self.n_classes == other.n_classes and self.canonical() == other.canonical()

    def canonical(self) -> tuple[list[tuple[str, Key]], list[int], list[int], int, bytes]:
        """The one form of these sums: names in order, cells per name, classes, low and digits of the amounts."""
        self._fold()
        slot, klass = self.cells >> _CLASS_BITS, self.cells & _CLASSES
        order: list[tuple[str, Key]] = [(feature, key) for feature in self.features for key in self.keys(feature)]
        rank = np.zeros(len(self.key_of), np.int64)
        rank[[self.index[feature][key] for feature, key in order]] = np.arange(len(order))
        by_name = np.lexsort((klass, rank[slot]))
        amounts = self.amounts[by_name].trimmed()
        cells_per_name = np.bincount(rank[slot], minlength=len(order)).tolist()
        return order, cells_per_name, klass[by_name].tolist(), amounts.low, amounts.digits.tobytes()

    def arrays(self) -> Arrays:
        """Keys, classes and amounts of the columns that have counts."""
        return self.arrays_of(tuple(name for name in self.features if self.n_keys(name)))

    def arrays_of(self, features: tuple[str, ...]) -> Arrays:
        """The arrays for given columns, which must be all that have counts.

        Amounts per (column, class) are there too, although they follow: a model has room for them, so the file that
        it is read from has to be as large.
        """
        try:
            names, cells_per_key, classes, low, digits = self._with_plain_keys().canonical()
        except TypeError as error:
            raise ValueError(f"keys that cannot be put in order: {error}") from error
        owner = positions([feature for feature, _ in names], features)
        width = len(digits) // (8 * len(classes)) if classes else 1
        return Arrays(
            features,
            {
                "amounts": Exact(np.frombuffer(digits, np.int64).reshape(len(classes), width), low),
                "totals": self.rows_seen()[positions(features, self.features)].trimmed(),
            },
            {
                "key_ends": np.cumsum(np.bincount(owner, minlength=len(features))).astype(np.int64),
                "cell_ends": np.cumsum(cells_per_key, dtype=np.int64),
                "classes": np.array(classes, np.int64),
            },
            {"keys": [key for _, key in names]},
        )

    def _with_plain_keys(self) -> Counts:
        """The same counts under keys of Python's own types, which may be sorted in another order."""
        keys = [plain(key) for key in self.key_of]
        if all(key is old for key, old in zip(keys, self.key_of, strict=True)):
            return self
        result = self.copy()
        result.key_of = keys
        result.index = {name: {plain(key): slot for key, slot in own.items()} for name, own in self.index.items()}
        return result

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_classes: int, like: Counts) -> Counts:
        """Counts that could come from rows, or a ValueError."""
        features, keys = arrays.features, arrays.keys["keys"]
        klass, amounts, totals = arrays.places["classes"], arrays.sums["amounts"], arrays.sums["totals"]
        require(klass.ndim == 1 and amounts.shape == klass.shape, "one amount for each cell")
        require(totals.shape == (len(features), n_classes), "one total for each column and class")
        require(((klass >= 0) & (klass < n_classes)).all() and n_classes <= _CLASSES, "classes out of range")
        owner = check_ends(arrays.places["key_ends"], len(features), len(keys), "keys")
        slot = check_ends(arrays.places["cell_ends"], len(keys), len(klass), "cells")
        cells = (slot << _CLASS_BITS) | klass
        require((np.diff(cells) > 0).all(), "classes out of order")
        require(amounts.nonzero().all(), "cells without a count")
        check_amounts(amounts, "cells")
        check_totals(totals.reshaped(len(features) * n_classes), amounts, owner[slot] * n_classes + klass)
        result = cls(features, n_classes)
        result._live = np.bincount(slot, minlength=len(keys)).astype(np.int32)
        require((result._live > 0).all(), "keys without a count")
        result.column_of, result.key_of = [features[i] for i in owner.tolist()], keys
        ends = np.cumsum(np.bincount(owner, minlength=len(features))).tolist()
        for i, (name, start, stop) in enumerate(zip(features, [0, *ends], ends, strict=False)):
            own = keys[start:stop]
            result.index[name] = dict(zip(own, range(start, stop), strict=True))
            require(len(result.index[name]) == len(own) and sort_keys(own) == own, f"column {name!r}: keys in order")
            result._keys_in_use[name], result.totals[name] = len(own), totals[i]
        result._cells, result._amounts = cells, amounts
        return result
