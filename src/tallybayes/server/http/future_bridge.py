"""Results of the writer's thread, handed to the event loop a group at a time.

The writer resolves all changes of a group at once. Waking the loop for each of them (`asyncio.wrap_future`) would cost
more than the change; here the first result of a group wakes it, and it takes all that are there. A request that is
given up does not cancel its change, which may be committed already.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

__all__ = ["FutureBridge"]

Result = TypeVar("Result")


class FutureBridge:
    """Futures of threads as futures of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ready: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._is_waking = False

    def wait(self, source: Future[Result]) -> asyncio.Future[Result]:
        """A future of the loop with the same result."""
        target: asyncio.Future[Result] = self._loop.create_future()
        source.add_done_callback(partial(self._done, target))
        return target

    def _done(self, target: asyncio.Future[Any], source: Future[Any]) -> None:
        """Called in the thread that resolves the source."""
        self._ready.append((target, source))
        if not self._is_waking:
            self._is_waking = True
            self._loop.call_soon_threadsafe(self._resolve)

    def _resolve(self) -> None:
        self._is_waking = False  # first: what is appended from here on wakes the loop again
        while self._ready:
            target, source = self._ready.popleft()
            if target.done():  # the request was given up
                continue
            error = source.exception()
            if error is None:
                target.set_result(source.result())
            else:
                target.set_exception(error)
