"""How the cost grows with rows, columns and classes, beside scikit-learn.

    python -m bench.growth [--most-rows 10000000] [--threads 1] [--repeats 3] [--record]

Each point is measured in a process of its own. A system is not measured at sizes where its time, growing in proportion,
would be more than `--seconds`; the caption says so. The slope of a line, fitted by least squares to the logarithms of
its upper half, is in its label: 1 is cost in proportion. `--record` writes the points to bench/results and the picture
to docs/growth.svg, which docs/speed.md shows.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.machine import description, kind_of, machine_facts
from bench.recorded import RESULTS, between_markers
from bench.result_table import time_text
from bench.system_process import ROOT, Result, SystemProcesses
from bench.systems import OURS

__all__ = ["main", "slope"]

PEER = "scikit-learn"
PICTURE = "![Seconds by rows, columns and classes, on logarithmic scales](growth.svg)"
STEPS = ("fit", "predict_proba")
LONG = 1.0  # seconds after which a step is not repeated
# What grows, and what stays as it is meanwhile. Sparse counts have 100 tokens in a row, so that ten million rows would
# need 12 GB, and their columns are the tokens that exist.
SMALL_SIZES = {"rows": 20_000, "columns": 20, "classes": 2}
ROWS = [1_000, 10_000, 100_000, 1_000_000, 10_000_000]
FEW_TO_MANY = [2, 5, 20, 100, 300, 1_000]
AXES = {
    "numbers": (SMALL_SIZES, {"rows": ROWS, "columns": FEW_TO_MANY, "classes": FEW_TO_MANY}),
    "categories": (SMALL_SIZES, {"rows": ROWS, "columns": FEW_TO_MANY, "classes": FEW_TO_MANY}),
    "counts": (
        SMALL_SIZES | {"columns": 10_000},
        {"rows": ROWS[:-1], "columns": [1_000, 3_000, 10_000, 30_000, 100_000], "classes": FEW_TO_MANY},
    ),
}


def points_of(
    work: str, axis: str, sizes: Sequence[int], limit: float, threads: int, processes: SystemProcesses
) -> list[Result]:
    """Times of both systems along an axis, as far as they stay below the limit."""
    found = []
    for system in (OURS, PEER):
        last: tuple[int, float] | None = None  # a size, and the longest step there
        for size in sizes:
            if last and last[1] * size / last[0] > limit:
                break
            own = processes.results(system, work, AXES[work][0] | {axis: size, "threads": threads}, only=STEPS)
            if not own:
                break
            last = size, max(result["seconds"] for result in own)
            found += [{"axis": axis, "size": size} | result for result in own]
            shown = ", ".join(f"{result['step']} {time_text(result['seconds'])}" for result in own)
            print(f"{work}, {size:,} {axis}, {system}: {shown}", file=sys.stderr, flush=True)
    return found


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The exponent of the growth over the upper half of the sizes.

    >>> round(slope([1, 10, 100, 1000], [5, 5, 10, 100]), 3)
    1.0
    """
    n = max(2, math.ceil(len(sizes) / 2))
    x, y = ([math.log(value) for value in values[-n:]] for values in (sizes, seconds))
    middle, level = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - middle) ** 2 for a in x)
    return sum((a - middle) * (b - level) for a, b in zip(x, y, strict=True)) / spread if spread else math.nan


def lines_of(points: Sequence[Result]) -> list[Result]:
    """The points as lines, each with its slope."""
    lines: dict[tuple[str, ...], list[Result]] = {}
    for point in points:
        lines.setdefault(tuple(point[name] for name in ("work", "axis", "step", "system")), []).append(point)
    names = ("work", "axis", "step", "system")
    return [
        dict(zip(names, place, strict=True))
        | {"sizes": (sizes := [own["size"] for own in line]), "seconds": (took := [own["seconds"] for own in line])}
        | {"slope": slope(sizes, took)}
        for place, line in lines.items()
    ]


def left_out(points: Sequence[Result], asked: dict[str, dict[str, list[int]]], limit: float) -> str:
    """Which sizes were not measured, in words."""
    missing = []
    for work, axes in asked.items():
        for axis, sizes in axes.items():
            for system in (OURS, PEER):
                done = {
                    own["size"] for own in points if (own["work"], own["axis"], own["system"]) == (work, axis, system)
                }
                if over := [size for size in sizes if size not in done]:
                    missing.append(f"{system}, {work}, from {min(over):,} {axis} on")
    return f"Not measured, since a step would take more than {limit:g} s: {'; '.join(missing)}." if missing else ""


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.growth", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("works", nargs="*", metavar="WORK", help=", ".join(AXES))
    parser.add_argument("--most-rows", type=int, default=max(ROWS))
    parser.add_argument("--most", type=int, default=100_000, help="of columns and classes")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0, help="at most, for a step")
    parser.add_argument("--record", action="store_true", help="write bench/results and docs/growth.svg")
    parser.add_argument("--picture", type=Path, help="draw the picture here instead")
    asked = parser.parse_args(words)
    if unknown := [name for name in asked.works if name not in AXES]:
        parser.error(f"expected WORK among {', '.join(AXES)}, got {unknown[0]}")
    axes = {work: _shortened(AXES[work][1], asked.most_rows, asked.most) for work in asked.works or AXES}
    with tempfile.TemporaryDirectory() as folder:
        processes = SystemProcesses(folder, repeats=asked.repeats, long=LONG)
        points = [
            point
            for work, own in axes.items()
            for axis, sizes in own.items()
            for point in points_of(work, axis, sizes, asked.seconds, asked.threads, processes)
        ]
    lines, facts = lines_of(points), machine_facts()
    for line in lines:
        times = ", ".join(
            f"{size:,}: {time_text(took)}" for size, took in zip(line["sizes"], line["seconds"], strict=True)
        )
        print(f"{line['work']} {line['step']} by {line['axis']}, {line['system']}: slope {line['slope']:.2f}; {times}")
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    threads = f"{asked.threads} thread{'s' if asked.threads > 1 else ''}"
    caption = [f"{description(facts)}; {threads}; {date}"]
    caption += [text for text in [left_out(points, axes, asked.seconds), *processes.failures] if text]
    print("\n".join(caption))
    if asked.record or asked.picture:
        from bench.growth_picture import growth_picture

        growth_picture(lines, caption, asked.picture or ROOT / "docs" / "growth.svg")
    if asked.record:
        command = f"python -m bench.growth {' '.join(sys.argv[1:])}".strip()
        whole = {"machine": facts, "date": date, "command": command, "versions": processes.versions, "caption": caption}
        path = ROOT / RESULTS / f"{kind_of(facts)}-growth.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(whole | {"lines": lines}, indent=1) + "\n")
        guide = ROOT / "docs" / "speed.md"
        text = f"{PICTURE}\n\n{' '.join(caption)}; `{command}`\n"
        guide.write_text(between_markers(guide.read_text(), text))


def _shortened(axes: dict[str, list[int]], rows: int, most: int) -> dict[str, list[int]]:
    return {
        axis: [size for size in sizes if size <= (rows if axis == "rows" else max(most, sizes[1]))]
        for axis, sizes in axes.items()
    }


if __name__ == "__main__":
    main()
