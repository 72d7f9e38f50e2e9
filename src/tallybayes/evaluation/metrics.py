"""What predictions were worth, as sums over rows, so that any number of rows fits.

accuracy    the share of the answers that are right;  balanced: the mean of the recalls, each class counting alike
log loss    the mean of -log P(true label), in nats
Brier       the mean over rows of the sum over classes of (P - 1 or 0) squared: from 0 to 2
AUC         P(a row of the class has the greater P(class) than another): of the second of two classes, the mean of more
ECE         how far the probabilities of the answers are from how often they are right, on average (ten bins)
precision   of the rows predicted as a class, the share that is of it;  recall: of the rows of it, the share predicted

A row whose label the model has never seen counts as wrong; it has no probability, so that it is left out of log loss
and Brier score and counted apart. A figure that is not defined (no rows, one class) is NaN, "-" in print and None in
`to_dict`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import sort_keys
from tallybayes.evaluation import metric_curves
from tallybayes.evaluation.auc import compared, mean_auc, rankings
from tallybayes.evaluation.bootstrap import intervals
from tallybayes.evaluation.evaluation_text import for_people, for_programs
from tallybayes.evaluation.scores import KeptRows, Scores
from tallybayes.families.family import Floats
from tallybayes.scoring.scorer import most_probable

__all__ = ["Evaluation"]

_BINS = 10  # of the calibration error


@dataclass(eq=False)
class Evaluation:
    """Sums over rows; everything else is derived. Print it.

    >>> judged = Evaluation()
    >>> judged.add(["no", "yes"], ["yes", "no", "yes"], np.log([[0.2, 0.8], [0.9, 0.1], [0.6, 0.4]]))
    >>> round(judged.accuracy, 3), round(judged.majority, 3), round(judged.brier, 3), judged.auc
    (0.667, 0.667, 0.273, 1.0)
    """

    confusion: dict[tuple[Any, Any], int] = field(default_factory=dict)  # rows by (true, predicted); None: no answer
    sum_log_loss: float = 0.0
    sum_brier: float = 0.0
    unknown: dict[Any, int] = field(default_factory=dict)  # rows by label, of labels that their model had never seen
    skipped: int = 0  # rows without a label
    bad: int = 0  # rows left out because they could not be read
    folds: list[float] = field(default_factory=list)  # the accuracy of every fold
    kept: KeptRows = field(default_factory=KeptRows)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)  # by figure, once `bootstrap` was asked
    draws: tuple[int, float] = (0, 0.0)  # how many it took, and the share of them within the intervals

    def add(self, classes: Sequence[Any], labels: Sequence[Any], log_proba: Floats, predicted: Any = None) -> None:
        """Rows with their true labels and log P(class | row), the classes as columns.

        predicted: the place of each row's answer in `classes`, -1 where there is none; the most probable otherwise.
        """
        if not len(labels):
            return
        own = set(classes)
        names = [*classes, *dict.fromkeys(label for label in labels if label not in own)]
        index = {label: code for code, label in enumerate(names)}
        codes: NDArray[np.int64] = np.array([index[label] for label in labels], np.int64)
        chosen = most_probable(log_proba) if predicted is None else np.asarray(predicted, np.int64)
        answers = [*classes, None]
        rows = np.bincount(codes * len(answers) + chosen % len(answers), minlength=len(names) * len(answers))
        for place in np.flatnonzero(rows).tolist():
            pair = names[place // len(answers)], answers[place % len(answers)]
            self.confusion[pair] = self.confusion.get(pair, 0) + int(rows[place])
        known = np.flatnonzero(codes < len(classes))
        self.unknown = _sum(self.unknown, Counter(names[code] for code in codes[codes >= len(classes)].tolist()))
        self.sum_log_loss -= float(log_proba[known, codes[known]].sum())
        p = np.exp(log_proba)
        self.kept.add(names, codes, p, chosen)
        off = p[known]
        off[np.arange(len(known)), codes[known]] -= 1.0
        self.sum_brier += float((off * off).sum())
        self.intervals = {}

    def __add__(self, other: Evaluation) -> Evaluation:
        return Evaluation(
            _sum(self.confusion, other.confusion),
            self.sum_log_loss + other.sum_log_loss,
            self.sum_brier + other.sum_brier,
            _sum(self.unknown, other.unknown),
            self.skipped + other.skipped,
            self.bad + other.bad,
            [*self.folds, *other.folds],
            self.kept + other.kept,
        )

    # Rows

    @property
    def n_rows(self) -> int:
        """Rows judged."""
        return sum(self.confusion.values())

    @property
    def n_unknown(self) -> int:
        """Rows with a label that the model has never seen."""
        return sum(self.unknown.values())

    @property
    def abstained(self) -> int:
        """Rows that a rule of decision gave no answer for."""
        return sum(n for (_, predicted), n in self.confusion.items() if predicted is None)

    @property
    def coverage(self) -> float:
        """The share of the rows that were answered."""
        return _ratio(self.n_rows - self.abstained, self.n_rows)

    @property
    def classes(self) -> list[Any]:
        """Every label that was true or predicted, sorted."""
        return sort_keys({label for pair in self.confusion for label in pair if label is not None})

    @property
    def class_rows(self) -> dict[Any, int]:
        """Rows by their true label."""
        return self._rows_by(0)

    def scores(self) -> Scores:
        """The rows one by one, with P(class | row); an error if they were too many to be kept."""
        return self.kept.together()

    # Figures

    @property
    def accuracy(self) -> float:
        """The share of the answers that are right."""
        right = sum(n for (true, predicted), n in self.confusion.items() if true == predicted)
        return _ratio(right, self.n_rows - self.abstained)

    @property
    def balanced_accuracy(self) -> float:
        """The mean of the recalls of the classes that came."""
        recalls = [row["recall"] for row in self._counted() if row["rows"]]
        return _ratio(sum(recalls), len(recalls))

    @property
    def majority(self) -> float:
        """The accuracy of always saying the commonest label."""
        return _ratio(max(self.class_rows.values(), default=0), self.n_rows)

    @property
    def log_loss(self) -> float:
        """The mean of -log P(true label)."""
        return _ratio(self.sum_log_loss, self.n_rows - self.n_unknown)

    @property
    def prior_log_loss(self) -> float:
        """The log loss of always answering with the shares of the classes among these rows, whatever the row."""
        n_known = self.n_rows - self.n_unknown
        rows = [n - self.unknown.get(label, 0) for label, n in self.class_rows.items()]
        return _ratio(sum(n * float(np.log(n_known / n)) for n in rows if n), n_known)

    @property
    def brier(self) -> float:
        """The mean squared error of the probabilities, summed over the classes."""
        return _ratio(self.sum_brier, self.n_rows - self.n_unknown)

    @property
    def auc(self) -> float:
        """The area under the ROC curve: of the second of two classes, of more the mean of each against the rest."""
        scores = self.scores()
        found = rankings(scores, compared(scores.classes))
        return float(mean_auc([np.array([ranking.auc()]) for ranking in found.values()])[0])

    def auc_of(self, label: Any) -> float:
        """The area under the ROC curve of one class against the rest."""
        scores = self.scores()
        found = rankings(scores, [scores.classes[metric_curves.place_of(scores, label)]])
        return found[label].auc() if found else float("nan")

    @property
    def ece(self) -> float:
        """The expected calibration error: |confidence - accuracy|, averaged over the answers, in ten bins."""
        return metric_curves.calibration_error(self.reliability(_BINS))

    def bootstrap(self, n: int = 1000, seed: int = 0, *, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Intervals of accuracy, balanced accuracy, log loss, Brier and AUC, from n draws of the rows.

        They are also kept in `intervals`, and printed beside the figures from then on.

        >>> judged = Evaluation()
        >>> judged.add(["no", "yes"], ["yes", "no"] * 50, np.log([[0.3, 0.7], [0.6, 0.4], [0.6, 0.4], [0.6, 0.4]] * 25))
        >>> judged.accuracy, judged.bootstrap(500)["accuracy"]
        (0.75, (0.67, 0.84))
        """
        self.intervals = intervals(self.scores(), n, seed=seed, level=level)
        self.draws = n, level
        return dict(self.intervals)

    # Tables and curves

    def per_class(self) -> list[dict[str, Any]]:
        """Rows, precision, recall, F1 and AUC (against the rest) of every class; AUC is NaN if rows were not kept."""
        scores = self.scores() if self.kept.are_there else None
        found = {} if scores is None else rankings(scores, scores.classes)
        return [
            row | {"auc": found[row["class"]].auc() if row["class"] in found else float("nan")}
            for row in self._counted()
        ]

    def matrix(self) -> NDArray[np.int64]:
        """The confusion matrix of the rows answered, (true, predicted), classes as in `classes`."""
        names = self.classes
        return np.array([[self.confusion.get((a, b), 0) for b in names] for a in names], np.int64)

    def reliability(self, bins: int = 10, label: Any = None) -> list[dict[str, Any]]:
        """What was said against what came, in bins of equal width: bounds, rows, mean probability, observed share.

        Without a label the probability of the answer, and how often it was right; else the probability of that class,
        and its share. Bins without rows are left out.

        >>> judged = Evaluation()
        >>> judged.add(["no", "yes"], ["yes", "no", "yes"], np.log([[0.25, 0.75], [0.75, 0.25], [0.75, 0.25]]))
        >>> judged.reliability(2, "yes")[0]
        {'low': 0.0, 'high': 0.5, 'rows': 2, 'predicted': 0.25, 'observed': 0.5}
        """
        scores = self.scores()
        return metric_curves.reliability(scores, bins, None if label is None else metric_curves.place_of(scores, label))

    def roc(self, label: Any = None) -> tuple[Floats, Floats, Floats]:
        """False positive rate, true positive rate and thresholds of a class (the second of two), as scikit-learn."""
        return metric_curves.roc(self.scores(), metric_curves.place_of(self.scores(), label))

    def precision_recall(self, label: Any = None) -> tuple[Floats, Floats, Floats]:
        """Precision, recall and thresholds of a class (the second of two), as scikit-learn has them."""
        return metric_curves.precision_recall(self.scores(), metric_curves.place_of(self.scores(), label))

    def _counted(self) -> list[dict[str, Any]]:
        """What the confusion matrix says of every class."""
        answered = {pair: n for pair, n in self.confusion.items() if pair[1] is not None}
        true, predicted = _rows_by(answered, 0), _rows_by(answered, 1)
        rows = []
        for label in self.classes:
            right, n_true, n_predicted = answered.get((label, label), 0), true.get(label, 0), predicted.get(label, 0)
            precision, recall = _ratio(right, n_predicted), _ratio(right, n_true)
            f1 = _ratio(2 * right, n_predicted + n_true)
            rows.append({"class": label, "rows": n_true, "precision": precision, "recall": recall, "f1": f1})
        return rows

    def _rows_by(self, which: int) -> dict[Any, int]:
        return _rows_by(self.confusion, which)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for programs; what is not finite or not defined is None."""
        return for_programs(self)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return for_people(self)


def _rows_by(confusion: dict[tuple[Any, Any], int], which: int) -> dict[Any, int]:
    rows: dict[Any, int] = {}
    for pair, n in confusion.items():
        rows[pair[which]] = rows.get(pair[which], 0) + n
    return rows


def _sum(mine: dict[Any, int], other: dict[Any, int]) -> dict[Any, int]:
    return {key: mine.get(key, 0) + other.get(key, 0) for key in dict.fromkeys([*mine, *other])}


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
