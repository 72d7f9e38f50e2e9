"""The result of tuning: the model, the steps, and the curve of k."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from tallybayes.evaluation import Evaluation
from tallybayes.evaluation.criterion import LOG_LOSS, Criterion
from tallybayes.model import Model
from tallybayes.notebook_view import ResultView, TextGrid, data_frame

__all__ = ["Estimate", "Progress", "Step", "Tuning"]

Progress = Callable[[str, float], None]  # called with the name of a step and the completed share of it

_BAR = 30  # characters of the longest bar of the curve
_WIDTH = 60  # printed characters of a choice
_LINES = 13  # printed values of k
_COLUMNS = 12  # with more columns, only the range of their weights is printed


@dataclass(frozen=True)
class Step:
    """A hyperparameter, the number of candidates, the choice, and the criterion (the log loss) before and after."""

    name: str
    candidates: int
    choice: str
    before: float
    after: float


@dataclass(frozen=True)
class Estimate:
    """How good a tuned model is on new rows.

    Each row is scored by sums without it, and by weights, corrections and interactions that were fitted and found on
    other rows; that these were fewer than those of the model is corrected (`tuning/judged_rows.py`).
    error: the standard error of the log loss; accuracy_error: that of the accuracy. Both include that rows share a fit.
    value, value_error: of the criterion, if it is not the log loss.
    """

    accuracy: float
    log_loss: float
    error: float
    n_rows: int
    accuracy_error: float
    value: float | None = None
    value_error: float | None = None

    def loss(self, criterion: Criterion) -> float:
        """What the criterion compares; lower is better."""
        return self.log_loss if self.value is None else criterion.value(self.value)

    def to_dict(self) -> dict[str, Any]:
        """All values that there are."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, eq=False, repr=False)
