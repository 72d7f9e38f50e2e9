"""What `--record` leaves: results as JSON, all tables as Markdown, the picture, and the short table of the README."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from bench.machine import INSTRUCTION_SETS, description, kind_of
from bench.result_table import compared, full_table, instruction_set_table, sizes, time_text
from bench.system_process import ROOT, Result
from bench.work import WORKS

__all__ = ["between_markers", "record", "report", "short_table"]

RESULTS = Path("bench/results")
BEGIN, END = "<!-- written by the benchmark with --record -->", "<!-- end of what is written -->"
PICTURE = "![How many times as fast as each peer, by kind of work](docs/speed.svg)"
LEGEND = """Time is the best of the repeats; ratio is theirs / ours. Memory is what a step adds at its peak to the
resident set before it, which has the data; for commands it is the peak of the whole process; - is unknown. Passes are
our time in units of reading the same bytes once with the same threads."""
# What the README shows: work, our step that fits, our step that predicts, beside whom.
SHORT = [
    ("numbers", "fit", "predict_proba", "scikit-learn"),
    ("numbers20", "fit", "predict_proba", "scikit-learn"),
    ("numbers", "fit, histogram", "predict_proba, histogram", "scikit-learn"),
    ("categories", "fit", "predict_proba", "scikit-learn"),
    ("flags", "fit", "predict_proba", "scikit-learn"),
    ("counts", "fit", "predict_proba", "scikit-learn"),
    ("text_counts", "fit", "predict_proba", "scikit-learn"),
    ("command", "fit", "predict", "scikit-learn"),
    ("default", "fit", "predict_proba", "LightGBM"),
    ("stream", "learn", "score", "river"),
]


def report(whole: Result) -> str:
    """Machine, versions, date, command and all tables, as Markdown."""
    lines = compared(whole["results"])
    isa = _widest(lines)
    shown = [line for line in lines if line["isa"] == isa]
    parts = [
        f"{description(whole['machine'])}\n{whole['date']}, `{whole['command']}`",
        ", ".join(f"{name} {version}" for name, version in whole["versions"].items()),
        *(f"failed: {failure}" for failure in whole["failures"]),
        f"{LEGEND} Our kernels: {isa}.",
        full_table(shown),
    ]
    if table := instruction_set_table(lines):
        parts.append(f"Instruction sets: our time and its ratio to scikit-learn's.\n\n{table}")
    return "\n\n".join(parts)


def short_table(lines: Sequence[Result]) -> str:
    """A line for each kind of work: how fast we fit and predict, and beside whom."""
    found = {(line["work"], line["step"], line["peer"]): line for line in lines}
    rows = ["| work | rows x columns, classes | beside | fit | predict | passes |", "|---|---|---|---|---|---|"]
    for work, fit, predict, peer in SHORT:
        pair = [found[work, step, peer] for step in (fit, predict) if (work, step, peer) in found]
        if len(pair) < 2:
            continue
        what = WORKS[work].what + (", histograms" if fit.endswith("histogram") else "")
        size = f"{sizes(pair[0])}, {pair[0]['classes']}"
        cells = [f"{time_text(line['ours'])}, **{line['ratio']:.3g} x**" for line in pair]
        rows.append(f"| {what} | {size} | {peer} | {cells[0]} | {cells[1]} | {_passes(pair)} |")
    return "\n".join(rows) + "\n"


def _widest(lines: Sequence[Result]) -> str:
    """The widest instruction set that was measured."""
    measured = {line["isa"] for line in lines}
    return next((isa for isa in reversed(INSTRUCTION_SETS) if isa in measured), min(measured, default="none"))


def _passes(pair: Sequence[Result]) -> str:
    return " / ".join(f"{line['passes']:.{0 if line['passes'] >= 10 else 1}f}" for line in pair)


def record(whole: Result, root: Path = ROOT) -> None:
    """Write all that is recorded: what was measured with the widest instruction set and most threads is shown."""
    from bench.result_picture import picture

    folder, kind = root / RESULTS, kind_of(whole["machine"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{kind}.json").write_text(json.dumps(whole, indent=1) + "\n")
    (folder / f"{kind}.md").write_text(f"# {whole['machine']['processor']}\n\n{report(whole)}")
    lines = compared(whole["results"])
    most = max((line["threads"] for line in lines), default=1)
    isa = _widest(lines)
    shown = [line for line in lines if line["threads"] == most and line["isa"] == isa]
    threads = f"{most} thread{'s' if most > 1 else ''}"
    where = f"{whole['machine']['processor']}, {threads}, {isa}, {whole['date']}"
    picture(shown, root / "docs" / "speed.svg", f"tallybayes beside its peers: {where}")
    readme = root / "README.md"
    link = f"[all figures]({(RESULTS / kind).as_posix()}.md)"
    text = f"{PICTURE}\n\n{where}; `{whole['command']}`; {link}:\n\n{short_table(shown)}"
    readme.write_text(between_markers(readme.read_text(), text))


def between_markers(document: str, text: str) -> str:
    r"""The document with the text between its two markers.

    >>> between_markers(f"a\n{BEGIN}\nold\n{END}\nb\n", "new\n").splitlines()[2]
    'new'
    """
    before, found, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (found and end):
        raise ValueError(f"expected a document with {BEGIN} and {END}, got one without")
    return f"{before}{BEGIN}\n{text}{END}{after}"
