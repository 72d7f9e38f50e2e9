"""A text with its most important words highlighted, for a terminal.

Evidence for the class is green, evidence against it red. The stronger the evidence, the stronger the colour; the
strongest words are followed by a number. The evidence of an n-gram is divided equally among its characters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallybayes.formatting import printable, signed

if TYPE_CHECKING:
    from tallybayes.families.predictive import TokenEvidence

__all__ = ["highlight_words"]

_SHOWN = 2000  # characters of a text; of a longer text, those around its strongest word
_SHADES = ((0.6, "bold white on {}"), (0.25, "bold {}"), (0.08, "{}"))  # least share of the strongest word, style
_NUMBERED = 0.25


def highlight_words(text: str, odds: list[tuple[TokenEvidence, float]], scale: float) -> Any:
    """The highlighted text for rich; `odds` are natural log odds, which `scale` converts to the printed unit."""
    import numpy as np
    from rich.text import Text

    adds = np.zeros(len(text) + 1)
    starts: dict[int, int] = {}  # start of a word -> end of the shortest word that starts there
    for word, value in odds:
        for start, stop in word.spans:
            adds[start:stop] += value / len(word.spans) / max(stop - start, 1)
            starts[start] = min(stop, starts.get(start, stop))
    totals = {start: float(adds[start:stop].sum()) for start, stop in starts.items()}
    strongest = max((abs(value) for value in totals.values()), default=0.0)
    first, last = _window(len(text), totals)
    result, at = Text("..." if first else ""), first
    for start in sorted(totals):
        stop, share = starts[start], abs(totals[start]) / strongest if strongest else 0.0
        if start < at or stop > last or not share:
            continue
        result.append(_visible(text[at:start]))
        colour = "green" if totals[start] > 0 else "red"
        style = next((style.format(colour) for least, style in _SHADES if share >= least), "")
        token = text[start:stop].rstrip()  # an n-gram of characters may end in white space
        result.append(_visible(token), style)
        if share >= _NUMBERED:
            result.append(signed(totals[start] * scale, 0), f"dim {colour}")
        result.append(_visible(text[start + len(token) : stop]))
        at = stop
    result.append(_visible(text[at:last]))
    return result.append("..." if last < len(text) else "")


def _window(size: int, totals: dict[int, float]) -> tuple[int, int]:
    """The part of a long text that is shown: around its strongest word."""
    if size <= _SHOWN or not totals:
        return 0, min(size, _SHOWN)
    middle = max(totals, key=lambda start: abs(totals[start]))
    first = min(max(middle - _SHOWN // 2, 0), size - _SHOWN)
    return first, first + _SHOWN


def _visible(text: str) -> str:
    return printable(text.replace("\r", "").replace("\t", " "), keep="\n")
