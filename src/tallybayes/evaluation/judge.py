"""A model judged: on data it has not seen, or on the folds of the data it is made from.

Cross-validation is two passes over the data, whatever the number of folds: a model is a sum, so that the first pass
counts every fold by itself, the model without a fold is the sum of the others, and the second pass scores each row by
the model that has not seen it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.label import Labels, find_labels
from tallybayes.data.source import BadRows, Source, Whole, to_source
from tallybayes.data.table import Table, raw_column
from tallybayes.errors import DataError, ParameterError
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.families.base import Floats
from tallybayes.model import Model
from tallybayes.model.fitting import check_value, planned
from tallybayes.model.scorer import log_normalised

__all__ = ["cross_validate", "evaluate"]


def evaluate(model: Model, data: Any, *, label: Any = None) -> Evaluation:
    """How good a model is on labelled data that it has not seen.

    label: the name of a column or an array, if it is not the one the model was fitted with.

    >>> import tallybayes as tb
    >>> model = tb.fit({"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}, label="ill")
    >>> tb.evaluate(model, {"fever": [1, 0, 0], "ill": ["yes", "no", "yes"]}).accuracy.__round__(3)
    0.667
    """
    if not model.classes:
        raise DataError("the model has not learned any row yet")
    source, judged = to_source(data), Evaluation()
    label = model.label_for(label)
    for table, log_joint in model.scored(source, label=label):
        _add(judged, model, log_joint, find_labels(table, label), from_file=table.is_from_file)
    judged.bad = 0 if source.bad is None else source.bad.count
    if not judged.n_rows:
        raise DataError("no row has a label")
    return judged


def cross_validate(data: Any, label: Any = None, *, folds: int = 10, seed: int = 0, **options: Any) -> Evaluation:
    """How good the model of some data is, each row scored by a model that has not seen it.

    The rows of every class are dealt out to the folds in turn, in an order shuffled by `seed`. The options are those
    of `tallybayes.fit`; families are inferred once, from all rows.

    >>> import tallybayes as tb
    >>> rows = {"x": [1.0, 1.1, 0.9, 3.0, 3.1, 2.9] * 5, "y": ["a", "a", "a", "b", "b", "b"] * 5}
    >>> tb.cross_validate(rows, label="y", folds=5).accuracy
    1.0
    """
    for name, value, least in (("folds", folds, 2), ("seed", seed, 0)):
        if not isinstance(value, int) or value < least:
            raise ParameterError(f"{name}: a whole number from {least} on", came=value)
    source = to_source(data)
    source, label = _named(source, label)
    empty, label = planned(source, label, **options)
    if empty.schema.weight is not None or not isinstance(options.get("weight"), (str, type(None))):
        raise ParameterError("data without weights, for cross-validation")
    empty.decide(now=False)  # each model by the rows it has learned from, all of them
    parts = [empty.copy() for _ in range(folds)]
    skipped = 0
    for fold, table in _dealt(source, empty, label, folds, seed):
        if fold < 0:
            skipped += table.n_rows
        else:
            for _ in source.good(table, partial(_learned, parts[fold], label)):
                pass
    if sum(bool(part.classes) for part in parts) < 2:
        raise DataError(f"there are not enough rows with a label for {folds} folds")
    models = _without_each(parts)
    for model in models:
        model.decide(now=True)
    check_value(models[0].merge(parts[0]), label, source)
    bad, source.bad = source.bad, None if source.bad is None else BadRows()  # they have been counted
    judged = [Evaluation() for _ in range(folds)]
    for fold, table in _dealt(source, empty, label, folds, seed):
        if fold >= 0:
            for _, (log_joint, labels) in source.good(table, partial(_scored, models[fold], label)):
                _add(judged[fold], models[fold], log_joint, labels, from_file=table.is_from_file)
    source.bad = bad
    accuracies = [part.accuracy for part in judged if part.n_rows]
    own = Evaluation(skipped=skipped, bad=0 if bad is None else bad.count, folds=accuracies)
    return sum(judged, own)


def _named(source: Source, label: Any) -> tuple[Source, Any]:
    """Data whose label is a column: an array of labels is put beside the others."""
    if label is None or isinstance(label, (str, int, float)):
        return source, label
    if not isinstance(source, Whole):
        raise ParameterError("the label as the name of a column, for data that comes in batches", came=type(label))
    table = source.head()
    name = next(name for name in ("label", "label_", "label__") if name not in table.columns)
    named = Whole(replace(table, columns={**table.columns, name: raw_column(label)}))
    named.bad = source.bad
    return named, name


def _learned(model: Model, label: Any, table: Table) -> None:
    model.learn(table, label=label)


def _scored(model: Model, label: Any, table: Table) -> tuple[Floats, Labels]:
    return next(iter(model.scored(table)))[1], find_labels(table, label)


def _dealt(source: Source, model: Model, label: Any, folds: int, seed: int) -> Iterator[tuple[int, Table]]:
    """Every batch in as many parts as there are folds; part -1 has the rows without a label."""
    deal = _Deal(folds, seed)
    batches = source.batches() if isinstance(source, Whole) else source.batches(model.wanted(label))
    for table in batches:
        fold = deal(find_labels(table, label))
        for number in range(-1, folds):
            rows = np.flatnonzero(fold == number)
            if len(rows):
                yield number, table.take(rows)


class _Deal:
    """Rows dealt out to folds: those of each class in turn, in shuffled order; the same for any batches."""

    def __init__(self, folds: int, seed: int) -> None:
        self._folds, self._seed = folds, seed
        self._hands: dict[Any, tuple[np.random.Generator, NDArray[np.int64]]] = {}

    def __call__(self, labels: Labels) -> NDArray[np.int64]:
        """The fold of every row, -1 for rows without a label."""
        fold = np.full(len(labels.codes), -1, np.int64)
        for code, label in enumerate(labels.keys):
            rows = np.flatnonzero(labels.codes == code)
            fold[rows] = self._next(label, len(rows))
        return fold

    def _next(self, label: Any, n: int) -> NDArray[np.int64]:
        own = [self._seed, *str(label).encode("utf-8", "surrogatepass")]
        generator, waiting = self._hands.get(label) or (np.random.default_rng(own), np.zeros(0, np.int64))
        n_hands = -(-max(n - len(waiting), 0) // self._folds)
        hands = generator.permuted(np.tile(np.arange(self._folds), (n_hands, 1)), axis=1).ravel()
        dealt = np.concatenate([waiting, hands])
        self._hands[label] = generator, dealt[n:]
        return dealt[:n]


def _without_each(parts: list[Model]) -> list[Model]:
    """For every part the sum of all others: sums from the front and from the back, each worked out once."""
    front, back = [parts[0]], [parts[-1]]
    for part in parts[1:-1]:
        front.append(front[-1].merge(part))
    for part in parts[-2:0:-1]:
        back.append(back[-1].merge(part))
    back.reverse()
    return [back[0], *(front[i - 1].merge(back[i]) for i in range(1, len(parts) - 1)), front[-1]]


def _add(judged: Evaluation, model: Model, log_joint: Floats, labels: Labels, *, from_file: bool) -> None:
    rows = np.flatnonzero(labels.codes >= 0)
    judged.skipped += len(log_joint) - len(rows)
    keys = model.own_labels(labels.keys, from_file=from_file)
    log_proba = log_normalised(log_joint[rows], model.log_prior())
    judged.add(model.classes, [keys[code] for code in labels.codes[rows].tolist()], log_proba)
