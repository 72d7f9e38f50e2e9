"""The orders in which training rows are dealt to folds: by hashes of their content.

Rows are dealt to folds in turn (`columns/fold_assignment.py`). In the order of a file, what is fitted to their scores
would depend on that order. Few rows are dealt several times, in orders by different hashes: which rows share a fold is
chance, and the mean over several deals depends less on it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes.columns.batch import columns_to_read, read_batch
from tallybayes.kernels.integer_hash import Hashes, hash_integers
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.row_hash import RowHashes
from tallybayes.tables.source import BadRows, Source, Stream, TableSource
from tallybayes.tables.table import Table, concatenate_tables

__all__ = ["order_rows_for_folds"]

_CELLS = 2**25  # rows times columns that are sorted, 256 MB of numbers: with more, one deal in the order of the rows
_ROWS = 3000  # scored in all deals: the temperature of that many rows hardly depends on the folds
_MOST_DEALS = 10  # deals


def order_rows_for_folds(snapshot: Snapshot, source: Source, label: Any, sample_weight: Any) -> list[Source]:
    """The rows of some data in the order of each deal.

    label, sample_weight: names of columns. Rows that are scored in closed form need no folds, and stay as they are.
    """
    if isinstance(source, Stream) or not snapshot.state.selects_from_data:
        return [source]
    needed = columns_to_read(snapshot.state.schema, label, sample_weight)
    tables, hashes, n_cells = list[Table](), list[Hashes](), 0
    before = None if source.bad is None else (source.bad.count, list(source.bad.examples))
    for _, table in snapshot.batches(source, label, sample_weight):
        for part, part_hashes in source.work_on_good_rows(
            table.only(needed), lambda rows: _hashes(snapshot, rows, label, sample_weight)
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


def _hashes(snapshot: Snapshot, table: Table, label: Any, sample_weight: Any) -> Hashes:
    """A hash of the content of each row."""
    schema, statistics = snapshot.state.schema, snapshot.state.statistics
    batch = read_batch(
        table,
        schema,
        label,
        sample_weight,
        known=snapshot.classes,
        known_key=lambda name: statistics.any_key(schema.family_of(name), name),
    )
    return RowHashes(batch, batch.labels.keys, batch.weights)(0, table.n_rows)[0]
