"""Near copies of a text in one fold, so that a held-out form letter has no copy among the rows that are learned.

Where there is a column of groups, the rows of a group are in one fold instead.

Which texts are near copies is decided by MinHash: the kernel `sign_bags` (`kernels/reference/hash_rows.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.columns.batch import Batch, encode_columns, find_groups
from tallybayes.columns.label import Labels
from tallybayes.columns.schema import Schema
from tallybayes.state.row_hash import Hashes, RowHashes, group_hashes
from tallybayes.tables.table import Table

__all__ = ["NearCopies", "signatures_of"]


def signatures_of(table: Table, schema: Schema, group: str | None = None) -> Hashes | None:
    """By row a number that near-copied texts share, 0 for rows without a long text; None if no column is text.

    group: a column of groups; then the rows of a group share a number.
    """
    if (groups := find_groups(table, group)) is not None:
        return np.maximum(group_hashes(groups), np.uint64(1))
    if not any(spec.is_text for spec in schema.columns.values()):
        return None
    codes = np.zeros(table.n_rows, np.int32)
    labels = Labels([""], codes, np.array([table.n_rows]))
    batch = Batch(table.n_rows, encode_columns(table, schema), labels, None)
    hashes, signatures = RowHashes(batch, [""])(0, table.n_rows)
    return np.where(signatures == hashes, np.uint64(0), signatures)


class NearCopies:
    """Moves rows to the fold of the first near copy of them, table after table; `n_moved` were not there by chance.

    group: a column of groups; rows are moved to the fold of the first row of their group instead.
    """

    def __init__(self, schema: Schema, group: str | None = None) -> None:
        self._schema, self._group, self.n_moved = schema, group, 0
        self._fold: dict[int, int] = {}

    def __call__(self, table: Table, fold: NDArray[np.int64]) -> NDArray[np.int64]:
        """The folds of the rows of the next table, given those that they were dealt to; -1 stays."""
        signatures = signatures_of(table, self._schema, self._group)
        if signatures is None:
            return fold
        result = fold.copy()
        for row in np.flatnonzero((signatures != 0) & (fold >= 0)).tolist():
            result[row] = self._fold.setdefault(int(signatures[row]), int(fold[row]))
        self.n_moved += int(np.count_nonzero(result != fold))
        return result
