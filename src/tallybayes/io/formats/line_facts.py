"""Facts about the lines of a file of text, gathered from its bytes in one pass."""

from __future__ import annotations

from typing import IO

import numpy as np
from numpy.typing import NDArray

__all__ = ["LineFacts"]

_CHUNK = 2**20


class LineFacts:
    r"""How long the lines of a file are, how they end, and how cells in quotes are written.

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
        self.has_open_quote = False  # at the end of the file
        self.has_plain_quotes = True
        self._n_ends = {b"\r\n": 0, b"\n": 0, b"\r": 0}
        self._n_single = {b"\n": 0, b"\r": 0}  # ends outside quotes; \r\n counts as \n
        self._longest = _Longest()
        self._longest_in_quotes = _Longest()
        self._last = b"\n"  # the byte before a chunk

    @classmethod
    def of(cls, file: IO[bytes], quote: str | None = '"', delimiter: str = ",") -> LineFacts:
        """The facts about a file; quote: the sign around cells, if there is one."""
        facts = cls(quote, delimiter)
        together = (b"\r", facts._quote or b"\r")  # what belongs to the next byte
        buffer = bytearray(_CHUNK)  # read into again and again: it stays in the cache
        while n_bytes := file.readinto(buffer):  # type: ignore[attr-defined]
            chunk: bytes | bytearray = buffer if n_bytes == _CHUNK else bytes(buffer[:n_bytes])
            while chunk.endswith(together) and (more := file.read(1)):
                chunk = chunk + more
            facts._add(chunk)
        return facts

    @property
    def longest(self) -> int:
        """Bytes of the longest line; lines within quotes belong to one, unless a quote is never closed."""
        return (self._longest if self.has_open_quote else self._longest_in_quotes).n_bytes

    @property
    def have_mixed_ends(self) -> bool:
        """Whether lines end in different ways, or a carriage return stands alone."""
        n_windows = self._n_ends[b"\r\n"]
        return self._n_ends[b"\r"] > n_windows or 0 < n_windows < self._n_ends[b"\n"]

    @property
    def end_in_two_ways(self) -> bool:
        """Whether some lines end in a carriage return alone and others in a line feed."""
        return all(self._n_single.values())

    def _add(self, chunk: bytes | bytearray) -> None:
        first = min((at for at in (chunk.find(b"\n"), chunk.find(b"\r")) if at >= 0), default=-1)
        n_returns = chunk.count(b"\r") if b"\r" in chunk else 0  # looking is ten times faster than counting
        n_feeds = chunk.count(b"\n") if n_returns else int(first >= 0)  # how many matters only beside returns
        n_windows = chunk.count(b"\r\n") if n_returns else 0
        for end, n in zip(self._n_ends, (n_windows, n_feeds, n_returns), strict=True):
            self._n_ends[end] += n
        last = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
        self._longest.add(first, last, len(chunk))
        if self._quote is not None and (self.has_open_quote or self._quote in chunk):
            self._add_quoted(chunk)
        else:
            self._n_single[b"\r"] += n_returns - n_windows
            self._n_single[b"\n"] += n_feeds
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
        single = values[np.minimum(returns + 1, len(values) - 1)] != ord("\n")
        self._n_single[b"\r"] += int(single.sum())
        self._n_single[b"\n"] += len(ends) - len(returns)
        first, last = (int(ends[0]), int(ends[-1])) if len(ends) else (-1, -1)
        self._longest_in_quotes.add(first, last, len(chunk))

    def _look_beside(self, values: NDArray[np.uint8], quotes: NDArray[np.intp], is_first: NDArray[np.bool_]) -> None:
        """Look at the byte before each first quote and at that after each last one."""
        around = np.concatenate([np.frombuffer(self._last, np.uint8), values, np.frombuffer(b"\n", np.uint8)])
        beside = around[np.where(is_first, quotes, quotes + 2)]
        self.has_plain_quotes = self.has_plain_quotes and bool(self._beside_quotes[beside].all())


class _Longest:
    """The longest line that does not lie within one chunk of a file; lines that do are no longer than the chunk."""

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
