"""Small batches scored without the overhead of a table: a dict, or a small matrix, dense or sparse.

Each thread keeps a buffer, a small matrix of doubles that the predictives are bound to once after every change
(`Predictive.bind_matrix`). Rows are written into it as in `scoring/row_reader.py` and scored by the same kernels as any
table, so the scores have the same bits. Anything unusual about a row is left to the general path.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tallybayes.arrays.column import Bag, Codes
from tallybayes.arrays.sparse_matrix import checked_csr
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError
from tallybayes.families.family import Floats, Predictive, RowScore
from tallybayes.scoring.row_reader import BlockLayout, RowReader
from tallybayes.scoring.scorer import Scorer
from tallybayes.state.model_state import ModelState
from tallybayes.tables.table import Table, is_row

__all__ = ["NUMBERS", "ROWS", "SmallBatchScorer", "few_rows"]

ROWS = 256  # rows in a buffer; more than this are a table

NUMBERS = tuple(np.dtype(kind) for kind in ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"))
_FEW_CELLS = 64  # of keys, that are looked up one by one
_SLOTS, _FAR = 2**16, 2**40  # entries of a table of slots, and the size of its keys, at most
_AMOUNTS = tuple(np.dtype(kind) for kind in ("f8", "f4", "i8", "i4"))


def few_rows(data: Any) -> int:
    """How many rows a small matrix has, or a table that is one, or a list of dicts; 0 for anything else.

    >>> few_rows(np.zeros((2, 3))), few_rows([{"a": 1.5}]), few_rows(np.zeros((1000, 3))), few_rows({"a": [1]})
    (2, 1, 0, 0)
    """
    kind = type(data)
    if kind is np.ndarray:
        n_rows = len(data) if data.ndim == 2 else 0
    elif kind is Table:
        n_rows = 0 if data.matrix is None else data.n_rows
    else:
        n_rows = len(data) if kind is list else 0
    return n_rows if n_rows <= ROWS else 0


class SmallBatchScorer:
    """Scores small batches under one schema; returns None wherever the general path is needed."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._has_forms = any(field.reader.form is not None for field in schema.columns.values())
        self._local = threading.local()
        self._layout: _Layout | None = None

    def row(self, row: dict[Any, Any], scorer: Scorer) -> Floats | None:
        """Log P(c, x) of a dict, (1, classes)."""
        buffer = self._buffer(scorer)
        if buffer is None or (unknown := buffer.read_row(row)) < 0:
            return None
        if unknown and self._has_forms:  # the key may be known in another form
            return None
        return buffer.scored(1)

    def row_of_stream(
        self, row: dict[Any, Any], state: ModelState, rows: object, earlier: Scorer | None
    ) -> Floats | None:
        """The same while rows are learned one by one: only the sums have changed since `earlier`, by `rows` so far.

        rows: an object for each set of sums; what was derived from it for another row is used again.
        """
        buffer: _Buffer | None = getattr(self._local, "buffer", None)
        if buffer is None or earlier is None or buffer.scorer is not earlier or not buffer.is_ready:
            return None
        if buffer.renewed_for is not rows and not buffer.renew(state, rows):
            return None
        unknown = buffer.read_row(row)
        return None if unknown < 0 or (unknown and self._has_forms) else buffer.scored_in_stream()

    def matrix(self, data: np.ndarray, scorer: Scorer, *, names: tuple[str, ...] | None = None) -> Floats | None:
        """Log P(c, x) of the rows of a matrix, (rows, classes); its columns are x0, x1, ..., or `names`."""
        if data.ndim != 2 or not 0 < len(data) <= ROWS or data.dtype not in NUMBERS:
            return None
        buffer = self._buffer(scorer)
        if buffer is None or not buffer.layout.put(data, buffer.values, names):
            return None
        return buffer.scored(len(data))

    def bags(self, data: Any, scorer: Scorer) -> Floats | None:
        """Log P(c, x) of the rows of a sparse matrix (CSR), which is one bag named x."""
        if len(scorer.predictives) != 1 or data.dtype not in _AMOUNTS:
            return None
        predictive = scorer.predictives[0]
        if not predictive.takes_sparse_matrix or predictive.features != ("x",):
            return None
        least = checked_csr(data, "x").data.min(initial=0)
        if not (least >= 0 and data.data.max(initial=0) < np.inf and data.has_canonical_format):
            return None
        out = np.repeat(scorer.start[None], data.shape[0], axis=0)
        predictive.bind([Bag(data.indptr, data.indices, data.data, range(data.shape[1]))])(out, 0, len(out))
        return out

    def _buffer(self, scorer: Scorer) -> _Buffer | None:
        """The buffer of this thread, bound to a scorer."""
        buffer: _Buffer | None = getattr(self._local, "buffer", None)
        if buffer is None or buffer.scorer is not scorer:
            layout = self._layout
            if layout is None or not layout.fits(scorer.predictives):
                self._layout = layout = _Layout(self._schema, scorer.predictives)
            if buffer is None or buffer.layout is not layout:
                self._local.buffer = buffer = _Buffer(layout)
            buffer.bind(scorer)
        return buffer if buffer.is_ready else None


