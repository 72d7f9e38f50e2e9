"""The rows that judge candidates: means over them, standard errors, and what is to be expected on new rows.

Rows are judged by fits on other rows, fewer than those that the model is fitted on in the end. With p parameters, n
rows and k parts, each judged by a fit on the others, the expected log loss exceeds the least one by p / 2n on new rows
and by k / (k - 1) times as much on the judged ones; on the rows of the fit itself it is lower by p / 2n (Akaike 1974).

    expected on new rows = a (judged by the fit on all rows) + (1 - a) (judged by fits on others), a = 1 / (2k - 1)

The standard error has two parts that that of independent rows has not. The rows of a part are judged by the same fit,
whose error they share: that multiplies the variance by 1 + judged rows / fitted rows (Nadeau and Bengio 2003), which is
2 for halves. And copies of a row are in the sample together or not at all: with the share f of the table in the sample,
the variance is f times that of independent rows, plus 1 - f times that of independent groups of copies.

Where there are few texts, everything is chosen again without the rows that judge (`nested_estimate`). Held-out evidence
is scored by sums without a row's fold. But weights are fitted on the evidence of other rows, and this row is in their
sums: if it happens to be like the rows of its class, these happen to be like it. So words seem to tell the class that
tell nothing, and the options of a text are selected on the same rows too. With few rows of many words that makes the
estimate too good (60 documents of random words: by 1.7 standard errors). There, models are fitted to the rows without a
fold, with every choice, and judge the fold. The folds have different shares of the classes: if all had the same, a
class that is frequent by chance would look as frequent among new rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Codes32, Floats
from tallybayes.arrays.axis import positions
from tallybayes.columns.schema import Schema
from tallybayes.evaluation.criterion import LOG_LOSS, Criterion
from tallybayes.model import Model
from tallybayes.model.fit import learn_and_sample
from tallybayes.state.model_state import ModelState
from tallybayes.state.row_sample import RowSample
from tallybayes.tuning.group_folds import clustered_error
from tallybayes.tuning.tuning_result import Estimate
from tallybayes.weights.held_out_evidence import FAR
from tallybayes.weights.weight_fit import losses_of
from tallybayes.weights.weight_selection import LEAST_ROWS, WeightFit

__all__ = ["JudgedRows", "Learn", "Mixture", "mixture", "nested_estimate"]

_LEAST_GAIN = 1.0 + math.log(4)  # nats of all rows: four things are tried (terms of three kinds, and no weights), and
# the logarithm makes up for taking the best of them, as in `search.py`; noise often gained one or two nats
_SHARED_FIT = 2.0  # 1 + judged rows / fitted rows, of two halves
_FOLDS = 5  # of a nested estimate, at least
_MOST_ROWS = 1000  # of one: more take long, and noise looks better than it is by at most a standard error

Learn = Callable[[Model], Any]  # lets a model learn the rows that another one has learned
Mixture = list[tuple[float, Floats]]  # shares, and the log score of all lines: their figures are added


def mixture(joint: Floats, whole: Floats, *, n_parts: int = 2) -> Mixture:
    """What is expected on new rows, from scores by fits on other parts of the rows and by the fit on all of them."""
    share = 1 / (2 * n_parts - 1)
    return [(share, whole), (1 - share, joint)]


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Lines of held-out evidence that judge; each is one row of the sample, with as many copies as a fold has."""

    at: NDArray[np.int64]
    codes: Codes32
    weights: Floats  # of all copies together
    copies: NDArray[np.int64]
    row: NDArray[np.int64]  # of the sample
    share: float  # of the rows of the table that are in the sample
    shared_fit: float = _SHARED_FIT  # factor of the variance
    group: NDArray[np.int64] | None = None  # of the rows of the sample, where rows have groups
    criterion: Criterion = LOG_LOSS

    @classmethod
    def of(cls, base: WeightFit, at: NDArray[np.int64], criterion: Criterion = LOG_LOSS) -> JudgedRows:
        """Some lines of the evidence of a sample."""
        divided, rows = base.held_out.rows, base.held_out.rows.rows
        share = float((rows.counts * rows.weights).sum()) / float(sum(base.state.class_counts.values()))
        facts = base.lines.codes[at], np.asarray(base.held_out.weights[at]), divided.copies[at], divided.row[at]
        group = None if base.state.schema.group is None else np.unique(rows.signatures, return_inverse=True)[1]
        return cls(at, *facts, min(share, 1.0), group=group, criterion=criterion)

    def losses(self, scores: Mixture) -> Floats:
        """The log loss of each."""
        mixed = [share * losses_of(joint[self.at], self.codes) for share, joint in scores]
        return np.asarray(np.sum(mixed, axis=0))

    def _criterion_losses(self, scores: Mixture) -> Floats:
        """What each contributes to the criterion; lower is better."""
        mixed = [share * self.criterion.losses(joint[self.at], self.codes, self.weights) for share, joint in scores]
        return np.asarray(np.sum(mixed, axis=0))

    def mean_loss(self, joint: Floats) -> float:
        """What the criterion compares, given the log score of all lines; lower is better."""
        return self.mean(self._criterion_losses([(1.0, joint)]))

    def value(self, joint: Floats) -> float:
        """The criterion, given the log score of all lines."""
        return self.criterion.value(self.mean_loss(joint))

    def loss(self, joint: Floats) -> float:
        """The mean log loss, given the log score of all lines."""
        return self.mean(self.losses([(1.0, joint)]))

    def mean(self, values: NDArray[Any]) -> float:
        """The mean of values of the lines."""
        return float((values * self.weights).sum() / self.weights.sum())

    def error(self, values: NDArray[Any]) -> float:
        """The standard error of the mean of values of the lines, as rows that share a fit."""
        return math.sqrt(self.shared_fit) * self._row_error(values)

    def _row_error(self, values: NDArray[Any]) -> float:
        """The standard error of the mean of values of the lines, given the fit."""
        if self.group is not None:  # the rows of a group are not independent
            return clustered_error(values, self.weights, self.group[self.row])
        far = self.weights * (values - self.mean(values))
        alone = (far**2 / np.maximum(self.copies, 1)).sum()
        together = (np.bincount(self.row, far) ** 2).sum()
        variance = self.share * alone + (1 - self.share) * together
        return float(np.sqrt(variance) / self.weights.sum())

    def are_clearly_better(self, scores: Mixture, than: Mixture) -> bool:
        """Whether scores have a lower log loss than others, by more than a standard error and not by next to nothing.

        The standard error is that of the rows: most of the error of the fits is common to both. Other criteria have no
        nats to compare with `_LEAST_GAIN`: they must improve by the standard errors that a log likelihood ratio of so
        many nats is worth.
        """
        gain = self._criterion_losses(than) - self._criterion_losses(scores)
        mean = self.mean(gain)
        if self.criterion is not LOG_LOSS:
            return mean > math.sqrt(2 * _LEAST_GAIN) * self._row_error(gain)
        return mean > self._row_error(gain) and mean * float(self.copies.sum()) > _LEAST_GAIN

    def estimate(self, scores: Mixture) -> Estimate:
        """What to expect on new rows."""
        losses = self.losses(scores)
        is_right = np.sum([share * (joint[self.at].argmax(axis=1) == self.codes) for share, joint in scores], axis=0)
        n_rows = round(float(self.weights.sum()))
        result = Estimate(self.mean(is_right), self.mean(losses), self.error(losses), n_rows, self.error(is_right))
        if self.criterion is LOG_LOSS:
            return result
        values = self._criterion_losses(scores)
        return replace(result, value=self.criterion.value(self.mean(values)), value_error=self.error(values))


