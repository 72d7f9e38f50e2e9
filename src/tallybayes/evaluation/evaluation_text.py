"""An evaluation for people, and the same for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.formatting import finite_json, number, rows_of, shown, text_table

if TYPE_CHECKING:
    from tallybayes.evaluation.metrics import Evaluation

__all__ = ["digits", "for_people", "for_programs"]

_CLASSES = 30  # more classes than this make no readable confusion matrix


def for_programs(judged: Evaluation) -> dict[str, Any]:
    """Everything as plain values; what is not finite or not defined is None."""
    kept = judged.kept.are_there
    result: dict[str, Any] = {
        "rows": judged.n_rows,
        "accuracy": judged.accuracy,
        "majority": judged.majority,
        "log_loss": judged.log_loss,
        "brier": judged.brier,
        "balanced_accuracy": judged.balanced_accuracy,
        "prior_log_loss": judged.prior_log_loss,
        "auc": judged.auc if kept else None,
        "ece": judged.ece if kept else None,
        "abstained": judged.abstained,
        "coverage": judged.coverage,
        "unknown_labels": judged.n_unknown,
        "skipped": judged.skipped,
        "bad": judged.bad,
        "classes": judged.classes,
        "per_class": judged.per_class(),
        "confusion": judged.matrix().tolist(),
        "reliability": judged.reliability() if kept else None,
    }
    if judged.folds:
        result["folds"] = judged.folds
    if judged.intervals:
        result["interval_level"] = judged.draws[1]
        result["intervals"] = {name: list(bounds) for name, bounds in judged.intervals.items()}
    return finite_json(result)  # type: ignore[no-any-return]


def for_people(judged: Evaluation) -> str:
    """The figures beside what would be no achievement, then the classes, then the confusion matrix."""
    rows = [
        [shown(row["class"]), str(row["rows"]), *(digits(row[name]) for name in ("precision", "recall", "f1", "auc"))]
        for row in judged.per_class()
    ]
    parts = [
        "\n".join([*_figures(judged), *_notes(judged)]),
        text_table(["class", "rows", "precision", "recall", "F1", "AUC"], rows),
    ]
    if judged.classes and len(judged.classes) <= _CLASSES:
        names = [shown(label) for label in judged.classes]
        body = [[name, *map(str, row)] for name, row in zip(names, judged.matrix().tolist(), strict=True)]
        parts.append(text_table(["true \\ predicted", *names], body))
    return "\n\n".join(parts)


def _figures(judged: Evaluation) -> list[str]:
    kept = judged.kept.are_there
    several = len(judged.classes) > 2
    lines = [f"rows       {judged.n_rows}"]
    if judged.abstained:
        lines.append(f"coverage   {digits(judged.coverage)}   ({rows_of(judged.abstained)} without an answer)")
    figures = [
        ("accuracy", "accuracy", judged.accuracy, f"always the commonest class: {digits(judged.majority)}"),
        ("log loss", "log_loss", judged.log_loss, f"nats; always the class shares: {digits(judged.prior_log_loss)}"),
        ("Brier", "brier", judged.brier, ""),
        ("balanced", "balanced_accuracy", judged.balanced_accuracy, "accuracy, each class counting alike"),
        ("AUC", "auc", judged.auc if kept else np.nan, "the mean of each class against the rest" if several else ""),
        ("ECE", "ece", judged.ece if kept else np.nan, "calibration error: confidence against accuracy"),
    ]
    for name, key, value, remark in figures:
        low, high = judged.intervals.get(key, (None, None))
        between = "" if low is None or high is None else f"   {digits(low)} to {digits(high)}"
        lines.append(f"{name:<8}   {digits(value)}{between}" + (f"   ({remark})" if remark else ""))
    if judged.folds:
        low, high = min(judged.folds), max(judged.folds)
        lines.append(f"folds      {len(judged.folds)}   (accuracy from {digits(low)} to {digits(high)})")
    if judged.intervals:
        n, level = judged.draws
        lines.append(f"intervals  hold {number(100 * level)} % of {n} draws of the rows")
    return lines


def _notes(judged: Evaluation) -> list[str]:
    notes = []
    if judged.n_unknown:
        notes.append(
            f"{rows_of(judged.n_unknown)} with a label that the model has never seen: "
            "counted as wrong, left out of log loss and Brier score"
        )
    if not judged.kept.are_there:
        notes.append("too many rows to be kept one by one: no AUC and no calibration")
    return notes


def digits(value: float) -> str:
    """A figure in four digits; "-" if it is not defined."""
    return "-" if np.isnan(value) else f"{value:.4f}" if np.isfinite(value) else number(value)
