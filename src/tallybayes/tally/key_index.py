"""Which slot a key has: three indexes with the same methods.

    KeyIndex      keys of any type, for bags: in a dict
    LexiconIndex  tokens of text: in a native lexicon, which holds them as bytes
    BucketIndex   tokens of text that are hashed: the slot is the number of the bucket

Slots are given out in order of arrival and are never taken back. A vocabulary that is copied shares its index until
one of the two adds a key (`Vocabulary.copy`), so an index that other threads read does not change.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Indices, Integers, Integers32
from tallybayes.arrays.axis import sort_keys
from tallybayes.arrays.column import Key
from tallybayes.arrays.token_rules import pack_strings, unpack_strings
from tallybayes.tally.tally import plain

__all__ = ["POOLED", "BucketIndex", "KeyIndex", "LexiconIndex", "TokenIndex", "in_order", "index_of", "lexicon_of"]

POOLED = ""  # the key of the tokens that a limited vocabulary counts together; no text has an empty token

Slots = Integers


class KeyIndex:
    """Keys of any type.

    >>> index = KeyIndex(["cash", "lunch"])
    >>> index.find(["lunch", "dinner"]).tolist(), index.keys(np.array([1])), len(index)
    ([1, -1], ['lunch'], 2)
    """

    is_hashed: ClassVar[bool] = False
    pooled_slot: ClassVar[int] = -1
    lexicon: ClassVar[Any] = None

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._keys = list(keys)
        self._by_key: dict[Key, int] | None = None  # made when a key is looked up: an index of one batch is only read
        self._cached: tuple[range, int, Slots] | None = None  # slots of the columns of a matrix, which are asked again
        self._asked: range | None = None  # the columns of a matrix that were asked for some at a time

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def _slot_of(self) -> dict[Key, int]:
        if (slot_of := self._by_key) is None:
            self._by_key = slot_of = dict(zip(self._keys, range(len(self._keys)), strict=True))
        return slot_of

    def find(self, keys: Any) -> Slots:
        """The slots of keys (a sequence, or another index), -1 for those that have none."""
        keys = keys._keys if isinstance(keys, KeyIndex) else keys
        cached = self._cached if isinstance(keys, range) else None
        if cached is not None and cached[:2] == (keys, len(self)):
            return cached[2]
        slots = np.fromiter(map(self._slot_of.get, keys, itertools.repeat(-1)), np.int64, len(keys))
        if isinstance(keys, range):
            self._cached = (keys, len(self), slots)
        return slots

    def slots_of(self, keys: Any, indices: Indices) -> Indices:
        """The slots of `keys[index]` for each index; of matrices that come again in small parts all at once."""
        if len(indices) * 4 >= len(keys) or (isinstance(keys, range) and keys == self._asked):
            return np.asarray(self.find(keys)[indices])
        self._asked = keys if isinstance(keys, range) else None
        return self.find([keys[i] for i in indices.tolist()])

    def add(self, keys: Iterable[Key]) -> None:
        """Give slots to keys that have none."""
        slot_of = self._slot_of
        for key in keys:
            slot_of[key] = len(self._keys)
            self._keys.append(key)

    def keys(self, slots: Slots) -> list[Key]:
        """The keys of slots."""
        return [self._keys[slot] for slot in slots.tolist()]

    def copy(self) -> KeyIndex:
        """An index with the same slots that can grow independently."""
        result = KeyIndex(self._keys)
        result._by_key = None if self._by_key is None else self._by_key.copy()
        return result

    def with_keys(self, keys: Iterable[Key]) -> KeyIndex:
        """An index of the same type with other keys."""
        return KeyIndex(keys)


class LexiconIndex:
    """Tokens in a lexicon.

    >>> index = LexiconIndex(lexicon_of(["cash", "lunch"]))
    >>> index.find(["lunch", "dinner"]).tolist(), index.keys(np.array([1])), len(index)
    ([1, -1], ['lunch'], 2)
    """

    is_hashed: ClassVar[bool] = False

    def __init__(self, lexicon: Any = None) -> None:
        self.lexicon = kernels.active.Lexicon() if lexicon is None else lexicon
        self._n_words = np.zeros(0, np.int64)  # of the tokens that were there when it was asked for

    def __len__(self) -> int:
        return len(self.lexicon)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the tokens."""
        return self.__dict__ | {"_n_words": np.zeros(0, np.int64)}

    @property
    def pooled_slot(self) -> int:
        """The slot of the tokens that are counted together, -1 if there are none."""
        return int(self.lexicon.number(POOLED))

    def find(self, keys: Any) -> Slots:
        """The slots of tokens (a sequence, a lexicon or another index), -1 for those that have none."""
        keys = keys.lexicon if isinstance(keys, LexiconIndex) else keys
        tokens = keys.packed() if hasattr(keys, "packed") else pack_strings(keys)
        slots: Integers32 = self.lexicon.find(*tokens)
        return slots.astype(np.int64)

    def slots_of(self, keys: Any, indices: Indices) -> Indices:
        """The slots of `keys[index]` for each index."""
        return indices if keys is self.lexicon else self.find(lexicon_of(keys)).astype(np.int32)[indices]

    def add(self, keys: Iterable[Any]) -> None:
        """Give slots to tokens that have none."""
        self.lexicon.add(*pack_strings(keys))

    def keys(self, slots: Slots) -> list[Key]:
        """The tokens of slots."""
        data, offsets = self.lexicon.packed()
        if len(slots) * 4 < len(offsets):
            return [data[offsets[i] : offsets[i + 1]].tobytes().decode("utf-8", "replace") for i in slots.tolist()]
        every = unpack_strings(data, offsets)
        return [every[i] for i in slots.tolist()]

    def n_words(self) -> Integers:
        """The number of words in each token: of an n-gram they are separated by blanks."""
        if len(self._n_words) < len(self):
            data, offsets = self.lexicon.packed()
            blanks = np.searchsorted(np.flatnonzero(data == ord(" ")), offsets)  # before each token, and in all
            self._n_words = 1 + np.diff(blanks)
        return self._n_words

    def copy(self) -> LexiconIndex:
        """An index with the same slots that can grow independently."""
        return LexiconIndex(self.lexicon.copy())

    def with_keys(self, keys: Iterable[Any]) -> LexiconIndex:
        """An index of the same type with other tokens."""
        return LexiconIndex(lexicon_of(keys))


