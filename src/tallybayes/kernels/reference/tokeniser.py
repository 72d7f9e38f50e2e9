"""Tokens numbered, and counted text by text; `kernels/token_spans.py` defines what the tokens of a text are."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Booleans, Indices, Integers, Integers32
from tallybayes.arrays.token_rules import Packed, Rules, pack_strings
from tallybayes.kernels.token_spans import spans

__all__ = ["Buckets", "Lexicon", "pack_texts", "spans"]

Bags = tuple[Integers, Integers32, Integers32]


class _TokenNumbers(ABC):
    """Tokens of many texts as numbers; what a token's number is, the classes below say."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _number(self, token: str, *, grow: bool) -> int:
        """The number of a token, -1 if it has none and is not to be given one."""

    def tokenise(
        self,
        offsets: Indices,
        data: NDArray[np.uint8],
        valid: Booleans | None,
        start: int,
        stop: int,
        rules: Rules,
        stop_words: Lexicon | None,
        grow: bool,
    ) -> Bags:
        """Bags of the texts `start` to `stop`: where each ends, the numbers of its tokens and how often each occurs.

        Text i has the bytes from offsets[i] to offsets[i + 1]; one that is not valid has no tokens. The tokens of a bag
        stand in the order in which they come first. A token without a number gets the next one, or (unless `grow`)
        is left out.
        """
        content, indptr = data.tobytes(), [0]
        indices: list[int] = []
        amounts: list[int] = []
        for row in range(start, stop):
            bag: dict[int, int] = {}
            if valid is None or valid[row]:
                for token, _, _ in spans(content[offsets[row] : offsets[row + 1]], rules, stop_words):
                    number = self._number(token, grow=grow)
                    if number >= 0:
                        bag[number] = bag.get(number, 0) + 1
            indices += bag
            amounts += bag.values()
            indptr.append(len(indices))
        return np.array(indptr, np.int64), np.array(indices, np.int32), np.array(amounts, np.int32)


class Lexicon(_TokenNumbers):
    """Tokens numbered in the order in which they come.

    >>> words = Lexicon()
    >>> words.add(*pack_strings(["to", "be", "to"])).tolist(), words.find(*pack_strings(["be", "or"])).tolist()
    ([0, 1, 0], [1, -1])
    >>> len(words)
    2
    """

    def __init__(self) -> None:
        self._index: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._index)

    def _number(self, token: str, *, grow: bool) -> int:
        return self._index.setdefault(token, len(self._index)) if grow else self._index.get(token, -1)

    def number(self, token: str) -> int:
        """The number of a token, -1 if it has none."""
        return self._index.get(token, -1)

    def add(self, data: NDArray[np.uint8], offsets: Indices) -> Integers32:
        """The numbers of tokens; those that have none get the next ones."""
        return np.array([self._number(token, grow=True) for token in _texts(data, offsets)], np.int32)

    def find(self, data: NDArray[np.uint8], offsets: Indices) -> Integers32:
        """The numbers of tokens, -1 for those that have none."""
        return np.array([self.number(token) for token in _texts(data, offsets)], np.int32)

    def packed(self) -> Packed:
        """All tokens, as bytes and offsets."""
        return pack_strings(token.encode("utf-8", "surrogateescape") for token in self._index)

    def copy(self) -> Lexicon:
        """A lexicon of its own with the same numbers."""
        result = Lexicon()
        result._index = dict(self._index)
        return result


class Buckets(_TokenNumbers):
    """Tokens numbered by a hash that nobody can foresee without its key (SipHash-2-4, Aumasson and Bernstein 2012).

    >>> Buckets(bytes(range(16)), 2**16).number("spam")
    21215
    """

    def __init__(self, key: bytes, size: int) -> None:
        self._key, self._size = key, size

    def __len__(self) -> int:
        return self._size

    def _number(self, token: str, *, grow: bool) -> int:
        return self.number(token)

    def number(self, token: str) -> int:
        """The bucket of a token."""
        return _siphash(self._key, token.encode()) % self._size


def pack_texts(values: list[Any]) -> tuple[Integers, NDArray[np.uint8], Booleans | None] | None:
    """Texts of a list as offsets and bytes, and which are there if some are None; None if it holds anything else.

    >>> offsets, data, valid = pack_texts(["to", None, b"be"])
    >>> offsets.tolist(), data.tobytes(), valid.tolist(), pack_texts([1])
    ([0, 2, 2, 4], b'tobe', [True, False, True], None)
    """
    if not all(value is None or isinstance(value, (str, bytes)) for value in values):
        return None
    try:
        data, offsets = pack_strings(value.encode() if isinstance(value, str) else value or b"" for value in values)
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    there = np.array([value is not None for value in values], bool)
    return offsets, data, None if there.all() else there


def _texts(data: NDArray[np.uint8], offsets: Indices) -> Iterator[str]:
    content, ends = data.tobytes(), offsets.tolist()
    return (content[a:b].decode("utf-8", "surrogateescape") for a, b in itertools.pairwise(ends))


def _siphash(key: bytes, message: bytes) -> int:
    mask = 2**64 - 1
    a, b = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    v = [a ^ 0x736F6D6570736575, b ^ 0x646F72616E646F6D, a ^ 0x6C7967656E657261, b ^ 0x7465646279746573]

    def turned(x: int, bits: int) -> int:
        return (x << bits | x >> (64 - bits)) & mask

    def rounds(n: int) -> None:
        for _ in range(n):
            v[0], v[2] = (v[0] + v[1]) & mask, (v[2] + v[3]) & mask
            v[1], v[3] = turned(v[1], 13) ^ v[0], turned(v[3], 16) ^ v[2]
            v[0], v[2] = (turned(v[0], 32) + v[3]) & mask, (v[2] + v[1]) & mask
            v[3], v[1] = turned(v[3], 21) ^ v[0], turned(v[1], 17) ^ v[2]
            v[2] = turned(v[2], 32)

    whole = message + bytes(-(len(message) + 1) % 8) + bytes([len(message) & 255])
    for i in range(0, len(whole), 8):
        word = int.from_bytes(whole[i : i + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 255
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]
