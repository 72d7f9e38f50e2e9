"""Rows that a model has learned, scored as if they were new.

Where nothing is chosen from the data (fixed strengths of smoothing, gaussian and Poisson columns, no fitted column
weights), each row is scored by leave-one-out in closed form (`scoring/leave_one_out.py`). Otherwise, and where rows
have groups, the rows are divided into folds, and each fold is scored by the model without it, for which every choice is
made anew: strengths by evidence, buckets of histograms, column weights. Leave-one-out would keep what was chosen with
the row, and with many columns that bias adds up. Calibration, decision rule and variants of text are kept in both
cases.

Rows are dealt to folds in turn (`columns/fold_assignment.py`). In the order of a file, what is fitted to their scores
would depend on that order, so they are put in the order of hashes of their content first (`order_rows_for_folds`). Few
rows are dealt several times, in orders by different hashes: which rows share a fold is chance, and the mean over
several deals depends less on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import positions
from tallybayes.columns.batch import columns_to_read, find_weights, read_batch
from tallybayes.columns.fold_assignment import FoldAssigner
from tallybayes.columns.label import Labels
from tallybayes.errors import Described, ForgetError, ParameterError
from tallybayes.families.family import Floats
from tallybayes.families.leave_one_out_scores import never_learned
from tallybayes.io.read import to_source
from tallybayes.kernels.integer_hash import Hashes, hash_integers
from tallybayes.model.row_counter import RowCounter
from tallybayes.model.update import subtract_rows
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.counting import CountedRows, CountingPlan
from tallybayes.state.model_state import ModelState
from tallybayes.state.near_copies import NearCopies
from tallybayes.state.row_hash import RowHashes
from tallybayes.state.row_sample import RowSample
from tallybayes.tables.source import BadRows, Source, Stream, TableSource, as_columns
from tallybayes.tables.table import Table, concatenate_tables
from tallybayes.weights.weight_selection import select_weights

__all__ = ["hash_rows", "log_proba_of_training_rows", "log_proba_without", "needs_folds", "order_rows_for_folds"]

_FOLDS = 5
_CELLS = 2**25  # rows times columns that are sorted, 256 MB of numbers: with more, one deal in the order of the rows
_ROWS = 3000  # scored in every division into folds: the temperature of that many rows hardly depends on the folds
_MOST_DEALS = 10  # divisions of few rows into folds, whose scores are averaged


def log_proba_of_training_rows(
    snapshot: Snapshot,
    data: Any,
    *,
    label: Any = None,
    sample_weight: Any = None,
    calibrated: bool = True,
    group: str | None = None,
    also: Iterable[str] = (),
) -> Iterator[tuple[Table, Floats]]:
    """Data that was learned, batch by batch, with log P(class | row) by models without the row.

    group: the column of groups whose rows are held out together, by default that of the model; also: other columns of
    files to read.
    """
    snapshot.state.require_learned("leave_one_out")
    group = snapshot.state.schema.group if group is None else group
    if not needs_folds(snapshot.state, group):
        yield from snapshot.leave_one_out_batches(
            data, label=label, sample_weight=sample_weight, calibrated=calibrated, also=also
        )
        return
    source = to_source(data)
    if isinstance(source, Stream):
        got, hint = Described("a stream"), "give a table or a path"
        raise ParameterError("data that can be read twice, to score the rows of a fold without it", got=got, hint=hint)
    sample_weight = snapshot.state.schema.weight if sample_weight is None else sample_weight
    source, label, sample_weight = as_columns(source, snapshot.label_or_default(label), sample_weight)
    total, source.bad = source.bad, None if source.bad is None else BadRows()  # bad rows are counted once
    folds = _Folds(snapshot, label, sample_weight, group, also)
    counted = folds.count(source)
    source.bad = total
    others = [_without(snapshot.state, counted, number) for number in range(_FOLDS)]
    for number, table in folds.tables(source):

        def work(part: Table, number: int = number) -> Floats:
            fold, result = folds.of(part, number), np.empty((part.n_rows, len(snapshot.classes)))
            for which, other in ((-1, snapshot), *enumerate(others)):
                rows = np.flatnonzero(fold == which)
                if len(rows):
                    result[rows] = log_proba_without(other, part.take(rows), snapshot, calibrated=calibrated)
            return result

        yield from source.work_on_good_rows(table, work)


def needs_folds(state: ModelState, group: str | None) -> bool:
    """Whether training rows are scored by folds, because something is chosen from the data or rows have groups."""
    return state.selects_from_data or group is not None


class _Folds:
    """The folds of the rows of some data: assigned when they are counted, and looked up when they are scored."""

    def __init__(
        self, snapshot: Snapshot, label: Any, sample_weight: Any, group: str | None, also: Iterable[str]
    ) -> None:
        self._snapshot, self._label, self._weight = snapshot, label, sample_weight
        self._also = [*also, *([] if group is None else [group])]
        self._assign, self._together = FoldAssigner(_FOLDS, 0), NearCopies(snapshot.state.schema, group)
        self._of_batch: list[tuple[NDArray[np.int64] | None, NDArray[np.int8]]] = []  # numbers of the rows, their folds

    def tables(self, source: Source) -> Iterator[tuple[int, Table]]:
        """The batches with their numbers, without columns that are not needed."""
        needed = columns_to_read(self._snapshot.state.schema, self._label, self._weight)
        batches = self._snapshot.batches(source, self._label, self._weight, also=self._also)
        return ((number, table.only([*needed, *self._also])) for number, (_, table) in enumerate(batches))

    def count(self, source: Source) -> list[CountedRows]:
        """The rows of each fold, counted. Bad rows are in no fold."""
        schema = self._snapshot.state.schema
        result = [CountedRows(schema, sample=RowSample.of(schema)) for _ in range(_FOLDS)]
        for number, table in self.tables(source):
            self._of_batch.append((table.rows, np.full(table.n_rows, -1, np.int8)))
            for part, parts in source.work_on_good_rows(table, self._count_apart):
                self._of_batch[number][1][part.places_in(table.rows)] = parts[0]
                for fold_rows, rows in zip(result, parts[1], strict=True):
                    if rows is not None:
                        fold_rows.add(rows)
        return result

    def of(self, part: Table, number: int) -> NDArray[np.int8]:
        """The fold of every row of a part of a batch, -1 for rows that were not learned; raises for bad rows."""
        self._find_learned(part)
        rows, folds = self._of_batch[number]
        return folds[part.places_in(rows)]

    def _find_learned(self, part: Table) -> tuple[Labels, NDArray[np.bool_]]:
        labels, weights = self._snapshot.labels(part, self._label), find_weights(part, self._weight)
        return labels, (labels.codes >= 0) if weights is None else (labels.codes >= 0) & (weights > 0)

    def _count_apart(self, part: Table) -> tuple[NDArray[np.int8], list[CountedRows | None]]:
        """The fold of every row of a part, and its rows counted by fold: nothing else changes if a row is bad."""
        labels, learned = self._find_learned(part)
        fold = np.where(learned, self._together(part, self._assign(labels)), -1).astype(np.int8)
        plan = CountingPlan.of(self._snapshot.state, self._label, self._weight, learns=False)
        result: list[CountedRows | None] = []
        for number in range(_FOLDS):
            rows = np.flatnonzero(fold == number)
            counter = RowCounter(plan, grows=False, sample=RowSample.of(plan.schema))
            result.append(counter.count(TableSource(part.take(rows))) if len(rows) else None)
        return fold, result


def _without(state: ModelState, counted: list[CountedRows], fold: int) -> Snapshot:
    """The state without the rows of a fold, with column weights of its own if the model's are fitted."""
    try:
        rest = subtract_rows(replace(state, statistics=state.statistics.copy()), counted[fold])
    except ForgetError as error:
        raise never_learned(error.column or "", None) from error
    weights = state.settings.column_weights
    if weights is not None and weights.fitted_on:
        samples = [rows.sample for number, rows in enumerate(counted) if number != fold and rows.sample is not None]
        weights = select_weights(rest, RowSample.merge(samples), like=weights, of_rows=np.inf)
    return Snapshot(replace(rest, settings=replace(rest.settings, column_weights=weights)))


