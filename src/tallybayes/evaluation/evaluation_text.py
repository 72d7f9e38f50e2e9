"""An evaluation as text, and as plain values for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.formatting import finite_json, number, rows_of, shown, text_table

if TYPE_CHECKING:
    from tallybayes.evaluation.metrics import Evaluation

__all__ = ["digits", "evaluation_dict", "evaluation_text"]

_CLASSES = 30  # a confusion matrix of more classes is not printed


def evaluation_dict(evaluation: Evaluation) -> dict[str, Any]:
    """All values as plain Python objects; None for a value that is undefined or not finite."""
    kept = evaluation.kept.complete
    result: dict[str, Any] = {
        "rows": evaluation.n_rows,
        "accuracy": evaluation.accuracy,
        "majority": evaluation.majority,
        "log_loss": evaluation.log_loss,
        "brier": evaluation.brier,
        "balanced_accuracy": evaluation.balanced_accuracy,
        "prior_log_loss": evaluation.prior_log_loss,
        "auc": evaluation.auc if kept else None,
        "ece": evaluation.ece if kept else None,
        "abstained": evaluation.abstained,
        "coverage": evaluation.coverage,
        "unknown_labels": evaluation.n_unknown,
        "skipped": evaluation.skipped,
        "bad": evaluation.bad,
        "classes": evaluation.classes,
        "per_class": evaluation.per_class(),
        "confusion": evaluation.matrix().tolist(),
        "reliability": evaluation.reliability() if kept else None,
    }
    if evaluation.folds:
        result["folds"] = evaluation.folds
    if evaluation.intervals:
        result["interval_level"] = evaluation.draws[1]
        result["intervals"] = {name: list(bounds) for name, bounds in evaluation.intervals.items()}
    return finite_json(result)  # type: ignore[no-any-return]


def evaluation_text(evaluation: Evaluation) -> str:
    """The metrics with their baselines, the metrics of each class, and the confusion matrix."""
    rows = [
        [shown(row["class"]), str(row["rows"]), *(digits(row[name]) for name in ("precision", "recall", "f1", "auc"))]
        for row in evaluation.per_class()
    ]
    parts = [
        "\n".join([*_metrics(evaluation), *_notes(evaluation)]),
        text_table(["class", "rows", "precision", "recall", "F1", "AUC"], rows),
    ]
    if evaluation.classes and len(evaluation.classes) <= _CLASSES:
        names = [shown(label) for label in evaluation.classes]
        body = [[name, *map(str, row)] for name, row in zip(names, evaluation.matrix().tolist(), strict=True)]
        parts.append(text_table(["true \\ predicted", *names], body))
    return "\n\n".join(parts)


def _metrics(evaluation: Evaluation) -> list[str]:
    kept = evaluation.kept.complete
    several = len(evaluation.classes) > 2
    lines = [f"rows       {evaluation.n_rows}"]
    if evaluation.abstained:
        lines.append(
            f"coverage   {digits(evaluation.coverage)}   ({rows_of(evaluation.abstained)} without a prediction)"
        )
    figures = [
        ("accuracy", "accuracy", evaluation.accuracy, _baseline("majority class", evaluation.majority)),
        (
            "log loss",
            "log_loss",
            evaluation.log_loss,
            "nats" + _baseline("; class shares alone", evaluation.prior_log_loss),
        ),
        ("Brier", "brier", evaluation.brier, ""),
        ("balanced", "balanced_accuracy", evaluation.balanced_accuracy, "the mean recall of the classes"),
        (
            "AUC",
            "auc",
            evaluation.auc if kept else np.nan,
            "mean over the classes, each against the rest" if several else "",
        ),
        ("ECE", "ece", evaluation.ece if kept else np.nan, "expected calibration error"),
    ]
    for name, key, value, remark in figures:
        low, high = evaluation.intervals.get(key, (None, None))
        between = "" if low is None or high is None else f"   {digits(low)} to {digits(high)}"
        lines.append(f"{name:<8}   {digits(value)}{between}" + (f"   ({remark})" if remark else ""))
    if evaluation.folds:
        low, high = min(evaluation.folds), max(evaluation.folds)
        lines.append(f"folds      {len(evaluation.folds)}   (accuracy from {digits(low)} to {digits(high)})")
    if evaluation.intervals:
        n, level = evaluation.draws
        lines.append(f"intervals  {number(100 * level)} %, from {n} bootstrap samples")
    return lines


def _baseline(name: str, value: float) -> str:
    """The metric of a prediction that ignores the row, where it is known."""
    return "" if np.isnan(value) else f"{name}: {digits(value)}"


def _notes(evaluation: Evaluation) -> list[str]:
    notes = []
    if evaluation.n_unknown:
        notes.append(
            f"{rows_of(evaluation.n_unknown)} with a label unknown to the model: "
            "counted as wrong, excluded from log loss and Brier score"
        )
    if not evaluation.kept.complete:
        notes.append("too many rows to keep: no AUC and no calibration error")
    return notes


def digits(value: float) -> str:
    """A number with four decimals; "-" if it is undefined."""
    return "-" if np.isnan(value) else f"{value:.4f}" if np.isfinite(value) else number(value)
