"""How a text is cut into tokens, and many short texts in two arrays.

Kernels take texts as Arrow holds them: the bytes of all of them, one after the other, and where each ends.
"""

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Indices, Integers

__all__ = ["Rules", "Tokeniser", "pack_strings", "unpack_strings"]

Packed = tuple[NDArray[np.uint8], Integers]


class Rules(NamedTuple):
    """What counts as a token; all integers, in the order in which the kernels take them.

    The steps, in this order: invisible (format) characters are dropped (`python` keeps them), letters are folded
    (`case`), accents are taken off (`accents`), digits become 0 (`digits`); what is left is cut into words, or into
    characters (`characters`); words of a wrong length and stop words are left out; n-grams are made of the rest.
    """

    case: int = 2  # 0: as it is, 1: lower case, 2: folded (ß is ss, every sigma is the same)
    accents: int = 0  # 1: é becomes e, ﬁ becomes fi
    digits: int = 0  # 1: every digit becomes 0
    addresses: int = 0  # 1: URLs and e-mail addresses are words
    python: int = 0  # 1: a word is what \w+ matches; 0: accents written by themselves belong to words as well
    characters: int = 0  # 1: n-grams of characters, white space as one blank
    shortest: int = 1  # n-grams: from this many words (or characters)
    longest: int = 1  # to this many
    min_length: int = 2  # characters of a word
    max_length: int = 64  # 0: no limit


class Tokeniser(Protocol):
    """How a column of texts becomes a bag of numbered tokens."""

    @property
    def rules(self) -> Rules:
        """What counts as a token."""

    @property
    def buckets(self) -> int:
        """The number of buckets that tokens are hashed into; 0: every token has a number of its own."""

    def numbers(self) -> Any:
        """An object that numbers tokens: a new lexicon, or the buckets of the hash."""

    def only_tokens(self) -> Any:
        """A lexicon of the only tokens that count, which must not be changed; None if all do."""

    def stop_words(self) -> Any:
        """A lexicon of the words to be excluded; None if there are none."""


def pack_strings(texts: Iterable[str | bytes]) -> Packed:
    """Texts as bytes and offsets.

    >>> data, offsets = pack_strings(["to", "", "be"])
    >>> data.tobytes(), offsets.tolist()
    (b'tobe', [0, 2, 2, 4])
    """
    parts = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in texts]
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=offsets[1:])
    return np.frombuffer(b"".join(parts), np.uint8), offsets


def unpack_strings(data: NDArray[np.uint8], offsets: Indices) -> list[str]:
    """Texts from bytes and offsets.

    >>> unpack_strings(*pack_strings(["to", "", "be"]))
    ['to', '', 'be']
    """
    content, ends = data.tobytes(), offsets.tolist()
    if content.isascii():
        text = content.decode("ascii")
        return [text[start:stop] for start, stop in itertools.pairwise(ends)]
    return [content[start:stop].decode("utf-8", "replace") for start, stop in itertools.pairwise(ends)]
