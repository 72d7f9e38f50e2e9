"""Small multiples of cost against rows, columns and classes, on logarithmic scales."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import altair as alt

from bench.system_process import Result
from bench.systems import OURS
from bench.work import WORKS

__all__ = ["growth_picture"]

OUR_COLOUR, THEIR_COLOUR = "#1f77b4", "#d95f02"
WIDTH, HEIGHT = 210, 130
GAP = 11  # pixels, between two labels at the same height


def growth_picture(lines: Sequence[Result], caption: Sequence[str], path: Path) -> None:
    """A panel for each work, step and axis: seconds by size, each line labelled with its system and slope."""
    panels: dict[tuple[str, str], list[alt.LayerChart]] = {}
    for work, step, axis in dict.fromkeys((line["work"], line["step"], line["axis"]) for line in lines):
        own = [line for line in lines if (line["work"], line["step"], line["axis"]) == (work, step, axis)]
        panels.setdefault((work, step), []).append(_panel(own, f"{WORKS[work].what}: {step}", axis))
    grid = alt.vconcat(*(alt.hconcat(*row, spacing=24) for row in panels.values()), spacing=14)
    chart = grid.properties(
        title=alt.Title(_wrapped(caption), anchor="start", fontSize=10, fontWeight="normal", offset=10)
    )
    chart.configure(background="white", padding=12).configure_view(stroke="#ddd").save(path)


def _panel(lines: Sequence[Result], title: str, axis: str) -> alt.LayerChart:
    rows = [
        {"system": line["system"], "size": size, "seconds": float(f"{took:.4g}")}
        for line in lines
        for size, took in zip(line["sizes"], line["seconds"], strict=True)
    ]
    sizes, seconds = ([row[name] for row in rows] for name in ("size", "seconds"))
    x = alt.X("size:Q", title=axis).scale(type="log", domain=[min(sizes), max(sizes)], nice=False)
    x = x.axis(values=_ticks(sizes), format="~s", gridColor="#eee")
    y = alt.Y("seconds:Q", title="seconds").scale(
        type="log", domain=[min(seconds) / 1.5, max(seconds) * 1.5], nice=False
    )
    y = y.axis(values=_ticks(seconds), format="~g", gridColor="#eee", minExtent=44)
    colour = alt.Color("system:N", legend=None).scale(
        domain=[OURS, *{line["system"] for line in lines} - {OURS}], range=[OUR_COLOUR, THEIR_COLOUR]
    )
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, color=colour)
    layers = [base.mark_line(), base.mark_point(filled=True, size=22, opacity=1)]
    ends = sorted(lines, key=lambda line: -line["seconds"][-1])
    for place, line in enumerate(ends):
        label = {"system": line["system"], "size": line["sizes"][-1], "seconds": line["seconds"][-1]}
        label["text"] = f"{line['system']} {line['slope']:.2f}"
        inside = line["sizes"][-1] < max(sizes)  # a line that ends early is labelled before its end, above it
        where = (
            {"align": "right", "dx": -6, "dy": -7} if inside else {"align": "left", "dx": 6, "dy": GAP * (place - 0.5)}
        )
        text = alt.Chart(alt.Data(values=[label])).mark_text(fontSize=10, **where)
        layers.append(text.encode(x=x, y=y, color=colour, text="text:N"))
    return alt.layer(*layers).properties(
        width=WIDTH, height=HEIGHT, title=alt.Title(title, fontSize=11, anchor="start")
    )


def _ticks(values: Sequence[float]) -> list[float]:
    """The powers of ten in the range of the values; with twos and fives where there are fewer than two."""
    within = [
        [f * 10.0**i for i in range(-7, 9) for f in factors if min(values) / 1.5 <= f * 10.0**i <= max(values) * 1.5]
        for factors in ((1,), (1, 2, 5))
    ]
    return next((ticks for ticks in within if len(ticks) > 1), within[-1])


def _wrapped(caption: Sequence[str], width: int = 150) -> list[str]:
    return [line for text in caption for line in textwrap.wrap(text, width)]