class _Buffer:
    """A matrix of doubles, and scores that are bound to it."""

    def __init__(self, layout: _Layout) -> None:
        self.layout, self._read, self._index = layout, layout.reader.read, layout.reader.index
        self._unused = layout.reader.unused
        self.values = np.empty((ROWS, layout.reader.width))
        self.first, self._parts = self.values[0], [self.values[:, part] for part in layout.reader.parts]
        self.scorer: Scorer | None = None
        self._stream: list[RowScore] | None = None
        self.renewed_for: object = None

    def read_row(self, row: dict[Any, Any]) -> int:
        """Put a dict into the first row, as `read_row` in `kernels/reference` does; -1 if it is a table.

        The kernel does not look at the values of columns that are not used: one of them may be a list.
        """
        if not self._unused.isdisjoint(row) and not is_row(row):
            return -1
        return int(self._read(row, self._index, self.first))

    def bind(self, scorer: Scorer) -> None:
        """Bind the predictives of a scorer; not ready if one of them cannot be scored from numbers."""
        self._scores = [p.bind_matrix(part) for p, part in zip(scorer.predictives, self._parts, strict=True)]
        if scorer.missing is not None:
            place = {name: i for i, name in enumerate(self.layout.names)}
            lacking = [name for name in scorer.missing.names if name not in place]
            places = [place.get(name, 0) for name in scorer.missing.names]
            self._scores.append(None if lacking else scorer.missing.bind_matrix(self.values, places))
        self._start, self.scorer = scorer.start[None], scorer
        self.is_ready = None not in self._scores and len(scorer.log_prior) > 0
        self._stream, self.renewed_for = None, None

    def renew(self, state: ModelState, rows: object) -> bool:
        """Derive again what depends on the sums; False if a family has no fast path for it."""
        assert self.scorer is not None
        if self._stream is None:
            self._stream = self.scorer.row_scores(state, self._parts)
        if not self._stream or not all(renew() for renew, _ in self._stream):
            return False
        self._stream_start = self.scorer.renewed_prior(state)[None]
        self.renewed_for = rows
        return True

    def scored_in_stream(self) -> Floats:
        """The scores of the first row by what was derived last."""
        out: Floats = self._stream_start.copy()
        for _, score in self._stream:  # type: ignore[union-attr]
            score(out, 0, 1)
        return out

    def scored(self, n_rows: int) -> Floats | None:
        """The scores of the first rows; None if a value cannot be scored."""
        out: Floats = self._start.copy() if n_rows == 1 else np.repeat(self._start, n_rows, axis=0)
        try:
            for score in self._scores:
                score(out, 0, n_rows)  # type: ignore[misc]
        except DataError:
            return None
        return out


