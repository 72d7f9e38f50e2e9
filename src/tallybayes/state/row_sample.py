"""A sample of the rows that a model learns, to fit column weights on.

It holds the different rows with the smallest hashes (`row_hash.py`), each with the number of times it occurred. So it
does not depend on the order of the rows or on batches, and samples can be merged. It lives only while a model is
fitted: nothing of it is kept in the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Booleans
from tallybayes.arrays.chunks import in_threads, split
from tallybayes.arrays.column import Bag
from tallybayes.data.batch import Batch
from tallybayes.data.table import Table, column_values, concatenated
from tallybayes.state.row_hash import Hashes, RowHashes

__all__ = ["RowSample", "SampledRows"]

_LEAST = 300  # rows, however many columns there are
_CELLS = 2**22  # of the sample
_MOST = 2.0**40  # counts of rows stay exact
_TOKENS = 400_000  # of the texts and bags of a sample: a long text takes as long as many short ones
_AT_ONCE = 2**15  # rows hashed at a time: their hashes stay in the cache

ROWS = 3000  # weights fitted on 1,000 rows are nearly as good (mean log loss .416 instead of .410 on 26 tables)


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Different rows in order of their hashes: how often each occurred, its label, weight (of one), size and cells."""

    hashes: Hashes
    counts: NDArray[np.int64]
    labels: list[Any]
    weights: NDArray[np.float64]
    n_tokens: NDArray[np.int64]
    table: Table

    def __len__(self) -> int:
        return len(self.hashes)

    def first(self, n: int) -> SampledRows:
        """The n rows with the smallest hashes."""
        return self if n >= len(self) else self._take(np.arange(n))

    def _take(self, rows: NDArray[np.int64]) -> SampledRows:
        labels = [self.labels[i] for i in rows.tolist()]
        tokens, table = self.n_tokens[rows], self.table.take(rows)
        return SampledRows(self.hashes[rows], self.counts[rows], labels, self.weights[rows], tokens, table)

    def limited(self, limit: int) -> SampledRows:
        """The rows that a sample may have: at most `limit`, and not too many tokens."""
        return self.first(n_within(self.n_tokens, limit))

    def untied(self, other: SampledRows) -> tuple[SampledRows, SampledRows]:
        """Both samples, where a row of both is only in one: that whose cells come first, with the count of both.

        Rows with equal hashes mean the same, but their cells may be written in two ways, such as 0 and -0.
        """
        _, mine, theirs = np.intersect1d(self.hashes, other.hashes, assume_unique=True, return_indices=True)
        names = sorted({*self.table.columns, *other.table.columns})
        is_mine = _first_cells(self.table.take(mine), other.table.take(theirs), names)
        counts, others = self.counts.copy(), other.counts.copy()
        counts[mine[is_mine]] += others[theirs[is_mine]]
        others[theirs[~is_mine]] += counts[mine[~is_mine]]
        left, right = replace(self, counts=counts), replace(other, counts=others)
        return left._take(_all_but(len(self), mine[~is_mine])), right._take(_all_but(len(other), theirs[is_mine]))

    @classmethod
    def joined(cls, parts: Sequence[SampledRows], limit: int) -> SampledRows:
        """The rows of several samples: equal ones become one, and at most `limit` remain."""
        hashes = np.concatenate([part.hashes for part in parts])
        counts = np.concatenate([part.counts for part in parts])
        _, first, number = np.unique(hashes, return_index=True, return_inverse=True)
        total = np.bincount(number, weights=counts).astype(np.int64)[:limit]
        kept, start, result = first[:limit], 0, []
        for part in parts:
            own = np.sort(kept[(kept >= start) & (kept < start + len(part))]) - start
            result.append(part._take(own))
            start += len(part)
        table = concatenated([part.table for part in result])
        order = np.argsort(np.concatenate([part.hashes for part in result]))
        labels = [label for part in result for label in part.labels]
        weights = np.concatenate([part.weights for part in result])
        tokens = np.concatenate([part.n_tokens for part in result])
        whole = cls(hashes[np.sort(kept)], np.zeros(len(kept), np.int64), labels, weights, tokens, table)._take(order)
        return cls(whole.hashes, total, whole.labels, whole.weights, whole.n_tokens, whole.table).limited(limit)


def n_within(n_tokens: NDArray[np.int64], limit: int) -> int:
    """How many rows a sample may have, given the tokens of each in order."""
    within = int(np.searchsorted(np.cumsum(n_tokens), _TOKENS, side="right"))
    return min(limit, max(_LEAST, within))


