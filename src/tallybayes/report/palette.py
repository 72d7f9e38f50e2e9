"""Colours, dashes and data of the pictures; Altair, loaded when the first one is drawn.

Colours are those of Okabe and Ito, which people who confuse some colours can tell apart; lines also differ in their
dashes, so that a print in grey can be read. A class has its colour by its place among the classes, everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tallybayes.errors import UnsupportedError

__all__ = [
    "GREY",
    "HEIGHT",
    "PALETTE",
    "Chart",
    "altair",
    "colour_of",
    "colours",
    "dashes",
    "in_colour",
    "inline",
    "one_legend",
]

Chart = Any  # an altair.Chart or LayerChart

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#B5A900")
GREY = "#888888"
HEIGHT = 240  # pixels of a chart with two axes
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 4], [1, 3])


def altair() -> Any:
    """The module altair, or an error that says how to get it."""
    try:
        import altair as found
        import vl_convert  # noqa: F401  # it draws PNG and SVG, and holds the JavaScript of the page
    except ImportError as error:
        raise UnsupportedError(
            f"pictures need a package that is not installed ({error.name})", hint="pip install 'tallybayes[report]'"
        ) from error
    return found


def in_colour(names: Sequence[str], drawn: Sequence[str]) -> list[str]:
    """Classes in the order of their colours: as they come, but where there are too many those drawn first.

    >>> in_colour(["a", "b"], ["b"]), in_colour([*"abcdefgh"], ["h", "b"])[:3]
    (['a', 'b'], ['h', 'b', 'a'])
    """
    return list(names) if len(names) <= len(PALETTE) else list(dict.fromkeys([*drawn, *names]))


def colour_of(name: str, every: Sequence[str]) -> str:
    """The colour of a class, by its place among all; grey after the last colour."""
    place = list(every).index(name)
    return PALETTE[place] if place < len(PALETTE) else GREY


def colours(classes: Sequence[str], every: Sequence[str] | None = None) -> Any:
    """The colours of some classes among all of them."""
    picked = [colour_of(name, classes if every is None else every) for name in classes]
    return altair().Scale(domain=list(classes), range=picked)


def dashes(classes: Sequence[str], every: Sequence[str] | None = None) -> Any:
    """The dashes of lines, to be told apart without colour."""
    order = list(classes if every is None else every)
    picked = [list(_DASHES[order.index(name) % len(_DASHES)]) for name in classes]
    return altair().Scale(domain=list(classes), range=picked)


def inline(rows: Sequence[dict[str, Any]]) -> Any:
    """Rows as the data of a chart."""
    return altair().InlineData(values=list(rows))


def one_legend(layers: Chart) -> Chart:
    """The legend of the lines alone: shared ones would be left out where one of them is."""
    return layers.resolve_legend(fill="independent", stroke="independent", strokeDash="independent")