class BucketIndex:
    """Buckets of a hash: a slot is the number of a bucket, and so is its key."""

    is_hashed: ClassVar[bool] = True
    pooled_slot: ClassVar[int] = -1

    def __init__(self, buckets: Any) -> None:
        self.lexicon = buckets

    def __len__(self) -> int:
        return len(self.lexicon)

    def find(self, keys: Any) -> Slots:
        """The numbers themselves; of another index, those of all its buckets."""
        return np.arange(len(self)) if isinstance(keys, BucketIndex) else np.array(keys, np.int64)

    def slots_of(self, keys: Any, indices: Indices) -> Indices:
        """The slots of buckets: their numbers."""
        return indices

    def add(self, keys: Iterable[Any]) -> None:
        """Do nothing: every bucket has a slot."""

    def keys(self, slots: Slots) -> list[Key]:
        """The numbers of buckets."""
        return list(slots.tolist())

    def copy(self) -> BucketIndex:
        """Itself: it never changes."""
        return self

    def with_keys(self, keys: Iterable[Any]) -> BucketIndex:
        """Itself: it has every key."""
        return self


def in_order(keys: Sequence[Key], slots: Sequence[int]) -> dict[Any, int]:
    """The slots of keys, which become built-in types, in the order of the keys; a ValueError if they have none."""
    slot_of = {plain(key): slot for key, slot in zip(keys, slots, strict=True)}
    try:
        return {key: slot_of[key] for key in sort_keys(slot_of)}
    except TypeError as error:
        raise ValueError(f"keys that cannot be sorted: {error}") from error


TokenIndex = KeyIndex | LexiconIndex | BucketIndex


def lexicon_of(keys: Any) -> Any:
    """A lexicon of tokens; the same object if it is a lexicon or buckets."""
    if hasattr(keys, "tokenise"):
        return keys
    lexicon = kernels.active.Lexicon()
    lexicon.add(*pack_strings(str(key) for key in keys))
    return lexicon


def index_of(keys: Any) -> LexiconIndex | BucketIndex:
    """The index of the tokens of a column of text."""
    lexicon = lexicon_of(keys)
    return LexiconIndex(lexicon) if hasattr(lexicon, "find") else BucketIndex(lexicon)
