"""Facts about the lines of a file of text, gathered from its bytes in one pass."""

from __future__ import annotations

from typing import IO

import numpy as np

__all__ = ["LineFacts"]

_CHUNK = 2**20


class LineFacts:
    r"""How long the lines of a file are, how they end, and whether cells in quotes continue on the next line.

    >>> import io
    >>> facts = LineFacts.of(io.BytesIO(b'a,b\n"one\ntwo",3'))
    >>> facts.has_long_cells, facts.has_open_quote, facts.have_mixed_ends, facts.longest
    (True, False, False, 11)
    """

    def __init__(self, quote: bytes | None) -> None:
        self._quote = quote
        self.has_long_cells = False
        self.has_open_quote = False  # at the end of the file
        self._n_ends = {b"\r\n": 0, b"\n": 0, b"\r": 0}
        self._n_single = {b"\n": 0, b"\r": 0}  # ends outside quotes; \r\n counts as \n
        self._longest = _Longest()
        self._longest_in_quotes = _Longest()

    @classmethod
    def of(cls, file: IO[bytes], quote: str | None = '"') -> LineFacts:
        """The facts about a file; quote: the sign around cells, if there is one."""
        facts = cls(None if quote is None else quote.encode())
        while chunk := file.read(_CHUNK):
            facts._add(chunk + file.read(1) if chunk.endswith(b"\r") else chunk)  # keep \r\n together
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

    def _add(self, chunk: bytes) -> None:
        for end in self._n_ends:
            self._n_ends[end] += chunk.count(end)
        values = np.frombuffer(chunk, np.uint8)
        ends = np.flatnonzero((values == ord("\n")) | (values == ord("\r")))
        self._longest.add(ends, len(chunk))
        if self._quote is not None and (self.has_open_quote or self._quote in chunk):
            quotes = np.flatnonzero(values == self._quote[0])
            within = (np.searchsorted(quotes, ends) + self.has_open_quote) % 2 == 1
            self.has_long_cells = self.has_long_cells or bool(within.any())
            self.has_open_quote = bool((len(quotes) + self.has_open_quote) % 2)
            ends = ends[~within]
        returns = ends[values[ends] == ord("\r")]
        single = values[np.minimum(returns + 1, len(values) - 1)] != ord("\n")
        self._n_single[b"\r"] += int(single.sum())
        self._n_single[b"\n"] += len(ends) - len(returns)
        self._longest_in_quotes.add(ends, len(chunk))


class _Longest:
    """The longest distance between two ends of lines, over all chunks of a file."""

    def __init__(self) -> None:
        self.n_bytes = 0
        self._unfinished = 0

    def add(self, ends: np.ndarray, n_bytes: int) -> None:
        """The ends of lines in the next chunk."""
        lengths = np.diff(ends, prepend=-1 - self._unfinished, append=n_bytes) - 1
        self.n_bytes = max(self.n_bytes, int(lengths.max()))
        self._unfinished = int(lengths[-1])
