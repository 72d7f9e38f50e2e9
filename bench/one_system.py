"""One system on one piece of work, in a process of its own: `python -m bench.one_system JSON` prints a line of JSON.

Every step runs once before it is timed; the best of the repeats counts. The memory is the highest that the process has
had over what it had with the data made. "read" is the time to read the bytes of the data once with the same threads:
what a system takes in units of it are its passes.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from bench.systems import SYSTEMS
from bench.work import Data, made

_LONG = 5.0  # seconds after which a step is not repeated


def best(step: Callable[[], object], repeats: int) -> float:
    """The shortest of several runs, in seconds."""
    times: list[float] = []
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
        if sum(times) > _LONG:
            break
    return min(times)


def peak_memory() -> float:
    """The highest resident set of this process so far, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def read_once(data: Data, repeats: int) -> float:
    """The time to read as many bytes as the data has, in seconds."""
    if isinstance(data.X, str):
        return best(lambda: Path(data.X).read_bytes(), repeats)
    block = np.ones(max(data.n_bytes // 8, 1), np.uint64)
    parts = np.array_split(block, data.threads)
    with ThreadPoolExecutor(data.threads) as pool:
        return best(lambda: sum(pool.map(lambda part: int(part.max()), parts)), repeats)


def measured(asked: dict[str, Any]) -> dict[str, Any]:
    """The seconds of every step, the memory, and the version of the package."""
    module = importlib.import_module(f"bench.systems.{SYSTEMS[asked['system']]}")
    if asked["work"] not in module.CASES:
        return {}
    sizes = {name: asked[name] for name in ("rows", "classes", "columns", "threads")}
    data = made(asked["work"], Path(asked["folder"]), **sizes)
    reading = read_once(data, asked["repeats"])
    before = peak_memory()
    steps = module.CASES[asked["work"]](data)
    seconds = {}
    for name, step in steps.items():
        step()
        seconds[name] = best(step, asked["repeats"])
    result = {"version": version(module.PACKAGE), "seconds": seconds, "read": reading}
    return result | {"memory": max(0.0, peak_memory() - before)}


def main() -> None:
    try:
        result = measured(json.loads(sys.argv[1]))
    except ImportError as error:
        result = {"absent": str(error)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
