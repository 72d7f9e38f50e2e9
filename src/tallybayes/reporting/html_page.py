"""An HTML page with sections, charts and scripts in one file.

Styles, scripts and data are embedded, and the content security policy forbids loading anything else. Every chart has a
description for screen readers and its values as a table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from tallybayes.html_element import Markup, as_json, join, table, tag
from tallybayes.reporting.chart_style import Chart, altair, without_line_ends

__all__ = ["Page", "class_picker"]

_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
_TABLE_ROWS = 120  # of the values of a chart
_DIGITS = 6  # significant digits of numbers that are drawn


class Page:
    """A page to which sections are added in order."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._sections: list[tuple[str, str, Markup]] = []
        self._specs: dict[str, Any] = {}
        self._data: dict[str, Any] = {}
        self._scripts: list[str] = []

    def section(self, name: str, title: str, sentence: str, *content: Any) -> None:
        """Add a section with a heading and an introductory sentence."""
        head = tag("h2", title, id=f"{name}-title")
        inside = join([head, tag("p", sentence), *content])
        self._sections.append((name, title, tag("section", inside, id=name, aria_labelledby=f"{name}-title")))

    def figure(
        self,
        name: str,
        chart: Chart,
        *,
        description: str,
        header: Sequence[str],
        rows: Sequence[Sequence[Any]],
        title: str = "",
        note: str = "",
        picks: Sequence[str] = (),
        words: Mapping[str, str] | None = None,
        below: Chart | None = None,
    ) -> Markup:
        """A chart with a heading, a description for screen readers, and its values in a table.

        picks: of a chart of classes, those that are drawn as long as no class is picked; words: for the classes in the
        legend; below: a chart under it.
        """
        self._specs[name] = _spec(chart, description, picks, words)
        places = [tag("div", id=name, class_="chart")]
        if below is not None:
            self._specs[f"{name}-below"] = _spec(below, description, picks)
            places.append(tag("div", id=f"{name}-below", class_="chart"))
        caption = [tag("h3", title)] if title else []
        caption += [tag("p", note)] if note else []
        shown = rows[:_TABLE_ROWS]
        cut = f" (the first {len(shown)} of {len(rows)})" if len(shown) < len(rows) else ""
        return tag(
            "figure",
            *([tag("figcaption", *caption)] if caption else []),
            tag("div", *places, role="img", aria_label=description),
            tag("details", tag("summary", "Values as a table"), table(header, shown, description + cut)),
        )

    def use(self, *files: str, **data: Any) -> None:
        """Add a script, a module of one or several files, and its data by the ids of their elements."""
        self._scripts.append("\n".join(map(_asset, files)))
        self._data |= data

    def render(self, head: Markup, foot: str) -> str:
        """The page as HTML."""
        altair()
        import vl_convert

        links = [tag("li", tag("a", title, href=f"#{name}")) for name, title, _ in self._sections]
        data = {"charts": self._specs} | {name.replace("_", "-"): value for name, value in self._data.items()}
        held = [tag("script", as_json(value), type="application/json", id=name) for name, value in data.items()]
        scripts = [tag("script", Markup(text)) for text in (_library(vl_convert), _asset("page.js"))]
        scripts += [tag("script", Markup(text), type="module") for text in self._scripts]
        body = tag(
            "body",
            tag("a", "Skip to the content", href="#content", class_="skip"),
            tag("header", head, tag("nav", tag("ul", *links), aria_label="Sections")),
            tag("main", *(section for _, _, section in self._sections), id="content"),
            tag(
                "footer",
                tag("p", foot, class_="soft"),
                tag("details", tag("summary", "Licences"), tag("pre", _asset("licences.txt"))),
            ),
            tag("noscript", tag("p", "The charts need JavaScript; their values are in the tables.")),
            *held,
            *scripts,
        )
        page_head = tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", self._title),
            tag("style", Markup(_asset("page.css"))),
        )
        return "<!doctype html>\n" + tag("html", page_head, body, lang="en") + "\n"


def class_picker(names: Sequence[str], drawn: Sequence[str], *, name: str) -> Markup:
    """A list of classes; all such lists of the page pick the same class for all charts of classes.

    drawn: those that are drawn as long as none is picked.
    """
    first = (
        [] if len(drawn) == 1 else ["all classes" if len(drawn) == len(names) else f"the {len(drawn)} most frequent"]
    )
    options = [
        *(tag("option", text, value="") for text in first),
        *(
            tag("option", text, value=without_line_ends(text), selected=True if [text] == list(drawn) else None)
            for text in names
        ),
    ]
    label = tag("label", "class ", for_=f"picker-{name}")
    inside = tag("div", label, tag("select", *options, id=f"picker-{name}", data_class_picker=True))
    return tag("div", inside, class_="controls")


def _spec(
    chart: Chart, description: str, picks: Sequence[str], words: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The specification of a chart as wide as its container; numbers with as many digits as can be seen."""
    spec: dict[str, Any] = chart.properties(width="container", description=description).to_dict()
    for part in ("config", "$schema"):
        spec.pop(part, None)
    spec["datasets"] = {
        key: [{name: _round(value) for name, value in row.items()} for row in rows]
        for key, rows in spec.get("datasets", {}).items()
    }
    meta = {"usermeta": without_line_ends({"picks": list(picks), "words": dict(words or {})})} if picks else {}
    return {**spec, **meta, "$schema": "https://vega.github.io/schema/vega-lite/v6.json"}


def _round(value: Any) -> Any:
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) and math.isfinite(value) else value


@cache
def _asset(name: str) -> str:
    return files("tallybayes.reporting").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _library(vl_convert: Any) -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    return str(vl_convert.javascript_bundle()).replace("</script", "<\\/script")
