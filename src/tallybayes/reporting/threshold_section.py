"""The section with the decision threshold of a class: confusion matrix, costs, and the command that sets it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.html_element import Markup, tag
from tallybayes.reporting.html_page import Page
from tallybayes.reporting.report_data import ReportData
from tallybayes.reporting.threshold_curves import counts_at, thresholds

__all__ = ["add_threshold"]

_MEASURES = {"precision": "precision", "recall": "recall", "fpr": "false positive rate", "accuracy": "accuracy"}
_MODEL = "MODEL.tally"  # in the command, where the file of the model is not known


def add_threshold(page: Page, data: ReportData) -> None:
    """Add a slider for the threshold, with the confusion matrix of a class against the others, and its cost."""
    evaluation = data.evaluation
    if len(data.names) < 2 or not evaluation.kept.complete or not data.curve_labels:
        return
    scores, rule = evaluation.scores(), data.model.decision
    at = thresholds() if rule.threshold is None else np.union1d(thresholds(), [rule.threshold])
    start = int(np.searchsorted(at, 0.5 if rule.threshold is None else rule.threshold))
    labels = data.curve_labels
    name_of = dict(zip(data.model.classes, data.names, strict=True))
    classes = []
    for label in labels:
        place = scores.classes.index(label)
        above, others = counts_at(scores.proba[:, place], scores.codes == place, at)
        classes.append({"name": name_of[label], "above": above, "others": others})
    wanted = data.model.classes[data.rarest_class] if rule.positive is None else rule.positive
    chosen = labels.index(wanted) if wanted in labels else 0
    model = data.provenance.get("model", _MODEL)
    page.use("threshold.js", threshold_data={"thresholds": at.tolist(), "classes": classes, "model": model})
    page.use("cost.js")
    sentence = (
        "A row is predicted as the class if its probability is at least the threshold. Move it to trade false "
        "positives for false negatives, or give the costs of both."
    )
    content = _slider([facts["name"] for facts in classes], len(at), start, chosen) + _costs(data, labels[chosen])
    page.section("threshold", "Decision threshold", sentence, *content)


def _slider(names: list[str], n_steps: int, start: int, chosen: int) -> list[Markup]:
    options = [tag("option", name, value=i, selected=True if i == chosen else None) for i, name in enumerate(names)]
    choice = tag("div", tag("label", "class ", for_="threshold-class"), tag("select", *options, id="threshold-class"))
    slider = tag(
        "div",
        tag("label", "threshold ", for_="threshold-slider"),
        tag("output", id="threshold-value"),
        tag("input", type="range", id="threshold-slider", min=0, max=n_steps - 1, step=1, value=start),
        class_="wide",
    )
    heads = tag("tr", tag("td"), *(tag("th", text, scope="col") for text in ("predicted", "not predicted")))
    rows = (
        ("is ", ("tp", "true positives"), ("fn", "false negatives")),
        ("is not ", ("fp", "false positives"), ("tn", "true negatives")),
    )
    body = [
        tag(
            "tr",
            tag("th", text, tag("span", data_threshold_class=True), scope="row"),
            *(tag("td", tag("span", id=name), tag("small", what)) for name, what in cells),
        )
        for text, *cells in rows
    ]
    caption = tag("caption", "Confusion matrix at this threshold")
    boxes = [tag("div", tag("dt", text), tag("dd", id=f"threshold-{name}")) for name, text in _MEASURES.items()]
    return [
        tag("div", choice, slider, class_="controls"),
        tag("table", caption, tag("thead", heads), tag("tbody", *body), class_="matrix"),
        tag("dl", *boxes, class_="facts"),
        tag("p", id="threshold-summary", class_="soft", aria_live="polite"),
    ]


def _costs(data: ReportData, label: Any) -> list[Markup]:
    """Fields for the costs, the chart of the cost against the threshold, and the command that sets the threshold."""
    positive, negative = _costs_of_rule(data, label)
    fields = [
        tag(
            "div",
            tag("label", f"cost of a {text} ", for_=name),
            tag("input", type="number", id=name, min=0, step="any", value=f"{value:g}"),
        )
        for name, text, value in (("cost-fp", "false positive", positive), ("cost-fn", "false negative", negative))
    ]
    button = tag("button", "use the threshold of least cost", type="button", id="cost-best")
    chart = tag("div", id="cost-chart", role="img", aria_label="Mean cost per row against the threshold")
    command = tag("pre", tag("code", id="decide-line"), tabindex="0", aria_label="Command that sets this threshold")
    copy = tag("button", "copy", type="button", id="decide-copy")
    return [
        tag("h3", "Cost"),
        tag("div", *fields, button, class_="controls"),
        tag("figure", chart),
        tag("p", id="cost-summary", aria_live="polite"),
        tag("p", "To answer by this threshold:"),
        tag("div", command, copy, class_="command"),
    ]


def _costs_of_rule(data: ReportData, label: Any) -> tuple[float, float]:
    """The costs of a false positive and of a false negative: by the decision rule of two classes, else 1."""
    rule, classes = data.model.decision, list(data.model.classes)
    if len(classes) != 2 or not rule.costs:
        return 1.0, 1.0
    code = classes.index(label)
    costs = rule.cost_table(classes)
    return float(costs[1 - code, code]), float(costs[code, 1 - code])
