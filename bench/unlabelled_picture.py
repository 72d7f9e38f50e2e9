"""Accuracy against the number of labelled documents, with and without unlabelled ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

__all__ = ["unlabelled_picture"]

PATH = Path(__file__).parents[1] / "docs" / "unlabelled.svg"
LINES = {"labelled documents alone": "alone", "and 10,000 without a label": "with"}
COLOURS = ["#d95f02", "#1f77b4"]


def unlabelled_picture(lines: Sequence[Mapping[str, Any]]) -> None:
    """Write docs/unlabelled.svg."""
    rows = [
        {"line": name, "labels": line["size"], "accuracy": round(line[fit], 4)}
        for name, fit in LINES.items()
        for line in lines
    ]
    sizes = sorted({row["labels"] for row in rows})
    x = alt.X("labels:Q", title="labelled documents").scale(type="log", domain=[sizes[0], sizes[-1]], nice=False)
    y = alt.Y("accuracy:Q", title="accuracy on the test documents").scale(domain=[0, 0.9], nice=False)
    colour = alt.Color("line:N", title=None, sort=[*LINES]).scale(domain=[*LINES], range=COLOURS)
    colour = colour.legend(orient="top-left", offset=12, labelLimit=300)
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=x.axis(values=sizes, format=",", gridColor="#eee"), y=y.axis(format=".1f", gridColor="#eee"), color=colour
    )
    chart = (base.mark_line() + base.mark_point(filled=True, size=36, opacity=1)).properties(width=420, height=260)
    chart.configure(background="white", padding=12).configure_view(stroke="#ddd").save(PATH)
