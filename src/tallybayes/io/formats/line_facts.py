"""Facts about the lines of a text, gathered from its bytes in one pass: of a block of a file, or of all of it."""

from __future__ import annotations

from typing import IO

import numpy as np
from numpy.typing import NDArray

__all__ = ["LineFacts"]

_CHUNK = 2**20


class LineFacts:
    r"""How long the lines of a text are, how they end, and how cells in quotes are written.

    has_long_cells: whether a line ends within quotes, so that its cell continues on the next one.
    has_open_quote: whether the text ends within quotes.
    has_plain_quotes: whether every quote is at the beginning or the end of a cell, or doubled within quotes.
    longest: bytes of the longest line if it is longer than 1 MB; of shorter ones, a lower bound.

    >>> import io
    >>> facts = LineFacts.of(io.BytesIO(b'a,b\n"one\ntwo",3'))
    >>> facts.has_long_cells, facts.has_open_quote, facts.have_mixed_ends, facts.has_plain_quotes, facts.longest
    (True, False, False, True, 11)
    """

    def __init__(self, quote: str | None, delimiter: str) -> None:
        self._quote = None if quote is None else quote.encode()
        self._beside_quotes = np.zeros(256, bool)  # bytes that may stand before a first quote, and after a last one
        self._beside_quotes[[*b"\r\n", *(self._quote or b""), *delimiter.encode()]] = True
        self.has_long_cells = False
        self.has_open_quote = False
        self.has_plain_quotes = True
        self._ends: set[bytes] = set()  # how lines end, within quotes too
        self._row_ends: set[bytes] = set()  # how lines end outside quotes
        self._longest = _Longest()
        self._longest_in_quotes = _Longest()
        self._last = b"\n"  # the byte before a chunk

    @classmethod
    def of(cls, text: IO[bytes], quote: str | None = '"', delimiter: str = ",") -> LineFacts:
        """The facts about a text that begins with a line; quote: the sign around cells, if there is one."""
        facts = cls(quote, delimiter)
        together = (b"\r", facts._quote or b"\r")  # what belongs to the next byte
        buffer = bytearray(_CHUNK)  # read into again and again: it stays in the cache
        while n_bytes := text.readinto(buffer):  # type: ignore[attr-defined]
            chunk: bytes | bytearray = buffer if n_bytes == _CHUNK else bytes(buffer[:n_bytes])
            while chunk.endswith(together) and (more := text.read(1)):
                chunk = chunk + more
            facts._add(chunk)
        return facts

    @property
    def longest(self) -> int:
        """Bytes of the longest line; lines within quotes belong to one, unless a quote is never closed."""
        return (self._longest if self.has_open_quote else self._longest_in_quotes).n_bytes

    @property
    def have_mixed_ends(self) -> bool:
        """Whether lines end in different ways, within quotes too, or a carriage return stands alone."""
        return b"\r" in self._ends or len(self._ends) > 1

    @property
    def end_in_two_ways(self) -> bool:
        """Whether some lines end in a carriage return alone and others in a line feed."""
        return b"\r" in self._row_ends and len(self._row_ends) > 1

    @property
    def row_end(self) -> bytes | None:
        r"""How lines end outside quotes: \n or \r\n, empty if no line ends; None if in different ways, or in \r."""
        if b"\r" in self._row_ends or len(self._row_ends) > 1:
            return None
        return next(iter(self._row_ends), b"")

    def _add(self, chunk: bytes | bytearray) -> None:
        first = min((at for at in (chunk.find(b"\n"), chunk.find(b"\r")) if at >= 0), default=-1)
        if b"\r" in chunk:  # looking is ten times faster than counting
            n_pairs = chunk.count(b"\r\n")
            ends = _kinds_of_ends(n_pairs, chunk.count(b"\n") - n_pairs, chunk.count(b"\r") - n_pairs)
        else:
            ends = {b"\n"} if first >= 0 else set()
        self._ends |= ends
        last = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
        self._longest.add(first, last, len(chunk))
        if self._quote is not None and (self.has_open_quote or self._quote in chunk):
            self._add_quoted(chunk)
        else:
            self._row_ends |= ends
            self._longest_in_quotes.add(first, last, len(chunk))
        self._last = bytes(chunk[-1:])

    def _add_quoted(self, chunk: bytes | bytearray) -> None:
        """The ends of lines that are not within quotes."""
        values = np.frombuffer(chunk, np.uint8)
        is_end = values == ord("\n")
        if b"\r" in chunk:
            is_end |= values == ord("\r")
        ends = np.flatnonzero(is_end)
        quotes = np.flatnonzero(values == (self._quote or b"")[0])
        is_first = (np.arange(len(quotes)) + self.has_open_quote) % 2 == 0
        self._look_beside(values, quotes, is_first)
        within = (np.searchsorted(quotes, ends) + self.has_open_quote) % 2 == 1
        self.has_long_cells = self.has_long_cells or bool(within.any())
        self.has_open_quote = bool((len(quotes) + self.has_open_quote) % 2)
        ends = ends[~within]
        returns = ends[values[ends] == ord("\r")]
        n_pairs = int(np.count_nonzero(values[np.minimum(returns + 1, len(values) - 1)] == ord("\n")))
        n_feeds = len(ends) - len(returns)
        self._row_ends |= _kinds_of_ends(n_pairs, n_feeds - n_pairs, len(returns) - n_pairs)
        first, last = (int(ends[0]), int(ends[-1])) if len(ends) else (-1, -1)
        self._longest_in_quotes.add(first, last, len(chunk))

    def _look_beside(self, values: NDArray[np.uint8], quotes: NDArray[np.intp], is_first: NDArray[np.bool_]) -> None:
        """Look at the byte before each first quote and at that after each last one."""
        around = np.concatenate([np.frombuffer(self._last, np.uint8), values, np.frombuffer(b"\n", np.uint8)])
        beside = around[np.where(is_first, quotes, quotes + 2)]
        self.has_plain_quotes = self.has_plain_quotes and bool(self._beside_quotes[beside].all())


def _kinds_of_ends(n_pairs: int, n_feeds: int, n_returns: int) -> set[bytes]:
    """The ends of lines that occur: pairs, and signs that are not part of one."""
    return {end for end, n in ((b"\r\n", n_pairs), (b"\n", n_feeds), (b"\r", n_returns)) if n > 0}


class _Longest:
    """The longest line that does not lie within one chunk of a text; lines that do are no longer than the chunk."""

    def __init__(self) -> None:
        self.n_bytes = 0
        self._unfinished = 0

    def add(self, first: int, last: int, n_bytes: int) -> None:
        """The next chunk: where its first and its last line ends (-1: nowhere), and its length."""
        if first < 0:
            self._unfinished += n_bytes
        else:
            self.n_bytes = max(self.n_bytes, self._unfinished + first)
            self._unfinished = n_bytes - last - 1
        self.n_bytes = max(self.n_bytes, self._unfinished)
