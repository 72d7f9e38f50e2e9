"""Rows that a model has learned, scored as if they were new.

Where nothing is chosen from the data (fixed strengths of smoothing, gaussian and Poisson columns, no fitted column
weights), each row is scored by leave-one-out in closed form (`scoring/leave_one_out.py`). Otherwise the rows are
divided into folds, and each fold is scored by the model without it, for which every choice is made anew: strengths by
evidence, buckets of histograms, column weights. Leave-one-out would keep what was chosen with the row, and with many
columns that bias adds up. Calibration, decision rule and variants of text are kept in both cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import positions
from tallybayes.data.fold_assignment import FoldAssigner
from tallybayes.data.label import find_labels, find_weights
from tallybayes.data.read import to_source
from tallybayes.data.source import BadRows, Source, Stream, Whole, as_columns
from tallybayes.data.table import Table
from tallybayes.errors import Described, ForgetError, ParameterError
from tallybayes.families.family import Floats
from tallybayes.families.leave_one_out_scores import never_learned
from tallybayes.model.update import CountedRows, subtract_rows
from tallybayes.model.weight_selection import select_weights
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.model_state import ModelState
from tallybayes.state.row_sample import RowSample

__all__ = ["log_proba_of_training_rows"]

_FOLDS = 5


def log_proba_of_training_rows(
    snapshot: Snapshot, data: Any, *, label: Any = None, weight: Any = None, calibrated: bool = True
) -> Iterator[tuple[Table, Floats]]:
    """Data that was learned, batch by batch, with log P(class | row) by models without the row."""
    snapshot.state.require_learned("leave_one_out")
    if not snapshot.state.selects_from_data:
        yield from snapshot.leave_one_out_batches(data, label=label, weight=weight, calibrated=calibrated)
        return
    source = to_source(data)
    if isinstance(source, Stream):
        got, hint = Described("a stream"), "give a table or a path"
        raise ParameterError("data that can be read twice, to score the rows of a fold without it", got=got, hint=hint)
    weight = snapshot.state.schema.weight if weight is None else weight
    source, label, weight = as_columns(source, snapshot.label_or_default(label), weight)
    total, source.bad = source.bad, None if source.bad is None else BadRows()  # bad rows are counted once
    counted = _counted_by_fold(snapshot, source, label, weight)
    source.bad = total
    others = [_without(snapshot.state, counted, number) for number in range(_FOLDS)]

    for table, fold_of in _with_folds(snapshot, source, label, weight):

        def work(part: Table, fold_of: _FoldOfRows = fold_of) -> Floats:
            fold, result = fold_of(part), np.empty((part.n_rows, len(snapshot.classes)))
            for number, own in ((-1, snapshot), *enumerate(others)):
                rows = np.flatnonzero(fold == number)
                if len(rows):
                    result[rows] = _log_proba(own, part.take(rows), snapshot, calibrated=calibrated)
            return result

        yield from source.good(table, work)


def _counted_by_fold(snapshot: Snapshot, source: Source, label: Any, weight: Any) -> list[CountedRows]:
    counted = [CountedRows(snapshot.state, label, weight, grows=False, sample=RowSample()) for _ in range(_FOLDS)]
    for table, fold_of in _with_folds(snapshot, source, label, weight):

        def count(part: Table, fold_of: _FoldOfRows = fold_of) -> None:
            fold = fold_of(part)
            for number in np.unique(fold[fold >= 0]).tolist():
                counted[number].count(Whole(part.take(np.flatnonzero(fold == number))))

        for _ in source.good(table, count):
            pass
    return counted


def _with_folds(snapshot: Snapshot, source: Source, label: Any, weight: Any) -> Iterator[tuple[Table, _FoldOfRows]]:
    """The batches of a source, each with the folds of its rows: the same in every pass."""
    assign = FoldAssigner(_FOLDS, 0)
    for _, table in snapshot.batches(source, label, weight):
        yield table, _FoldOfRows.of(table, assign(find_labels(table, label)), find_weights(table, weight))


@dataclass(frozen=True, eq=False)
class _FoldOfRows:
    """The fold of every row of a table, for its parts."""

    rows: NDArray[np.int64]
    fold: NDArray[np.int64]

    @classmethod
    def of(cls, table: Table, fold: NDArray[np.int64], weights: Floats | None) -> _FoldOfRows:
        """Rows of weight 0 are in no fold: they were not learned."""
        learned = fold if weights is None else np.where(weights > 0, fold, -1)
        return cls(np.arange(table.n_rows) if table.rows is None else table.rows, learned)

    def __call__(self, part: Table) -> NDArray[np.int64]:
        """The fold of every row of a part, -1 for rows that were not learned."""
        rows = np.arange(part.n_rows) if part.rows is None else part.rows
        return np.asarray(self.fold[np.searchsorted(self.rows, rows)])


def _without(state: ModelState, counted: list[CountedRows], fold: int) -> Snapshot:
    """The state without the rows of a fold, with column weights of its own if the model's are fitted."""
    try:
        rest = subtract_rows(replace(state, statistics=state.statistics.copy()), counted[fold])
    except ForgetError as error:
        raise never_learned(error.column or "", None) from error
    weights = state.settings.column_weights
    if weights is not None and weights.fitted_on:
        samples = [own.sample for number, own in enumerate(counted) if number != fold and own.sample is not None]
        weights = select_weights(rest, RowSample.merged(samples))
    return Snapshot(replace(rest, settings=replace(rest.settings, column_weights=weights)))


def _log_proba(own: Snapshot, table: Table, whole: Snapshot, *, calibrated: bool) -> Floats:
    """Log P(class | row) by the classes of the whole model; a class that has no other rows has the share of one row."""
    result = np.full((table.n_rows, len(whole.classes)), -np.inf)
    if own.classes:
        batches = own.log_proba_batches(table, calibrated=calibrated)
        result[:, positions(own.classes, whole.classes)] = own.joined(part for _, part in batches)
    n_absent = len(whole.classes) - len(own.classes)
    if not own.classes:
        result[:] = -np.log(n_absent)
    elif n_absent:
        share = 1.0 / (sum(own.state.class_counts.values()) + len(whole.classes))
        absent = np.setdiff1d(np.arange(len(whole.classes)), positions(own.classes, whole.classes))
        result += np.log1p(-n_absent * share)
        result[:, absent] = np.log(share)
    return result
