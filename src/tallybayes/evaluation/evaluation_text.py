"""The text and tables of an evaluation, from its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.evaluation.subgroups import subgroup_grid
from tallybayes.formatting import number, rows_of, shown
from tallybayes.notebook_view import TextGrid

__all__ = ["digits", "evaluation_parts"]

_CLASSES = 30  # a confusion matrix of more classes is not printed


def evaluation_parts(values: dict[str, Any]) -> list[str | TextGrid]:
    """The metrics with their baselines, the metrics of each class, and the confusion matrix.

    values: as in `Evaluation.to_dict`, but NaN for an undefined metric.
    """
    rows = [
        [shown(row["class"]), str(row["rows"]), *(digits(row[name]) for name in ("precision", "recall", "f1", "auc"))]
        for row in values["per_class"]
    ]
    parts: list[str | TextGrid] = [
        "\n".join([*_metrics(values), *_notes(values)]),
        TextGrid(["class", "rows", "precision", "recall", "F1", "AUC"], rows),
    ]
    if "by" in values:
        parts.append(subgroup_grid(values["by"]["column"], values["by"]["subgroups"], digits))
    if 0 < len(values["classes"]) <= _CLASSES:
        names = [shown(label) for label in values["classes"]]
        body = [[name, *map(str, row)] for name, row in zip(names, values["confusion"], strict=True)]
        parts.append(TextGrid(["true \\ predicted", *names], body))
    return parts


def _metrics(values: dict[str, Any]) -> list[str]:
    lines = [f"rows       {values['rows']}"]
    if "split" in values:
        lines.append(f"split      {values['split']}")
    if values["abstained"]:
        lines.append(f"coverage   {digits(values['coverage'])}   ({rows_of(values['abstained'])} without a prediction)")
    several = len(values["classes"]) > 2
    ranked = [values["positive"]["class"]] if "positive" in values else [] if several else values["classes"][1:]
    of_class = f", of {shown(ranked[0])}" if ranked else ", mean over the classes" if several else ""
    metrics = [
        ("accuracy", "accuracy", _baseline("majority class", values["majority"])),
        ("log loss", "log_loss", "nats" + _baseline("; class shares alone", values["prior_log_loss"])),
        ("Brier", "brier", ""),
        ("balanced", "balanced_accuracy", "the mean recall of the classes"),
        ("AUC", "auc", "mean over the classes, each against the rest" if several else ""),
        ("ECE", "ece", "expected calibration error"),
        ("AP", "average_precision", f"average precision{of_class}"),
        ("KS", "ks", f"Kolmogorov-Smirnov distance{of_class}"),
        ("lift", "lift", f"in the first tenth of the rows{of_class}"),
        ("MCC", "mcc", "Matthews correlation"),
    ]
    intervals = values.get("intervals", {})
    for name, key, remark in metrics:
        interval = "   {} to {}".format(*map(digits, intervals[key])) if key in intervals else ""
        lines.append(f"{name:<8}   {digits(values[key])}{interval}" + (f"   ({remark})" if remark else ""))
    if "mean_cost" in values:
        remark = _baseline("always the same answer, at least", values["least_constant_cost"])
        lines.append(f"cost       {digits(values['mean_cost'])}   (the mean per row; {remark})")
    if (of_positive := values.get("positive")) is not None:
        figures = [("precision", "precision"), ("recall", "recall"), ("specificity", "specificity"), ("F1", "f1")]
        shares = ", ".join(f"{name} {digits(of_positive[key])}" for name, key in figures)
        lines.append(f"positive   {shown(of_positive['class'])}: {shares}")
    if grouped := values.get("grouped"):
        shown_figures = f"accuracy {digits(grouped['accuracy'])}, log loss {digits(grouped['log_loss'])}"
        lines.append(f"grouped    {shown_figures}   ({grouped['split']})")
    if folds := values.get("folds"):
        lines.append(f"folds      {len(folds)}   (accuracy from {digits(min(folds))} to {digits(max(folds))})")
    if intervals:
        level = number(100 * values["interval_level"])
        lines.append(f"intervals  {level} %, from {values['interval_samples']} bootstrap samples")
    return lines


def _baseline(name: str, value: float) -> str:
    """The metric of a prediction that ignores the row, where it is known."""
    return "" if np.isnan(value) else f"{name}: {digits(value)}"


def _notes(values: dict[str, Any]) -> list[str]:
    notes = []
    if values["unknown_labels"]:
        unknown = f"{rows_of(values['unknown_labels'])} with a label unknown to the model"
        notes.append(f"{unknown}: counted as wrong, excluded from log loss and Brier score")
    if values["reliability"] is None:
        notes.append("too many rows to keep: no AUC and no calibration error")
    return notes


def digits(value: float) -> str:
    """A number with four decimals; "-" if it is undefined."""
    return "-" if np.isnan(value) else f"{value:.4f}" if np.isfinite(value) else number(value)
