"""Results as a table of text, and as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bench.systems import OURS
from bench.work import WORKS

__all__ = ["compared", "markdown", "picture"]

Result = dict[str, Any]


def compared(results: Iterable[Result]) -> list[Result]:
    """A line for every step of every peer: our seconds, theirs, the ratio, our memory and passes."""
    given = list(results)
    ours = {_place(own): own for own in given if own["system"] == OURS}
    lines = []
    for own in given:
        mine = ours.get(_place(own))
        if own["system"] == OURS or mine is None:
            continue
        lines.append(
            {
                "work": own["work"],
                "step": own["step"],
                "rows": own["rows"],
                "threads": own["threads"],
                "peer": own["system"],
                "ours": mine["seconds"],
                "theirs": own["seconds"],
                "ratio": own["seconds"] / mine["seconds"],
                "memory": (mine["memory"], own["memory"]),
                "passes": mine["seconds"] / mine["read"],
            }
        )
    return lines


def _place(result: Result) -> tuple[Any, ...]:
    return tuple(result[name] for name in ("work", "step", "rows", "classes", "columns", "threads"))


def markdown(lines: Sequence[Result]) -> str:
    """The comparison as a table of Markdown."""
    head = ["work", "step", "peer", "ours", "theirs", "ratio", "memory, ours / theirs", "passes"]
    rows = [head, ["---"] * len(head)]
    for line in lines:
        mine, theirs = line["memory"]
        rows.append(
            [
                WORKS[line["work"]].what + f", {line['rows']:,} rows",
                line["step"],
                line["peer"],
                _time(line["ours"]),
                _time(line["theirs"]),
                f"{line['ratio']:.1f} x",
                f"{mine:.0f} / {theirs:.0f} MB",
                f"{line['passes']:.1f}",
            ]
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def picture(lines: Sequence[Result], path: str) -> None:
    """Ratios on a log scale as an SVG file; needs the extra `report`."""
    import altair as alt

    rows = [
        {"what": f"{WORKS[line['work']].what}: {line['step']}", "peer": line["peer"], "ratio": line["ratio"]}
        for line in lines
    ]
    order = list(dict.fromkeys(row["what"] for row in rows))
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("what:N", sort=order, title=None, axis=alt.Axis(labelLimit=420)),
        x=alt.X("ratio:Q", scale=alt.Scale(type="log"), title="times as fast as the peer (log scale)"),
    )
    points = base.mark_point(filled=True, size=70).encode(color=alt.Color("peer:N", title=None), shape="peer:N")
    even = alt.Chart(alt.Data(values=[{"ratio": 1}])).mark_rule(strokeDash=[4, 4]).encode(x="ratio:Q")
    (even + points).properties(width=420).save(path)
