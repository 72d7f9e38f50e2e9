"""How the pictures of the lecture pages are drawn: rows of numbers, and marks for them."""

import altair as alt
import numpy as np

__all__ = ["BLUE", "GREEN", "GREY", "ORANGE", "RED", "Rows", "at", "balls", "by_strength", "curve", "lines"]

BLUE, ORANGE, GREEN, GREY, RED = "#4c78a8", "#e4821b", "#54a24b", "#9a9a9a", "#c43b3b"
Rows = list[dict[str, object]]


def curve(x: np.ndarray, y: np.ndarray, **more: object) -> Rows:
    """Points of a curve as rows, short enough for a small file."""
    return [{"x": float(f"{a:.5g}"), "y": float(f"{b:.5g}"), **more} for a, b in zip(x, y, strict=True)]


def lines(rows: Rows, x: str, y: str, *, color: str = "what", width: int = 420, height: int = 230) -> alt.Chart:
    """One line per value of `color`, in the order in which they come."""
    names = list(dict.fromkeys(row[color] for row in rows))
    scale = alt.Scale(domain=names, range=[BLUE, ORANGE, GREEN, RED][: len(names)])
    legend = None if len(names) == 1 else alt.Legend(title=None, orient="top", labelLimit=320)
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line()
        .encode(
            alt.X("x:Q", title=x),
            alt.Y("y:Q", title=y).scale(zero=False),
            alt.Color(f"{color}:N", scale=scale, legend=legend),
        )
        .properties(width=width, height=height)
    )


def by_strength(title: str = "strength k") -> alt.X:
    """A logarithmic axis with a tick for every power of ten."""
    axis = alt.Axis(values=[10.0**i for i in range(-4, 5)], grid=False)
    return alt.X("x:Q", title=title, axis=axis).scale(type="log", nice=False)


def at(rows: Rows, mark: str, *, size: int = 40, color: str = "black", **options: object) -> alt.Chart:
    """Marks at x and y, plain ones."""
    chart = alt.Chart(alt.Data(values=rows))
    return getattr(chart, f"mark_{mark}")(size=size, color=color, **options).encode(x="x:Q", y="y:Q")


def balls(rows: Rows, *, width: int, height: int, size: int) -> alt.Chart:
    """Balls in a box of width 1."""
    top = height / width
    color = alt.Color("color:N", scale=None)
    plane = {"x": alt.X("x:Q", axis=None).scale(domain=[0, 1]), "y": alt.Y("y:Q", axis=None).scale(domain=[0, top])}
    chart = alt.Chart(alt.Data(values=rows)).mark_circle(size=size, opacity=1).encode(color=color, **plane)
    return chart.properties(width=width, height=height)
