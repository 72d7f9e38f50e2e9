"""Classification metrics as sums over rows, so that evaluations of batches can be added.

accuracy    the share of correct predictions;  balanced accuracy: the mean of the recalls
log loss    the mean of -log P(true label), in nats
Brier       the mean over rows of the sum over classes of (P - 1 or 0) squared: from 0 to 2
AUC         P(a row of the class has a higher P(class) than another row): of the second of two classes, else the mean
ECE         expected calibration error: mean |confidence - accuracy| of the predictions, in ten bins
cost        the mean cost of the answers, where the decision rule has costs
AP, KS, lift  how well the rows of a class are ranked first (`ranking_metrics.py`);  MCC: Matthews correlation
precision   correct predictions of a class / predictions of it;  recall: correct predictions of a class / rows of it

A row with a label unknown to the model counts as wrong. It has no probability, so it is excluded from log loss and
Brier score and counted separately. An undefined metric (no rows, one class) is NaN, "-" in print and None in `to_dict`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import sort_keys
from tallybayes.errors import ParameterError, did_you_mean
from tallybayes.evaluation.bootstrap import intervals
from tallybayes.evaluation.confusion_metrics import (
    Costs,
    count_by_class,
    least_constant_cost,
    matthews_correlation,
    mean_cost,
    ratio,
)
from tallybayes.evaluation.evaluation_text import evaluation_parts
from tallybayes.evaluation.ranking_metrics import RANKING, auc_classes, mean_auc, rank_rows
from tallybayes.evaluation.scores import KeptRows, Scores
from tallybayes.evaluation.subgroups import subgroup_figures
from tallybayes.families.family import Floats
from tallybayes.formatting import finite_json
from tallybayes.notebook_view import ResultView, TextGrid, data_frame

__all__ = ["Evaluation"]

_BINS = 10  # for the calibration error
_GROUPED = ("split", "rows", "accuracy", "log_loss", "brier", "auc")  # shown of an evaluation with groups held out


@dataclass(eq=False, repr=False)
class Evaluation(ResultView):
    """Sums over evaluated rows, from which all metrics are derived. Print it.

    >>> found = Evaluation()
    >>> found.add(["no", "yes"], ["yes", "no", "yes"], np.log([[0.2, 0.8], [0.9, 0.1], [0.6, 0.4]]))
    >>> round(found.accuracy, 3), round(found.log_loss, 3), round(found.brier, 3), found.auc
    (0.667, 0.415, 0.273, 1.0)
    """

    confusion: Counter[tuple[Any, Any]] = field(default_factory=Counter)  # rows by (true, predicted or None)
    sum_log_loss: float = 0.0
    sum_brier: float = 0.0
    sum_prior_log_loss: float = 0.0  # of the class shares of the training rows; NaN where they are unknown
    n_majority_right: float = 0.0  # rows of the most frequent class of the training rows; NaN where it is unknown
    unknown: Counter[Any] = field(default_factory=Counter)  # rows by label, for labels unknown to the model
    skipped: int = 0  # rows without a label
    bad: int = 0  # rows skipped because they could not be read
    folds: list[float] = field(default_factory=list)  # the accuracy of every fold
    kept: KeptRows = field(default_factory=KeptRows)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)  # by metric, set by `bootstrap`
    draws: tuple[int, float] = (0, 0.0)  # the number of bootstrap samples, and the level of the intervals
    split: str = ""  # how training and evaluated rows were divided, in words, unless by stratified folds
    leave_one_out: bool = False  # the rows are training rows, each scored by a model without it
    positive: Any = None  # the class whose metrics are reported apart
    costs: Costs = field(default_factory=dict)  # of the decision rule, if it has any
    by: str | None = None  # the column of subgroups
    by_values: list[Any] = field(default_factory=list)  # of the rows in `kept`
    grouped: Evaluation | None = None  # with whole groups held out, where rows seem to be in groups
    _heading: ClassVar[str] = "Evaluation"

    def add(
        self,
        classes: Sequence[Any],
        labels: Sequence[Any],
        log_proba: Floats,
        predicted: Any = None,
        *,
        log_prior: Floats | None = None,
    ) -> None:
        """Add rows with their true labels and log P(class | row), the classes as columns.

        predicted: the position of each row's prediction in `classes`, -1 for none; the most probable class by default.
        log_prior: log P(class) among the training rows, for the baselines, which are undefined without it.
        """
        if not len(labels):
            return
        model_classes = set(classes)
        names = [*classes, *dict.fromkeys(label for label in labels if label not in model_classes)]
        index = {label: code for code, label in enumerate(names)}
        codes: NDArray[np.int64] = np.array([index[label] for label in labels], np.int64)
        chosen = log_proba.argmax(axis=1) if predicted is None else np.asarray(predicted, np.int64)
        columns = [*classes, None]
        rows = np.bincount(codes * len(columns) + chosen % len(columns), minlength=len(names) * len(columns))
        for place in np.flatnonzero(rows).tolist():
            self.confusion[names[place // len(columns)], columns[place % len(columns)]] += int(rows[place])
        known = np.flatnonzero(codes < len(classes))
        self.unknown.update(names[code] for code in codes[codes >= len(classes)].tolist())
        self.sum_log_loss -= float(log_proba[known, codes[known]].sum())
        baseline = np.full(len(classes), np.nan) if log_prior is None else log_prior
        self.sum_prior_log_loss -= float(baseline[codes[known]].sum())
        self.n_majority_right += np.nan if log_prior is None else float((codes == np.argmax(log_prior)).sum())
        p = np.exp(log_proba)
        self.kept.add(names, codes, p, chosen)
        off = p[known]
        off[np.arange(len(known)), codes[known]] -= 1.0
        self.sum_brier += float((off * off).sum())
        self.intervals = {}

    def __add__(self, other: Evaluation) -> Evaluation:
        return Evaluation(
            self.confusion + other.confusion,
            self.sum_log_loss + other.sum_log_loss,
            self.sum_brier + other.sum_brier,
            self.sum_prior_log_loss + other.sum_prior_log_loss,
            self.n_majority_right + other.n_majority_right,
            self.unknown + other.unknown,
            self.skipped + other.skipped,
            self.bad + other.bad,
            [*self.folds, *other.folds],
            self.kept + other.kept,
            split=self.split or other.split,
            leave_one_out=self.leave_one_out or other.leave_one_out,
            positive=self.positive if other.positive is None else other.positive,
            costs=self.costs or other.costs,
            by=self.by or other.by,
            by_values=[*self.by_values, *other.by_values],
            grouped=self.grouped or other.grouped,
        )

    def with_positive(self, positive: Any) -> Evaluation:
        """The same evaluation with the metrics of one class reported apart; None: of no class."""
        if positive is not None and positive not in self.classes:
            raise ParameterError(
                "positive: a class", got=positive, hint=did_you_mean(positive, self.classes, "classes")
            )
        return replace(self, positive=positive)

    # Rows

    @property
    def n_rows(self) -> int:
        """Rows evaluated."""
        return sum(self.confusion.values())

    @property
    def n_unknown(self) -> int:
        """Rows with a label unknown to the model."""
        return sum(self.unknown.values())

    @property
    def abstained(self) -> int:
        """Rows without a prediction, because of an abstaining decision rule."""
        return sum(n for (_, predicted), n in self.confusion.items() if predicted is None)

    @property
    def coverage(self) -> float:
        """The share of rows with a prediction."""
        return ratio(self.n_rows - self.abstained, self.n_rows)

    @property
    def classes(self) -> list[Any]:
        """All true and predicted labels, sorted."""
        return sort_keys({label for pair in self.confusion for label in pair if label is not None})

    @property
    def class_rows(self) -> dict[Any, int]:
        """Rows by their true label."""
        rows = Counter[Any]()
        for (label, _), n in self.confusion.items():
            rows[label] += n
        return rows

    def scores(self) -> Scores:
        """The evaluated rows with P(class | row); an error if there were too many to keep."""
        return self.kept.scores()

    # Metrics

    @property
    def accuracy(self) -> float:
        """The share of correct predictions."""
        right = sum(n for (true, predicted), n in self.confusion.items() if true == predicted)
        return ratio(right, self.n_rows - self.abstained)

    @property
    def balanced_accuracy(self) -> float:
        """The mean of the recalls of the classes that have rows."""
        recalls = [row["recall"] for row in count_by_class(self.confusion, self.classes) if row["rows"]]
        return ratio(sum(recalls), len(recalls))

    @property
    def majority(self) -> float:
        """The accuracy of always predicting the most frequent class of the training rows."""
        return ratio(self.n_majority_right, self.n_rows)

    @property
    def log_loss(self) -> float:
        """The mean of -log P(true label)."""
        return ratio(self.sum_log_loss, self.n_rows - self.n_unknown)

    @property
    def prior_log_loss(self) -> float:
        """The log loss of always predicting the class shares of the training rows."""
        return ratio(self.sum_prior_log_loss, self.n_rows - self.n_unknown)

    @property
    def brier(self) -> float:
        """The mean squared error of the probabilities, summed over the classes."""
        return ratio(self.sum_brier, self.n_rows - self.n_unknown)

    @property
    def mean_cost(self) -> float:
        """The mean cost of the answers under the costs of the decision rule; NaN if it has none."""
        return mean_cost(self.confusion, self.costs) if self.costs else float("nan")

    @property
    def least_constant_cost(self) -> float:
        """The mean cost of always giving the same answer, the one for which it is least; NaN without costs."""
        return least_constant_cost(self.class_rows, self.classes, self.costs) if self.costs else float("nan")

    def of_positive(self) -> dict[str, Any]:
        """Precision, recall, specificity, F1, AUC and ranking of the class `positive` against the rest."""
        metrics = next(row for row in self.per_class() if row["class"] == self.positive)
        others = {pair: n for pair, n in self.confusion.items() if pair[0] != self.positive and pair[1] is not None}
        wrong = sum(n for pair, n in others.items() if pair[1] == self.positive)
        specificity = 1 - ratio(wrong, sum(others.values()))
        return metrics | {"specificity": specificity}

    @property
    def auc(self) -> float:
        """The area under the ROC curve of the second of two classes; of several, the mean of one against the rest."""
        scores = self.scores()
        by_class = rank_rows(scores, auc_classes(scores.classes))
        return float(mean_auc([np.array([ranked.auc()]) for ranked in by_class.values()])[0])

    def auc_of(self, positive: Any) -> float:
        """The area under the ROC curve of one class against the rest; None: of the second of two classes."""
        scores = self.scores()
        label = scores.classes[scores.place_of(positive)]
        by_class = rank_rows(scores, [label])
        return by_class[label].auc() if by_class else float("nan")

    @property
    def average_precision(self) -> float:
        """The average precision of `positive`, or else of the second of two classes, or the mean over several."""
        return self._mean_ranking("average_precision", self.per_class())

    @property
    def ks(self) -> float:
        """The Kolmogorov-Smirnov distance of P(class) in and outside a class, for that of `average_precision`."""
        return self._mean_ranking("ks", self.per_class())

    @property
    def lift(self) -> float:
        """The lift in the first tenth of the rows, for the class of `average_precision`."""
        return self._mean_ranking("lift", self.per_class())

    def _mean_ranking(self, name: str, per_class: list[dict[str, Any]]) -> float:
        labels = auc_classes(self.classes) if self.positive is None else [self.positive]
        values = [row[name] for row in per_class if row["class"] in labels and not np.isnan(row[name])]
        return ratio(sum(values), len(values))

    @property
    def mcc(self) -> float:
        """The Matthews correlation coefficient of true and predicted classes."""
        return matthews_correlation(self.matrix())

    @property
    def ece(self) -> float:
        """The expected calibration error: mean |confidence - accuracy| of the predictions, in ten bins."""
        curve = self.reliability(_BINS)
        off = sum(point["rows"] * abs(point["observed"] - point["predicted"]) for point in curve)
        return ratio(off, sum(point["rows"] for point in curve))

    def bootstrap(self, n: int = 1000, seed: int = 0, *, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Intervals of accuracy, balanced accuracy, log loss, Brier and AUC, from n bootstrap samples of the rows.

        They are also stored in `intervals` and printed with the metrics.

        >>> found = Evaluation()
        >>> found.add(["no", "yes"], ["yes", "no"] * 50, np.log([[0.3, 0.7], [0.6, 0.4], [0.6, 0.4], [0.6, 0.4]] * 25))
        >>> found.accuracy, found.bootstrap(500)["accuracy"]
        (0.75, (0.67, 0.84))
        """
        self.intervals = intervals(self.scores(), n, seed=seed, level=level)
        self.draws = n, level
        return dict(self.intervals)

    # Tables and curves

    def per_class(self) -> list[dict[str, Any]]:
        """Rows, precision, recall, F1, AUC and ranking of every class against the rest; NaN if rows were not kept."""
        scores = self.scores() if self.kept.complete and self.kept.parts else None
        ranked = {} if scores is None else rank_rows(scores, scores.classes)
        undefined = dict.fromkeys(("auc", *RANKING), float("nan"))
        metrics = {label: {"auc": rows.auc()} | rows.metrics() for label, rows in ranked.items()}
        return [row | metrics.get(row["class"], undefined) for row in count_by_class(self.confusion, self.classes)]

    def matrix(self) -> NDArray[np.int64]:
        """The confusion matrix of the rows with a prediction, (true, predicted), classes as in `classes`."""
        names = self.classes
        rows = [[self.confusion.get((a, b), 0) for b in names] for a in names]
        return np.array(rows, np.int64).reshape(len(names), len(names))

    def reliability(self, bins: int = 10, positive: Any = None) -> list[dict[str, Any]]:
        """Predicted against observed in bins of equal width: bounds, rows, mean probability, observed share.

        With a label: the probability of that class and its share of the rows. Without: the probability of the
        predicted class and the share of correct predictions. Bins without rows are omitted.

        >>> found = Evaluation()
        >>> found.add(["no", "yes"], ["yes", "no", "yes"], np.log([[0.25, 0.75], [0.75, 0.25], [0.75, 0.25]]))
        >>> found.reliability(2, "yes")[0]
        {'low': 0.0, 'high': 0.5, 'rows': 2, 'predicted': 0.25, 'observed': 0.5}
        """
        return self.scores().reliability(bins, positive)

    def roc(self, positive: Any = None) -> tuple[Floats, Floats, Floats]:
        """False positive rate, true positive rate and thresholds of a class, by default the second of two."""
        return self.scores().roc(positive)

    def precision_recall(self, positive: Any = None) -> tuple[Floats, Floats, Floats]:
        """Precision, recall and thresholds of a class, by default the second of two."""
        return self.scores().precision_recall(positive)

    def subgroups(self) -> list[dict[str, Any]]:
        """Figures of all rows and of each value of the column `by` (`evaluation/subgroups.py`); none without it."""
        return [] if self.by is None else subgroup_figures(self.scores(), self.by_values, self.positive)

    def subgroup_frame(self) -> Any:
        """The figures of subgroups as a pandas DataFrame, without their calibration curves."""
        return data_frame([{k: v for k, v in row.items() if k != "calibration"} for row in self.subgroups()])

    def to_dict(self) -> dict[str, Any]:
        """All values as plain Python objects, for JSON; None for a value that is undefined or not finite."""
        return finite_json(self._values())  # type: ignore[no-any-return]

    def _values(self) -> dict[str, Any]:
        kept, per_class = self.kept.complete, self.per_class()
        result: dict[str, Any] = {
            "rows": self.n_rows,
            "accuracy": self.accuracy,
            "majority": self.majority,
            "log_loss": self.log_loss,
            "brier": self.brier,
            "balanced_accuracy": self.balanced_accuracy,
            "prior_log_loss": self.prior_log_loss,
            "auc": self.auc if kept else float("nan"),
            "ece": self.ece if kept else float("nan"),
            **{name: self._mean_ranking(name, per_class) for name in RANKING},
            "mcc": self.mcc,
            "abstained": self.abstained,
            "coverage": self.coverage,
            "unknown_labels": self.n_unknown,
            "skipped": self.skipped,
            "bad": self.bad,
            "classes": self.classes,
            "per_class": per_class,
            "confusion": self.matrix().tolist(),
            "reliability": self.reliability() if kept else None,
        }
        if self.folds:
            result["folds"] = self.folds
        if self.split:
            result["split"], result["leave_one_out"] = self.split, self.leave_one_out
        if self.by is not None and kept:
            result["by"] = {"column": self.by, "subgroups": self.subgroups()}
        if self.grouped is not None:
            result["grouped"] = {name: self.grouped._values()[name] for name in _GROUPED}
        if self.positive is not None:
            result["positive"] = self.of_positive()
        if self.costs:
            result["mean_cost"], result["least_constant_cost"] = self.mean_cost, self.least_constant_cost
        if self.intervals:
            result["interval_samples"], result["interval_level"] = self.draws
            result["intervals"] = {name: list(bounds) for name, bounds in self.intervals.items()}
        return result

    def to_frame(self) -> Any:
        """The metrics of each class as a pandas DataFrame, as in `per_class`."""
        return data_frame(self.per_class(), ["class", "rows", "precision", "recall", "f1", "auc", *RANKING])

    def _parts(self) -> list[str | TextGrid]:
        return evaluation_parts(self._values())
