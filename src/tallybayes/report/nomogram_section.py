"""The section in which a row can be classified by hand: the nomogram and its controls."""

from __future__ import annotations

from tallybayes.report.html_element import Markup, tag
from tallybayes.report.html_page import Page
from tallybayes.report.nomogram import nomogram
from tallybayes.report.palette import colour_of
from tallybayes.report.section_context import Subject

__all__ = ["add_nomogram"]

_SELECTS = {"nomogram-for": "for", "nomogram-against": "against", "nomogram-row": "load"}


def add_nomogram(page: Page, about: Subject) -> None:
    """Rulers to classify by hand."""
    if len(about.names) < 2:
        return
    data = nomogram(about.model, about.ranked, about.found.examples, about.described.columns)
    common = sorted(range(len(about.names)), key=lambda code: -about.model.log_prior()[code])
    start = common[1::-1] if len(common) == 2 else common[:2]
    page.use(
        "nomogram.js",
        nomogram_data={**data, "start": start, "colours": [colour_of(name, about.colours) for name in about.names]},
    )
    sentence = (
        "Classify by hand: a ruler shows what the values of a column add to the log odds of one class against another. "
        "Drag the handles, or move them with the arrow keys; a missing value adds nothing, and Delete makes it missing "
        "again."
    )
    if about.model.calibration is not None:
        sentence += " The sum is that of the columns; the probabilities are calibrated."
    page.section("nomogram", "The nomogram", sentence, *_controls(data["others"]))


def _controls(n_others: int) -> list[Markup]:
    choices = [
        tag("div", tag("label", f"{text} ", for_=name), tag("select", id=name)) for name, text in _SELECTS.items()
    ]
    clear = tag("button", "every value missing", id="nomogram-clear", type="button")
    rest = tag("span", f" ({n_others} more columns of the row are counted in)", id="nomogram-rest", hidden=True)
    answer = tag(
        "p",
        "Sum of the log odds: ",
        tag("b", tag("output", id="nomogram-sum")),
        ". Probability of ",
        tag("span", data_nomogram_for=True),
        ": ",
        tag("b", tag("output", id="nomogram-p")),
        rest,
    )
    bars = tag("ul", id="nomogram-bars", class_="bars")
    return [
        tag("div", *choices, clear, class_="controls"),
        tag("p", "Start with the prior: ", tag("output", id="nomogram-start"), ". Then add:"),
        tag("div", id="nomogram-rulers"),
        tag("div", answer, bars, class_="answer", role="group", aria_label="The answer"),
    ]
