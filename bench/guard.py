"""What got slower: the ratios of a new run beside those that were recorded on the same kind of machine.

    python -m bench.guard NEW.json [RECORDED.json]

Told is what takes more than 25 % longer than recorded, in units of what the peer takes in the same run; less is noise.
The exit code is 1 then, and 0 otherwise. A command, not a test.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bench.machine import kind_of
from bench.recorded import RESULTS
from bench.result_table import compared, named
from bench.system_process import ROOT

SLOWER = 1.25  # times what is recorded


def ratios(path: Path) -> dict[str, float]:
    """The ratios of a file of results, by work, step, sizes, threads, instruction set and peer."""
    return {named(line): line["ratio"] for line in compared(json.loads(path.read_text())["results"])}


def slower(new: dict[str, float], recorded: dict[str, float]) -> list[str]:
    """A line for everything that is slower than recorded.

    >>> slower({"numbers, fit": 6.0, "flags, fit": 9.0}, {"numbers, fit": 10.0, "flags, fit": 10.0})
    ['numbers, fit: 6.0 x, recorded 10.0 x']
    """
    return [
        f"{place}: {ratio:.1f} x, recorded {recorded[place]:.1f} x"
        for place, ratio in new.items()
        if place in recorded and SLOWER * ratio < recorded[place]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("new", type=Path)
    parser.add_argument("recorded", type=Path, nargs="?", help="[bench/results/KIND-OF-MACHINE.json]")
    asked = parser.parse_args()
    if not asked.new.exists():
        parser.error(f"expected a file that python -m bench has written, got {asked.new}")
    recorded = asked.recorded or ROOT / RESULTS / f"{kind_of(json.loads(asked.new.read_text())['machine'])}.json"
    if not recorded.exists():
        parser.error(f"expected results that were recorded on this kind of machine, got none: {recorded.name}")
    new, old = ratios(asked.new), ratios(recorded)
    common = new.keys() & old.keys()
    if not common:
        parser.error("expected the same work, sizes, threads and peers in both files, got no ratio that is in both")
    lines = slower(new, old)
    print("\n".join(lines) or f"nothing is slower by more than 25 % ({len(common)} ratios compared)")
    raise SystemExit(1 if lines else 0)


if __name__ == "__main__":
    main()
