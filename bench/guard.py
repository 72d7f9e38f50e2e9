"""What got slower: the ratios of a new run beside those that were recorded on the same kind of machine.

    python -m bench.guard NEW.json [RECORDED.json]

Only ratios of at least 25 % less are told, since machines are noisy. A command, not a test.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from bench.result_table import compared

RESULTS = Path(__file__).parent / "results"
SLOWER = 0.75  # of the recorded ratio

Place = tuple[Any, ...]


def ratios(path: Path) -> dict[Place, float]:
    """The ratios of a file of results, by work, step, rows, threads and peer."""
    lines = compared(json.loads(path.read_text())["results"])
    return {tuple(line[name] for name in ("work", "step", "rows", "threads", "peer")): line["ratio"] for line in lines}


def slower(new: dict[Place, float], recorded: dict[Place, float]) -> list[str]:
    """A line for everything that is slower than recorded.

    >>> slower({("numbers", "fit"): 6.0}, {("numbers", "fit"): 10.0})
    ['numbers fit: 6.0 x, recorded 10.0 x']
    """
    return [
        f"{' '.join(map(str, place))}: {ratio:.1f} x, recorded {recorded[place]:.1f} x"
        for place, ratio in new.items()
        if place in recorded and ratio < SLOWER * recorded[place]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("new", type=Path)
    parser.add_argument("recorded", type=Path, nargs="?")
    asked = parser.parse_args()
    recorded = asked.recorded or RESULTS / asked.new.name
    if not recorded.exists():
        parser.error(f"expected results that were recorded on this kind of machine, got none: {recorded.name}")
    new, old = ratios(asked.new), ratios(recorded)
    lines = slower(new, old)
    print("\n".join(lines) or f"nothing is slower by more than 25 % ({len(new.keys() & old.keys())} ratios compared)")


if __name__ == "__main__":
    main()
