"""Cross-validation: every row is scored by a model that was not trained on it.

It takes two passes over the data, whatever the number of folds. The first pass counts every fold by itself. The model
without a fold is the sum of the other folds. The second pass scores each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.batch import columns_to_read
from tallybayes.data.label import Labels, find_labels
from tallybayes.data.source import BadRows, Source
from tallybayes.data.table import Table
from tallybayes.errors import DataError, Described, check_integer
from tallybayes.evaluation.evaluate import add_rows, plan_model, score_table
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.model import Model
from tallybayes.model.fit import check_value
from tallybayes.model.text_selection import with_text_selection
from tallybayes.state.options import FitOptions, with_options

__all__ = ["FoldAssigner", "cross_validate"]


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
    parts = [empty.copy() for _ in range(folds)]
    skipped = 0
    for fold, table in _by_fold(source, empty, label, folds, seed):
        if fold < 0:
            skipped += table.n_rows
        else:
            for _ in source.good(table, partial(parts[fold].learn, label=label)):
                pass
    if sum(bool(part.classes) for part in parts) < 2:
        raise DataError(f"rows with a label in at least two of {folds} folds", got=Described("fewer"))
    models = [with_text_selection(model, now=True) for model in _without_each(parts)]
    snapshots = [model.snapshot() for model in models]
    check_value(models[0].merge(parts[0]), label, source)
    bad, source.bad = source.bad, None if source.bad is None else BadRows()  # the first pass has counted them
    evaluations = [Evaluation() for _ in range(folds)]
    for fold, table in _by_fold(source, empty, label, folds, seed):
        if fold >= 0:
            for _, (log_proba, labels) in source.good(table, partial(score_table, snapshots[fold], label)):
                add_rows(evaluations[fold], snapshots[fold], log_proba, labels, from_file=table.is_from_file)
    source.bad = bad
    accuracies = [part.accuracy for part in evaluations if part.n_rows]
    start = Evaluation(skipped=skipped, bad=0 if bad is None else bad.count, folds=accuracies)
    return sum(evaluations, start)


def _by_fold(source: Source, model: Model, label: Any, folds: int, seed: int) -> Iterator[tuple[int, Table]]:
    """Every batch split by fold; rows without a label have the fold -1."""
    assign = FoldAssigner(folds, seed)
    for table in source.batches(columns_to_read(model.schema, label)):
        fold = assign(find_labels(table, label))
        for number in range(-1, folds):
            rows = np.flatnonzero(fold == number)
            if len(rows):
                yield number, table.take(rows)


class FoldAssigner:
    """Assigns the rows of each class to the folds in turn, in shuffled order, independently of batch boundaries."""

    def __init__(self, folds: int, seed: int) -> None:
        self._folds, self._seed = folds, seed
        self._pending: dict[Any, tuple[np.random.Generator, NDArray[np.int64]]] = {}

    def __call__(self, labels: Labels) -> NDArray[np.int64]:
        """The fold of every row, -1 for rows without a label."""
        fold = np.full(len(labels.codes), -1, np.int64)
        for code, label in enumerate(labels.keys):
            rows = np.flatnonzero(labels.codes == code)
            fold[rows] = self._next(label, len(rows))
        return fold

    def _next(self, label: Any, n: int) -> NDArray[np.int64]:
        """The folds of the next n rows of a class: one permutation of all folds after another."""
        seed = [self._seed, *str(label).encode("utf-8", "surrogatepass")]
        generator, pending = self._pending.get(label) or (np.random.default_rng(seed), np.zeros(0, np.int64))
        n_rounds = -(-max(n - len(pending), 0) // self._folds)
        rounds = generator.permuted(np.tile(np.arange(self._folds), (n_rounds, 1)), axis=1).ravel()
        assigned = np.concatenate([pending, rounds])
        self._pending[label] = generator, assigned[n:]
        return assigned[:n]


def _without_each(parts: list[Model]) -> list[Model]:
    """For every part the sum of all others, from running sums from the front and from the back."""
    front, back = [parts[0]], [parts[-1]]
    for part in parts[1:-1]:
        front.append(front[-1].merge(part))
    for part in parts[-2:0:-1]:
        back.append(back[-1].merge(part))
    back.reverse()
    return [back[0], *(front[i - 1].merge(back[i]) for i in range(1, len(parts) - 1)), front[-1]]
