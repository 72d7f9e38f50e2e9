"""The evidence of every column for rows that a model has learned, each by the model without the row's fold.

A model is a sum, so the model without some rows is the model minus these rows. The rows of a sample are divided into
folds; the sums of a fold are subtracted from the total, everything is derived anew from what is left, with every choice
that depends on the data (strengths by evidence, buckets of histograms), and the rows of the fold are scored. So the
evidence is that of new rows, except that the variant of a text is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Codes32, Floats
from tallybayes.arrays.axis import positions
from tallybayes.arrays.column import Column
from tallybayes.data.batch import Batch, check_kinds, encode_columns
from tallybayes.data.label import Labels
from tallybayes.scoring.scorer import Scorer
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.model_state import ModelState
from tallybayes.state.row_sample import SampledRows
from tallybayes.state.statistics import SufficientStatistics

__all__ = ["HeldOutEvidence", "held_out_evidence"]

FOLDS = 5
_FEW = 2  # folds, if the sample is a small part of the rows: the model hardly changes without it
_SMALL_PART = 0.1
_MANY_COLUMNS = 2000  # deriving them takes seconds
_CELLS = 2**23  # (column, row, class) in memory, 64 MB
_LEAST_ROWS = 300
_FAR = 100.0  # nats: replaces an infinite difference between classes


@dataclass(frozen=True, eq=False)
class HeldOutEvidence:
    """Log P(value | class) of the columns in `names`, (columns, rows, classes), and the log prior, (rows, classes).

    If the columns are too many to keep apart, there is one line with their sum (`is_sum`).
    """

    names: tuple[str, ...]
    evidence: Floats
    log_prior: Floats
    codes: Codes32
    weights: Floats
    is_sum: bool = False


def held_out_evidence(state: ModelState, rows: SampledRows) -> HeldOutEvidence:
    """The held-out evidence of sampled rows of a state, as if it had no column weights and no given class prior."""
    unfitted = replace(state.settings, column_weights=None, calibration=None, decision=None)
    plain = replace(state, settings=unfitted.with_options(prior="empirical"))
    names, classes = tuple(sorted(state.schema.families)), state.classes
    size = max(len(names) * len(classes), 1)
    rows = rows.first(max(_LEAST_ROWS, _CELLS // size))
    is_sum = len(rows) * size > 4 * _CELLS
    codes = positions(rows.labels, classes).astype(np.int32)
    is_small = len(rows) < _SMALL_PART * sum(state.class_counts.values())
    n_folds = _FEW if is_small or len(names) > _MANY_COLUMNS else FOLDS
    row, fold, copies = _divided(codes, rows.counts, n_folds)
    learned, scored = _columns_to_learn(plain, rows), Snapshot(plain).encoded(rows.table)
    evidence = np.zeros((1 if is_sum else len(names), len(row), len(classes)))
    log_prior, known = np.full((len(row), len(classes)), -_FAR), np.zeros(len(row), bool)
    is_weighted = bool((rows.weights != 1).any())
    for number in range(n_folds):
        own = np.flatnonzero(fold == number)
        if not len(own):
            continue
        weights = rows.weights[row[own]] if is_weighted else copies[own].astype(np.float64)
        taken = {name: column.take(row[own]) for name, column in learned.items()}
        scorer = Scorer.of(_without(plain, taken, codes[row[own]], classes, weights))
        here = positions(list(scorer.classes), classes)
        log_prior[np.ix_(own, here)] = np.maximum(scorer.log_prior, -_FAR)
        known[own] = np.isin(codes[row[own]], here)  # a class without other rows cannot be predicted
        columns = {name: column.take(row[own]) for name, column in scored.items()}
        for name, part in scorer.evidence(columns, len(own)).items():
            line = evidence[0 if is_sum else names.index(name)]
            line[np.ix_(own, here)] += _bounded(part)
    weights = np.where(known, rows.weights[row] * copies, 0.0)
    return HeldOutEvidence(names, evidence, log_prior, codes[row], weights, is_sum)


def _divided(
    codes: Codes32, counts: NDArray[np.int64], n_folds: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The rows dealt to the folds class by class: row, fold and number of copies for every pair that has any."""
    order = np.argsort(codes, kind="stable")
    end = np.empty(len(codes), np.int64)
    end[order] = np.cumsum(counts[order])
    first_of_class = np.searchsorted(codes[order], codes)
    end -= np.concatenate([[0], np.cumsum(counts[order])])[first_of_class]
    start = end - counts
    fold = np.arange(n_folds)
    copies = (end[:, None] - fold + n_folds - 1) // n_folds - (start[:, None] - fold + n_folds - 1) // n_folds
    row, number = np.nonzero(copies)
    return row, number, copies[row, number]


def _columns_to_learn(state: ModelState, rows: SampledRows) -> dict[str, Column]:
    """The columns encoded as when they were learned."""
    families = state.schema.families
    columns = encode_columns(rows.table, state.schema, {})
    check_kinds(
        columns, lambda name: state.statistics.any_key(families.get(name), name), from_file=rows.table.is_from_file
    )
    return columns


def _without(
    state: ModelState, columns: dict[str, Column], codes: Codes32, classes: list[object], weights: Floats
) -> ModelState:
    """The state without some of its rows."""
    labels = Labels(classes, codes, np.bincount(codes, minlength=len(classes)))
    batch = Batch(len(codes), columns, labels, None if (weights == 1).all() else weights)
    statistics = state.statistics.copy()
    part = SufficientStatistics.observed(batch, classes, classes, state.schema)
    statistics.add(part.aligned(statistics.labels), -1)
    return replace(state, statistics=statistics)


def _bounded(evidence: Floats) -> Floats:
    """Evidence relative to the most probable class of each row; an impossible class has -_FAR.

    Weights near the smallest doubles can leave sums that are not numbers: these rows have no evidence.
    """
    evidence = np.nan_to_num(evidence, nan=0.0, posinf=_FAR, neginf=-np.inf)
    top = evidence.max(axis=1, keepdims=True, initial=-np.inf)
    return np.asarray(np.maximum(evidence - np.where(np.isinf(top), 0.0, top), -_FAR))
