"""The time to read the bytes of some data once: the unit of "passes".

Data in memory is read by as many threads as the work may use, each adding up a part of a block of as many bytes, which
is bound by memory and not by arithmetic from some megabytes on. The bytes are those of the values: the cells of a
matrix, the three arrays of a sparse matrix, the characters of texts. A file is read from the cache of the system into
a small buffer, by one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from bench.work import Data

__all__ = ["read_time"]

BUFFER = 1 << 20  # fits into the second-level cache of most processors
AT_LEAST = 3  # readings, since one alone may meet memory that was never used


def read_time(data: Data, repeats: int) -> float:
    """Seconds, the best of several readings."""
    if isinstance(data.X, str):
        return _best(_file_reader(Path(data.X)), repeats)
    parts = np.array_split(np.ones(max(data.n_bytes // 8, 1), np.uint64), data.threads)
    if data.threads == 1:  # without the hand-over between threads, which is long beside small data
        return _best(parts[0].sum, repeats)
    with ThreadPoolExecutor(data.threads) as pool:
        return _best(lambda: list(pool.map(np.sum, parts)), repeats)


def _file_reader(path: Path) -> Callable[[], object]:
    buffer = bytearray(BUFFER)

    def read() -> None:
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass

    return read


def _best(read: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(max(repeats, AT_LEAST)):
        start = time.perf_counter()
        read()
        times.append(time.perf_counter() - start)
    return min(times)
