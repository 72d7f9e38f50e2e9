"""What all requests share: the models, the settings, the measurements, the threads for long work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from tallybayes.errors import Described, did_you_mean
from tallybayes.server.http.future_bridge import FutureBridge
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.rate_limit import RateLimit
from tallybayes.server.http.server_metrics import ServerMetrics
from tallybayes.server.http.server_settings import ServerSettings
from tallybayes.server.http.work_stop import StoppableWork
from tallybayes.server.live.change_request import Applied, ChangeRequest
from tallybayes.server.live.live_model import LiveModel
from tallybayes.server.live.model_folder import ModelFolder

__all__ = ["LONG", "Service"]

Result = TypeVar("Result")

LONG = 2**16  # bytes of a body that are read in about a millisecond
_MOST_WAITING = 1024  # changes that wait beyond those of requests that are being answered
_THREADS = 4  # for work that takes long; scoring itself uses all cores where that pays


class Service:
    """A running server, as its routes see it."""

    def __init__(self, folder: ModelFolder, settings: ServerSettings) -> None:
        self.folder, self.settings = folder, settings
        self.metrics = ServerMetrics(folder)
        self.rate = None if settings.rate is None else RateLimit(settings.rate)
        self.n_active = 0  # requests that are being answered
        self.n_streams = 0
        self.closing = asyncio.Event()  # set when the server stops: streams of events end
        self._bridge: FutureBridge | None = None
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="tally-request")
        self._running: set[StoppableWork] = set()

    def model(self, name: str, may_see: Callable[[str], bool] = lambda name: True) -> LiveModel:
        """A model by its name; a problem (404) if there is none. may_see: which names the hint may have."""
        live = self.folder.get(name)
        if live is None:
            hint = did_you_mean(name, [known for known in self.folder if may_see(known)], "models")
            raise HttpError.of(404, "a model of this server", got=name, hint=hint)
        return live

    async def in_thread(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """The result of work that takes long, done in a thread, so that short requests do not wait for it.

        If this is cancelled, because its request has ended, the work is stopped, too.
        """
        stoppable = StoppableWork(work, *arguments)
        self._running.add(stoppable)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, stoppable.run)
        finally:
            stoppable.stop()
            self._running.discard(stoppable)

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
            self._bridge = FutureBridge(asyncio.get_running_loop())
        started = time.perf_counter()
        applied = await self._bridge.wait(live.submit(request))
        seconds = time.perf_counter() - started
        if not applied.repeated:
            self.metrics.observe_change(live.name, applied.kind, applied.rows, seconds)
        return applied

    def close(self) -> None:
        """Stop the work in threads that nobody waits for any more, and wait for its end."""
        for stoppable in list(self._running):
            stoppable.stop()
        self._pool.shutdown(wait=True, cancel_futures=True)
