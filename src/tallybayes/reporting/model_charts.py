"""Charts of a model from plain rows: class prior, columns, importance, evidence, decision boundary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tallybayes.reporting.chart_style import (
    GREY,
    PALETTE,
    Chart,
    altair,
    colours,
    draws,
    filled_lines,
    inline_data,
    row_height,
)
from tallybayes.reporting.column_chart_data import ColumnChartData

__all__ = ["boundary", "class_prior", "column_chart", "evidence", "importance"]

_FOR, _AGAINST = PALETTE[:2]
_GROUPED = 10_000  # from which numbers at an axis have separators of thousands


@draws
def class_prior(rows: Sequence[dict[str, Any]], every: Sequence[str] | None = None) -> Chart:
    """Bars of P(class), from rows with `class` and `p`."""
    alt = altair()
    names = [row["class"] for row in rows]
    return _bars(
        rows,
        height=row_height(names, 24),
        x=alt.X("p:Q", title="P(class)", scale=alt.Scale(domainMin=0)),
        y=alt.Y("class:N", title=None, sort=names),
        color=alt.Color("class:N", scale=colours(names, every), legend=None),
        tooltip=["class:N", alt.Tooltip("p:Q", format=".4f")],
    )


def _bars(rows: Sequence[dict[str, Any]], *, height: int, **channels: Any) -> Chart:
    """Horizontal bars; `height`: pixels of each name."""
    step = altair().Step(height, **{"for": "position"})
    return altair().Chart(inline_data(rows)).mark_bar().encode(**channels).properties(height=step)


@draws
def importance(rows: Sequence[dict[str, Any]], what: str = "nats per row") -> Chart:
    """Bars of the importance of columns, from rows with `column`, `importance` and optionally `kind`."""
    alt = altair()
    names, kinds = (list(dict.fromkeys(row[key] for row in rows if key in row)) for key in ("column", "kind"))
    by_kind = {}
    if kinds:
        shades = alt.Scale(domain=kinds, range=[PALETTE[0], GREY])
        by_kind["yOffset"] = alt.YOffset("kind:N", sort=kinds)
        by_kind["color"] = alt.Color("kind:N", title=None, scale=shades)
    chart = _bars(
        rows,
        height=row_height(names, 24 if kinds else 18),
        x=alt.X("importance:Q", title=what),
        y=alt.Y("column:N", title=None, sort=names),
        tooltip=["column:N", *(["kind:N"] if kinds else []), alt.Tooltip("importance:Q", title=what, format=".4f")],
        **by_kind,
    )
    return chart.mark_bar(color=PALETTE[0])


@draws
def column_chart(chart: ColumnChartData, every: Sequence[str] | None = None, *, titled: bool = True) -> Chart:
    """A column in every class: densities, bars or words; `titled`: with the name of the column at an axis."""
    if chart.kind == "values":
        return _values(chart, every, chart.column if titled else None)
    return {"steps": _steps, "curve": _curve, "words": _words}[chart.kind](chart, every)


def _steps(chart: ColumnChartData, every: Sequence[str] | None) -> Chart:
    alt = altair()
    closed = [*chart.rows]
    for series in dict.fromkeys((row["class"], row.get("of")) for row in chart.rows):  # the right edge of the last step
        last = [row for row in chart.rows if (row["class"], row.get("of")) == series][-1]
        closed.append({**last, "x": last["x2"]})
    scale = alt.Scale(zero=False, nice=False)
    whole = all((row["x"] - 0.5).is_integer() for row in chart.rows)  # bins around integers
    axis = alt.Axis(tickMinStep=1, **_number_format(chart)) if whole else alt.Axis(**_number_format(chart))
    if chart.constant is not None:
        scale = alt.Scale(type="symlog", constant=chart.constant, zero=False, nice=False)
        axis = alt.Axis(values=list(chart.ticks), format=",.6~g")
    base = alt.Chart(inline_data(closed)).encode(
        x=_date_axis(chart) if chart.is_date else alt.X("x:Q", title=chart.column, scale=scale, axis=axis),
        y=alt.Y("p:Q", title=chart.what, stack=None),
        tooltip=[
            "class:N",
            *_place_tooltips(chart, {"x": "from", "x2": "to"}),
            alt.Tooltip("p:Q", title=chart.what, format=".4f"),
        ],
    )
    return filled_lines(base, chart.classes, every, "step-after")


def _number_format(chart: ColumnChartData) -> dict[str, str]:
    """The format of numbers at an axis: without separators of thousands if all are below 10,000, as years are."""
    return {"format": "f"} if all(abs(row["x"]) < _GROUPED for row in chart.rows) else {}


def _date_axis(chart: ColumnChartData) -> Any:
    """An axis of dates; in UTC, because dates have no time zone of the one who looks at them."""
    return altair().X("x:T", title=chart.column.removesuffix(".elapsed"), scale=altair().Scale(type="utc", nice=False))


def _place_tooltips(chart: ColumnChartData, titles: dict[str, str]) -> list[Any]:
    """What is shown of numbers or dates beside the pointer, by field."""
    alt = altair()
    if not chart.is_date:
        return [alt.Tooltip(f"{field}:Q", title=title) for field, title in titles.items()]
    as_text = "utcyearmonthdatehoursminutes"
    return [alt.Tooltip(field, type="temporal", timeUnit=as_text, title=title) for field, title in titles.items()]


def _curve(chart: ColumnChartData, every: Sequence[str] | None) -> Chart:
    alt = altair()
    base = alt.Chart(inline_data(chart.rows)).encode(
        x=_date_axis(chart)
        if chart.is_date
        else alt.X(
            "x:Q", title=chart.column, scale=alt.Scale(zero=False, nice=False), axis=alt.Axis(**_number_format(chart))
        ),
        y=alt.Y("p:Q", title=chart.what, stack=None),
        tooltip=[
            "class:N",
            *_place_tooltips(chart, {"x": "value"}),
            alt.Tooltip("p:Q", title=chart.what, format=".4g"),
        ],
    )
    return filled_lines(base, chart.classes, every, "linear" if chart.what == "density" else "step")


def _values(chart: ColumnChartData, every: Sequence[str] | None, title: str | None) -> Chart:
    alt = altair()
    order = list(dict.fromkeys(row["value"] for row in chart.rows))
    n_classes = min(len(chart.classes), len(PALETTE))
    return _bars(
        chart.rows,
        height=max(row_height(order), (12 if n_classes <= 3 else 8) * n_classes),
        x=alt.X(
            "p:Q", title=chart.what, scale=alt.Scale() if chart.what.startswith("log odds") else alt.Scale(domainMin=0)
        ),
        y=alt.Y("value:N", title=title, sort=order),
        yOffset=alt.YOffset("class:N", sort=chart.classes),
        color=alt.Color("class:N", title="class", scale=colours(chart.classes, every)),
        tooltip=["value:N", "class:N", alt.Tooltip("p:Q", title=chart.what, format=".4f")],
    )


def _words(chart: ColumnChartData, every: Sequence[str] | None) -> Chart:
    alt = altair()
    return _bars(
        chart.rows,
        height=row_height([row["word"] for row in chart.rows], 18),
        x=alt.X("lead:Q", title=chart.what),
        y=alt.Y("word:N", title=None, sort=list(dict.fromkeys(row["word"] for row in chart.rows))),
        color=alt.Color("class:N", title="evidence for", scale=colours(chart.classes, every)),
        tooltip=["word:N", "class:N", alt.Tooltip("lead:Q", title=chart.what, format=".2f")],
    )


@draws
def evidence(rows: Sequence[dict[str, Any]], positive: str, against: str) -> Chart:
    """Bars of the evidence of every column in decibans, from rows with `column`, `value` and `decibans`."""
    alt = altair()
    return _bars(
        rows,
        height=row_height([row["column"] for row in rows], 22),
        x=alt.X("decibans:Q", title=f"decibans for {positive} against {against}"),
        y=alt.Y("column:N", title=None, sort=[row["column"] for row in rows]),
        color=alt.condition("datum.decibans >= 0", alt.value(_FOR), alt.value(_AGAINST)),
        tooltip=["column:N", "value:N", alt.Tooltip("decibans:Q", format="+.1f")],
    )


@draws
def boundary(
    cells: Sequence[dict[str, Any]],
    points: Sequence[dict[str, Any]],
    means: Sequence[dict[str, Any]],
    *,
    x: str,
    y: str,
    classes: Sequence[str],
) -> Chart:
    """The most probable class on a grid, the rows as dots, and the mean of each class as a cross.

    cells: `x`, `x2`, `y`, `y2`, `class` and its probability `p`; points and means: `x`, `y`, `class`.
    """
    alt = altair()
    colour = alt.Color("class:N", title="class", scale=colours(classes))
    plain = alt.Scale(zero=False, nice=False)
    across, up = alt.X("x:Q", title=x, scale=plain), alt.Y("y:Q", title=y, scale=plain)
    ground = alt.Chart(inline_data(cells)).mark_rect(strokeWidth=0)
    ground = ground.encode(
        x=across,
        x2="x2:Q",
        y=up,
        y2="y2:Q",
        color=colour,
        opacity=alt.Opacity("p:Q", legend=None, scale=alt.Scale(domain=[0.3, 1], range=[0.05, 0.4], clamp=True)),
        tooltip=["class:N", alt.Tooltip("p:Q", title="probability", format=".3f")],
    )

    def marks(rows: Sequence[dict[str, Any]], **style: Any) -> Chart:
        chart = alt.Chart(inline_data(rows)).mark_point(filled=True, stroke="#ffffff", **style)
        return chart.encode(x=across, y=up, color=colour, tooltip=["class:N", "x:Q", "y:Q"])

    dots = marks(points, size=28, strokeWidth=0.6, opacity=0.9)
    crosses = marks(means, shape="cross", size=260, strokeWidth=1.5, opacity=1)
    return alt.layer(ground, dots, crosses).properties(width=420, height=360)
