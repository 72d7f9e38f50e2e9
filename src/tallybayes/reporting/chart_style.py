"""Colours, dashes and data of the charts; Altair is imported with the first chart.

The colours are those of Okabe and Ito, which are distinguishable with colour vision deficiency. Lines also differ in
their dashes, for print in grey. A class has the same colour in every chart, by its position among the classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Any, ParamSpec

from tallybayes.errors import UnsupportedError
from tallybayes.reporting.column_chart_data import ColumnChartData

__all__ = [
    "GREY",
    "HEIGHT",
    "PALETTE",
    "Chart",
    "altair",
    "colour_of",
    "colour_order",
    "colours",
    "dashes",
    "draws",
    "filled_lines",
    "inline_data",
    "line_channels",
    "one_legend",
    "row_height",
    "without_line_ends",
]

Chart = Any  # altair.Chart or altair.LayerChart

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#B5A900")
GREY = "#888888"
HEIGHT = 240  # pixels of a chart with two axes
_PIXELS = 144  # of a picture in a notebook per inch: twice those of a screen
_LINE = 20  # characters of a line of a wrapped name, as in page.js
_LINE_ENDS = str.maketrans({"\u2028": "\u21b5", "\u2029": "\u00b6"})  # shown as ↵ and ¶
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 4], [1, 3])


def altair() -> Any:
    """The module altair, or an error with the command that installs it."""
    try:
        import altair as found
        import vl_convert  # noqa: F401  # renders PNG and SVG, and contains the JavaScript of the page
    except ImportError as error:
        raise UnsupportedError(
            f"charts need a package that is not installed ({error.name})", hint="pip install 'tallybayes[report]'"
        ) from error
    return found


P = ParamSpec("P")


def draws(chart: Callable[P, Chart]) -> Callable[P, Chart]:
    """Decorate a function that draws a chart: it needs no network, and U+2028 and U+2029 in arguments are replaced.

    Vega reads these separators as line ends within string literals and then draws nothing.
    """

    @wraps(chart)
    def drawn(*args: P.args, **options: P.kwargs) -> Chart:
        return _as_offline(chart(*without_line_ends(args), **without_line_ends(options)))

    return drawn


def _as_offline(chart: Chart) -> Chart:
    kind: Any = type(chart)
    object.__setattr__(chart, "__class__", _offline(kind))  # other attributes of a chart are its properties
    return chart


@cache
def _offline(kind: Any) -> Any:
    """A kind of chart that needs no network: a notebook shows it as a picture, and files of HTML contain their scripts.

    By default Altair's HTML loads its scripts from a server. A renderer that the user has enabled is used.
    """

    class OfflineChart(kind):  # type: ignore[misc]
        """A chart of Altair."""

        def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
            renderers = altair().renderers
            if renderers.active != "default":
                return super()._repr_mimebundle_(*args, **options)
            with renderers.enable("png", ppi=_PIXELS):  # not SVG, whose texts are cut where fonts are wider
                return super()._repr_mimebundle_(*args, **options)

        def save(self, fp: Any, format: Any = None, **options: Any) -> None:
            """Save the chart in a format, by default that of the name of the file."""
            if format == "html" or (format is None and str(fp).endswith(".html")):
                options = {"inline": True} | options
            super().save(fp, format, **options)

        def __add__(self, other: Any) -> Any:
            return _as_offline(super().__add__(other))

        def __and__(self, other: Any) -> Any:
            return _as_offline(super().__and__(other))

        def __or__(self, other: Any) -> Any:
            return _as_offline(super().__or__(other))

    OfflineChart.__name__ = OfflineChart.__qualname__ = kind.__name__
    return OfflineChart


def without_line_ends(value: Any) -> Any:
    """Values as they are drawn: U+2028 and U+2029 in texts are replaced."""
    if isinstance(value, str):
        return value.translate(_LINE_ENDS)
    if isinstance(value, (list, tuple)):
        return type(value)([without_line_ends(part) for part in value])
    if isinstance(value, dict):
        return {key: without_line_ends(part) for key, part in value.items()}
    if isinstance(value, ColumnChartData):
        return dataclasses.replace(value, **without_line_ends(vars(value)))
    return value


def colour_order(names: Sequence[str], drawn: Sequence[str]) -> list[str]:
    """Classes in the order of their colours: unchanged, or the drawn ones first if there are too many.

    >>> colour_order(["a", "b"], ["b"]), colour_order([*"abcdefgh"], ["h", "b"])[:3]
    (['a', 'b'], ['h', 'b', 'a'])
    """
    return list(names) if len(names) <= len(PALETTE) else list(dict.fromkeys([*drawn, *names]))


def colour_of(name: str, every: Sequence[str]) -> str:
    """The colour of a class by its position among all classes; grey after the last colour."""
    place = list(every).index(name)
    return PALETTE[place] if place < len(PALETTE) else GREY


def colours(classes: Sequence[str], every: Sequence[str] | None = None) -> Any:
    """The colour scale of some classes."""
    picked = [colour_of(name, classes if every is None else every) for name in classes]
    return altair().Scale(domain=list(classes), range=picked)  # other names, as of other classes, are set by page.js


def dashes(classes: Sequence[str], every: Sequence[str] | None = None) -> Any:
    """The dash scale of some classes, which distinguishes lines without colour."""
    order = list(classes if every is None else every)
    picked = [list(_DASHES[order.index(name) % len(_DASHES)]) for name in classes]
    return altair().Scale(domain=list(classes), range=picked)


def row_height(names: Sequence[str], least: int = 16) -> int:
    """The pixels of a row with a name beside it, which is wrapped on narrow screens (`page.js`).

    >>> row_height(["short"]), row_height(["a name that needs as much as two lines"])
    (16, 28)
    """
    return max(least, 14 * -(-max(map(len, names), default=0) // _LINE))


def inline_data(rows: Sequence[dict[str, Any]]) -> Any:
    """Rows as the data of a chart."""
    return altair().InlineData(values=list(rows))


def line_channels(classes: Sequence[str], every: Sequence[str] | None, title: str = "class", **more: Any) -> Any:
    """The colours and dashes of a line for each class."""
    alt = altair()
    return {
        "stroke": alt.Stroke("class:N", title=title, scale=colours(classes, every), **more),
        "strokeDash": alt.StrokeDash("class:N", title=title, scale=dashes(classes, every), **more),
    }


def filled_lines(
    base: Chart, classes: Sequence[str], every: Sequence[str] | None, interpolate: str, title: str = "class"
) -> Chart:
    """A line for each class, and the area below it."""
    line = base.mark_line(interpolate=interpolate, strokeWidth=2).encode(**line_channels(classes, every, title))
    fill = altair().Fill("class:N", scale=colours(classes, every), legend=None)
    area = base.mark_area(interpolate=interpolate, opacity=0.18).encode(fill=fill)
    return one_legend(altair().layer(area, line)).properties(height=HEIGHT)


def one_legend(layers: Chart) -> Chart:
    """Show the legend of the lines only: a shared legend would be hidden with that of the areas."""
    return layers.resolve_legend(fill="independent", stroke="independent", strokeDash="independent")
