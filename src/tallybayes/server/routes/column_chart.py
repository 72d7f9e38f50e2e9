"""Larger charts of columns, drawn by Vega as in the report; with the packages of the extra `report` only."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

from tallybayes import plot
from tallybayes.model import Model
from tallybayes.reporting.chart_style import altair

__all__ = ["chart_script", "column_chart_spec", "has_charts"]

_HEIGHT = 320  # pixels


def has_charts() -> bool:
    """Whether the packages that draw charts are installed."""
    return all(find_spec(name) is not None for name in ("altair", "vl_convert"))


def column_chart_spec(model: Model, column: str) -> dict[str, Any]:
    """The distribution of a column in each class as a specification of Vega-Lite, as wide as its container."""
    altair()
    chart = plot.densities(model, column)
    spec: dict[str, Any] = chart.properties(width="container").to_dict()
    spec["height"] = _height(spec)
    for part in ("config", "$schema"):
        spec.pop(part, None)
    return spec | {"$schema": "https://vega.github.io/schema/vega-lite/v6.json"}


def _height(spec: dict[str, Any]) -> int:
    """The height of a chart in pixels; by its rows if it has one for each value."""
    step = spec["height"].get("step") if isinstance(spec.get("height"), dict) else None
    if step is None:
        return _HEIGHT
    field, rows = spec["encoding"]["y"]["field"], spec["datasets"][spec["data"]["name"]]
    return int(step) * max(len({row[field] for row in rows}), 2)


@cache
def chart_script() -> bytes:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    altair()
    import vl_convert

    library: Any = vl_convert  # its types want a snippet, without which the whole bundle is meant
    return str(library.javascript_bundle()).encode()
