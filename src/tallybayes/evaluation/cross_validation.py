"""Cross-validation: every row is scored by a model that was not trained on it.

It takes two passes over the data, whatever the number of folds. The first pass counts every fold by itself. The model
without a fold is the sum of the other folds. The second pass scores each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Unpack

import numpy as np

from tallybayes.data.batch import columns_to_read
from tallybayes.data.fold_assignment import FoldAssigner
from tallybayes.data.label import find_labels
from tallybayes.data.source import BadRows, Source
from tallybayes.data.table import Table
from tallybayes.errors import DataError, Described, check_integer
from tallybayes.evaluation.evaluate import add_rows, plan_model, score_table
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.model import Model
from tallybayes.model.fit import check_value, weighting
from tallybayes.model.text_selection import with_text_selection
from tallybayes.model.weighting import learn_sampled, sample_for, weighted
from tallybayes.state.options import FitOptions, with_options
from tallybayes.state.row_sample import RowSample

__all__ = ["cross_validate"]


@with_options()
def cross_validate(
    data: Any, label: Any = None, *, folds: int = 10, seed: int = 0, **options: Unpack[FitOptions]
) -> Evaluation:
    """Evaluate a model of some data by stratified cross-validation.

    The rows of every class are assigned to the folds in turn, in an order shuffled by `seed`. The other
    options are those of `fit`. Families are inferred once, from all rows.

    {options}

    >>> import tallybayes as tb
    >>> rows = {"x": [1.0, 1.1, 0.9, 3.0, 3.1, 2.9] * 5, "y": ["a", "a", "a", "b", "b", "b"] * 5}
    >>> tb.cross_validate(rows, label="y", folds=5).accuracy
    1.0
    """
    folds = check_integer("folds", folds, at_least=2)
    check_integer("seed", seed, at_least=0)
    source, empty, label = plan_model(data, label, options, "for cross-validation")
    empty = with_text_selection(empty, now=False)  # each model selects text variants on all of its training rows
    parts, weights = [empty.copy() for _ in range(folds)], weighting(options)
    samples = [sample_for(weights) for _ in range(folds)]
    skipped = 0
    for fold, table in _by_fold(source, empty, label, folds, seed):
        if fold < 0:
            skipped += table.n_rows
        else:
            for _ in source.good(table, partial(learn_sampled, parts[fold], samples[fold], label=label)):
                pass
    if sum(bool(part.classes) for part in parts) < 2:
        raise DataError(f"rows with a label in at least two of {folds} folds", got=Described("fewer"))
    models = []
    for fold, model in enumerate(_without_each(parts)):
        sample = _merged([*samples[:fold], *samples[fold + 1 :]])
        models.append(weighted(with_text_selection(model, now=True), weights, sample, is_part=True))
    snapshots = [model.snapshot() for model in models]
    check_value(models[0].merge(parts[0]), label, source)
    bad, source.bad = source.bad, None if source.bad is None else BadRows()  # the first pass has counted them
    evaluations = [Evaluation() for _ in range(folds)]
    for fold, table in _by_fold(source, empty, label, folds, seed):
        if fold >= 0:
            for _, (log_proba, labels) in source.good(table, partial(score_table, snapshots[fold], label)):
                add_rows(evaluations[fold], snapshots[fold], log_proba, labels)
    source.bad = bad
    accuracies = [part.accuracy for part in evaluations if part.n_rows]
    start = Evaluation(skipped=skipped, bad=0 if bad is None else bad.count, folds=accuracies)
    return sum(evaluations, start)


def _merged(samples: list[RowSample | None]) -> RowSample:
    """The sample of all training rows of a model."""
    return RowSample.merged(sample for sample in samples if sample is not None)


def _by_fold(source: Source, model: Model, label: Any, folds: int, seed: int) -> Iterator[tuple[int, Table]]:
    """Every batch split by fold; rows without a label have the fold -1."""
    assign = FoldAssigner(folds, seed)
    for table in source.batches(columns_to_read(model.schema, label)):
        fold = assign(find_labels(table, label, model.schema))
        for number in range(-1, folds):
            rows = np.flatnonzero(fold == number)
            if len(rows):
                yield number, table.take(rows)


def _without_each(parts: list[Model]) -> list[Model]:
    """For every part the sum of all others, from running sums from the front and from the back."""
    front, back = [parts[0]], [parts[-1]]
    for part in parts[1:-1]:
        front.append(front[-1].merge(part))
    for part in parts[-2:0:-1]:
        back.append(back[-1].merge(part))
    back.reverse()
    return [back[0], *(front[i - 1].merge(back[i]) for i in range(1, len(parts) - 1)), front[-1]]
