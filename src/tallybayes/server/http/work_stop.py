"""Work in threads that ends when nobody waits for its result any more.

A request ends by its time limit, by a client that hangs up, or with the server; a thread cannot be ended from outside.
So long work is done in pieces, and asks between two of them whether it is still wanted (`check_stop`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["StoppableWork", "StoppedError", "check_stop"]

Result = TypeVar("Result")
_current = threading.local()


class StoppedError(Exception):
    """The work was given up."""


class StoppableWork:
    """Something to be done in a thread, unless it is stopped before or meanwhile."""

    def __init__(self, work: Callable[..., Result], *arguments: Any) -> None:
        self._work, self._given = work, arguments
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Let the work end at its next piece."""
        self._stopped.set()

    def run(self) -> Any:
        """Do the work; a StoppedError if it was stopped."""
        _current.stopped = self._stopped
        try:
            check_stop()
            return self._work(*self._given)
        finally:
            _current.stopped = None


def check_stop() -> None:
    """Raise a StoppedError if the work of this thread was stopped.

    >>> work = StoppableWork(check_stop)
    >>> work.run()
    >>> work.stop()
    >>> work.run()
    Traceback (most recent call last):
        ...
    tallybayes.server.http.work_stop.StoppedError
    """
    stopped: threading.Event | None = getattr(_current, "stopped", None)
    if stopped is not None and stopped.is_set():
        raise StoppedError
