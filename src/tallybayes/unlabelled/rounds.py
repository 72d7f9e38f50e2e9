"""Expectation-maximisation: rounds in which every unlabelled row is divided among the classes, and counted so.

    shares       P(c | x) for every unlabelled row x, by the parameters of the last round
    sums         those of the labelled rows + weight * those of the unlabelled rows, each counted with its shares
    objective    sum over labelled rows of log P(c, x) + weight * sum over unlabelled rows of log p(x) + log penalty

The penalty is the density of the prior (`Predictive.log_penalty`). Where parameters are frequencies, means of Dirichlet
posteriors or maximum-likelihood estimates, no round lowers the objective (Dempster, Laird and Rubin 1977), apart from
the rounding of shares; where a predictive averages over parameters (Student t, negative binomial), it usually does not.
A round that lowers it is not used, and is the last one.

The first round divides the rows by the labelled ones alone, or by shares that are given. Its vocabulary and values are
not yet those of all rows, so the objective is that of the rounds after it. Sums are exact: the result does not depend
on the order of the rows or on batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.arrays.array_types import Codes32, Floats
from tallybayes.arrays.axis import positions
from tallybayes.arrays.column import Column
from tallybayes.scoring.posterior import Posterior, log_marginal
from tallybayes.scoring.scorer import Scorer
from tallybayes.scoring.weighted_predictive import remove_weights
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.unlabelled.round_columns import RoundColumns
from tallybayes.unlabelled.soft_counts import count_shares, round_shares

__all__ = ["Division", "EncodedRows", "run_rounds"]

MOST_ROUNDS = 100
_ENOUGH = 1e-3  # nats per row that a round must gain; the tolerance of mixture models in scikit-learn
_ROUNDING = 1e-9  # of the objective: less is no fall

Step = Callable[[int, float | None], None]  # the number of a round, and the objective after the one before


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """A batch of rows in the forms of the rounds: codes of their classes, -1 where there is no label, and weights."""

    columns: Mapping[str, Column]
    codes: Codes32
    weights: Floats | None = None

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def total_weight(self) -> float:
        """The sum of the weights."""
        return float(len(self) if self.weights is None else self.weights.sum())

    def take(self, rows: np.ndarray) -> EncodedRows:
        """Some of the rows."""
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return EncodedRows(columns, self.codes[rows], None if self.weights is None else self.weights[rows])


Batches = Callable[[], Iterable[EncodedRows]]  # all rows, batch by batch; called once for each round


@dataclass(frozen=True, eq=False)
class Division:
    """How unlabelled rows are divided: by the scorer of the last round. objective: after each round but the first."""

    columns: RoundColumns
    scorer: Scorer
    objective: tuple[float, ...]

    def shares(self, columns: Mapping[str, Column], n_rows: int, classes: Sequence[Any], weight: float) -> Floats:
        """P(class | row) of rows in the forms of the rounds times the weight of a row, (rows, classes)."""
        return _divide(self.scorer, columns, n_rows, classes, weight)[0]


def run_rounds(
    columns: RoundColumns,
    labelled: SufficientStatistics,
    batches: Batches,
    classes: Sequence[Any],
    *,
    weight: float,
    start: Scorer | None = None,
    step: Step | None = None,
    most: int = MOST_ROUNDS,
) -> Division:
    """Divide unlabelled rows among the classes until the objective stays the same.

    labelled: the sums of the labelled rows, in the forms of the rounds; batches: of all rows;
    start: what divides the rows in the first round, by default the labelled sums.
    """
    objective = list[float]()
    scorer = Scorer.of(columns.state(labelled)) if start is None else start
    best = Division(columns, scorer, ())
    for number in range(most):
        if step is not None:
            step(number, objective[-1] if objective else None)
        soft, log_likelihood, n_rows = _pass(columns, scorer, batches, classes, weight)
        if number > 0:
            objective.append(log_likelihood + _log_penalty(columns, scorer, labelled))
            gain = objective[-1] - objective[-2] if number > 1 else np.inf
            if gain < -_ROUNDING * abs(objective[-1]):
                return best  # the round before the fall
            best = Division(columns, scorer, tuple(objective))
            if gain < _ENOUGH * n_rows:
                return best
        sums = soft.combined(labelled.copy(), 1) if soft.labels else labelled
        scorer = Scorer.of(columns.state(sums))
    return best if objective else Division(columns, scorer, ())


def _pass(
    columns: RoundColumns, scorer: Scorer, batches: Batches, classes: Sequence[Any], weight: float
) -> tuple[SufficientStatistics, float, float]:
    """One pass over all rows: the sums of the unlabelled ones, the log likelihood, and how many rows there are."""
    soft, likelihoods, n_rows = SufficientStatistics.empty(), list[float](), 0.0
    place_of = positions(list(classes), list(scorer.classes))
    for rows in batches():
        is_open = rows.codes < 0
        amounts = np.ones(len(rows)) if rows.weights is None else rows.weights
        unlabelled, known = np.flatnonzero(is_open), np.flatnonzero(~is_open)
        if len(known):
            part = rows.take(known)
            joint = scorer.log_score(part.columns, len(part))
            places = place_of[part.codes]
            likelihoods.append(float((joint[np.arange(len(part)), places] * amounts[known]).sum()))
        if len(unlabelled):
            part = rows.take(unlabelled) if len(known) else rows
            shares, log_p = _divide(scorer, part.columns, len(part), classes, weight)
            likelihoods.append(weight * float((log_p * amounts[unlabelled]).sum()))
            sums = count_shares(part.columns, shares, part.weights, classes, columns.schema)
            soft = sums if not soft.labels else soft.combined(sums, 1)
        n_rows += float(amounts[known].sum() + weight * amounts[unlabelled].sum())
    return soft, float(np.sum(likelihoods)), n_rows


def _divide(
    scorer: Scorer, columns: Mapping[str, Column], n_rows: int, classes: Sequence[Any], weight: float
) -> tuple[Floats, Floats]:
    """The shares of rows times their weight, (rows, classes), and log p(x).

    A row that every class rules out has the shares of the class prior, and adds nothing to the objective.
    """
    scores = scorer.log_score(columns, n_rows)
    log_p = log_marginal(scores)
    log_p[np.isneginf(log_p)] = 0.0
    Posterior(scorer.classes, scorer.log_prior).write_proba(scores, 0, n_rows)
    shares = round_shares(scores, weight)
    if list(classes) != list(scorer.classes):
        spread = np.zeros((n_rows, len(classes)))
        spread[:, positions(list(scorer.classes), list(classes))] = shares
        shares = spread
    return shares, log_p


def _log_penalty(columns: RoundColumns, scorer: Scorer, labelled: SufficientStatistics) -> float:
    """The log density of the prior at the parameters, up to a constant; 0 of columns where it is not known."""
    settings, temperatures = columns.settings, columns.temperatures
    total = 0.0
    for predictive in map(remove_weights, scorer.predictives):
        for number, name in enumerate(predictive.features):
            if settings.smoothing_of(name) != 0:
                total += (predictive.log_penalty(number) or 0.0) * temperatures.get(name, 1.0)
    if settings.class_prior in ("empirical",) or not isinstance(settings.class_prior, str | Mapping):
        pseudo_counts = settings.class_pseudo_counts(scorer.classes)
        with np.errstate(invalid="ignore"):
            total += float(np.where(pseudo_counts > 0, pseudo_counts * scorer.log_prior, 0.0).sum())
    return total
