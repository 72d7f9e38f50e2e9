"""tallybayes beside its peers: the same work on the same data, one process for each system, one table at the end.

    python -m bench [WORK ...] [--systems NAMES] [--rows N] [--columns J] [--classes K] [--threads 1,2] [--isa avx2]

Results go to a JSON file named after the kind of machine, and to standard output as a table; `--record` puts them into
bench/results, and into the README as a picture and a short table. The ratio is theirs / ours: above 1 we are faster. A
peer that is not installed is reported as absent, with the reason (`python -m bench.install_peers` installs them apart
from this project, since they do not all agree on the versions of what they need). A benchmark is never a test.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import tempfile
from pathlib import Path

from bench.install_peers import interpreters
from bench.machine import INSTRUCTION_SETS, kind_of, machine_facts
from bench.recorded import record, report
from bench.result_table import time_text
from bench.system_process import Result, SystemProcesses
from bench.systems import OURS, SYSTEMS
from bench.work import WORKS

LONG = 5.0  # seconds after which a step is not repeated


def results_of(asked: argparse.Namespace, processes: SystemProcesses) -> list[Result]:
    """All results: ours with each instruction set, the peers once."""
    results = []
    for name in asked.works:
        for threads in asked.threads:
            size = WORKS[name].sizes(rows=asked.rows, columns=asked.columns, classes=asked.classes)
            for system in asked.systems:
                for isa in asked.isa if system == OURS else [None]:
                    found = processes.results(system, name, size | {"threads": threads}, isa=isa)
                    results += found
                    steps = ", ".join(f"{own['step']} {time_text(own['seconds'])}" for own in found)
                    how = f"{system}, {isa}" if isa else system
                    if steps:
                        print(f"{name}, {threads} thread(s), {how}: {steps}", file=sys.stderr, flush=True)
    return results


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("works", nargs="*", metavar="WORK", help=", ".join(WORKS))
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="their names, with commas between them")
    parser.add_argument("--rows", type=int, help="instead of those of each piece of work")
    parser.add_argument("--columns", type=int)
    parser.add_argument("--classes", type=int)
    parser.add_argument("--threads", default=",".join("12"[: os.cpu_count() or 1]), help="such as 1,2")
    parser.add_argument(
        "--isa", help="plain, avx2, avx512 or several: the instruction sets of our kernels [the widest]"
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path, help="the JSON file [KIND-OF-MACHINE.json in the working folder]")
    parser.add_argument("--record", action="store_true", help="put the results into bench/results and the README")
    asked = parser.parse_args(words)
    asked.systems = [name.strip() for name in asked.systems.split(",")]
    asked.threads = [int(number) for number in asked.threads.split(",")]
    asked.isa = [name.strip() for name in asked.isa.split(",")] if asked.isa else []
    known = {
        "WORK": (asked.works, WORKS),
        "--systems": (asked.systems, SYSTEMS),
        "--isa": (asked.isa, INSTRUCTION_SETS),
    }
    for what, (given, names) in known.items():
        if unknown := [name for name in given if name not in names]:
            parser.error(f"expected {what} among {', '.join(names)}, got {unknown[0]}")
    asked.works = asked.works or list(WORKS)
    asked.systems = [OURS, *(name for name in asked.systems if name != OURS)]
    return asked


def main() -> None:
    asked, facts = arguments(), machine_facts()
    had = facts["instruction sets"]
    for isa in [isa for isa in asked.isa if isa not in had]:
        print(f"{isa} is not measured: the processor does not have it", file=sys.stderr)
    asked.isa = [isa for isa in asked.isa if isa in had] or had[-1:]
    with tempfile.TemporaryDirectory() as folder:
        processes = SystemProcesses(folder, repeats=asked.repeats, long=LONG, others=interpreters())
        results = results_of(asked, processes)
    whole = {
        "machine": facts,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "command": f"python -m bench {' '.join(sys.argv[1:])}".strip(),
        "versions": processes.versions,
        "failures": processes.failures,
        "results": results,
    }
    print(report(whole))
    if asked.record:
        record(whole)
    if asked.output or not asked.record:
        path = asked.output or Path(f"{kind_of(facts)}.json")
        path.write_text(json.dumps(whole, indent=1) + "\n")
        print(f"results: {path}", file=sys.stderr)


if __name__ == "__main__":
    main()
