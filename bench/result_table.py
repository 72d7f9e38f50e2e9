"""Results as tables of Markdown: everything, and the instruction sets beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.system_process import Result
from bench.systems import OURS
from bench.work import WORKS

__all__ = ["compared", "full_table", "instruction_set_table", "named", "sizes", "time_text"]


def compared(results: Iterable[Result]) -> list[Result]:
    """A line for every step of ours and every peer that does the same: both times, the ratio, memory, our passes.

    Our histograms are compared with whatever density the peer has.
    """
    given = list(results)
    theirs: dict[tuple[object, ...], list[Result]] = {}
    for own in given:
        if own["system"] != OURS:
            theirs.setdefault(_place(own, own["step"]), []).append(own)
    return [
        {name: mine[name] for name in ("work", "step", "rows", "columns", "classes", "threads", "isa")}
        | {"peer": peer["system"], "ours": mine["seconds"], "theirs": peer["seconds"]}
        | {"ratio": peer["seconds"] / mine["seconds"], "passes": mine["seconds"] / mine["read"]}
        | {"memory": mine["memory"], "their memory": peer["memory"]}
        for mine in given
        if mine["system"] == OURS
        for peer in theirs.get(_place(mine, mine["step"].removesuffix(", histogram")), ())
    ]


def _place(result: Result, step: str) -> tuple[object, ...]:
    return step, *(result[name] for name in ("work", "rows", "columns", "classes", "threads"))


def named(line: Result) -> str:
    """What is compared in a line, in words."""
    threads = f"{line['threads']} thread{'s' if line['threads'] > 1 else ''}"
    size = f"{sizes(line)}, {line['classes']} classes"
    return f"{line['work']}, {line['step']}, {size}, {threads}, {line['isa']}, beside {line['peer']}"


def sizes(line: Result) -> str:
    """Rows and columns.

    >>> sizes({"rows": 1000, "columns": 20})
    '1,000 x 20'
    """
    return f"{line['rows']:,} x {line['columns']:,}"


def full_table(lines: Sequence[Result]) -> str:
    """One line for each work, step, number of threads and peer."""
    head = ["work", "rows x columns", "classes", "threads", "step", "peer", "ours", "theirs", "ratio"]
    head += ["memory, ours / theirs", "passes"]
    return _markdown(
        head,
        [
            [
                WORKS[line["work"]].what,
                sizes(line),
                f"{line['classes']:,}",
                str(line["threads"]),
                line["step"],
                line["peer"],
                time_text(line["ours"]),
                time_text(line["theirs"]),
                f"{line['ratio']:.1f} x",
                f"{_megabytes(line['memory'])} / {_megabytes(line['their memory'])} MB",
                f"{line['passes']:,.1f}",
            ]
            for line in lines
        ],
    )


def instruction_set_table(lines: Sequence[Result], peer: str = "scikit-learn") -> str:
    """Our time with each instruction set, and its ratio to a peer's; empty if there is one set only."""
    isas = list(dict.fromkeys(line["isa"] for line in lines))
    if len(isas) < 2:
        return ""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for line in (line for line in lines if line["peer"] == peer):
        place = WORKS[line["work"]].what, sizes(line), str(line["classes"]), str(line["threads"]), line["step"]
        found.setdefault(place, {})[line["isa"]] = f"{time_text(line['ours'])}, {line['ratio']:.1f} x"
    head = ["work", "rows x columns", "classes", "threads", "step", *isas]
    return _markdown(head, [[*place, *(by.get(isa, "-") for isa in isas)] for place, by in found.items()])


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def _megabytes(memory: float | None) -> str:
    return "-" if memory is None else f"{memory:.0f}"


def time_text(seconds: float) -> str:
    """A time for people.

    >>> time_text(0.0123), time_text(12.3)
    ('12.3 ms', '12.3 s')
    """
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
