"""One system on one piece of work, in a process of its own: `python -m bench.one_system JSON`.

It prints lines of JSON, each as soon as it is known, so that a step that never ends does not hide those before it.

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
from collections.abc import Callable, Iterator
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


def measured(asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """First what is known of the system and the data, then the seconds and memory of every step."""
    module = importlib.import_module(f"bench.systems.{SYSTEMS[asked['system']]}")
    isa = getattr(module, "instruction_set", lambda: None)()
    facts = {"version": version(module.PACKAGE), "works": list(module.CASES), "isa": isa}
    facts["one thread"] = getattr(module, "ONE_THREAD", False)
    if asked["work"] not in module.CASES:
        yield facts
        return
    case, sizes, folder = module.CASES[asked["work"]], {name: asked[name] for name in SIZES}, Path(asked["folder"])
    few = sizes | {"rows": min(asked["rows"], max(FEW, 20 * asked["classes"]))}
    with contextlib.suppress(Exception):  # a system may need more rows; it fails below if it is ill
        for step in case(made(asked["work"], folder, **few)).values():
            step()
    data = made(asked["work"], folder, **sizes)
    yield facts | {"read": read_time(data, asked["repeats"])}
    for name, step in case(data).items():
        if name not in asked.get("only", [name]):
            continue
        start = time.perf_counter()
        memory = added_memory(step)
        first = time.perf_counter() - start
        once = first > asked["long"] or not asked["repeats"]
        yield {
            "step": name,
            "seconds": first if once else best(step, asked["repeats"], asked["long"]),
            "memory": memory,
        }


def main() -> None:
    answer = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # what a system prints is no part of the answer
        try:
            for line in measured(json.loads(sys.argv[1])):
                print(json.dumps(line), file=answer, flush=True)
        except ImportError as error:
            print(json.dumps({"absent": str(error)}), file=answer)


if __name__ == "__main__":
    main()
