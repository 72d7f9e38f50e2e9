"""The requests that wait for the writer of a hosted model, taken in groups that share a transaction.

The writer takes all that wait. If the last groups had several requests, it waits a few milliseconds for as many as came
in these: their senders have got their answers at the same time, and most of them are about to send the next request.
"""

from __future__ import annotations

import contextlib
import queue
import time
from concurrent.futures import Future
from dataclasses import dataclass, field

from tallybayes.server.live.change_request import Applied, ChangeRequest

__all__ = ["BY_ROWS", "ChangeQueue", "Pending"]

_REQUESTS = 1024  # in one group, at most
_BYTES = 16 * 2**20  # of the rows of a transaction, about
_LINGER = 0.004  # seconds to wait for more requests
BY_ROWS = ("learn", "forget")  # kinds of changes that share a transaction


@dataclass(eq=False)
class Pending:
    """A request that waits for its answer."""

    request: ChangeRequest
    future: Future[Applied] = field(default_factory=Future)

    def fail(self, error: BaseException) -> None:
        """Answer with an error, unless nobody waits any more."""
        if not self.future.done():
            self.future.set_exception(error)

    def answer(self, applied: Applied) -> None:
        """Answer, unless nobody waits any more."""
        if not self.future.done():
            self.future.set_result(applied)


class ChangeQueue(queue.SimpleQueue[Pending | None]):
    """Requests in order; None marks the end: nothing may be added afterwards."""

    _last_sizes = (1, 1)

    def take(self, timeout: float) -> tuple[list[list[Pending]], bool]:
        """Wait for a request and take those behind it, cut into transactions; and whether the end was reached."""
        try:
            pending = self.get(timeout=timeout)
        except queue.Empty:
            return [], False
        group: list[Pending] = []
        until = time.monotonic() + _LINGER
        usual = sum(self._last_sizes) if self._last_sizes[1] > 1 else 1
        with contextlib.suppress(queue.Empty):
            while pending is not None:
                group.append(pending)
                if len(group) == _REQUESTS:
                    break
                left = until - time.monotonic() if len(group) < usual else 0.0
                pending = self.get(timeout=max(left, 0.0))
        self._last_sizes = (self._last_sizes[1], len(group))
        return _transactions(group), pending is None


def _transactions(group: list[Pending]) -> list[list[Pending]]:
    """Requests in order, cut so that learn and forget requests are together and others alone.

    A request that looks at the log is the first of its transaction: one for a certain version of the model, and one
    with the idempotency key of a request before it.
    """
    parts: list[list[Pending]] = []
    n_bytes, keys = 0, set[str]()
    for pending in group:
        request, size = pending.request, len(pending.request.rows or b"")
        joins = parts and {request.kind, parts[-1][0].request.kind} <= {*BY_ROWS} and request.if_version is None
        if joins and n_bytes + size <= _BYTES and request.key not in keys:
            parts[-1].append(pending)
        else:
            parts.append([pending])
            n_bytes, keys = 0, set()
        n_bytes += size
        if request.key is not None:
            keys.add(request.key)
    return parts
