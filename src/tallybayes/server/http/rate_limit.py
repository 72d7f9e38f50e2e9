"""A limit on the rate of requests: a token bucket per client.

A bucket holds the requests of two seconds and is refilled at the rate; a request takes one token. Buckets that are full
again are dropped, so that memory is bounded by the number of clients that were active in the last two seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

__all__ = ["RateLimit"]

_SECONDS = 2.0  # of requests that may come at once
_SWEEP = 10_000  # buckets before full ones are dropped


class RateLimit:
    """Requests per second and client.

    >>> now = [0.0]
    >>> limit = RateLimit(1.0, clock=lambda: now[0])
    >>> [limit.wait("me") for _ in range(3)]
    [0.0, 0.0, 1.0]
    >>> now[0] = 1.0
    >>> limit.wait("me")
    0.0
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._most = max(rate * _SECONDS, 1.0)
        self._buckets: dict[Hashable, tuple[float, float]] = {}  # tokens, and when they were counted

    def wait(self, client: Hashable) -> float:
        """Take a token: 0.0, or the seconds after which there is one."""
        now = self._clock()
        tokens, then = self._buckets.get(client, (self._most, now))
        tokens = min(tokens + (now - then) * self._rate, self._most)
        if tokens < 1:
            self._buckets[client] = tokens, now
            return (1 - tokens) / self._rate
        if len(self._buckets) >= _SWEEP:
            self._drop_full(now)
        self._buckets[client] = tokens - 1, now
        return 0.0

    def _drop_full(self, now: float) -> None:
        self._buckets = {
            client: (tokens, then)
            for client, (tokens, then) in self._buckets.items()
            if tokens + (now - then) * self._rate < self._most
        }
