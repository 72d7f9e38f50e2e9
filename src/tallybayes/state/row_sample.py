"""A sample of the rows that a model learns, to fit column weights on.

It holds the different rows with the smallest signatures and hashes (`row_hash.py`), each with the number of times it
occurred; of a rare class more than its share, up to half of what it would have if all classes were equally frequent.
So the sample does not depend on the order of the rows or on batches, and samples can be merged. Near-copied texts have
equal signatures, as have the rows of a group: they come into the sample together, though only a limited number of each.
The sample lives only while a model is fitted: nothing of it is kept in the model.

Two rows are the same if their encoded values are, not if their hashes are. Rows that differ in spite of equal hashes
are not used: their hash stays in the sample, with a count of 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Booleans
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Bag, Codes, Column, Reals
from tallybayes.columns.batch import Batch
from tallybayes.columns.schema import Schema
from tallybayes.state.row_equality import differing_groups, encoded_rows, first_cells
from tallybayes.state.row_hash import Hashes, RowHashes
from tallybayes.tables.table import Table, concatenate_tables

__all__ = ["RowSample", "SampledRows"]

Numbers = NDArray[np.int64]

_LEAST = 300  # rows, however many columns there are
_CELLS = 2**22  # of the sample
_MOST = 2.0**40  # counts of rows stay exact
_TOKENS = 400_000  # of the texts and bags of a sample: a long text takes as long as many short ones
_AT_ONCE = 2**15  # rows hashed at a time, by one thread
_LETTERS = 20  # different letters that a full sample has at least: rows of one signature may be one in so many
_GROUPS = 200  # the same for groups
_CUT = (
    0.1  # of the sampled rows: if so many are of groups that are too large, the sums of all rows hold too much of them
)
_UNBOUNDED = np.uint64(2**64 - 1)
_WIDER = 4  # times as many rows are looked at where too few of them are different

ROWS = 3000  # weights fitted on 1,000 rows are nearly as good (mean log loss .416 instead of .410 on 26 tables)
ROWS_IF_RARE = 12_000  # where a class is rare, few of the other rows tell how often they are like its rows
_RARE_PART = 5  # a class is rare if a sample without regard to classes has under 1 / _FEW of the rows that it may have


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Different rows in order of their signatures and hashes.

    counts: how often each occurred, 0 where rows with this hash differ; weights: of one such row. The cells of row i
    are those of row places[i] of a table, or of row i: they are copied only when they are needed (`table`).
    """

    hashes: Hashes
    signatures: Hashes
    counts: Numbers
    labels: list[Any]
    weights: NDArray[np.float64]
    n_tokens: Numbers
    cells: Table
    places: Numbers | None = None
    letters: int = _LETTERS  # of a full sample, at least

    def __len__(self) -> int:
        return len(self.hashes)

    @cached_property
    def table(self) -> Table:
        """The cells of the rows."""
        return self.cells if self.places is None else self.cells.take(self.places)

    @property
    def has_cut_groups(self) -> bool:
        """Whether many rows are of groups with as many rows as the sample, which may have had more, may have of one."""
        sizes = np.unique(self.signatures, return_counts=True)[1]
        is_cut = sizes * self.letters >= len(self)
        return bool(sizes[is_cut & (sizes == sizes.max(initial=0))].sum() > _CUT * len(self))

    def with_own_cells(self) -> SampledRows:
        """The same rows, without the table that their cells are in."""
        return self if self.places is None else replace(self, cells=self.table, places=None)

    def take(self, rows: Numbers) -> SampledRows:
        """Some of the rows."""
        labels = [self.labels[i] for i in rows.tolist()]
        arrays = self.hashes[rows], self.signatures[rows], self.counts[rows]
        places = rows if self.places is None else self.places[rows]
        return SampledRows(*arrays, labels, self.weights[rows], self.n_tokens[rows], self.cells, places, self.letters)

    def select(self, limit: int, if_rare: int = 0) -> SampledRows:
        """The rows of a sample of `limit` rows: those of rare classes take the place of the last others.

        if_rare: the limit where a class is rare, if it is larger.
        """
        selection = _SampleSelection(self.signatures, _number_labels(self.labels), self.n_tokens, limit, self.letters)
        if if_rare > limit and selection.has_rare_class:
            return self.select(if_rare)
        kept = selection.within_limit()
        return self if len(kept) == len(self) else self.take(kept)

    def first(self, n: int) -> SampledRows:
        """The first n rows in their order."""
        return self if n >= len(self) else self.take(np.arange(n))

    def without_collisions(self) -> SampledRows:
        """The rows without hashes that stand for different rows."""
        return self if self.counts.all() else self.take(np.flatnonzero(self.counts))

    @classmethod
    def join(cls, parts: Sequence[SampledRows], limit: int, schema: Schema | None) -> SampledRows:
        """All rows of several samples that can be in a sample of `limit` rows; equal ones become one."""
        whole = cls._concatenate(parts)
        order = _order(whole.hashes, whole.signatures)
        first = order[_is_first(whole.hashes[order])]
        labels = _number_labels([whole.labels[i] for i in first.tolist()])
        kept = first[
            _SampleSelection(whole.signatures[first], labels, whole.n_tokens[first], limit, whole.letters).kept
        ]
        order = order[np.isin(whole.hashes[order], whole.hashes[kept])]
        return whole.take(order)._unite_equal_rows(schema)

    @classmethod
    def _concatenate(cls, parts: Sequence[SampledRows]) -> SampledRows:
        names = ("hashes", "signatures", "counts", "weights", "n_tokens")
        hashes, signatures, counts, weights, tokens = (
            np.concatenate([getattr(part, name) for part in parts]) for name in names
        )
        labels = [label for part in parts for label in part.labels]
        cells = concatenate_tables([part.table for part in parts])
        return cls(hashes, signatures, counts, labels, weights, tokens, cells, letters=parts[0].letters)

    def _unite_equal_rows(self, schema: Schema | None) -> SampledRows:
        """Rows with equal hashes as one row, whose count is 0 if they differ.

        Equal rows may be written in two ways, such as 0 and -0. The one whose cells come first in order remains, so
        that the sample does not depend on the order of its parts.
        """
        is_first = _is_first(self.hashes)
        if is_first.all():
            return self
        group = np.cumsum(is_first) - 1
        counts = np.bincount(group, weights=self.counts).astype(np.int64)
        counts[group[self.counts == 0]] = 0
        several = np.flatnonzero(~(is_first & np.append(is_first[1:], True)))  # rows in a group of several
        rows = self.take(several)
        columns: list[Column] = [Codes(_number_labels(rows.labels), rows.labels), Reals(rows.weights)]
        columns += [] if schema is None else encoded_rows(rows.table, schema)
        columns.append(Codes(np.unique(rows.signatures, return_inverse=True)[1], range(len(rows))))  # or other groups
        counts[differing_groups(columns, np.arange(len(rows)), group[several])] = 0
        kept = first_cells(self.table, group)
        return replace(self.take(kept), counts=counts)


