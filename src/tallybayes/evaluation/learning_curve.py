"""Naive Bayes against logistic regression: learning curves on the same rows.

Both learn linear boundaries (for most families); one fits how each class looks, the other fits the boundary. Ng and
Jordan (2002, "On discriminative vs. generative classifiers") show that the generative one comes near its best with
far fewer rows, and that the discriminative one is at least as good in the end: the curves cross, if rows suffice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.data.label import Labels, find_labels
from tallybayes.data.source import Source, Whole, as_columns, to_source
from tallybayes.data.table import Raw, Table
from tallybayes.errors import DataError, ParameterError, check_integer
from tallybayes.evaluation.comparison import MODELS, Comparison
from tallybayes.evaluation.cross_validation import Deal
from tallybayes.evaluation.evaluate import add, scored
from tallybayes.evaluation.logistic_baseline import Design, Logistic
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.model import Model
from tallybayes.model.fit import check_value, planned

__all__ = ["compare"]

_LEAST = 10  # rows of the smallest size that nobody chose

Rows = NDArray[np.int64]


def compare(
    data: Any,
    label: Any = None,
    *,
    sizes: Iterable[int] | None = None,
    folds: int = 5,
    seed: int = 0,
    progress: Callable[[int, float | None, int], None] | None = None,
    **options: Any,
) -> Comparison:
    """Learning curves of naive Bayes and of logistic regression on the same rows, beside always the commonest class.

    In each fold both learn from the same growing parts of the training rows, each part within the next and with the
    classes in proportion, and answer the same rows held out. Error is the share of wrong answers.

    sizes: rows to learn from; 10, 20, 50, 100, ... up to all training rows of a fold otherwise.
    folds, seed: as for `tallybayes.cross_validate`; the options are those of `tallybayes.fit`.
    progress: called with the rows learned so far, their share of all, and 0.

    The data is held in memory. Logistic regression is scikit-learn's, with its usual penalty (C = 1).

    >>> import tallybayes as tb
    >>> rows = {"x": [1.0, 1.1, 0.9, 1.2, 3.0, 3.1, 2.9, 3.2] * 10, "y": ["a"] * 4 * 10 + ["b"] * 4 * 10}
    >>> tb.compare(rows, label="y", sizes=[16, 64], folds=5).sizes
    [16, 64]
    """
    folds = check_integer("folds", folds, at_least=2)
    check_integer("seed", seed, at_least=0)
    source, label, _ = as_columns(to_source(data), label)
    empty, label = planned(source, label, **options)
    if empty.schema.weight is not None or options.get("weight") is not None:
        raise ParameterError("data without weights, to compare models")
    empty.settle(now=False)  # each model by the rows it has learned from, all of them
    rows = _Data.read(source, empty, label)
    fold = Deal(folds, seed)(rows.labels)
    largest = len(fold) - int(np.bincount(fold, minlength=folds).max())
    if largest < 1 or len(np.unique(fold)) < folds:
        raise DataError(f"at least {folds} rows with a label, one for each fold", got=len(fold))
    steps = _sizes(sizes, largest)
    done, judged = 0, {(model, size): list[Evaluation]() for model in MODELS for size in steps}
    for number in range(folds):
        order = _nested(rows.labels.codes, np.flatnonzero(fold != number), np.random.default_rng([seed, number]))
        for size, found in _learned(rows, empty, order, np.flatnonzero(fold == number), steps):
            for model, one in zip(MODELS, found, strict=True):
                judged[model, size].append(one)
            done += size
            if progress is not None:
                progress(done, done / (folds * sum(steps)), 0)
    curves = [_row(model, size, judged[model, size]) for size in steps for model in MODELS]
    return Comparison(curves, len(fold), folds)


@dataclass(frozen=True, eq=False)
class _Data:
    """Rows with a label, as both models want them."""

    table: Table
    labels: Labels
    label: Any
    design: Design

    @classmethod
    def read(cls, source: Source, empty: Model, label: Any) -> _Data:
        """All rows of a source that have a label and can be learned."""
        tables, whole = [], isinstance(source, Whole)
        for table in source.batches() if whole else source.batches(empty.wanted(label)):
            for part, _ in source.good(table, partial(_learnable, empty, label)):
                tables.append(part.take(np.flatnonzero(find_labels(part, label).codes >= 0)))
        together = _together(tables)
        labels = find_labels(together, label)
        if len(labels.keys) < 2:
            check_value(_learnable(empty, label, together), label, source)
            raise DataError("rows of at least two classes", got=labels.keys)
        return cls(together, labels, label, Design(together, empty.schema))


def _learnable(empty: Model, label: Any, table: Table) -> Model:
    model = empty.copy()
    model.learn(table, label=label)
    return model


def _together(tables: list[Table]) -> Table:
    """Batches as one table."""
    if len(tables) == 1:
        return tables[0]
    names = dict.fromkeys(name for table in tables for name in table.columns)
    columns = {name: _joined([table.columns.get(name, [None] * table.n_rows) for table in tables]) for name in names}
    return Table(sum(table.n_rows for table in tables), columns)


def _joined(parts: list[Raw]) -> Raw:
    """The parts of a column one after the other: Arrow arrays of one type as such, others as a list."""
    kinds = {str(getattr(part, "type", None)) for part in parts}
    if len(kinds) == 1 and all(isinstance(part, (pa.Array, pa.ChunkedArray)) for part in parts):
        return pa.chunked_array([chunk for part in parts for chunk in getattr(part, "chunks", [part])])
    return [value for part in parts for value in (part.to_pylist() if hasattr(part, "to_pylist") else list(part))]


def _sizes(given: Iterable[int] | None, largest: int) -> list[int]:
    """Sizes in growing order: those given, or 10, 20, 50, 100, ... and all."""
    if given is None:
        steps = (first * 10**power for power in range(1, 12) for first in (1, 2, 5))
        return [*(size for size in steps if _LEAST <= size <= largest * 0.8), largest]
    sizes = sorted({check_integer("each of the sizes", size, at_least=1) for size in given})
    if not sizes or sizes[-1] > largest:
        raise ParameterError(f"sizes of at most {largest}, the number of training rows of a fold", got=sizes)
    return sizes


def _nested(codes: NDArray[np.int32], rows: Rows, rng: np.random.Generator) -> Rows:
    """Rows in an order such that the first n of them, for every n, have the classes in proportion."""
    rows = rng.permutation(rows)
    place = np.empty(len(rows))
    for code in np.unique(codes[rows]):
        own = np.flatnonzero(codes[rows] == code)
        place[own] = (np.arange(len(own)) + 0.5) / len(own)
    return rows[np.argsort(place, kind="stable")]


def _learned(
    data: _Data, empty: Model, order: Rows, test: Rows, sizes: list[int]
) -> Iterator[tuple[int, tuple[Evaluation, ...]]]:
    """For every size the three models judged on the test rows. A model is a sum: each size adds only what is new."""
    growing, start = empty.copy(), 0
    for size in sizes:
        growing.learn(data.table.take(order[start:size]), label=data.label)
        start = size
        model = growing.copy()
        model.settle(now=True)
        judged = Evaluation()
        add(judged, model, *scored(model, data.label, data.table.take(test)), from_file=data.table.is_from_file)
        codes = data.labels.codes
        logistic = Logistic(data.design, order[:size], codes)
        shares = np.bincount(codes[order[:size]], minlength=len(data.labels.keys))[logistic.classes] / size
        always = np.broadcast_to(np.log(shares), (len(test), len(shares)))
        others = (_judged(data, logistic.classes, log_proba, test) for log_proba in (logistic.log_proba(test), always))
        yield size, (judged, *others)


def _judged(data: _Data, classes: list[int], log_proba: Any, test: Rows) -> Evaluation:
    judged = Evaluation()
    keys = data.labels.keys
    judged.add([keys[c] for c in classes], [keys[c] for c in data.labels.codes[test].tolist()], log_proba)
    return judged


def _row(model: str, size: int, judged: list[Evaluation]) -> dict[str, Any]:
    """The mean of both measures over the folds, and its standard error."""
    row: dict[str, Any] = {"model": model, "size": size}
    for measure, values in (
        ("error", [1 - one.accuracy for one in judged]),
        ("log_loss", [o.log_loss for o in judged]),
    ):
        there = np.array([value for value in values if not np.isnan(value)])
        spread = len(there) > 1 and bool(np.isfinite(there).all())
        row[measure] = float(there.mean()) if len(there) else float("nan")
        row[f"{measure}_se"] = float(there.std(ddof=1) / np.sqrt(len(there))) if spread else float("nan")
    return row
