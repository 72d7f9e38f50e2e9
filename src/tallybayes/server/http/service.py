"""What all requests share: the models, the settings, the measurements, the threads for long work.

A request ends by its time limit, by a client that hangs up, or with the server; a thread cannot be ended from outside.
So long work is done in pieces, and asks between two of them whether it is still wanted (`check_stop`).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from tallybayes.errors import Described
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.server_metrics import ServerMetrics
from tallybayes.server.http.server_settings import ServerSettings
from tallybayes.server.live.change_request import Applied, ChangeRequest
from tallybayes.server.live.live_model import LiveModel
from tallybayes.server.live.model_folder import ModelFolder

__all__ = ["LONG", "Service", "check_stop"]

Result = TypeVar("Result")

LONG = 2**16  # bytes of a body that are read in about a millisecond
_MOST_WAITING = 1024  # changes that wait beyond those of requests that are being answered
_THREADS = 4  # for work that takes long; scoring itself uses all cores where that pays
_current = threading.local()  # of a thread: the event that stops its work


class StoppedError(Exception):
    """The work was given up."""


def check_stop() -> None:
    """Raise a StoppedError if the work of this thread was stopped."""
    stopped: threading.Event | None = getattr(_current, "stopped", None)
    if stopped is not None and stopped.is_set():
        raise StoppedError


def _run(stopped: threading.Event, work: Callable[..., Result], *arguments: Any) -> Result:
    """Do some work in this thread, unless it is stopped before or meanwhile.

    >>> stopped = threading.Event()
    >>> _run(stopped, lambda: 7)
    7
    >>> stopped.set()
    >>> _run(stopped, lambda: 7)
    Traceback (most recent call last):
        ...
    tallybayes.server.http.service.StoppedError
    """
    _current.stopped = stopped
    try:
        check_stop()
        return work(*arguments)
    finally:
        _current.stopped = None


class Service:
    """A running server, as its routes see it."""

    def __init__(self, folder: ModelFolder, settings: ServerSettings) -> None:
        self.folder, self.settings = folder, settings
        self.metrics = ServerMetrics(folder)
        self.n_active = 0  # requests that are being answered
        self.n_streams = 0
        self.closing = asyncio.Event()  # set when the server stops: streams of events end
        self._bridge: _FutureBridge | None = None
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="tally-request")
        self._running: set[threading.Event] = set()  # which stop the work of a thread

    async def in_thread(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """The result of work that takes long, done in a thread, so that short requests do not wait for it.

        If this is cancelled, because its request has ended, the work is stopped, too.
        """
        stopped = threading.Event()
        self._running.add(stopped)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, _run, stopped, work, *arguments)
        finally:
            stopped.set()
            self._running.discard(stopped)

    async def for_body(self, content: bytes, work: Callable[..., Result], *arguments: Any) -> Result:
        """The result of work on a body: in a thread, if the body is long."""
        if len(content) <= LONG:
            return work(*arguments)
        return await self.in_thread(work, *arguments)

    async def change(self, live: LiveModel, request: ChangeRequest) -> Applied:
        """Submit a change and wait until it is committed."""
        if live.n_waiting > _MOST_WAITING + self.settings.concurrency:
            got = Described("more, whose senders do not wait any longer")
            expected = f"at most {_MOST_WAITING + self.settings.concurrency:,} changes that wait for the writer"
            raise HttpError.of(503, expected, got=got, headers={"Retry-After": "5"})
        if self._bridge is None:
            self._bridge = _FutureBridge(asyncio.get_running_loop())
        started = time.perf_counter()
        applied = await self._bridge.wait(live.submit(request))
        seconds = time.perf_counter() - started
        if not applied.repeated:
            self.metrics.observe_change(live.name, applied.kind, applied.rows, seconds)
        return applied

    def close(self) -> None:
        """Stop the work in threads that nobody waits for any more, and wait for its end."""
        for stopped in list(self._running):
            stopped.set()
        self._pool.shutdown(wait=True, cancel_futures=True)


class _FutureBridge:
    """Results of the writer's thread, handed to the event loop a group at a time.

    The writer resolves all changes of a group at once. Waking the loop for each of them (`asyncio.wrap_future`) would
    cost a tenth of the change; here the first result of a group wakes it, and it takes all that are there. A request
    that is given up does not cancel its change, which may be committed already.
    """

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
