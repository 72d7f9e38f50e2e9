"""The sections about the evaluation: confusion matrix, metrics, curves of the classes, decision threshold, and tuning.

The section with the threshold has the confusion matrix of a class, costs, and the command that sets the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tallybayes.evaluation.evaluation_text import digits
from tallybayes.evaluation.subgroups import subgroup_grid
from tallybayes.formatting import shown
from tallybayes.html_element import Markup, table, tag
from tallybayes.reporting import evaluation_charts
from tallybayes.reporting.chart_style import Chart
from tallybayes.reporting.column_chart_data import OTHERS
from tallybayes.reporting.html_page import Page, class_picker
from tallybayes.reporting.report_data import CURVES, ReportData
from tallybayes.reporting.threshold_curves import (
    counts_at,
    gain_rows,
    precision_recall_rows,
    reliability_rows,
    roc_rows,
    score_rows,
    thresholds,
)

__all__ = ["add_evaluation", "add_threshold", "add_tuning"]

_MEASURES = {"precision": "precision", "recall": "recall", "fpr": "false positive rate", "accuracy": "accuracy"}
_MODEL = "MODEL.tally"  # in the command, where the file of the model is not known
_MATRIX = 30  # classes up to which a confusion matrix is drawn


def add_evaluation(page: Page, data: ReportData) -> None:
    """Add the confusion matrix, the metrics of each class, and the curves."""
    evaluation = data.evaluation
    names, matrix = [shown(label) for label in evaluation.classes], evaluation.matrix().tolist()
    every = [
        [shown(row["class"]), row["rows"], *(_digits(row[name]) for name in ("precision", "recall", "f1", "auc"))]
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
    if evaluation.by is not None and evaluation.kept.complete:
        grid = subgroup_grid(evaluation.by, evaluation.subgroups(), digits)
        top.append(table(grid.header, grid.rows, f"Metrics by {evaluation.by}"))
    curves = _curves(page, data)
    content = [tag("div", *top, class_="grid")]
    if curves:
        picker = _picker(data)
        content += [tag("h3", "One class against the others"), *picker, tag("div", *curves, class_="grid three")]
    sentence = "Confusion matrix, metrics of each class, scores, calibration, and curves over all thresholds."
    if len(data.curve_labels) < len(evaluation.classes) and len(data.curve_labels) == CURVES:
        sentence += f" The {CURVES} most frequent classes have curves."
    page.section("evaluation", "Evaluation", sentence, *content)


def _picker(data: ReportData) -> list[Markup]:
    possible = [shown(label) for label in data.curve_labels]
    return [class_picker(possible, data.drawn_first, name="evaluation")] if len(possible) > 1 else []


def _curves(page: Page, data: ReportData) -> list[Markup]:
    evaluation, labels = data.evaluation, data.curve_labels
    if not labels or not evaluation.kept.complete:
        return []
    few, every = [shown(label) for label in labels], data.colours
    rows = evaluation.class_rows
    shares = {shown(label): rows[label] / evaluation.n_rows for label in labels}
    auc = {shown(label): evaluation.auc_of(label) for label in labels}
    reliable, roc = reliability_rows(evaluation, labels), roc_rows(evaluation, labels)
    precise, gained = precision_recall_rows(evaluation, labels), gain_rows(evaluation, labels)
    scored = score_rows(evaluation, labels, OTHERS)
    of_class = [row for row in scored if "of" not in row]

    def figure(name: str, chart: Chart, data_rows: Any, columns: Mapping[str, str], **more: Any) -> Markup:
        """The figure of a chart; columns: of its table, each with the key of its values."""
        values = [[row[key] for key in columns.values()] for row in data_rows]
        return page.figure(f"chart-{name}", chart, header=list(columns), rows=values, picks=data.drawn_first, **more)

    return [
        figure(
            "scores",
            evaluation_charts.scores(scored, few, every),
            title="Scores",
            note="The predicted probability of a class in its own rows; of a single class, also in the other rows.",
            description="Histogram of the predicted probabilities of each class",
            columns={"class": "class", "from": "low", "to": "high", "rows": "rows", "share": "share"},
            data_rows=of_class,
        ),
        figure(
            "reliability",
            evaluation_charts.reliability(reliable, few, every),
            below=evaluation_charts.reliability_counts(reliable, few, every),
            title="Reliability",
            note="Calibrated probabilities lie on the dashed line. Below: the number of rows in each bin.",
            description="Reliability curve of each class, and the number of rows behind it",
            columns={"class": "class", "predicted": "predicted", "observed": "observed", "rows": "rows"},
            data_rows=reliable,
        ),
        figure(
            "roc",
            evaluation_charts.roc(roc, few, every, auc=auc),
            words={name: f"{name} (AUC {area:.3f})" for name, area in auc.items()},
            title="ROC",
            note="True against false positive rate over all thresholds.",
            description="ROC curve of each class",
            columns={"class": "class", "threshold": "threshold", "false positive rate": "fpr", "recall": "tpr"},
            data_rows=roc,
        ),
        figure(
            "precision-recall",
            evaluation_charts.precision_recall(precise, few, every, shares=shares),
            title="Precision and recall",
            note="Over all thresholds. Dotted: the share of the class, the precision of answers at random.",
            description="Precision against recall of each class",
            columns={"class": "class", "threshold": "threshold", "recall": "recall", "precision": "precision"},
            data_rows=precise,
        ),
        figure(
            "gain",
            evaluation_charts.gain(gained, few, every),
            title="Gain and lift",
            note="How much of a class is found in the most probable rows. Lift: how many times more than at random.",
            description="Gain curve of each class",
            columns={
                "class": "class",
                "threshold": "threshold",
                "share of rows": "taken",
                "share of the class": "found",
                "lift": "lift",
            },
            data_rows=gained,
        ),
    ]


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


def _digits(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"
