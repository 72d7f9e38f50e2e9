"""Results for people: their texts and tables as plain text, as HTML for notebooks, and as pandas data frames.

A result is a list of parts, each a text or a `TextGrid`; text and HTML are made from the same parts, so they have the
same facts. The HTML has no scripts and no colours of its own but those of bars: text and lines take those of the
notebook, in light and dark mode, and every bar stands beside its number.

>>> grid = TextGrid(["name", "n"], [["a", "10"], ["b", "7"]], title="letters")
>>> print(text_view(["two letters", grid]))
two letters
<BLANKLINE>
letters
name    n
a      10
b       7
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tallybayes.errors import UnsupportedError
from tallybayes.formatting import is_numeric_text, printable, text_table
from tallybayes.html_element import Markup, tag

__all__ = ["ResultView", "TextGrid", "data_frame", "html_view", "text_view"]

_ROWS = 200  # of a table in a notebook; more make the page slow
_BAR = 7.0  # em of the longest bar
_LINE = "1px solid rgba(128,128,128,.35)"
_FOR, _AGAINST = "#0072B2", "#D55E00"  # of Okabe and Ito, as in the charts
_CELL = f"padding:.15em .7em;border:0;border-bottom:{_LINE};vertical-align:top;"
_BOX = "overflow-x:auto;max-width:100%;margin:.4em 0;"
_TABLE = "border-collapse:collapse;border:0;margin:0;color:inherit;background:transparent;"


@dataclass(frozen=True)
class TextGrid:
    """A table of texts with an optional title and foot; `bar`: the column whose numbers are also bars in HTML."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    foot: str = ""
    bar: int | None = None

    def __str__(self) -> str:
        return "\n".join(part for part in (self.title, text_table(self.header, self.rows), self.foot) if part)

    def to_html(self) -> Markup:
        """The table as HTML; of a long one the first rows."""
        shown = self.rows[:_ROWS]
        right = [bool(shown) and all(is_numeric_text(row[i]) for row in shown) for i in range(len(self.header))]
        bars = [] if self.bar is None else _bars([row[self.bar] for row in shown])
        head = [
            tag("th", printable(name), scope="col", style=_CELL + _align(to_right=to_right))
            for name, to_right in zip(self.header, right, strict=True)
        ]
        body = [
            tag(
                "tr",
                *(
                    tag("td", printable(cell), style=_CELL + _align(to_right=to_right))
                    for cell, to_right in zip(row, right, strict=True)
                ),
                *([tag("td", bars[i], style=_CELL)] if bars else []),
                style="background:transparent;",
            )
            for i, row in enumerate(shown)
        ]
        if bars:
            head.append(tag("td", style=_CELL))
        table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body), style=_TABLE)
        n_more = len(self.rows) - len(shown)
        more = [tag("div", f"... {n_more:,} more rows: print it, or use to_frame()")] if n_more else []
        more += [_text(self.foot)] if self.foot else []
        title = [_text(self.title)] if self.title else []
        return tag("div", *title, tag("div", table, style=_BOX), *more)


Part = str | TextGrid


class ResultView(ABC):
    """A result that is printed, and shown in notebooks, from its parts; a subclass has `_parts` and a heading."""

    _heading: ClassVar[str] = ""  # in notebooks only

    @abstractmethod
    def _parts(self) -> list[Part]:
        """What the result says."""

    def __str__(self) -> str:
        return text_view(self._parts())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_view(self._heading, self._parts())


def text_view(parts: Sequence[Part]) -> str:
    """The parts as text, with an empty line between them."""
    return "\n\n".join(map(str, parts))


def html_view(title: str, parts: Sequence[Part]) -> str:
    """The parts as HTML for a notebook: escaped, without scripts, in the colours of the notebook.

    >>> html_view("A < B", ["one line"])
    '<div><div><strong>A &lt; B</strong></div><div>one line</div></div>'
    """
    inside = [part.to_html() if isinstance(part, TextGrid) else _text(part) for part in parts]
    head = [tag("div", tag("strong", printable(title)))] if title else []
    return str(tag("div", *head, *inside))


def data_frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> Any:
    """The rows of a table as a pandas DataFrame; `columns` names them if there are no rows."""
    try:
        import pandas as pd
    except ImportError as error:
        raise UnsupportedError("to_frame needs pandas, which is not installed", hint="pip install pandas") from error
    return pd.DataFrame(list(rows), columns=None if columns is None else list(columns))


def _text(text: str) -> Markup:
    """A line of text, or several as they are aligned."""
    if "\n" not in text:
        return tag("div", printable(text))
    style = "color:inherit;background:transparent;border:0;padding:0;margin:.4em 0;overflow-x:auto;"
    return tag("pre", printable(text, keep="\n"), style=style)


def _align(*, to_right: bool) -> str:
    return "text-align:right;white-space:nowrap;" if to_right else "text-align:left;"


def _bars(cells: Sequence[str]) -> list[Markup]:
    """A bar for every number, from a common zero; those below zero to the left of it."""
    values = [_number(cell) for cell in cells]
    most = max(map(abs, values), default=0.0) or 1.0
    space = _BAR * max(0.0, -min(values, default=0.0)) / most
    bars = []
    for value in values:
        width, colour = _BAR * abs(value) / most, _FOR if value >= 0 else _AGAINST
        left = space - width if value < 0 else space
        style = f"display:inline-block;height:.7em;margin-left:{left:.2f}em;width:{width:.2f}em;background:{colour};"
        bars.append(tag("span", style=style, aria_hidden="true"))
    return bars


def _number(cell: str) -> float:
    """A cell as a finite number; 0 for any other text."""
    try:
        value = float(cell.rstrip(" %").replace(",", ""))
    except ValueError:
        return 0.0
    return value if abs(value) < 1e300 else 0.0  # an infinite contribution has no length
