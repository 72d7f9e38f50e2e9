"""Charts of an evaluation from plain rows: confusion matrix, reliability, ROC, tuning, learning curves."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from tallybayes.reporting.chart_style import (
    GREY,
    HEIGHT,
    PALETTE,
    Chart,
    altair,
    colours,
    dashes,
    draws,
    filled_lines,
    inline_data,
    line_channels,
    one_legend,
    row_height,
)

__all__ = [
    "confusion",
    "gain",
    "learning_curves",
    "precision_recall",
    "reliability",
    "reliability_counts",
    "roc",
    "scores",
    "tuning",
]

_ACROSS = 18  # characters of class names that fit side by side on a phone
_SLANTED = 8  # classes up to which slanted names fit
_NUMBERED_CLASSES = 12  # classes up to which the cells of a confusion matrix show their numbers


@draws
def confusion(classes: Sequence[str], matrix: Sequence[Sequence[int]]) -> Chart:
    """The confusion matrix as a heat map: the number of rows in each cell, shaded by its share of the true class."""
    alt = altair()
    rows = [
        {"true": a, "predicted": b, "rows": int(n), "share": n / max(sum(line), 1)}
        for a, line in zip(classes, matrix, strict=True)
        for b, n in zip(classes, line, strict=True)
    ]
    angle = 0 if sum(map(len, classes)) <= _ACROSS else -45 if len(classes) <= _SLANTED else -90
    size = 12 if len(classes) <= _NUMBERED_CLASSES else 9
    base = alt.Chart(inline_data(rows)).encode(
        x=alt.X(
            "predicted:N",
            title="predicted",
            sort=list(classes),
            axis=alt.Axis(labelAngle=angle, labelOverlap=False, labelFontSize=size),
        ),
        y=alt.Y("true:N", title="true", sort=list(classes)),
        tooltip=["true:N", "predicted:N", "rows:Q", alt.Tooltip("share:Q", title="share of the class", format=".1%")],
    )
    cells = base.mark_rect().encode(
        color=alt.Color(
            "share:Q",
            title="share of the true class",
            legend=None,
            scale=alt.Scale(domain=[0, 1], range=["#f2f6fa", "#0072B2"]),
        )
    )
    height = row_height(classes, 44 if len(classes) <= 6 else 26) * len(classes)
    if len(classes) > _NUMBERED_CLASSES:
        return cells.properties(height=height)
    numbers = base.mark_text(fontSize=15 if len(classes) <= 6 else 11).encode(
        text=alt.Text("rows:Q", format=","),
        color=alt.condition("datum.share > 0.55", alt.value("#ffffff"), alt.value("#111111")),
    )
    return alt.layer(cells, numbers).properties(height=height)


@draws
def reliability(rows: Sequence[dict[str, Any]], classes: Sequence[str], every: Sequence[str] | None = None) -> Chart:
    """Observed share against predicted probability, from rows with `class`, `predicted`, `observed` and `rows`."""
    alt = altair()
    x, y = _unit_axes(predicted="predicted probability", observed="observed share")
    lines = _lines(rows, classes, every, x, y)
    circles = alt.Chart(inline_data(rows)).mark_circle(opacity=0.85, clip=True)
    points = circles.encode(
        x=x,
        y=y,
        fill=alt.Fill("class:N", scale=colours(classes, every), legend=None),
        size=alt.Size("rows:Q", legend=None, scale=alt.Scale(range=[20, 220])),
        tooltip=["class:N", *(alt.Tooltip(name, format=".3f") for name in ("predicted:Q", "observed:Q")), "rows:Q"],
    )
    return one_legend(alt.layer(_diagonal(x, y), lines, points)).properties(height=HEIGHT + 60)


@draws
def reliability_counts(
    rows: Sequence[dict[str, Any]], classes: Sequence[str], every: Sequence[str] | None = None
) -> Chart:
    """The number of rows in each bin of the reliability, from rows with `class`, `low`, `high` and `rows`."""
    alt = altair()
    bars = alt.Chart(inline_data(rows)).mark_bar(opacity=0.5, orient="vertical")
    return bars.encode(
        x=alt.X("low:Q", title="predicted probability", scale=alt.Scale(domain=[0, 1])),
        x2="high:Q",
        y=alt.Y("rows:Q", title="rows", stack=None, axis=alt.Axis(tickCount=3, format="~s")),
        color=alt.Color("class:N", scale=colours(classes, every), legend=None),
        tooltip=["class:N", "low:Q", "high:Q", "rows:Q"],
    ).properties(height=70)


@draws
def scores(rows: Sequence[dict[str, Any]], classes: Sequence[str], every: Sequence[str] | None = None) -> Chart:
    """Histograms of P(class), from rows with `class`, `low`, `high`, `share` and `rows`."""
    alt = altair()
    closed = [*rows, *({**row, "low": row["high"]} for row in rows if row["high"] == 1.0)]
    base = alt.Chart(inline_data(closed)).encode(
        x=alt.X("low:Q", title="predicted probability of the class", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("share:Q", title="share of the rows", stack=None, axis=alt.Axis(format="%")),
        tooltip=["class:N", "low:Q", "high:Q", "rows:Q", alt.Tooltip("share:Q", format=".1%")],
    )
    return filled_lines(base, classes, every, "step-after", title="rows of").properties(height=HEIGHT + 60)


@draws
def gain(rows: Sequence[dict[str, Any]], classes: Sequence[str], every: Sequence[str] | None = None) -> Chart:
    """The share of a class that is found among the most probable rows, from rows with `class`, `taken`, `found`."""
    x, y = _unit_axes(taken="share of all rows, most probable first", found="share of the class that is found")
    lines = _lines(rows, classes, every, x, y, ("lift",))
    return altair().layer(_diagonal(x, y), lines).properties(height=HEIGHT + 60)


def _unit_axes(**titles: str) -> tuple[Any, Any]:
    """The axes of two numbers from 0 to 1, x and y: the name of each, and its title."""
    alt = altair()
    (x, y), unit = titles.items(), alt.Scale(domain=[0, 1])
    return alt.X(f"{x[0]}:Q", title=x[1], scale=unit), alt.Y(f"{y[0]}:Q", title=y[1], scale=unit)


def _diagonal(x: Any, y: Any) -> Chart:
    names = [axis.shorthand.partition(":")[0] for axis in (x, y)]
    ends = [dict.fromkeys(names, value) for value in (0, 1)]
    return altair().Chart(inline_data(ends)).mark_line(color=GREY, strokeDash=[3, 3], strokeWidth=1).encode(x=x, y=y)


@draws
def roc(
    rows: Sequence[dict[str, Any]],
    classes: Sequence[str],
    every: Sequence[str] | None = None,
    *,
    auc: dict[str, float] | None = None,
) -> Chart:
    """True against false positive rate for every threshold in order, from rows with `class`, `fpr` and `tpr`.

    auc: the area under the curve of each class, for the legend.
    """
    x, y = _unit_axes(fpr="false positive rate", tpr="true positive rate (recall)")
    words = None if auc is None else {name: f"{name} (AUC {area:.3f})" for name, area in auc.items()}
    lines = _lines(rows, classes, every, x, y, legend=words)
    return altair().layer(_diagonal(x, y), lines).properties(height=HEIGHT + 60)


@draws
def precision_recall(
    rows: Sequence[dict[str, Any]],
    classes: Sequence[str],
    every: Sequence[str] | None = None,
    *,
    shares: dict[str, float] | None = None,
) -> Chart:
    """Precision against recall for every threshold, from rows with `class`, `recall` and `precision`.

    shares: of each class in the rows, the precision of answers at random, for a dotted line.
    """
    alt = altair()
    x, y = _unit_axes(recall="recall", precision="precision")
    lines = _lines(rows, classes, every, x, y)
    if not shares:
        return lines.properties(height=HEIGHT + 60)
    levels = [{"class": name, "share": share} for name, share in shares.items()]
    rules = alt.Chart(inline_data(levels)).mark_rule(strokeDash=[2, 4], strokeWidth=1.5)
    rules = rules.encode(
        y=alt.Y("share:Q", title="precision"),
        color=alt.Color("class:N", scale=colours(classes, every), legend=None),
        tooltip=["class:N", alt.Tooltip("share:Q", title="share of the rows", format=".3f")],
    )
    return one_legend(alt.layer(lines, rules)).properties(height=HEIGHT + 60)


@draws
def tuning(rows: Sequence[dict[str, Any]]) -> Chart:
    """The log loss for every evaluated k, from rows with `k` and `log_loss`; the best one is marked."""
    alt = altair()
    shown = [{"x": row["k"], "y": row["log_loss"]} for row in rows if math.isfinite(row["k"] + row["log_loss"])]
    best = min(shown, key=lambda row: float(row["y"]))
    scale = alt.Scale(type="log" if all(row["x"] > 0 for row in shown) else "symlog", nice=False)
    base = alt.Chart(inline_data(shown)).encode(
        x=alt.X("x:Q", title="k", scale=scale),
        y=alt.Y("y:Q", title="log loss", scale=alt.Scale(zero=False)),
        tooltip=[alt.Tooltip("x:Q", title="k"), alt.Tooltip("y:Q", title="log loss", format=".4f")],
    )
    mark = alt.Chart(inline_data([best])).mark_point(size=140, color=PALETTE[1], strokeWidth=3)
    mark = mark.encode(x="x:Q", y="y:Q")
    return alt.layer(base.mark_line(color=PALETTE[0], point=True), mark).properties(height=HEIGHT)


@draws
def learning_curves(rows: Sequence[dict[str, Any]], what: str = "log loss") -> Chart:
    """A measure against the number of training rows by model, from rows with `model`, `rows` and `value`."""
    alt = altair()
    names = list(dict.fromkeys(str(row["model"]) for row in rows))
    lines = alt.Chart(inline_data(rows)).mark_line(point=True).properties(height=HEIGHT)
    return lines.encode(
        x=alt.X("rows:Q", title="training rows", scale=alt.Scale(type="log", nice=False)),
        y=alt.Y("value:Q", title=what, scale=alt.Scale(zero=False)),
        color=alt.Color("model:N", title="model", scale=colours(names)),
        strokeDash=alt.StrokeDash("model:N", title="model", scale=dashes(names)),
        tooltip=["model:N", "rows:Q", alt.Tooltip("value:Q", title=what, format=".4f")],
    )


def _lines(
    rows: Sequence[dict[str, Any]],
    classes: Sequence[str],
    every: Sequence[str] | None,
    x: Any,
    y: Any,
    more: Sequence[str] = (),
    legend: dict[str, str] | None = None,
) -> Chart:
    """A line for each class; more: numbers that are shown when pointing at it; legend: other words for the classes."""
    alt = altair()
    lines = alt.Chart(inline_data(rows)).mark_line(interpolate="linear", clip=True)
    worded = {} if legend is None else {"legend": alt.Legend(labelExpr=f"({json.dumps(legend)})[datum.label]")}
    return lines.encode(
        x=x,
        y=y,
        order=alt.Order("step:Q"),
        **line_channels(classes, every, **worded),
        tooltip=[
            alt.Tooltip("class:N"),
            *(alt.Tooltip(axis.shorthand, format=".3f") for axis in (x, y)),
            *(alt.Tooltip(f"{name}:Q", format=".2f") for name in more),
        ],
    )
