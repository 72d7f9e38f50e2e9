"""Rows in chunks, chunks in threads.

Kernels release the GIL and work on a range of rows; this is the one place that decides on ranges and threads. Sums
are exact and rows are scored one by one, so no result depends on either.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import TypeVar

from tallybayes.errors import ParameterError

__all__ = ["SMALL", "ahead", "available_cores", "in_threads", "n_threads", "requested_threads", "split"]

Item = TypeVar("Item")
Result = TypeVar("Result")

SMALL = 4096  # below this many rows a thread costs more than it brings (measured: some 50 us to start work)


def n_threads() -> int:
    """How many threads work at once: TALLYBAYES_THREADS, or the cores this process may use."""
    return requested_threads() or available_cores()


def requested_threads() -> int | None:
    """TALLYBAYES_THREADS, at least 1; None if it is not set."""
    if not (text := os.environ.get("TALLYBAYES_THREADS")):
        return None
    try:
        return max(1, int(text))
    except ValueError:
        expected = "a number of threads in the environment variable TALLYBAYES_THREADS"
        raise ParameterError(expected, got=text, hint="such as TALLYBAYES_THREADS=4") from None


def available_cores() -> int:
    """The cores that this process may use, as far as the system tells: all of the machine on macOS and Windows."""
    if hasattr(os, "process_cpu_count"):  # from Python 3.13 on
        return os.process_cpu_count() or 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="tallybayes")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork: the child makes a pool of its own
    os.register_at_fork(after_in_child=_pool.cache_clear)


def split(n: int, size: int) -> list[tuple[int, int]]:
    """Cut range(n) into ranges of at most `size`.

    >>> split(10, 4)
    [(0, 4), (4, 8), (8, 10)]
    """
    return [(start, min(start + size, n)) for start in range(0, n, max(size, 1))]


def in_threads(
    work: Callable[[int, int], Result], n: int, *, size: int | None = None, small: int | None = None
) -> list[Result]:
    """work(start, stop) over ranges that cover range(n), in order; one range per thread unless `size` is given.

    >>> in_threads(lambda start, stop: stop - start, 10)
    [10]
    """
    if n <= (SMALL if small is None else small) or (threads := n_threads()) == 1:
        return [work(*part) for part in split(n, size or max(n, 1))] or [work(0, 0)]
    ranges = split(n, size or -(-n // threads))
    if len(ranges) == 1:
        return [work(*ranges[0])]
    results: list[Result | None] = [None] * len(ranges)
    errors: dict[int, Exception] = {}
    todo = iter(range(len(ranges)))  # shared: every thread takes the next range that is left

    def take() -> None:
        for i in todo:
            try:
                results[i] = work(*ranges[i])
            except Exception as error:  # raised below: that of the first range, whichever thread was quicker
                errors[i] = error

    for running in [_pool(threads).submit(copy_context().run, take) for _ in range(min(threads, len(ranges)))]:
        running.result()
    if errors:
        raise errors[min(errors)]
    return results  # type: ignore[return-value]


def ahead(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """work(item) of every item, in order; while the caller uses a result, threads work on the next ones.

    >>> list(ahead(str, [1, 2, 3]))
    ['1', '2', '3']
    """
    if (threads := n_threads()) == 1:
        yield from map(work, items)
        return
    waiting: deque[Future[Result]] = deque()
    failure: Exception | None = None
    rest = iter(items)
    try:
        while failure is None:
            try:
                waiting.append(_pool(threads).submit(copy_context().run, work, next(rest)))
            except StopIteration:
                break
            except Exception as error:  # raised below: the results of the items before it come first
                failure = error
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        if failure is not None:
            raise failure
    finally:
        for left in waiting:
            left.cancel()