class Tuning(ResultView):
    """A tuned model and the steps of its tuning. Print it.

    log_loss: of the default model, as `fit` finds it, and of the tuned one, as expected on new rows; without column
    weights, before and after tuning by leave-one-out. is_default: nothing was clearly better than the default model.
    curve: the log loss of one k for all columns, by k. test: the evaluation on the test part, for tuning by validation.
    estimate: of the model on new rows.
    grouped: the evaluation with whole groups held out, where rows seem to be in groups.
    criterion: the metric that candidates were compared by. values: that metric of the default model and of the tuned
    one, where it is not the log loss.
    """

    model: Model
    steps: list[Step]
    curve: list[dict[str, float]]
    log_loss: tuple[float, float]
    n_rows: int
    by: str = "leave-one-out"
    test: Evaluation | None = None
    unit: str = "log loss"
    estimate: Estimate | None = None
    is_default: bool = False
    grouped: Evaluation | None = None
    criterion: Criterion = LOG_LOSS
    values: tuple[float, float] | None = None
    _heading: ClassVar[str] = "Tuning"

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model as plain Python objects, for JSON."""
        steps = [asdict(step) for step in self.steps]
        before, after = self.log_loss
        losses: dict[str, Any] = {"before": before, "after": after} if self.n_rows else {"before": None, "after": None}
        result = {"by": self.by, "unit": self.unit, "rows": self.n_rows, **losses}
        if self.values is not None:
            result |= {"criterion": self.criterion.name, "criterion_before": self.values[0]}
            result |= {"criterion_after": self.values[1]}
        result |= {"steps": steps, "curve": self.curve}
        if self.estimate is not None:
            result |= {"estimate": self.estimate.to_dict(), "is_default": self.is_default}
        if self.grouped is not None:
            result["grouped"] = self.grouped.to_dict()
        return result | ({"test": self.test.to_dict()} if self.test is not None else {})

    def to_frame(self) -> Any:
        """The steps as a pandas DataFrame: name, candidates, choice, before, after."""
        return data_frame([asdict(step) for step in self.steps], [field.name for field in fields(Step)])

    def _parts(self) -> list[str | TextGrid]:
        rows = [
            [step.name, str(step.candidates), _cut(step.choice), f"{step.before:.4f}", f"{step.after:.4f}"]
            for step in self.steps
        ]
        unit = self.unit if self.criterion is LOG_LOSS else self.criterion.words
        header = ["step", "candidates", "choice", f"{unit} before", "after"]
        parts: list[str | TextGrid] = [TextGrid(header, rows)] if rows else []
        if self.curve:
            parts.append(self.curve_text())
        if self.model.column_weights.weights:
            parts.append(self._weights())
        parts.append(self._gain())
        if self.values is not None and self.n_rows and not self.is_default:
            parts.append("{}, the criterion: {:.4f} -> {:.4f}".format(self.criterion.words, *self.values))
        if self.estimate is None and self._has_other_losses():
            parts.append(
                "the log losses of the steps are at the best temperature (one weight for all columns),\n"
                "those of the line above at the weight 1"
            )
        if self.curve and self.estimate is not None and self.criterion is LOG_LOSS:
            parts.append(
                "hyperparameters are compared at the best temperature (one weight for all columns),\n"
                "so their log losses can differ from those of the curve and of the column weights"
            )
        if self.estimate is not None:
            estimate = self.estimate
            accuracy = f"accuracy {estimate.accuracy:.4f} (standard error {estimate.accuracy_error:.4f})"
            log_loss = f"log loss {estimate.log_loss:.4f} (standard error {estimate.error:.4f})"
            shown = [accuracy, log_loss]
            if self.criterion.name not in ("accuracy", "log_loss") and estimate.value is not None:
                error = f"standard error {estimate.value_error:.4f}"
                shown.append(f"{self.criterion.words} {estimate.value:.4f} ({error})")
            parts.append(f"expected on new rows: {', '.join(shown)}")
        if self.grouped is not None:
            figures = f"accuracy {self.grouped.accuracy:.4f}, log loss {self.grouped.log_loss:.4f}"
            parts.append(f"with whole groups held out: {figures} ({self.grouped.split})")
        if self.test is not None:
            names = dict.fromkeys(("accuracy", "log_loss", self.criterion.name))
            figures = ", ".join(f"{name.replace('_', ' ')} {getattr(self.test, name):.4f}" for name in names)
            parts.append(f"test part, {self.test.n_rows:,} rows: {figures}")
        return parts

    def _has_other_losses(self) -> bool:
        """Whether the last step shows another log loss than the result: by leave-one-out, at the best temperature."""
        if self.by != "leave-one-out" or self.criterion is not LOG_LOSS:
            return False
        return bool(self.n_rows and self.steps) and f"{self.steps[-1].after:.4f}" != f"{self.log_loss[1]:.4f}"

    def _gain(self) -> str:
        """The log loss before and after; with an estimate, of the default model and of the tuned one."""
        if not self.n_rows:
            return "nothing was tuned: there are too few rows, or nothing to select"
        before, after = self.log_loss
        share = f" ({(after - before) / abs(before):+.1%})" if before else ""
        rows = f"{self.n_rows:,} rows"
        if self.estimate is None:
            without = "" if self.by == "evidence" else " without column weights"
            return f"{self.unit}{without} {before:.4f} -> {after:.4f}{share}, by {self.by} on {rows}"
        if self.is_default:
            return f"nothing is clearly better than the default model of `fit`: it is kept; judged on {rows}"
        return f"log loss of the default model of `fit` {before:.4f}, tuned {after:.4f}{share}, judged on {rows}"

    def _weights(self) -> str:
        """The column weights; of many columns only their range, and the columns with the smallest and greatest."""
        weights = self.model.column_weights.weights
        ranges = {name: list(w.values()) if isinstance(w, Mapping) else [w] for name, w in weights.items()}
        bounds = {name: (min(values), max(values)) for name, values in ranges.items() if values}
        if len(bounds) <= _COLUMNS:
            shown = [f"{name} {_span(*span)}" for name, span in bounds.items()]
            return "\n".join(textwrap.wrap("weights: " + ", ".join(shown), 100))
        low, high = (pick(bounds, key=lambda name: bounds[name][i]) for i, pick in enumerate((min, max)))
        span = _span(bounds[low][0], bounds[high][1])
        return f"weights of {len(bounds):,} columns: {span} (the smallest: {low}, the greatest: {high})"

    def curve_text(self) -> str:
        """The curve as text, with a bar for some of the values of k; longer is better, and "-" is undefined."""
        name, every = self.criterion.name, max(1, -(-len(self.curve) // _LINES))
        losses = np.nan_to_num(
            [self.criterion.value(point[name]) for point in self.curve], nan=math.inf, posinf=math.inf
        )
        best = min(range(len(losses)), key=lambda i: (losses[i], self.curve[i]["log_loss"]))
        shown = [i for i in range(len(losses)) if i % every == 0 or i == best]
        low, high = losses[best], max([losses[i] for i in shown if losses[i] < math.inf], default=math.inf)
        mark = "  <- maximum" if self.criterion.is_higher_better else "  <- minimum"
        lines = []
        for i in shown:
            k, value = f"{self.curve[i]['k']:9.3g}", f"{self.curve[i][name]:.4f}".replace("nan", "-")
            if losses[i] == math.inf:
                lines.append(f"{k}  {value}")
                continue
            width = _BAR if high == low else round(_BAR * (high - losses[i]) / (high - low))
            lines.append(f"{k}  {value}  {'#' * width}{mark if i == best else ''}")
        return "\n".join([f"{'k':>9}  {self.criterion.words} of one k for all columns, without column weights", *lines])


def _cut(text: str) -> str:
    """A choice cut to fit into a table."""
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."


def _span(low: float, high: float) -> str:
    first, last = f"{low:.2f}", f"{high:.2f}"
    return first if first == last else f"{first} to {last}"
