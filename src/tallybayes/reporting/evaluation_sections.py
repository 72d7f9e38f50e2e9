"""The sections about the evaluation: confusion matrix, curves, decision threshold, and tuning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tallybayes.formatting import shown
from tallybayes.html_element import Markup, table, tag
from tallybayes.reporting import evaluation_charts
from tallybayes.reporting.html_page import Page
from tallybayes.reporting.report_context import ReportContext
from tallybayes.reporting.threshold_curves import (
    counts_at,
    precision_recall_rows,
    reliability_rows,
    roc_rows,
    thresholds,
)

__all__ = ["add_evaluation", "add_threshold", "add_tuning"]

_MATRIX = 30  # classes up to which a confusion matrix is drawn
_MEASURES = {"precision": "precision", "recall": "recall", "fpr": "false positive rate", "accuracy": "accuracy"}


def add_evaluation(page: Page, context: ReportContext) -> None:
    """Add the confusion matrix, the metrics of each class, and the curves."""
    evaluation = context.data.evaluation
    names, matrix = [shown(label) for label in evaluation.classes], evaluation.matrix().tolist()
    every = [
        [shown(row["class"]), row["rows"], *(f"{row[name]:.3f}" for name in ("precision", "recall", "f1", "auc"))]
        for row in evaluation.per_class()
    ]
    top: list[Markup] = []
    if len(names) <= _MATRIX:
        top.append(
            page.figure(
                "chart-confusion",
                evaluation_charts.confusion(names, matrix),
                title="Confusion matrix",
                note="Number of rows by true and predicted class, shaded by the share of the true class.",
                description="Heat map of the confusion matrix: number of rows by true and predicted class",
                header=["true", *names],
                rows=[[name, *line] for name, line in zip(names, matrix, strict=True)],
            )
        )
    top.append(table(["class", "rows", "precision", "recall", "F1", "AUC"], every, "Metrics of each class"))
    content = [tag("div", *top, class_="grid"), tag("div", *_curves(page, context), class_="grid three")]
    sentence = "Confusion matrix, metrics of each class, calibration, and curves over all thresholds."
    page.section("evaluation", "Evaluation", sentence, *content)


def _curves(page: Page, context: ReportContext) -> list[Markup]:
    evaluation, labels = context.data.evaluation, context.curve_labels
    if not labels or not evaluation.kept.complete:
        return []
    few = [shown(label) for label in labels]
    which = few[0] if len(few) == 1 else "each class"
    reliable, roc = reliability_rows(evaluation, labels), roc_rows(evaluation, labels)
    found = precision_recall_rows(evaluation, labels)
    return [
        page.figure(
            "chart-reliability",
            evaluation_charts.reliability(reliable, few, context.colours),
            title="Reliability",
            note="Calibrated probabilities lie on the dashed line. Larger dots have more rows.",
            description=f"Reliability curve of {which}",
            header=["class", "predicted", "observed", "rows"],
            rows=[[row["class"], row["predicted"], row["observed"], row["rows"]] for row in reliable],
        ),
        page.figure(
            "chart-roc",
            evaluation_charts.roc(roc, few, context.colours),
            title="ROC",
            note=f"True against false positive rate of {which}, over all thresholds.",
            description=f"ROC curve of {which}",
            header=["class", "threshold", "false positive rate", "recall"],
            rows=[[row["class"], row["threshold"], row["fpr"], row["tpr"]] for row in roc],
        ),
        page.figure(
            "chart-precision-recall",
            evaluation_charts.precision_recall(found, few, context.colours),
            title="Precision and recall",
            note=f"Precision against recall of {which}, over all thresholds.",
            description=f"Precision against recall of {which}",
            header=["class", "threshold", "recall", "precision"],
            rows=[[row["class"], row["threshold"], row["recall"], row["precision"]] for row in found],
        ),
    ]


def add_threshold(page: Page, context: ReportContext) -> None:
    """Add a slider for the threshold, with the confusion matrix of a class against the others."""
    evaluation = context.data.evaluation
    if len(context.names) < 2 or not evaluation.kept.complete:
        return
    scores, rule = evaluation.scores(), context.model.decision
    at = thresholds() if rule.threshold is None else np.union1d(thresholds(), [rule.threshold])
    start = int(np.searchsorted(at, 0.5 if rule.threshold is None else rule.threshold))
    chosen = context.rarest_class if rule.label is None else list(context.model.classes).index(rule.label)
    classes = []
    for label, name in zip(context.model.classes, context.names, strict=True):
        place = scores.classes.index(label)
        own, others = counts_at(scores.proba[:, place], scores.codes == place, at)
        classes.append({"name": name, "above": own, "others": others})
    page.use("threshold.js", threshold_data={"thresholds": at.tolist(), "classes": classes})
    sentence = (
        "A row is predicted as the class if its probability is at least the threshold. Move it to trade false "
        "positives for false negatives."
    )
    page.section("threshold", "Decision threshold", sentence, *_slider(context, len(at), start, chosen))


def _slider(context: ReportContext, n_steps: int, start: int, chosen: int) -> list[Markup]:
    options = [
        tag("option", name, value=i, selected=True if i == chosen else None) for i, name in enumerate(context.names)
    ]
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


def add_tuning(page: Page, steps: Sequence[dict[str, Any]] | None) -> None:
    """Add the curve of the tuning, if there is one."""
    if not steps:
        return
    body = page.figure(
        "chart-tuning",
        evaluation_charts.tuning(steps),
        description="Line of the log loss for every evaluated k",
        header=["k", "log loss"],
        rows=[[row["k"], row["log_loss"]] for row in steps],
    )
    sentence = "The log loss for every evaluated k of the smoothing; the minimum is circled."
    page.section("tuning", "Tuning", sentence, body)
