"""One system on one piece of work, in a process of its own: `python -m bench.one_system JSON` prints a line of JSON.

Every step runs on a few rows first, so that all is loaded that is loaded on first use; then once on all rows for its
memory; then it is timed, and the best of the repeats counts. A step that takes long is not repeated. "read" is the time
to read the bytes of the data once with the same threads: what a step takes in units of it are its passes.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.peak_memory import added_memory
from bench.read_time import read_time
from bench.systems import SYSTEMS
from bench.work import SIZES, made

__all__ = ["measured"]

FEW = 200  # rows to begin with, so that column weights are fitted, too


def best(step: Callable[[], object], repeats: int, long: float) -> float:
    """The shortest of several runs, in seconds; none is started after `long` seconds."""
    times: list[float] = []
    while len(times) < repeats and sum(times) < long:
        gc.collect()
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return min(times)


def measured(asked: dict[str, Any]) -> dict[str, Any]:
    """The works that a system can do, and the seconds and memory of every step of the work that is asked for."""
    module = importlib.import_module(f"bench.systems.{SYSTEMS[asked['system']]}")
    result: dict[str, Any] = {"version": version(module.PACKAGE), "works": list(module.CASES), "steps": {}}
    if asked["work"] not in module.CASES:
        return result
    sizes, folder = {name: asked[name] for name in SIZES}, Path(asked["folder"])
    few = sizes | {"rows": min(asked["rows"], max(FEW, 20 * asked["classes"]))}
    with contextlib.suppress(Exception):  # a system may need more rows; it fails below if it is ill
        for step in module.CASES[asked["work"]](made(asked["work"], folder, **few)).values():
            step()
    data = made(asked["work"], folder, **sizes)
    steps = module.CASES[asked["work"]](data)
    for name in [name for name in steps if name in asked.get("only", steps)]:
        start = time.perf_counter()
        memory = added_memory(steps[name])
        first = time.perf_counter() - start
        once = first > asked["long"] or not asked["repeats"]
        seconds = first if once else best(steps[name], asked["repeats"], asked["long"])
        result["steps"][name] = {"seconds": seconds, "memory": memory}
    isa = getattr(module, "instruction_set", lambda: None)()
    return result | {"read": read_time(data, asked["repeats"]), "isa": isa}


def main() -> None:
    answer = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # what a system prints is no part of the answer
        try:
            result = measured(json.loads(sys.argv[1]))
        except ImportError as error:
            result = {"absent": str(error)}
    print(json.dumps(result), file=answer)


if __name__ == "__main__":
    main()