class RowSample:
    """The sample so far. Batches are added as they are learned."""

    def __init__(self, limit: int = ROWS) -> None:
        self.limit = self._limit = limit
        self._parts: list[SampledRows] = []
        self._bound = np.uint64(2**64 - 1)  # no row with a larger hash can be in the sample

    def add(self, table: Table, batch: Batch, keys: list[Any]) -> None:
        """Add the labelled rows of a table and its encoded columns; `keys` are the labels of its codes."""
        self._limit = min(self._limit, max(_LEAST, _CELLS // max(len(batch.columns), 1)))
        codes, weights = batch.labels.codes, batch.weights
        copies = own_weights = None
        if weights is not None:
            is_count = (weights == np.floor(weights)) & (weights < _MOST)  # a weight of 3 is the row three times
            copies, own_weights = np.where(is_count, weights, 1.0), np.where(is_count, 1.0, weights)
        counted = codes >= 0 if weights is None else (codes >= 0) & (weights > 0)
        rows, hashes = _smallest(RowHashes(batch, keys, own_weights), counted, self._limit, self._bound)
        used, first, number = np.unique(hashes, return_index=True, return_inverse=True)
        if not len(used):
            return
        counts = np.bincount(number, weights=None if copies is None else copies[rows]).astype(np.int64)
        tokens = _n_tokens(batch, rows[first])
        n = n_within(tokens, self._limit)
        used, first = used[:n], rows[first[:n]]
        labels = [keys[code] for code in codes[first].tolist()]
        names = [name for name in (*batch.columns, *batch.sources) if name in table.columns]
        own = {name: table.columns[name] for name in names}  # without the label and columns that are not used
        cells = Table(table.n_rows, own, table.origin, table.rows).take(first)
        own_weights = np.ones(len(first)) if own_weights is None else own_weights[first]
        self._parts.append(SampledRows(used, counts[:n], labels, own_weights, tokens[:n], cells))
        self._shrink()

    def rows(self) -> SampledRows | None:
        """The sample; None if there are no rows."""
        if len(self._parts) > 1:
            self._parts = [SampledRows.joined(self._parts, self._limit)]
        return self._parts[0].limited(self._limit) if self._parts else None

    @classmethod
    def restored(cls, rows: SampledRows | None, limit: int) -> RowSample:
        """The sample that had these rows and this limit."""
        result = cls(limit)
        result._parts = [] if rows is None else [rows]
        return result

    def untied(self, other: RowSample) -> tuple[RowSample, RowSample]:
        """Both samples, where a row of both is only in one of them: merging them does not depend on their order."""
        mine, theirs = self.rows(), other.rows()
        if mine is None or theirs is None:
            return self, other
        mine, theirs = mine.untied(theirs)
        return RowSample.restored(mine, self._limit), RowSample.restored(theirs, other._limit)

    @property
    def rows_at_most(self) -> int:
        """How many rows it keeps: fewer, the more columns the rows have."""
        return self._limit

    @classmethod
    def merged(cls, samples: Iterable[RowSample]) -> RowSample:
        """The sample of the rows of several samples."""
        given = list(samples)
        result = cls(min((sample._limit for sample in given), default=ROWS))
        result._parts = [part for sample in given for part in sample._parts]
        result._shrink()
        return result

    def _shrink(self) -> None:
        """Keep the rows that can be in the sample, once there are twice as many rows or tokens."""
        n_tokens = sum(int(part.n_tokens.sum()) for part in self._parts) if len(self._parts) > 1 else 0
        if sum(map(len, self._parts)) > 2 * self._limit or n_tokens > 2 * _TOKENS:
            self._parts = [SampledRows.joined(self._parts, self._limit)]
            self._bound = self._parts[0].hashes[-1]


def _first_cells(one: Table, other: Table, names: Sequence[str]) -> Booleans:
    """For each row of two tables whether the cells of the first come first in order; True if they are equal."""
    columns = [[table.columns.get(name) for name in names] for table in (one, other)]
    if all(map(_are_equal, *columns)):
        return np.ones(one.n_rows, bool)
    texts = [
        [repr(row) for row in zip(*([None] * one.n_rows if c is None else column_values(c) for c in own), strict=True)]
        for own in columns
    ]
    return np.array([a <= b for a, b in zip(*texts, strict=True)], bool)


def _are_equal(one: Any, other: Any) -> bool:
    return isinstance(one, (pa.Array, pa.ChunkedArray)) and type(one) is type(other) and bool(one.equals(other))


def _all_but(n: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    kept = np.ones(n, bool)
    kept[rows] = False
    return np.flatnonzero(kept)


def _n_tokens(batch: Batch, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The tokens of rows in all columns of texts and bags."""
    result = np.zeros(len(rows), np.int64)
    for column in batch.columns.values():
        if isinstance(column, Bag):
            lengths = np.append(np.diff(column.indptr), 0)  # the last is of a missing bag
            result += lengths[rows if column.rows is None else column.rows[rows]]
    return result


def _smallest(
    hashes_of: RowHashes, counted: Booleans, limit: int, bound: np.uint64
) -> tuple[NDArray[np.int64], Hashes]:
    """All counted rows with the `limit` smallest different hashes up to a bound, some more, and their hashes.

    Rows are hashed a few at a time; a row that is larger than the `limit` smallest so far is dropped at once.
    """

    def search(start: int, stop: int) -> tuple[NDArray[np.int64], Hashes]:
        rows, hashes, most, full = np.zeros(0, np.int64), np.zeros(0, np.uint64), bound, 4 * limit
        for first, last in split(stop - start, _AT_ONCE):
            own = hashes_of(start + first, start + last)
            found = np.flatnonzero((own <= most) & counted[start + first : start + last])
            rows, hashes = np.append(rows, found + (start + first)), np.append(hashes, own[found])
            if len(hashes) > full:
                different = np.unique(hashes)
                most = different[limit - 1] if len(different) >= limit else most
                kept = hashes <= most
                rows, hashes = rows[kept], hashes[kept]
                full = 4 * max(limit, len(hashes))  # where few rows are different, most of them stay
        return rows, hashes

    parts = in_threads(search, len(counted))
    return np.concatenate([rows for rows, _ in parts]), np.concatenate([hashes for _, hashes in parts])
