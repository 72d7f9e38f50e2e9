"""tallybayes beside its peers: the same work on the same data, one process for each system, one table at the end.

    python -m bench [WORK ...] [--systems NAMES] [--rows N] [--classes K] [--columns J] [--threads 1,2] [--isa avx2]

Results go to a JSON file named after the kind of machine, and to standard output as a table; `--record` puts them into
bench/results and draws the picture of the README. The ratio is theirs / ours: above 1 we are faster. A peer that is not
installed is reported as absent (pip install "tallybayes[bench,peers]"). A benchmark is never a test.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.guard import RESULTS
from bench.machine import kind_of, machine_facts
from bench.result_table import compared, markdown, picture
from bench.systems import OURS, SYSTEMS
from bench.work import COLUMNS, WORKS

PICTURE = Path(__file__).parents[1] / "docs" / "speed.svg"
MINUTES = 10  # at most, for one system on one piece of work


def run(asked: dict[str, Any], isa: str | None) -> dict[str, Any]:
    """The result of one system on one piece of work; `absent` or `failed` says why there is none."""
    threads = str(asked["threads"])
    names = ("TALLYBAYES_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, threads) | ({"TALLYBAYES_ISA": isa} if isa else {})
    command = [sys.executable, "-W", "ignore", "-m", "bench.one_system", json.dumps(asked)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60 * MINUTES)
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {MINUTES} minutes"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def results_of(asked: argparse.Namespace, folder: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """All results, and the version of every system or why it is absent."""
    results, versions = [], dict[str, str]()
    for name in asked.works:
        work = WORKS[name]
        for threads in asked.threads:
            for system in asked.systems:
                sizes = {"rows": asked.rows or work.rows, "classes": asked.classes or work.classes}
                sizes |= {"columns": asked.columns, "threads": threads}
                given = {"work": name, "system": system, "folder": folder, "repeats": asked.repeats, **sizes}
                found = run(given, asked.isa)
                if "seconds" not in found:
                    if "absent" in found:
                        versions[system] = "absent"
                    elif "failed" in found:
                        print(f"{name}, {system}: failed: {found['failed']}", file=sys.stderr)
                    continue
                versions[system] = found["version"]
                own = {"work": name, "system": system, **sizes, "read": found["read"], "memory": found["memory"]}
                results += [own | {"step": step, "seconds": took} for step, took in found["seconds"].items()]
                shown = ", ".join(f"{step} {took * 1e3:.1f} ms" for step, took in found["seconds"].items())
                print(f"{name}, {threads} thread(s), {system}: {shown}", file=sys.stderr, flush=True)
    return results, versions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("works", nargs="*", metavar="WORK", help=", ".join(WORKS))
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="their names, with commas between them")
    parser.add_argument("--rows", type=int, help="instead of those of each piece of work")
    parser.add_argument("--classes", type=int)
    parser.add_argument("--columns", type=int, default=COLUMNS)
    parser.add_argument("--threads", default=str(min(2, os.cpu_count() or 1)), help="such as 1,2")
    parser.add_argument("--isa", choices=["plain", "avx2", "avx512"], help="a narrower instruction set for our kernels")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path, help="the JSON file [KIND-OF-MACHINE.json in the working folder]")
    parser.add_argument("--record", action="store_true", help="put the results into bench/results and draw the picture")
    asked = parser.parse_args()
    asked.systems = [name.strip() for name in asked.systems.split(",")]
    asked.threads = [int(number) for number in asked.threads.split(",")]
    for given, known, what in ((asked.works, WORKS, "WORK"), (asked.systems, SYSTEMS, "--systems")):
        if unknown := sorted(set(given) - known.keys()):
            parser.error(f"expected {what} among {', '.join(known)}, got {unknown[0]}")
    asked.works = asked.works or list(WORKS)
    asked.systems = [OURS, *(name for name in asked.systems if name != OURS)]
    facts = machine_facts()
    isa = asked.isa or ("avx512" if "avx512f" in facts["instruction sets"] else "avx2")
    with tempfile.TemporaryDirectory() as folder:
        results, versions = results_of(asked, folder)
    command = f"python -m bench {' '.join(sys.argv[1:])}".strip()
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    whole = {"machine": facts | {"isa": isa}, "date": date, "command": command, "versions": versions}
    path = asked.output or Path(f"{kind_of(facts, isa)}.json")
    path = RESULTS / path.name if asked.record else path
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(whole | {"results": results}, indent=1) + "\n")
    lines = compared(results)
    print(f"{facts['processor']}, {facts['cores']} cores, {facts['caches']}, {isa}, Python {facts['python']}, {date}")
    print(", ".join(f"{name} {found}" for name, found in versions.items()), command, sep="\n", end="\n\n")
    print(markdown(lines))
    if asked.record:
        picture(lines, str(PICTURE))
    print(f"results: {path}", file=sys.stderr)


if __name__ == "__main__":
    main()
