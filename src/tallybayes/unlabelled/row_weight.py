"""How much an unlabelled row counts: what makes labelled rows most probable that were held out.

Labelled rows are dealt to folds. Without a fold, the unlabelled rows are divided again, at each weight that is tried;
the rows of the fold are scored by the model of the rest with them, and by the model without them. The loss is that at
the best temperature if column weights are fitted afterwards, because naive Bayes is too sure of itself, more so with
more rows; without column weights it is the loss as it is. Rows are sampled by the hashes
of their values, so that neither their order nor batches matter (`state/row_sample.py`); a sampled unlabelled row stands
for several, and counts as much. Near copies of a text are in one fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tallybayes.arrays.array_types import Integers
from tallybayes.arrays.axis import positions
from tallybayes.arrays.column import Column
from tallybayes.families.temperature import temper_scores
from tallybayes.scoring.posterior import normalise_log_scores
from tallybayes.scoring.scorer import Scorer
from tallybayes.state.model_state import ModelState
from tallybayes.state.row_hash import Hashes
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.unlabelled.round_columns import RoundColumns
from tallybayes.unlabelled.rounds import EncodedRows, run_rounds
from tallybayes.unlabelled.soft_counts import count_shares

__all__ = ["SampledForms", "WeightChoice", "WeightTrial", "choose_weight"]

WEIGHTS = (1.0, 0.3, 0.1, 0.03)  # by factors of about three: the loss changes slowly with the weight
LEAST_LABELLED = 10  # rows, and two of each of two classes, without which nothing can be held out
_FOLDS = 3
_ROUNDS = 10  # the division hardly changes after that
_FAR = 100.0  # nats: replaces an infinite difference between the shares of classes
_FARTHEST = 1e6  # the same of scores, which of long texts are large


@dataclass(frozen=True)
class WeightChoice:
    """The weight of an unlabelled row, 0 if they make labelled rows less probable; the log loss by weight."""

    weight: float
    losses: dict[float, float]


@dataclass(frozen=True, eq=False)
class SampledForms:
    """Sampled rows in the forms of the rounds, and their columns in those of the model.

    signatures: equal for near copies.
    """

    rows: EncodedRows
    columns: Mapping[str, Column]
    signatures: Hashes

    def take(self, at: Integers) -> SampledForms:
        """Some of the rows."""
        columns = {name: column.take(at) for name, column in self.columns.items()}
        return SampledForms(self.rows.take(at), columns, self.signatures[at])


@dataclass(frozen=True, eq=False)
class WeightTrial:
    """What is needed to try a weight: the model without unlabelled rows, and how rows are divided.

    supervised: the model of the labelled rows; joined: the same sums, as they are scored with unlabelled rows;
    labelled: their sums in the forms of the rounds; share: how many unlabelled rows each sampled one stands for;
    is_tempered: whether column weights will be fitted, so that losses are those at the best temperature.
    """

    columns: RoundColumns
    supervised: ModelState
    joined: ModelState
    labelled: SufficientStatistics
    labelled_rows: SampledForms
    unlabelled_rows: SampledForms
    share: float
    is_tempered: bool

    @property
    def classes(self) -> list[Any]:
        """The classes of the labelled rows."""
        return self.supervised.classes

    def scorers(self, held_out: SampledForms) -> Iterator[tuple[float, Scorer]]:
        """For every weight that is tried the scorer that is learned without some labelled rows."""
        shares, weights = np.eye(len(self.classes))[held_out.rows.codes], held_out.rows.weights
        own = count_shares(held_out.columns, shares, weights, self.classes, self.supervised.schema)
        rest = self.supervised.statistics.copy().combined(own, -1)
        yield 0.0, Scorer.of(replace(self.supervised, statistics=rest))
        in_rounds = count_shares(held_out.rows.columns, shares, weights, self.classes, self.columns.schema)
        labelled = self.labelled.copy().combined(in_rounds, -1)
        batches, n_rows = (self.unlabelled_rows.rows,), len(self.unlabelled_rows.rows)
        for weight in WEIGHTS:
            amount = weight * self.share
            run = run_rounds(self.columns, labelled.copy(), lambda: batches, self.classes, weight=amount, most=_ROUNDS)
            divided = run.shares(self.unlabelled_rows.rows.columns, n_rows, self.classes, amount)
            copies = self.unlabelled_rows.rows.weights
            soft = count_shares(self.unlabelled_rows.columns, divided, copies, self.classes, self.joined.schema)
            yield weight, Scorer.of(replace(self.joined, statistics=rest.copy().combined(soft, 1)))


def choose_weight(trial: WeightTrial, step: Callable[[float], None] | None = None) -> WeightChoice | None:
    """The weight with the least log loss of held-out rows; None if there are too few labelled rows to tell."""
    rows, classes = trial.labelled_rows, trial.classes
    folds = _deal(rows.rows, rows.signatures, len(classes))
    if folds is None:
        return None
    shape = len(rows.rows), len(classes)
    evidence = {weight: np.zeros(shape) for weight in (0.0, *WEIGHTS)}
    log_prior = {weight: np.full(shape, -_FAR) for weight in evidence}
    for fold in range(_FOLDS):
        at = np.flatnonzero(folds == fold)
        held_out = rows.take(at)
        for number, (weight, scorer) in enumerate(trial.scorers(held_out)):
            here = np.ix_(at, positions(list(scorer.classes), classes))
            scores = scorer.without_prior().log_score(held_out.columns, len(at))
            bounded = np.maximum(scores - scores.max(axis=1, keepdims=True), -_FARTHEST)
            evidence[weight][here] = np.where(np.isfinite(bounded), bounded, 0.0)
            log_prior[weight][here] = np.maximum(scorer.log_prior, -_FAR)
            if step is not None:
                step((fold * len(evidence) + number + 1) / (_FOLDS * len(evidence)))
    weights = np.ones(len(rows.rows)) if rows.rows.weights is None else rows.rows.weights
    losses = {}
    for weight, scores in evidence.items():
        if trial.is_tempered:
            of_rows = temper_scores(log_prior[weight], scores, rows.rows.codes, weights).losses
        else:
            log_proba = normalise_log_scores(log_prior[weight] + scores)
            of_rows = -log_proba[np.arange(len(log_proba)), rows.rows.codes]
        losses[weight] = float(np.average(of_rows, weights=weights))
    return WeightChoice(min(losses, key=lambda weight: (losses[weight], weight)), losses)


def _deal(rows: EncodedRows, signatures: Hashes, n_classes: int) -> Integers | None:
    """The fold of each row, class by class in the order of signatures; None if the rows are too few."""
    counts = np.bincount(rows.codes, minlength=n_classes)
    if len(rows) < LEAST_LABELLED or np.count_nonzero(counts >= 2) < 2:
        return None
    order = np.lexsort((signatures, rows.codes))
    is_new = np.append(True, signatures[order][1:] != signatures[order][:-1])
    folds = np.zeros(len(rows), np.int64)
    folds[order] = (np.cumsum(is_new) - 1) % _FOLDS
    return folds
