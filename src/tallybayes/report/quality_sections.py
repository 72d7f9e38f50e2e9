"""The sections that tell how good a model is: confusion, curves, a threshold to move, and a tuning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tallybayes.formatting import shown
from tallybayes.report import curve_charts
from tallybayes.report.html_element import Markup, table, tag
from tallybayes.report.html_page import Page
from tallybayes.report.section_context import Subject
from tallybayes.report.threshold_slider import counts_at, precision_recall_rows, reliability_rows, roc_rows, thresholds

__all__ = ["add_quality", "add_threshold", "add_tuning"]

_MATRIX = 30  # classes up to which a confusion matrix can be read
_MEASURES = {"precision": "precision", "recall": "recall", "fpr": "false positive rate", "accuracy": "accuracy"}


def add_quality(page: Page, about: Subject) -> None:
    """The confusion matrix, every class, calibration, ROC and precision against recall."""
    judged = about.found.judged
    names, matrix = [shown(label) for label in judged.classes], judged.matrix().tolist()
    every = [
        [shown(row["class"]), row["rows"], *(f"{row[name]:.3f}" for name in ("precision", "recall", "f1", "auc"))]
        for row in judged.per_class()
    ]
    top: list[Markup] = []
    if len(names) <= _MATRIX:
        top.append(
            page.figure(
                "chart-confusion",
                curve_charts.confusion(names, matrix),
                title="Confusion matrix",
                note="Rows of data by true and predicted class, shaded by the share of the true class.",
                says="Heat map of the confusion matrix: rows of data by true and predicted class",
                header=["true", *names],
                rows=[[name, *line] for name, line in zip(names, matrix, strict=True)],
            )
        )
    top.append(table(["class", "rows", "precision", "recall", "F1", "AUC"], every, "Every class"))
    content = [tag("div", *top, class_="grid"), tag("div", *_curves(page, about), class_="grid three")]
    sentence = (
        "How often the answer is the right one, which classes are taken for which, and whether the probabilities can "
        "be believed."
    )
    page.section("quality", "How good it is", sentence, *content)


def _curves(page: Page, about: Subject) -> list[Markup]:
    judged, labels = about.found.judged, about.drawn
    if not labels or not judged.kept.complete:
        return []
    few = [shown(label) for label in labels]
    which = few[0] if len(few) == 1 else "each class"
    reliable, roc = reliability_rows(judged, labels), roc_rows(judged, labels)
    found = precision_recall_rows(judged, labels)
    return [
        page.figure(
            "chart-reliability",
            curve_charts.reliability(reliable, few, about.colours),
            title="Reliability",
            note="On the dashed line, what is said to be so probable comes true as often. Larger dots have more rows.",
            says=f"Reliability curve of {which}",
            header=["class", "predicted", "came true", "rows"],
            rows=[[row["class"], row["predicted"], row["observed"], row["rows"]] for row in reliable],
        ),
        page.figure(
            "chart-roc",
            curve_charts.roc(roc, few, about.colours),
            title="ROC",
            note=f"Recall of {which} against the share of other rows taken for it, over all thresholds.",
            says=f"ROC curve of {which}",
            header=["class", "threshold", "false positive rate", "recall"],
            rows=[[row["class"], row["threshold"], row["fpr"], row["tpr"]] for row in roc],
        ),
        page.figure(
            "chart-precision-recall",
            curve_charts.precision_recall(found, few, about.colours),
            title="Precision and recall",
            note=f"Precision against recall of {which}, over all thresholds.",
            says=f"Precision against recall of {which}",
            header=["class", "threshold", "recall", "precision"],
            rows=[[row["class"], row["threshold"], row["recall"], row["precision"]] for row in found],
        ),
    ]


def add_threshold(page: Page, about: Subject) -> None:
    """A slider that moves the confusion matrix of a class against the others."""
    judged = about.found.judged
    if len(about.names) < 2 or not judged.kept.complete:
        return
    scores, rule = judged.scores(), about.model.decision
    at = thresholds() if rule.threshold is None else np.union1d(thresholds(), [rule.threshold])
    start = int(np.searchsorted(at, 0.5 if rule.threshold is None else rule.threshold))
    chosen = about.rarest if rule.label is None else list(about.model.classes).index(rule.label)
    classes = []
    for label, name in zip(about.model.classes, about.names, strict=True):
        place = scores.classes.index(label)
        own, others = counts_at(scores.proba[:, place], scores.codes == place, at)
        classes.append({"name": name, "above": own, "others": others})
    page.use("threshold.js", threshold_data={"thresholds": at.tolist(), "classes": classes})
    sentence = (
        "A row is taken for the class if its probability is at least the threshold: move it to trade false positives "
        "for false negatives."
    )
    page.section("threshold", "Where to draw the line", sentence, *_slider(about, len(at), start, chosen))


def _slider(about: Subject, n_steps: int, start: int, chosen: int) -> list[Markup]:
    options = [
        tag("option", name, value=i, selected=True if i == chosen else None) for i, name in enumerate(about.names)
    ]
    choice = tag("div", tag("label", "class ", for_="threshold-class"), tag("select", *options, id="threshold-class"))
    slider = tag(
        "div",
        tag("label", "threshold ", for_="threshold-slider"),
        tag("output", id="threshold-value"),
        tag("input", type="range", id="threshold-slider", min=0, max=n_steps - 1, step=1, value=start),
        class_="wide",
    )
    heads = tag("tr", tag("td"), *(tag("th", text, scope="col") for text in ("taken for it", "not taken for it")))
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
    caption = tag("caption", "The confusion matrix at this threshold")
    boxes = [tag("div", tag("dt", text), tag("dd", id=f"threshold-{name}")) for name, text in _MEASURES.items()]
    return [
        tag("div", choice, slider, class_="controls"),
        tag("table", caption, tag("thead", heads), tag("tbody", *body), class_="matrix"),
        tag("dl", *boxes, class_="facts"),
        tag("p", id="threshold-said", class_="soft", aria_live="polite"),
    ]


def add_tuning(page: Page, steps: Sequence[dict[str, Any]] | None) -> None:
    """The curve of a tuning, if there was one."""
    if not steps:
        return
    body = page.figure(
        "chart-tuning",
        curve_charts.tuning(steps),
        says="Line of the log loss for every k that was tried",
        header=["k", "log loss"],
        rows=[[row["k"], row["log_loss"]] for row in steps],
    )
    sentence = "The log loss for every strength of smoothing k that was tried; the best is circled."
    page.section("tuning", "The tuning", sentence, body)