class _Layout:
    """Where the columns are in a buffer: valid as long as the predictives have the same columns and keys."""

    def __init__(self, schema: Schema, predictives: Sequence[Predictive]) -> None:
        families = schema.families
        self._blocks = [(p.features, p.keyed_tally()) for p in predictives]
        blocks: list[BlockLayout] = [
            (p.features, families[p.features[0]].column if p.features else Codes, p.keyed_tally()) for p in predictives
        ]
        names = [name for features, _, _ in blocks for name in features]
        silent = families.keys() - set(names)  # no values yet
        self.reader = RowReader(schema, blocks)
        coded = np.array([column is Codes for features, column, _ in blocks for _ in features], bool)
        self.names, self._to, self._coded_to = names, np.flatnonzero(~coded), np.flatnonzero(coded)
        entries = [self.reader.index[names[i]] for i in self._coded_to.tolist()]
        are_numbers = all(isinstance(entry, tuple) and entry[2] == (int, float) for entry in entries)
        self._codes = [entry[1] for entry in entries] if are_numbers and not silent else None
        self._slots = _SlotTable(self._codes or ())
        self._sources: dict[tuple[str, ...] | None, tuple[np.ndarray, np.ndarray, int]] = {}

    def fits(self, predictives: Sequence[Predictive]) -> bool:
        """Whether these predictives have the same columns and keys."""
        if len(predictives) != len(self._blocks):
            return False
        for p, (features, tally) in zip(predictives, self._blocks, strict=True):
            if p.features is not features or p.keyed_tally() is not tally:
                return False
        return True

    def _source(self, names: tuple[str, ...] | None) -> tuple[np.ndarray, np.ndarray, int]:
        """Which columns of a matrix are numbers and which are keys here, and how many it must have (0: cannot be)."""
        found = self._sources.get(names)
        if found is None:
            place = None if names is None else {name: j for j, name in enumerate(names)}
            numbers = [_number(name) if place is None else place.get(name, -1) for name in self.names]
            columns, possible = np.array(numbers, np.int64), bool(numbers) and min(numbers) >= 0
            found = columns[self._to], columns[self._coded_to], max(numbers) + 1 if possible else 0
            self._sources = {None: found} if names is None else {names: found}  # the last one comes again
        return found

    def put(self, data: np.ndarray, values: Floats, names: tuple[str, ...] | None) -> bool:
        """Write a matrix into a buffer; False if it lacks columns, or if the keys of a column are not numbers."""
        if self._codes is None:
            return False
        source, coded_source, needed = self._source(names)
        if not needed or data.shape[1] < needed:
            return False
        rows = values[: len(data)]
        if not self._codes:
            rows[:] = data.take(source, axis=1)
            return True
        if len(source):
            rows[:, self._to] = data.take(source, axis=1)
        keys = data.take(coded_source, axis=1)
        slots = self._slots.of(keys) if keys.size > _FEW_CELLS else None
        if slots is None:
            columns = self._codes
            slots = np.array(
                [[own.get(key, -1) for own, key in zip(columns, row, strict=True)] for row in keys.tolist()]
            )
        rows[:, self._coded_to] = slots if keys.dtype.kind != "f" else np.where(np.isnan(keys), np.nan, slots)
        return True


class _SlotTable:
    """The slots of whole numbers that are keys, in one array for all columns, so that a matrix is looked up at once."""

    def __init__(self, codes: Sequence[Mapping[Any, int]]) -> None:
        self._codes = codes
        self._sizes: list[int] | None = None  # of the mappings when the array was made: keys are added, never changed

    def of(self, keys: np.ndarray) -> np.ndarray | None:
        """The slot of every key of a matrix, -1 for one that has none; None if the keys are far apart."""
        sizes = [len(own) for own in self._codes]
        if sizes != self._sizes:
            self._sizes = sizes
            self._fill()
        if self._table is None:
            return None
        if keys.dtype.kind == "f":
            keys = np.where(keys == np.floor(keys), keys, np.inf)
            place = np.where(np.abs(keys) < 2.0**53, keys, -(2.0**53)).astype(np.int64) - self._first
        else:
            place = keys.astype(np.int64) - self._first
        return self._table[np.where((place < 0) | (place >= self._widths), -1, place + self._starts)]

    def _fill(self) -> None:
        """Make the array: for each column the slots from its least key to its greatest, and -1 at the end."""
        self._table = None
        every = [{int(key): slot for key, slot in own.items() if key == int(key)} for own in self._codes]
        least, most = ([pick(own, default=0) for own in every] for pick in (min, max))
        if min(least, default=0) < -_FAR or max(most, default=0) > _FAR:
            return
        self._first, self._widths = np.array(least), np.array(most) - np.array(least) + 1
        if self._widths.sum() > _SLOTS:
            return
        self._starts = np.cumsum(self._widths) - self._widths
        self._table = np.full(self._widths.sum() + 1, -1.0)
        for own, first, start in zip(every, least, self._starts.tolist(), strict=True):
            self._table[start - first + np.fromiter(own, np.int64)] = list(own.values())


def _number(name: str) -> int:
    """The number of a column of a matrix: x7 is 7; -1 for other names."""
    return int(name[1:]) if name[1:].isdecimal() and name == f"x{int(name[1:])}" else -1
