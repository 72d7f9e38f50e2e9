"""What to expect on new rows where there are few texts: everything is chosen again without the rows that judge.

Held-out evidence is scored by sums without a row's fold. But weights are fitted on the evidence of other rows, and this
row is in their sums: if it happens to be like the rows of its class, these happen to be like it. So words seem to tell
the class that tell nothing, and the options of a text are selected on the same rows too. With few rows of many words
that makes the estimate too good (60 documents of random words: by 1.7 standard errors). There, models are fitted to the
rows without a fold, with every choice, and judge the fold. The folds have different shares of the classes: if all had
the same, a class that is frequent by chance would look as frequent among new rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import positions
from tallybayes.columns.schema import Schema
from tallybayes.model import Model
from tallybayes.model.fit import learn_and_sample
from tallybayes.state.model_state import ModelState
from tallybayes.state.row_sample import RowSample
from tallybayes.tuning.judged_rows import JudgedRows
from tallybayes.tuning.tuning_result import Estimate
from tallybayes.weights.held_out_evidence import FAR
from tallybayes.weights.weight_selection import LEAST_ROWS, WeightFit

__all__ = ["nested_estimate"]

_FOLDS = 5  # at least
_MOST_ROWS = 1000  # more take long, and noise looks better than it is by at most a standard error

Learn = Callable[[Model], Any]


def nested_estimate(
    base: WeightFit, schema: Schema, fitted: Callable[[Model, RowSample, Learn], Model]
) -> Estimate | None:
    """The estimate by models that are fitted without the rows they judge; None where it is not needed.

    schema: before the options of texts were selected. fitted: the model that is tuned to the rows that it has learned,
    given a sample of them and what lets another model learn the same rows.
    """
    rows, judged = base.held_out.rows, JudgedRows.of(base, np.arange(len(base.held_out.rows)))
    n_rows, has_texts = judged.copies.sum(), any(family.tokeniser is not None for family in schema.families.values())
    if not has_texts or judged.share < 1 or not LEAST_ROWS < n_rows < _MOST_ROWS:
        return None
    n_folds = max(_FOLDS, int(np.ceil(n_rows / (n_rows - LEAST_ROWS))))  # with fewer rows no weights are fitted
    fold = np.empty(len(rows), np.int64)
    fold[np.argsort(judged.row, kind="stable")] = np.arange(len(rows)) % n_folds  # rows are in order of their hashes
    settings = base.state.settings.with_options(class_prior="empirical", class_weight=None)
    joint, known = np.full((len(rows), len(rows.classes)), -FAR), np.zeros(len(rows), bool)
    for number in range(n_folds):
        model, sample = Model(ModelState(schema.copy(), settings)), RowSample(len(rows))
        held_out, others = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        labels = [rows.rows.labels[i] for i in rows.dealt.row[others].tolist()]
        options: dict[str, Any] = {"label": labels, "sample_weight": judged.weights[others]}
        columns = _columns(base, others)
        learn_and_sample(model, sample, columns, **options)
        model = fitted(model, sample, lambda other: other.learn(columns, **options))  # noqa: B023 - called at once
        p = model.predict_proba(_columns(base, held_out))
        here = positions(model.classes, rows.classes)
        joint[np.ix_(held_out, here)] = np.log(np.maximum(p, np.exp(-FAR)))
        known[held_out] = np.isin(judged.codes[held_out], here)  # a class without other rows cannot be predicted
    weights = np.where(known, judged.weights, 0.0)
    return replace(judged, weights=weights, shared_fit=n_folds / (n_folds - 1)).estimate([(1.0, joint)])


def _columns(base: WeightFit, lines: NDArray[np.int64]) -> dict[str, Any]:
    """The cells of some lines, by column."""
    rows = base.held_out.rows
    return dict(rows.rows.table.take(rows.dealt.row[lines]).columns)