def log_proba_without(reduced: Snapshot, table: Table, whole: Snapshot, *, calibrated: bool) -> Floats:
    """Log P(class | row) by a model without some rows, over the classes of the whole one.

    A class that has no other rows has the share of one row.
    """
    result = np.full((table.n_rows, len(whole.classes)), -np.inf)
    if reduced.classes:
        batches = reduced.log_proba_batches(table, calibrated=calibrated, are_held_out=True)
        result[:, positions(reduced.classes, whole.classes)] = reduced.join(part for _, part in batches)
    n_absent = len(whole.classes) - len(reduced.classes)
    if not reduced.classes:
        result[:] = -np.log(n_absent)
    elif n_absent:
        share = 1.0 / (sum(reduced.state.class_counts.values()) + len(whole.classes))
        absent = np.setdiff1d(np.arange(len(whole.classes)), positions(reduced.classes, whole.classes))
        result += np.log1p(-n_absent * share)
        result[:, absent] = np.log(share)
    return result


def order_rows_for_folds(snapshot: Snapshot, source: Source, label: Any, sample_weight: Any) -> list[Source]:
    """The rows of some data in the order of each deal.

    label, sample_weight: names of columns. Rows that are scored in closed form need no folds, and stay as they are.
    """
    if isinstance(source, Stream) or not needs_folds(snapshot.state, snapshot.state.schema.group):
        return [source]
    needed = columns_to_read(snapshot.state.schema, label, sample_weight)
    tables, hashes, n_cells = list[Table](), list[Hashes](), 0
    before = None if source.bad is None else (source.bad.count, list(source.bad.examples))
    for _, table in snapshot.batches(source, label, sample_weight):
        for part, part_hashes in source.work_on_good_rows(
            table.only(needed), lambda rows: hash_rows(snapshot, rows, label, sample_weight)[0]
        ):
            tables.append(part)
            hashes.append(part_hashes)
            n_cells += part.n_rows * max(len(part.columns), 1)
        if n_cells > _CELLS:
            if source.bad is not None and before is not None:  # they are read again, and counted then
                source.bad.count, source.bad.examples = before
            return [source]
    if not tables:
        return [source]
    whole, every = concatenate_tables(tables), np.concatenate(hashes)
    n_deals = min(_MOST_DEALS, -(-_ROWS // max(len(every), 1)))
    return [_in_order(whole, every, number, source.bad) for number in range(n_deals)]


def _in_order(table: Table, hashes: Hashes, number: int, bad: BadRows | None) -> Source:
    """The rows in the order of a deal. Bad rows are not among them; they were counted before."""
    keys = hash_integers((hashes + np.uint64(number)).view(np.int64))
    result = TableSource(replace(table.take(np.argsort(keys, kind="stable")), rows=None))
    result.bad = bad
    return result


def hash_rows(snapshot: Snapshot, table: Table, label: Any, sample_weight: Any) -> tuple[Hashes, Hashes]:
    """A hash of the content of each row that was learned, and its signature, which the rows of a group share."""
    schema, statistics = snapshot.state.schema, snapshot.state.statistics
    batch = read_batch(
        table,
        schema,
        label,
        sample_weight,
        known=snapshot.classes,
        known_key=lambda name: statistics.any_key(schema.family_of(name), name),
    )
    return RowHashes(batch, batch.labels.keys, batch.weights)(0, table.n_rows)
