"""The section with the nomogram and its controls."""

from __future__ import annotations

from tallybayes.formatting import shown
from tallybayes.html_element import Markup, tag
from tallybayes.reporting.chart_style import colour_of
from tallybayes.reporting.html_page import Page
from tallybayes.reporting.nomogram import nomogram
from tallybayes.reporting.report_context import ReportContext

__all__ = ["add_nomogram"]

_SELECTS = {"nomogram-for": "class", "nomogram-against": "against", "nomogram-row": "example row"}


def add_nomogram(page: Page, context: ReportContext) -> None:
    """Add the nomogram."""
    if not context.has_nomogram:
        return
    rows = [(f"row {number}: {shown(label)}", one) for number, label, one in context.data.examples]
    rows += [
        (f"row {one.row}: {shown(one.label)}, answered {shown(one.answer)}", one.explanation)
        for one in context.data.mistakes
    ]
    data = nomogram(context.model, context.columns_by_information, rows, context.description.columns)
    common = sorted(range(len(context.names)), key=lambda code: -context.model.log_prior()[code])
    start = common[1::-1] if len(common) == 2 else common[:2]
    colours = [colour_of(name, context.colours) for name in context.names]
    page.use("nomogram_sum.js", "nomogram.js", nomogram_data={**data, "start": start, "colours": colours})
    sentence = (
        "Classify a row by hand: each ruler shows the contribution of a column to the log odds of one class against "
        "another. Drag the handles or use the arrow keys. A missing value contributes only that it is missing; Delete "
        "makes a value missing."
    )
    if context.model.calibration is not None:
        sentence += " The sum is uncalibrated; the probabilities are calibrated."
    page.section("nomogram", "Nomogram", sentence, *_controls(data["others"]))


def _controls(n_others: int) -> list[Markup]:
    choices = [
        tag("div", tag("label", f"{text} ", for_=name), tag("select", id=name)) for name, text in _SELECTS.items()
    ]
    clear = tag("button", "set all to missing", id="nomogram-clear", type="button")
    rest = tag("span", f" (including {n_others} columns of the row without a ruler)", id="nomogram-rest", hidden=True)
    answer = tag(
        "p",
        "Log odds: ",
        tag("b", tag("output", id="nomogram-sum")),
        ". Probability of ",
        tag("span", data_nomogram_for=True),
        ": ",
        tag("b", tag("output", id="nomogram-p")),
        rest,
    )
    bars = tag("ul", id="nomogram-bars", class_="bars")
    start = tag("output", id="nomogram-start")
    return [
        tag("div", *choices, clear, class_="controls"),
        tag("p", "Log odds of the prior: ", start, ". Add the contributions of the columns:"),
        tag("div", id="nomogram-rulers"),
        tag("div", answer, bars, class_="answer", role="group", aria_label="Result"),
    ]
