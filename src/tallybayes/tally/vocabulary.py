"""The tokens of one column of text: how often each occurs in each class, in how many documents, and its logarithms.

Tokens have slots, given out in order of arrival by a lexicon (or buckets, where they are hashed). A cell (token, class)
exists only where something was counted, and has three sums: occurrences, documents, and log(1 + occurrences) over
documents in units of 2**-30 (`kernels/reference/count_documents.py`). Small changes go into an overlay of the latest
sums, which is folded in when it has grown, so that learning one document costs time in proportion to the document.

A vocabulary may be bounded: then the rarest tokens are put together under one name, the empty one, which no text has.
Their counts stay in the sums, so that nothing that was counted is lost but their names.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.column import Key
from tallybayes.arrays.token_rules import packed, unpacked
from tallybayes.errors import ForgetError
from tallybayes.tally.exact import Exact, check_counts
from tallybayes.tally.tally import Commit

__all__ = ["KINDS", "LOST", "Vocabulary", "lexicon_of"]

KINDS = ("counts", "documents", "logs")
LOST = ""  # the name under which the tokens of a bounded vocabulary are counted that have lost theirs

_CLASS_BITS = 24  # a cell is slot << 24 | class: up to 16 million classes
_CLASSES = np.int64(2**_CLASS_BITS - 1)
_OVERLAY = 1024  # fold the overlay in when it is larger than this and than an eighth of the table
_KEPT = 0.8  # of a bounded vocabulary when it has become too large, so that it is not cut at every document
_LOCK = threading.RLock()  # readers in several threads may fold at once

Sums = dict[str, Exact]


def lexicon_of(keys: Any) -> Any:
    """A lexicon of keys; itself if it is one, or buckets."""
    if hasattr(keys, "tokenise"):
        return keys
    lexicon = kernels.active.Lexicon()
    lexicon.add(*packed(str(key) for key in keys))
    return lexicon


class Vocabulary:
    """Exact sums per (token, class).

    >>> words = Vocabulary(2, lexicon_of(["cash", "lunch"]))
    >>> cells, sums = np.array([0, 1 << 24 | 1]), {kind: Exact.whole(np.array([2, 5])) for kind in KINDS}
    >>> words.fill(cells, sums)
    >>> words.rows("counts", words.slots(["lunch", "dinner"])).tolist(), words.n_keys
    ([[0.0, 5.0], [0.0, 0.0]], 2)
    """

    def __init__(self, n_classes: int, lexicon: Any = None) -> None:
        self.n_classes = n_classes
        self.lexicon = kernels.active.Lexicon() if lexicon is None else lexicon
        self.totals: Sums = {kind: Exact.zeros(n_classes) for kind in KINDS}
        self.n_keys = 0
        self._cells: NDArray[np.int64] = np.zeros(0, np.int64)
        self._sums: Sums = {kind: Exact.zeros(0) for kind in KINDS}
        self._overlay: dict[int, tuple[int, ...]] = {}
        self._live = np.zeros(0, np.int32)  # cells in use per slot
        self._floats: dict[str, NDArray[np.float64]] = {}

    @property
    def is_hashed(self) -> bool:
        """Whether slots are buckets of a hash."""
        return not hasattr(self.lexicon, "find")

    def fill(self, cells: NDArray[np.int64], sums: Sums, totals: NDArray[np.int64] | None = None) -> None:
        """Take sums at sorted cells `slot << 24 | class`, in the place of those before; totals (kinds, classes)."""
        self._set(cells, sums, totals)
        check_counts(self._sums["counts"])

    def _set(self, cells: NDArray[np.int64], sums: Sums, totals: NDArray[np.int64] | None = None) -> None:
        self._cells, self._sums, self._overlay = cells, {kind: sums[kind].trimmed() for kind in KINDS}, {}
        if totals is None:
            self.totals = {kind: part.grouped(cells & _CLASSES, self.n_classes) for kind, part in self._sums.items()}
        else:
            self.totals = {kind: Exact.whole(part) for kind, part in zip(KINDS, totals, strict=True)}
        self._recount()

    def _recount(self) -> None:
        """Derive the keys in use from the cells; of buckets, which may be many, no account is kept."""
        slot = self._cells >> _CLASS_BITS
        if self.is_hashed:
            self.n_keys = int(np.count_nonzero(np.diff(slot, prepend=-1)))
        else:
            self._live = np.bincount(slot, minlength=len(self.lexicon)).astype(np.int32)
            self.n_keys = int(np.count_nonzero(self._live))
        self._floats = {}

    # Reading

    def cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The slot and the class of every cell, sorted."""
        self._fold()
        return self._cells >> _CLASS_BITS, self._cells & _CLASSES

    def sums(self, kind: str) -> Exact:
        """The sums of every cell."""
        self._fold()
        return self._sums[kind]

    def floats(self, kind: str) -> NDArray[np.float64]:
        """The rounded sums of every cell; logarithms as such, not in units."""
        self._fold()
        return self._rounded(kind)

    def _rounded(self, kind: str) -> NDArray[np.float64]:
        with _LOCK:
            if kind not in self._floats:
                self._floats[kind] = self._sums[kind].floats() * _unit(kind)
            return self._floats[kind]

    def total(self, kind: str) -> NDArray[np.float64]:
        """The rounded sums of every class."""
        return np.asarray(self.totals[kind].floats() * _unit(kind))

    def slots(self, keys: Sequence[Key]) -> NDArray[np.int64]:
        """The slots of tokens, -1 for those that have none."""
        if self.is_hashed:
            return np.array(keys, np.int64)
        found: NDArray[np.int32] = self.lexicon.find(*packed(keys))  # type: ignore[arg-type]
        return found.astype(np.int64)

    def rows(self, kind: str, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """Rounded sums (slots, classes); zeros where a slot is -1."""
        return self.tables(slots, (kind,))[kind]

    def tables(self, slots: NDArray[np.int64], kinds: Sequence[str] = KINDS) -> dict[str, NDArray[np.float64]]:
        """The same of several kinds."""
        with _LOCK:  # another thread that only reads may fold the overlay in
            return self._tables(slots, kinds)

    def _tables(self, slots: NDArray[np.int64], kinds: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        first = np.searchsorted(self._cells, slots << _CLASS_BITS)
        last = np.searchsorted(self._cells, (slots + 1) << _CLASS_BITS)
        length = np.where(slots >= 0, last - first, 0)
        row = np.repeat(np.arange(len(slots)), length)
        cell = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length) + np.repeat(first, length)
        place = row * self.n_classes + (self._cells[cell] & _CLASSES)
        wanted = {slot: row for row, slot in enumerate(slots.tolist()) if slot >= 0} if self._overlay else {}
        late = [
            (wanted[own >> _CLASS_BITS] * self.n_classes + (own & int(_CLASSES)), sums)
            for own, sums in self._overlay.items()
            if own >> _CLASS_BITS in wanted
        ]
        result = {}
        for kind in kinds:
            table = np.zeros(len(slots) * self.n_classes)
            table[place] = self._rounded(kind)[cell]
            for at, sums in late:
                table[at] = sums[KINDS.index(kind)] * _unit(kind)
            result[kind] = table.reshape(len(slots), self.n_classes)
        return result

    def has(self, slots: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which slots have counts; -1 has none."""
        if not self.is_hashed:
            if self.n_dead == 0:
                return np.asarray(slots >= 0)
            return np.asarray((slots >= 0) & (self._live[np.maximum(slots, 0)] > 0)) if len(self._live) else slots < -1
        cells = self.cells()[0]
        place = np.searchsorted(cells, slots)
        return (
            np.asarray((place < len(cells)) & (cells[np.minimum(place, len(cells) - 1)] == slots))
            if len(cells)
            else slots < 0
        )

    def live(self) -> NDArray[np.int64]:
        """The slots that have counts."""
        return np.unique(self.cells()[0]) if self.is_hashed else np.flatnonzero(self._live)

    def named(self) -> NDArray[np.int64]:
        """The slots that have counts and a name: all but that of the tokens that were put together."""
        live = self.live()
        return live[live != self.lexicon.number(LOST)] if self.has_lost() else live

    def names(self, slots: NDArray[np.int64]) -> list[Key]:
        """The tokens of slots."""
        if self.is_hashed:
            return slots.tolist()  # type: ignore[no-any-return]
        data, offsets = self.lexicon.packed()
        if len(slots) * 4 < len(offsets):
            content = data.tobytes()
            return [content[offsets[i] : offsets[i + 1]].decode("utf-8", "replace") for i in slots.tolist()]
        every = unpacked(data, offsets)
        return [every[i] for i in slots.tolist()]

    @property
    def n_dead(self) -> int:
        """How many slots have no counts any more."""
        return 0 if self.is_hashed else len(self.lexicon) - self.n_keys

    def lost(self) -> dict[str, NDArray[np.float64]]:
        """Sums of the tokens that were put together, per class."""
        slots = self.slots([LOST]) if not self.is_hashed else np.array([-1])
        return {kind: self.rows(kind, slots)[0] for kind in KINDS}

    # Changing

    def copy(self) -> Vocabulary:
        """A vocabulary of its own with the same sums."""
        self._fold()
        result = Vocabulary(self.n_classes, self.lexicon if self.is_hashed else self.lexicon.copy())
        result._cells, result._sums, result.totals = self._cells, dict(self._sums), dict(self.totals)
        result._live, result.n_keys = self._live.copy(), self.n_keys
        return result

    def with_classes(self, positions: NDArray[np.int64], n_classes: int) -> Vocabulary:
        """The same sums with class c at positions[c]."""
        self._fold()
        result = Vocabulary(n_classes, self.lexicon if self.is_hashed else self.lexicon.copy())
        klass = positions[self._cells & _CLASSES] if len(self._cells) else self._cells
        kept = np.flatnonzero(klass >= 0)
        cells = ((self._cells >> _CLASS_BITS) << _CLASS_BITS | klass)[kept]
        order = np.argsort(cells, kind="stable")
        result._set(cells[order], {kind: part[kept[order]] for kind, part in self._sums.items()})
        return result

    def freed(self) -> Vocabulary:
        """The same sums without the tokens that have no counts any more; itself if there are none."""
        if not self.n_dead:
            return self
        self._fold()
        live = self.live()
        place = np.full(len(self.lexicon), -1)
        place[live] = np.arange(len(live))
        result = Vocabulary(self.n_classes, lexicon_of(self.names(live)))
        result._set(place[self._cells >> _CLASS_BITS] << _CLASS_BITS | (self._cells & _CLASSES), self._sums)
        return result

    def prepare(self, other: Vocabulary, sign: int, column: str) -> Commit:
        """Check that `other` can be added or taken away; the function returned does it."""
        other._fold()
        cells, change, new = self._placed(other)
        if len(new) and sign < 0 and not self.has_lost():
            raise _impossible(other.names(new[:1])[0], column)
        before = self._at(cells)
        if sign > 0:
            after = {kind: before[kind] + change[kind] for kind in KINDS}
            check_counts(after["counts"])
        elif self.has_lost():
            cells, before, after = self._without_names(cells, change, before, column)
        else:
            after = {kind: before[kind] - change[kind] for kind in KINDS}
            if (wrong := _not_sums(after)).any():
                raise _impossible(self.names(cells[wrong][:1] >> _CLASS_BITS)[0], column)
        totals = {
            kind: (self.totals[kind] + part if sign > 0 else self.totals[kind] - part).trimmed()
            for kind, part in other.totals.items()
        }

        def commit() -> None:
            if len(new) and sign > 0:
                self.lexicon.add(*packed(other.names(new)))  # type: ignore[arg-type]
            self.totals = totals
            self._put(cells, before["documents"].nonzero(), {kind: part.trimmed() for kind, part in after.items()})

        return commit

    def _placed(self, other: Vocabulary) -> tuple[NDArray[np.int64], Sums, NDArray[np.int64]]:
        """The other's cells by our slots, in order, their sums, and those of the other's slots that are new here."""
        if self.is_hashed:
            return other._cells, other._sums, np.zeros(0, np.int64)
        slots = self.lexicon.find(*other.lexicon.packed()).astype(np.int64)
        new = np.flatnonzero((slots < 0) & (other._live > 0))
        slots[new] = len(self.lexicon) + np.arange(len(new))
        cells = (slots[other._cells >> _CLASS_BITS] << _CLASS_BITS) | (other._cells & _CLASSES)
        order = np.argsort(cells, kind="stable")
        return cells[order], {kind: part[order] for kind, part in other._sums.items()}, new

    def _at(self, cells: NDArray[np.int64]) -> Sums:
        """The sums of some cells, zero where there are none."""
        place = np.searchsorted(self._cells, cells)
        found = place < len(self._cells)
        found[found] = self._cells[place[found]] == cells[found]
        late = [(i, self._overlay[c]) for i, c in enumerate(cells.tolist()) if c in self._overlay]
        result = {}
        for number, (kind, part) in enumerate(self._sums.items()):
            digits = np.zeros((len(cells), part.digits.shape[-1]), np.int64)
            digits[found] = part.digits[place[found]]
            for i, sums in late:  # an overlay only lies over whole numbers
                digits[i, 0] = sums[number]
            result[kind] = Exact(digits, part.low)
        return result

    def _put(self, cells: NDArray[np.int64], was: NDArray[np.bool_], after: Sums) -> None:
        """Write new sums, into the overlay if they are few."""
        if not self.is_hashed:
            self._use(cells >> _CLASS_BITS, after["documents"].nonzero().astype(np.int32) - was.astype(np.int32))
        whole = all(part.is_whole for part in (*after.values(), *self._sums.values()))
        if whole and len(cells) * 8 < len(self._cells) + len(self._overlay):
            columns = (after[kind].digits[:, 0].tolist() for kind in KINDS)
            self._overlay.update(zip(cells.tolist(), zip(*columns, strict=True), strict=True))
            if len(self._overlay) > max(_OVERLAY, len(self._cells) // 8) or self.is_hashed:
                self._fold()
            return
        self._fold()
        self._replace(cells, after)

    def _use(self, slot: NDArray[np.int64], change: NDArray[np.int32]) -> None:
        """Keep account of how many cells every slot has, and of the slots that have any."""
        if len(self._live) < len(self.lexicon):
            room = np.zeros(len(self.lexicon) - len(self._live), np.int32)
            self._live = np.concatenate([self._live, room])
        touched = np.unique(slot[change != 0])
        in_use = np.count_nonzero(self._live[touched])
        np.add.at(self._live, slot, change)
        self.n_keys += int(np.count_nonzero(self._live[touched])) - int(in_use)

    def _fold(self) -> None:
        """Move the overlay into the table."""
        with _LOCK:
            if self._overlay:
                cells = np.array(sorted(self._overlay), np.int64)
                sums = np.array([self._overlay[c] for c in cells.tolist()], np.int64)
                self._replace(cells, {kind: Exact.whole(sums[:, i]) for i, kind in enumerate(KINDS)})
                self._overlay = {}

    def _replace(self, cells: NDArray[np.int64], after: Sums) -> None:
        """Set the sums of some cells (sorted); a cell that becomes zero disappears."""
        kept = ~np.isin(self._cells, cells, assume_unique=True)
        there = after["documents"].nonzero()
        all_cells = np.concatenate([self._cells[kept], cells[there]])
        order = np.argsort(all_cells, kind="stable")
        self._sums = {
            kind: Exact.concatenate([part[kept], after[kind][there]])[order].trimmed()
            for kind, part in self._sums.items()
        }
        self._cells, self._floats = all_cells[order], {}
        if self.is_hashed:
            self._recount()

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied."""
        self._fold()
        return self.freed().__dict__ | {"_floats": {}}

    # Bounds

    def has_lost(self) -> bool:
        """Whether tokens have lost their names."""
        return not self.is_hashed and self.lexicon.number(LOST) >= 0

    def _without_names(
        self, cells: NDArray[np.int64], change: Sums, before: Sums, column: str
    ) -> tuple[NDArray[np.int64], Sums, Sums]:
        """What is left where tokens have lost their names: cells, and their sums before and after.

        What a token does not have under its name, because it was counted before it lost it, is taken from the nameless;
        and what would be left of a token without any document goes to them.
        """
        gaps = {kind: (before[kind] - change[kind]).negative() for kind in KINDS}
        after = {kind: _chosen(gaps[kind], Exact.zeros(len(cells)), before[kind] - change[kind]) for kind in KINDS}
        lacking = {kind: _chosen(gaps[kind], change[kind] - before[kind], Exact.zeros(len(cells))) for kind in KINDS}
        odd = np.zeros(len(cells), bool)
        for kind in KINDS:
            odd |= ~after[kind].nonzero()
        own = np.int64(self.lexicon.number(LOST)) << _CLASS_BITS
        odd &= (cells >> _CLASS_BITS) != own >> _CLASS_BITS
        klass = cells & _CLASSES
        used = np.unique(klass)
        group, nameless = np.searchsorted(used, klass), own | used
        lost = self._at(nameless)
        named = (cells >> _CLASS_BITS) != own >> _CLASS_BITS
        result: tuple[Sums, Sums] = ({}, {})
        for kind in KINDS:
            rest = _chosen(odd, after[kind], Exact.zeros(len(cells)))
            taken = _chosen(named, lacking[kind], change[kind]).grouped(group, len(used))
            left = lost[kind] - taken + rest.grouped(group, len(used))
            if left.negative().any():
                raise _impossible("a token without a name", column)
            kept = _chosen(odd, Exact.zeros(len(cells)), after[kind])[named]
            result[0][kind] = Exact.concatenate([before[kind][named], lost[kind]])
            result[1][kind] = Exact.concatenate([kept, left])
        cells = np.concatenate([cells[named], nameless])
        there = result[0]["documents"].nonzero() | result[1]["documents"].nonzero()
        order = np.flatnonzero(there)[np.argsort(cells[there], kind="stable")]
        parts = ({kind: part[order] for kind, part in own_sums.items()} for own_sums in result)
        return cells[order], *parts  # type: ignore[return-value]

    def bound(self, limit: int) -> None:
        """Keep the most frequent tokens if there are more than a limit; the others are put together."""
        if self.n_keys <= limit or self.is_hashed:
            return
        self._fold()
        own = int(self.lexicon.add(*packed([LOST]))[0])
        slot, klass = self._cells >> _CLASS_BITS, self._cells & _CLASSES
        often = np.bincount(slot, weights=self._rounded("counts"), minlength=len(self.lexicon))
        often[own] = np.inf
        n_names = min(max(int(limit * _KEPT), 1), limit - 1)
        kept = np.sort(np.argsort(-often, kind="stable")[: n_names + 1])
        place = np.full(len(self.lexicon), np.searchsorted(kept, own))
        place[kept] = np.arange(len(kept))
        cells, group = np.unique(place[slot] << _CLASS_BITS | klass, return_inverse=True)
        sums = {kind: part.grouped(group, len(cells)) for kind, part in self._sums.items()}
        self.lexicon = lexicon_of(self.names(kept))
        self._set(cells, sums)


def _unit(kind: str) -> float:
    return 2.0**-30 if kind == "logs" else 1.0


def _chosen(where: NDArray[np.bool_], a: Exact, b: Exact) -> Exact:
    """Numbers of one array where it is so, of the other elsewhere."""
    order = np.where(where, np.arange(len(where)), len(where) + np.arange(len(where)))
    return Exact.concatenate([a, b])[order]


def _not_sums(sums: Sums) -> NDArray[np.bool_]:
    """Where sums are none that documents can have: negative, or some zero and others not."""
    there = sums["documents"].nonzero()
    wrong = (sums["counts"].nonzero() != there) | (sums["logs"].nonzero() != there)
    for part in sums.values():
        wrong |= part.negative()
    return np.asarray(wrong)


def _impossible(token: Key, column: str) -> ForgetError:
    return ForgetError(f"{token!r} was not learned that often in this class", column=column)
