"""The picture of the README: how many times as fast as each peer, on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import altair as alt

from bench.result_table import sizes
from bench.system_process import Result
from bench.systems import OURS, SYSTEMS
from bench.work import WORKS

__all__ = ["picture"]

# One for each peer, so that a peer has the same colour in every run; apart for colour-blind readers by shape, too.
COLOURS = ["#1f77b4", "#d95f02", "#2ca02c", "#8c564b", "#e377c2", "#7f7f7f", "#9467bd", "#bcbd22", "#17becf", "#d62728"]
STAR = "M0,-1L.25,-.3L1,-.3L.4,.15L.6,.9L0,.45L-.6,.9L-.4,.15L-1,-.3L-.25,-.3Z"
BOW = "M-.8,-.8L.8,-.8L-.8,.8L.8,.8Z"
SHAPES = [
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
    STAR,
    BOW,
]


def picture(lines: Sequence[Result], path: Path, title: str) -> None:
    """Draw the ratios as an SVG file, opaque, so that it can be read on a light and on a dark page."""
    rows = [
        {"what": _what(line), "peer": line["peer"], "ratio": float(f"{line['ratio']:.3g}"), "even": 1} for line in lines
    ]
    ratios = [row["ratio"] for row in rows]
    order = list(dict.fromkeys(row["what"] for row in rows))
    peers = [name for name in SYSTEMS if name != OURS]
    shown = [index for index, name in enumerate(peers) if any(row["peer"] == name for row in rows)]
    domain = [peers[index] for index in shown]
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("what:N", sort=order, title=None).axis(labelLimit=500, grid=True, gridColor="#eee", ticks=False),
        x=alt.X("ratio:Q", title="times as fast as the peer (log scale; right of the line we are faster)")
        .scale(type="log", nice=False, domain=[min(0.5, *ratios) / 1.3, max(2, *ratios) * 1.3])
        .axis(values=[10.0**i for i in range(-6, 7)], gridColor="#ddd", format="~g"),
    )
    points = base.mark_point(filled=True, size=70, opacity=0.9).encode(
        color=alt.Color("peer:N", title="beside").scale(domain=domain, range=[COLOURS[i] for i in shown]),
        shape=alt.Shape("peer:N", title="beside").scale(domain=domain, range=[SHAPES[i] for i in shown]),
    )
    even = base.mark_rule(color="#444", size=1.5).encode(x="even:Q", y=alt.Y())
    chart = (even + points).properties(
        width=430, height=alt.Step(17), title=alt.Title(title, fontSize=12, anchor="start")
    )
    # On the left there is room for a browser whose letters are wider.
    chart.configure(background="white", padding={"left": 60, "top": 12, "right": 12, "bottom": 12}).configure_view(
        stroke=None
    ).save(path)


def _what(line: Result) -> str:
    return f"{WORKS[line['work']].what}, {sizes(line)}, {line['classes']} classes: {line['step']}"
