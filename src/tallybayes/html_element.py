"""HTML elements from Python values, with escaping.

>>> str(tag("td", "a < b", title='"quoted"'))
'<td title="&quot;quoted&quot;">a &lt; b</td>'
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from tallybayes.formatting import finite_json, number, shown

__all__ = ["Markup", "as_json", "cell_text", "join", "table", "tag"]

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_VOID = frozenset({"input", "meta", "br"})


class Markup(str):
    """HTML text; any other string is escaped when it is added to an element."""

    __slots__ = ()


def tag(name: str, /, *content: Any, **attributes: Any) -> Markup:
    """An element. In names of attributes a final underscore is dropped, others become dashes; True has no value."""
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(content)}</{name}>")


def join(parts: Iterable[Any]) -> Markup:
    """Elements and texts as one string."""
    return Markup("".join(part if isinstance(part, Markup) else html.escape(str(part)) for part in parts))


def _attribute(key: str, value: Any) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'


def as_json(value: Any) -> Markup:
    """JSON that is safe in a script element; null for a number that is not finite.

    >>> as_json({"a": "</script>", "b": float("inf")}).count("<")
    0
    """
    text = json.dumps(finite_json(value), ensure_ascii=True, separators=(",", ":"), default=str, allow_nan=False)
    return Markup("".join(_UNSAFE.get(sign, sign) for sign in text))


def cell_text(value: Any) -> str:
    """The text of a table cell: numbers with four digits; HTML as it is."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, float):
        return "-" if math.isnan(value) else number(value, 4)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else shown(value)


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], caption: str, *, kind: str | None = None) -> Markup:
    """A table in a box that scrolls if it is too wide; the first cell of each row is a header.

    kind: the class of the table in the style sheet; of "cards" every row is a list on narrow screens.
    """
    right = [bool(rows) and all(_is_number(row[i]) or row[i] in ("", "-") for row in rows) for i in range(len(header))]
    head = tag(
        "tr", *(tag("th", name, scope="col", class_="n" if i and right[i] else None) for i, name in enumerate(header))
    )
    body = [
        tag(
            "tr",
            *(
                tag("th", cell_text(cell), scope="row")
                if i == 0
                else tag(
                    "td",
                    cell_text(cell),
                    class_="n" if right[i] else None,
                    data_label=header[i] if kind == "cards" else None,
                )
                for i, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    inside = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body), class_=kind)
    return tag("div", inside, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _is_number(cell: Any) -> bool:
    return isinstance(cell, (int, float)) or (isinstance(cell, str) and cell.rstrip(" %").replace(".", "", 1).isdigit())