class _SampleSelection:
    """Which rows can be in a sample: `kept`, given different rows in order of their signatures and hashes.

    What is kept of a part of the rows contains all that is kept of it among all rows: so samples can be merged.
    """

    def __init__(
        self, signatures: Hashes, codes: Numbers, n_tokens: Numbers, limit: int, letters: int = _LETTERS
    ) -> None:
        self._signatures, self._codes = signatures, codes
        self.has_rare_class = self._is_full = False  # full: whether other rows can be in the place of those kept
        n, n_classes = len(signatures), int(codes.max(initial=0)) + 1
        if n <= limit and (n <= _LEAST or int(n_tokens.sum()) <= _TOKENS):
            self.kept = self._base = np.arange(n)
            return
        of_letter = max(limit // letters, 1)
        allowed = np.flatnonzero(_number_repeats(signatures) < of_letter)
        within = int(np.searchsorted(np.cumsum(n_tokens[allowed]), _TOKENS, side="right"))
        self._base = allowed[: min(limit, max(_LEAST, within))]
        self._is_full = len(self._base) == limit or len(self._base) < len(allowed)
        by_class = np.argsort(codes, kind="stable")
        by_class = by_class[_number_repeats(signatures[by_class], codes[by_class]) < of_letter]
        start = np.searchsorted(codes[by_class], codes[by_class])  # where the class of a row begins
        tokens = np.concatenate([[0], np.cumsum(n_tokens[by_class])])
        share = 2 * n_classes
        most_rare = limit // share  # rows that every class may have
        is_rare = np.arange(len(by_class)) - start < most_rare
        is_rare &= tokens[1:] - tokens[start] <= _TOKENS // share
        self._is_rare = np.zeros(n, bool)
        self._is_rare[by_class[is_rare]] = True
        self._full_classes = np.unique(codes[by_class[~is_rare]])  # that may have no more rows
        is_kept = self._is_rare.copy()
        is_kept[self._base] = True
        self.kept = np.flatnonzero(is_kept)
        in_base, in_all = (np.bincount(codes[rows], minlength=n_classes) for rows in (self._base, self.kept))
        self.has_rare_class = bool(((in_base < most_rare / _RARE_PART) & (in_base < in_all)).any())

    def within_limit(self) -> Numbers:
        """The kept rows without the last ones that are not of a rare class, as many as the sample may have."""
        too_many = len(self.kept) - len(self._base)
        if too_many <= 0:
            return self.kept
        dropped = self._base[~self._is_rare[self._base]][-too_many:]
        return np.setdiff1d(self.kept, dropped)

    def bounds(self, n_classes: int) -> Hashes:
        """By class the signature beyond which no row can be kept, (n_classes,)."""
        result = np.full(n_classes, _UNBOUNDED)
        if self._is_full:
            last = np.full(n_classes, self._signatures[self._base[-1]])
            np.maximum.at(last, self._codes[self.kept], self._signatures[self.kept])
            result[self._full_classes] = last[self._full_classes]
        return result


class RowSample:
    """The sample so far. Batches are added as they are learned.

    limit: how many rows it has; if_rare: how many where a class is rare.
    """

    def __init__(self, limit: int = ROWS, *, if_rare: int = ROWS_IF_RARE) -> None:
        self.limit, self.if_rare = limit, max(limit, if_rare)
        self._limit, self._kept = self.limit, self.if_rare  # fewer, the more columns the rows have
        self._parts: list[SampledRows] = []
        self._bounds: dict[Any, np.uint64] = {}  # by label: no row with a larger signature can be in the sample
        self._schema: Schema | None = None

    @classmethod
    def of(cls, schema: Schema) -> RowSample:
        """An empty sample of the usual size; of groups, more rows are needed for as many different ones."""
        return cls() if schema.group is None else cls(ROWS_IF_RARE)

    def add(self, table: Table, batch: Batch, keys: list[Any], schema: Schema) -> None:
        """Add the labelled rows of a table and its encoded columns; `keys` are the labels of its codes."""
        self._schema = schema
        most = max(_LEAST, _CELLS // max(len(batch.columns), 1))
        self._limit, self._kept = min(self._limit, most), min(self._kept, most)
        codes, weights = batch.labels.codes, batch.weights
        copies = own_weights = None
        if weights is not None:
            is_count = (weights == np.floor(weights)) & (weights < _MOST)  # a weight of 3 is the row three times
            copies, own_weights = np.where(is_count, weights, 1.0), np.where(is_count, 1.0, weights)
        counted = codes >= 0 if weights is None else (codes >= 0) & (weights > 0)
        if not counted.any():
            return
        hashes, signatures = _hash_rows(RowHashes(batch, keys, own_weights), len(codes))
        bounds = np.array([self._bounds.get(key, _UNBOUNDED) for key in keys], np.uint64)
        letters = _LETTERS if batch.groups is None else _GROUPS
        rows, group = self._draw(batch, hashes, signatures, counted, bounds, letters)
        counts = np.bincount(group, weights=None if copies is None else copies[rows]).astype(np.int64)
        columns: list[Column] = [*batch.columns.values(), *batch.sources.values(), Codes(codes, keys)]
        columns += [] if own_weights is None else [Reals(own_weights)]
        columns += [] if batch.groups is None else [batch.groups]
        counts[differing_groups(columns, rows, group)] = 0
        first = rows[np.append(True, group[1:] != group[:-1])] if len(rows) else rows
        labels = [keys[code] for code in codes[first].tolist()]
        names = [name for name in (*batch.columns, *batch.sources) if name in table.columns]
        used_cells = {name: table.columns[name] for name in names}  # without the label and columns that are not used
        cells = Table(table.n_rows, used_cells, table.origin, table.rows)
        own_weights = np.ones(len(first)) if own_weights is None else own_weights[first]
        tokens = _n_tokens(batch, first)
        self._parts = [part.with_own_cells() for part in self._parts]  # at most one part refers to a whole batch
        self._parts.append(
            SampledRows(hashes[first], signatures[first], counts, labels, own_weights, tokens, cells, first, letters)
        )
        self._shrink()

    def _draw(
        self, batch: Batch, hashes: Hashes, signatures: Hashes, counted: Booleans, bounds: Hashes, letters: int
    ) -> tuple[Numbers, Numbers]:
        """All copies of the rows that can be in the sample, in order, and the number of each among the different rows.

        bounds: by class, of the rows before. Rows are looked for among as few as will do if most rows are different,
        then among more of them.
        """
        codes = batch.labels.codes
        within = np.minimum(bounds, _expected_bounds(codes[counted], len(bounds), self._kept))
        while True:
            rows = np.flatnonzero(counted & (signatures <= within[codes]))
            rows = rows[_order(hashes[rows], signatures[rows])]
            is_first = _is_first(hashes[rows])
            first = rows[is_first]
            tokens = _n_tokens(batch, first)
            selection = _SampleSelection(signatures[first], codes[first].astype(np.int64), tokens, self._kept, letters)
            if ((selection.bounds(len(bounds)) <= within) | (within == bounds)).all():
                break
            is_repetitive = 2 * len(first) < len(rows)  # then hardly a part of the rows will do
            within = bounds if is_repetitive else np.where(within < bounds // _WIDER, within * _WIDER, bounds)
        number = np.full(len(first), -1)
        number[selection.kept] = np.arange(len(selection.kept))
        group = number[np.cumsum(is_first) - 1]
        return rows[group >= 0], group[group >= 0]

    def rows(self) -> SampledRows | None:
        """The sample; None if there are no rows."""
        kept = self.kept_rows()
        return None if kept is None else kept.select(self._limit, self._kept).without_collisions().with_own_cells()

    def kept_rows(self) -> SampledRows | None:
        """All rows that can be in this sample or in one that it becomes a part of."""
        if len(self._parts) > 1:
            self._parts = [SampledRows.join(self._parts, self._kept, self._schema)]
        return self._parts[0] if self._parts else None

    @classmethod
    def restore(cls, rows: SampledRows | None, limits: tuple[int, int], schema: Schema | None) -> RowSample:
        """The sample that kept these rows, encoded by a schema, and had these limits."""
        result = cls(limits[0], if_rare=limits[1])
        has_groups = schema is not None and schema.group is not None
        rows = replace(rows, letters=_GROUPS) if rows is not None and has_groups else rows
        result._parts, result._schema = [] if rows is None else [rows], schema
        return result

    @property
    def limits(self) -> tuple[int, int]:
        """How many rows it has, and how many where a class is rare: fewer, the more columns the rows have."""
        return self._limit, self._kept

    @classmethod
    def merge(cls, samples: Iterable[RowSample]) -> RowSample:
        """The sample of the rows of several samples."""
        parts = list(samples)
        limits = np.array([sample.limits for sample in parts] or [(ROWS, ROWS_IF_RARE)]).min(axis=0).tolist()
        result = cls(limits[0], if_rare=limits[1])
        result._parts = [part for sample in parts for part in sample._parts]
        result._schema = next((sample._schema for sample in parts if sample._schema is not None), None)
        result._shrink()
        return result

    def _shrink(self) -> None:
        """Keep the rows that can be in the sample, once there are twice as many rows or tokens."""
        n_tokens = sum(int(part.n_tokens.sum()) for part in self._parts) if len(self._parts) > 1 else 0
        if sum(map(len, self._parts)) > 2 * self._kept or n_tokens > 2 * _TOKENS:
            self._parts = [rows := SampledRows.join(self._parts, self._kept, self._schema)]
            labels = list(dict.fromkeys(rows.labels))
            selection = _SampleSelection(
                rows.signatures, _number_labels(rows.labels), rows.n_tokens, self._kept, rows.letters
            )
            self._bounds |= dict(zip(labels, selection.bounds(len(labels)), strict=True))


def _is_first(hashes: Hashes) -> Booleans:
    """Of rows in order of their hashes, which are the first with theirs."""
    return np.append(np.ones(min(len(hashes), 1), bool), hashes[1:] != hashes[:-1])


def _number_repeats(*arrays: NDArray[Any]) -> Numbers:
    """The number of each row among the neighbouring rows that are equal in these arrays: 0 for the first of them.

    >>> _number_repeats(np.array([3, 3, 3, 7, 3])).tolist()
    [0, 1, 2, 0, 0]
    """
    is_other = np.any([array[1:] != array[:-1] for array in arrays], axis=0)
    start = np.flatnonzero(np.append(np.ones(min(len(arrays[0]), 1), bool), is_other))
    return np.arange(len(arrays[0])) - np.repeat(start, np.diff(np.append(start, len(arrays[0]))))


def _order(hashes: Hashes, signatures: Hashes) -> Numbers:
    """Rows in order of their signatures and hashes, which are the same where no row has a long text."""
    is_same = np.array_equal(hashes, signatures)
    return np.argsort(hashes, kind="stable") if is_same else np.lexsort((hashes, signatures))


def _number_labels(labels: Sequence[Any]) -> Numbers:
    """The number of each label, in the order in which they come."""
    number = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return np.array([number[label] for label in labels], np.int64)


def _n_tokens(batch: Batch, rows: Numbers) -> Numbers:
    """The tokens of rows in all columns of texts and bags."""
    result = np.zeros(len(rows), np.int64)
    for column in batch.columns.values():
        if isinstance(column, Bag):
            lengths = np.append(np.diff(column.indptr), 0)  # the last is of a missing bag
            result += lengths[rows if column.rows is None else column.rows[rows]]
    return result


def _hash_rows(hashes_of: RowHashes, n_rows: int) -> tuple[Hashes, Hashes]:
    """The hashes and signatures of all rows; the same array twice where no row has a long text."""
    parts = in_threads(hashes_of, n_rows, size=_AT_ONCE)
    hashes = np.concatenate([part for part, _ in parts])
    is_same = all(part is signatures for part, signatures in parts)
    return hashes, hashes if is_same else np.concatenate([signatures for _, signatures in parts])


def _expected_bounds(codes: NDArray[np.int32], n_classes: int, limit: int) -> Hashes:
    """By class the signature below which enough rows for a sample of `limit` rows lie, if all rows are different.

    How many lie below a signature varies by the square root of their number: six times as much is all but certain.
    """
    of_class = np.bincount(codes, minlength=n_classes)
    rare = limit // (2 * n_classes)  # of the rows of each class
    share = np.maximum((limit + 6 * limit**0.5) / max(len(codes), 1), (rare + 6 * rare**0.5) / np.maximum(of_class, 1))
    return np.where(share < 0.5, (np.minimum(share, 0.5) * 2.0**64).astype(np.uint64), _UNBOUNDED)