def nested_estimate(
    base: WeightFit, schema: Schema, fitted: Callable[[Model, RowSample, Learn], Model], criterion: Criterion
) -> Estimate | None:
    """The estimate by models that are fitted without the rows they judge; None where it is not needed.

    schema: before the options of texts were selected. fitted: the model that is tuned to the rows that it has learned,
    given a sample of them and what lets another model learn the same rows.
    """
    rows, judged = base.held_out.rows, JudgedRows.of(base, np.arange(len(base.held_out.rows)), criterion)
    n_rows, has_texts = judged.copies.sum(), any(family.tokeniser is not None for family in schema.families.values())
    if not has_texts or judged.share < 1 or not LEAST_ROWS < n_rows < _MOST_ROWS:
        return None
    n_folds = max(_FOLDS, int(np.ceil(n_rows / (n_rows - LEAST_ROWS))))  # with fewer rows no weights are fitted
    fold = np.empty(len(rows), np.int64)
    fold[np.argsort(judged.row, kind="stable")] = np.arange(len(rows)) % n_folds  # rows are in order of their hashes
    if judged.group is not None:
        fold = judged.group[judged.row] % n_folds
    settings = base.state.settings.with_options(class_prior="empirical", class_weight=None)
    joint, known = np.full((len(rows), len(rows.classes)), -FAR), np.zeros(len(rows), bool)
    for number in range(n_folds):
        model, sample = Model(ModelState(schema.copy(), settings)), RowSample(len(rows))
        held_out, others = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        labels = [rows.rows.labels[i] for i in rows.row[others].tolist()]
        options: dict[str, Any] = {"label": labels, "sample_weight": judged.weights[others]}
        columns = _columns(base, others)
        learn_and_sample(model, sample, columns, **options)
        model = fitted(model, sample, lambda other: other.learn(columns, **options))  # noqa: B023 - called at once
        snapshot, here = model.snapshot(), positions(model.classes, rows.classes)
        scored = snapshot.log_proba_batches(_columns(base, held_out), are_held_out=True)
        joint[np.ix_(held_out, here)] = np.maximum(snapshot.join(part for _, part in scored), -FAR)
        known[held_out] = np.isin(judged.codes[held_out], here)  # a class without other rows cannot be predicted
    weights = np.where(known, judged.weights, 0.0)
    return replace(judged, weights=weights, shared_fit=n_folds / (n_folds - 1)).estimate([(1.0, joint)])


def _columns(base: WeightFit, lines: NDArray[np.int64]) -> dict[str, Any]:
    """The cells of some lines, by column."""
    rows = base.held_out.rows
    return dict(rows.rows.table.take(rows.row[lines]).columns)
