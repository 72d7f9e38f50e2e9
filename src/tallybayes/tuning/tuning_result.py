"""What tuning has found: a model, the steps that led there, and the curve of k."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tallybayes.evaluation import Evaluation
from tallybayes.formatting import text_table
from tallybayes.model import Model

__all__ = ["Step", "Tuning"]

_LAST = "weights of columns"
_BAR = 30  # the widest bar of a curve, in characters
_WIDTH = 60  # characters of a choice that are printed
_LINES = 13  # values of k that are printed


@dataclass(frozen=True)
class Step:
    """What was tried, what won, and the log loss before and after."""

    what: str
    tried: int
    choice: str
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class Tuning:
    """A tuned model, what was tried on the way, and what it was worth. Print it.

    log_loss: before and after, on the rows it was tuned by; curve: the log loss of one k for all columns, by k.
    """

    model: Model
    steps: list[Step]
    curve: list[dict[str, float]]
    log_loss: tuple[float, float]
    n_rows: int
    by: str = "leave-one-out"
    test: Evaluation | None = None  # on the rows that were touched once
    unit: str = field(default="log loss")

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model as plain values, for programs."""
        steps = [
            {"what": s.what, "tried": s.tried, "choice": s.choice, "before": s.before, "after": s.after}
            for s in self.steps
        ]
        before, after = self.log_loss
        result = {"by": self.by, "unit": self.unit, "rows": self.n_rows, "before": before, "after": after}
        result |= {"steps": steps, "curve": self.curve}
        return result | ({"test": self.test.to_dict()} if self.test is not None else {})

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        rows = [
            [step.what, str(step.tried), _cut(step.choice), f"{step.before:.4f}", f"{step.after:.4f}"]
            for step in self.steps
        ]
        before, after = self.log_loss
        share = f" ({(after - before) / abs(before):+.1%})" if before else ""
        parts = [text_table(["what", "tried", "choice", f"{self.unit} before", "after"], rows)] if rows else []
        if self.curve:
            parts.append(self.drawn())
        if self.model.column_weights.weights:
            parts.append(self._weights())
        parts.append(f"{self.unit} {before:.4f} -> {after:.4f}{share}, by {self.by} on {self.n_rows:,} rows")
        if len(rows) > 1 and self.steps[-1].what == _LAST:
            told = (
                "the steps before the last compare candidates under one weight for all columns, the best for each step;"
            )
            parts.append(f"{told}\nso their figures, and the k they choose, need not be those of the curve")
        if self.test is not None:
            figures = f"accuracy {self.test.accuracy:.4f}, log loss {self.test.log_loss:.4f}"
            parts.append(f"on {self.test.n_rows:,} other rows, touched once: {figures}")
        return "\n\n".join(parts)

    def _weights(self) -> str:
        """The weights that were found."""
        told = []
        for name, own in self.model.column_weights.weights.items():
            values = list(own.values()) if isinstance(own, Mapping) else [own]
            low, high = f"{min(values):.2f}", f"{max(values):.2f}"
            told.append(f"{name} {low}" if low == high else f"{name} {low} to {high}")
        return "\n".join(textwrap.wrap("weights: " + ", ".join(told), 100))

    def drawn(self) -> str:
        """The curve as text: a bar for some of the values of k, the longer the better."""
        every = max(1, -(-len(self.curve) // _LINES))
        best = min(self.curve, key=lambda one: one["log_loss"])
        shown = [one for i, one in enumerate(self.curve) if i % every == 0 or one is best]
        low, high = best["log_loss"], max(one["log_loss"] for one in shown)
        lines = []
        for one in shown:
            width = _BAR if high == low else round(_BAR * (high - one["log_loss"]) / (high - low))
            mark = "  <- the least" if one is best else ""
            lines.append(f"{one['k']:9.3g}  {one['log_loss']:.4f}  {'#' * width}{mark}")
        return "\n".join([f"{'k':>9}  log loss of one k for all columns, each with weight 1", *lines])


def _cut(text: str) -> str:
    """A choice that fits into a table."""
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
