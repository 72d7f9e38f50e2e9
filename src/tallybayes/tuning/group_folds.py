"""Folds of whole groups, and the sums of a model without each of them: tuning judges rows without their groups.

The largest groups are dealt first, each to the fold with the fewest rows. All rows of a fold are counted and subtracted
from the model, not only those that judge, so that no row of a group helps to score another one. Groups and samples go
by hashes of their content: the order of the rows does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Floats
from tallybayes.columns.batch import columns_to_read
from tallybayes.errors import DataError, ForgetError
from tallybayes.evaluation.fold_plan import deal_groups
from tallybayes.families.leave_one_out_scores import never_learned
from tallybayes.kernels.integer_hash import Hashes, hash_integers
from tallybayes.model import Model
from tallybayes.model.row_counter import RowCounter
from tallybayes.model.training_scores import hash_rows, log_proba_without
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.counting import CountingPlan
from tallybayes.state.model_state import ModelState
from tallybayes.tables.source import Source, TableSource
from tallybayes.tables.table import Table, concatenate_tables

__all__ = ["GroupFolds", "GroupedRows", "clustered_error"]

_FOLDS = 5


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows that judge, with the fold and the group of each."""

    table: Table
    fold: NDArray[np.int64]
    group: Hashes
    folds: GroupFolds

    def take(self, rows: NDArray[np.integer]) -> GroupedRows:
        """Some of the rows."""
        return GroupedRows(self.table.take(rows.astype(np.int64)), self.fold[rows], self.group[rows], self.folds)

    def log_proba(self, model: Model) -> Floats:
        """Log P(class | row) by a model without the groups of each row, before calibration, (rows, classes)."""
        result = np.empty((len(self.fold), len(model.classes)))
        for number, state in enumerate(self.folds.states_without(model)):
            rows = np.flatnonzero(self.fold == number)
            if len(rows):
                rest = Snapshot(state)
                result[rows] = log_proba_without(rest, self.table.take(rows), model.snapshot(), calibrated=False)
        return result


class GroupFolds:
    """The rows of a source that a model has learned, in folds of whole groups.

    label, sample_weight: names of columns. The schema of the model names the column of groups.
    """

    def __init__(self, source: Source, model: Model, label: Any, sample_weight: Any) -> None:
        self._source, self._model, self._label, self._weight = source, model, label, sample_weight
        facts = [np.stack(hash_rows(model.snapshot(), table, label, sample_weight)) for table in self._tables(model)]
        self._hashes, self._group = np.concatenate([np.zeros((2, 0), np.uint64), *facts], axis=1)
        groups, place, sizes = np.unique(self._group, return_inverse=True, return_counts=True)
        if len(groups) < 2:
            raise DataError("at least two groups to tune on", got=len(groups), column=model.schema.group)
        folds = deal_groups(dict(enumerate(sizes.tolist())), _FOLDS)
        self._fold = np.array([folds[number] for number in range(len(groups))], np.int64)[place]

    def sample(self, limit: int, seed: int) -> GroupedRows:
        """At most `limit` rows, drawn by `seed` and their content, in an order that does not depend on the data's."""
        keys = hash_integers((self._hashes + np.uint64(seed)).view(np.int64))
        drawn = np.argsort(keys, kind="stable")[:limit]
        in_order, first, parts = np.sort(drawn), 0, list[Table]()
        for table in self._tables(self._model):
            start, stop = np.searchsorted(in_order, [first, first + table.n_rows])
            if start < stop:
                parts.append(table.take(in_order[start:stop] - first))
            first += table.n_rows
        table = concatenate_tables(parts).take(np.searchsorted(in_order, drawn))
        return GroupedRows(table, self._fold[drawn], self._group[drawn], self)

    def states_without(self, model: Model) -> list[ModelState]:
        """The state of a model that has learned the rows, without each of the folds; all classes stay in the sums."""
        state, first = model.snapshot().state, 0
        plan = CountingPlan.of(state, self._label, self._weight, learns=False)
        counters = [RowCounter(plan, grows=False) for _ in range(_FOLDS)]
        for table in self._tables(model):
            fold = self._fold[first : first + table.n_rows]
            for number in np.unique(fold).tolist():
                counters[number].count(TableSource(table.take(np.flatnonzero(fold == number))))
            first += table.n_rows
        try:
            statistics = [state.statistics.copy().combined(counter.rows.statistics, -1) for counter in counters]
        except ForgetError as error:
            raise never_learned(error.column or "", None) from error
        return [replace(state, statistics=rest.aligned(model.classes)) for rest in statistics]

    def _tables(self, model: Model) -> Iterator[Table]:
        """The batches of the source with the columns of a model."""
        return self._source.batches(columns_to_read(model.schema, self._label, self._weight))


def clustered_error(values: Floats, weights: Floats, group: NDArray[np.integer]) -> float:
    """The standard error of the weighted mean of values whose groups are independent, and their rows are not.

    >>> values, group = np.array([1.0, 1.0, 3.0, 3.0]), np.array([5, 5, 7, 7], np.uint64)
    >>> round(clustered_error(values, np.ones(4), group), 3)  # two independent values: 1 and 3
    0.707
    """
    share = weights / weights.sum()
    far = share * (values - float((values * share).sum()))
    return float(np.sqrt((np.bincount(np.unique(group, return_inverse=True)[1], far) ** 2).sum()))
