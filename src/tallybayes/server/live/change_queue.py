"""The requests that wait for the writer of a hosted model, taken in groups that share a transaction.

The writer takes all that wait. If the last groups had several requests, it waits a few milliseconds for as many as came
in these: their senders have got their answers at the same time, and most of them are about to send the next request.
"""

from __future__ import annotations

import queue
import time

from tallybayes.server.live.change_group import Pending

__all__ = ["ChangeQueue"]

_REQUESTS = 1024  # in one group, at most
_BYTES = 16 * 2**20  # of the rows of a transaction, about
_LINGER = 0.004  # seconds to wait for more requests
_BY_ROWS = ("learn", "forget")


class ChangeQueue:
    """Requests in order; None marks the end."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Pending | None] = queue.SimpleQueue()
        self._last_sizes = (1, 1)

    def put(self, pending: Pending) -> None:
        """Add a request."""
        self._queue.put(pending)

    def end(self) -> None:
        """Mark the end: nothing may be added afterwards."""
        self._queue.put(None)

    def __len__(self) -> int:
        return self._queue.qsize()

    def take(self, timeout: float) -> tuple[list[list[Pending]], bool]:
        """Wait for a request and take those behind it, cut into transactions; and whether the end was reached."""
        try:
            first = self._queue.get(timeout=timeout)
        except queue.Empty:
            return [], False
        group: list[Pending] = []
        until = time.monotonic() + _LINGER
        usual = sum(self._last_sizes) if self._last_sizes[1] > 1 else 1
        while first is not None and len(group) < _REQUESTS:
            group.append(first)
            left = until - time.monotonic() if len(group) < usual else 0.0
            try:
                first = self._queue.get(timeout=left) if left > 0 else self._queue.get_nowait()
            except queue.Empty:
                break
        else:
            if first is not None:
                group.append(first)
        self._last_sizes = (self._last_sizes[1], len(group))
        return _transactions(group), first is None


def _transactions(group: list[Pending]) -> list[list[Pending]]:
    """Requests in order, cut so that learn and forget requests are together and others alone."""
    parts: list[list[Pending]] = []
    n_bytes = 0
    for pending in group:
        size = len(pending.request.rows or b"")
        joins = parts and {pending.request.kind, parts[-1][0].request.kind} <= {*_BY_ROWS}
        if joins and n_bytes + size <= _BYTES:
            parts[-1].append(pending)
            n_bytes += size
        else:
            parts.append([pending])
            n_bytes = size
    return parts
