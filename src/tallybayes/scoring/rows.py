"""A few rows, read and scored without the overhead of a table: a dict, a short list of dicts, a small matrix.

A row becomes a short vector of doubles: a number is itself, true is 1 and false 0, a category is the slot of its key in
the tally, missing is NaN. One kernel reads a dict into such a vector, by an index of column names that is compiled once
for a schema and its blocks of columns. Each block adds its part of the vector to the scores (`Predictive.bind_matrix`)
or, where rows are learned in place (`model/in_place_learner.py`), to its sums (`Family.adder`). Scores are computed by
the kernels that score tables, so they have the same bits.

Anything unusual about a row (an unknown column, text for a number, an infinity) is left to the general path, a table.
What it means there is a table in docs/edge-cases.md.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.column import Codes, Column, Flags
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError
from tallybayes.families.family import Floats, RowScore
from tallybayes.scoring.scorer import Scorer
from tallybayes.scoring.small_matrix import MatrixReader, score_sparse_matrix
from tallybayes.scoring.unseen_categories import LEAST_ROWS
from tallybayes.state.model_state import ModelState
from tallybayes.tables.table import Table
from tallybayes.tables.table import is_row as is_single_row
from tallybayes.tally import Tally

__all__ = ["BlockLayout", "RowLayout", "RowScorer", "n_few_rows"]

_ROWS = 256  # rows of a buffer; more than this are a table

BlockLayout = tuple[Sequence[str], type[Column], Tally | None]  # columns, their kind, and the slots of their keys

_PASS, _GENERAL = -2, -1  # instead of a place: pass over the value; leave the row to the general path


def n_few_rows(data: Any) -> int:
    """How many rows a small matrix has, or a table that is one, or a short list; 0 for anything else.

    >>> n_few_rows(np.zeros((2, 3))), n_few_rows([{"a": 1.5}]), n_few_rows(np.zeros((1000, 3))), n_few_rows({"a": [1]})
    (2, 1, 0, 0)
    """
    kind = type(data)
    if kind is np.ndarray:
        n_rows = len(data) if data.ndim == 2 else 0
    elif kind is Table:
        n_rows = 0 if data.matrix is None else data.n_rows
    else:
        n_rows = len(data) if kind is list else 0
    return n_rows if n_rows <= _ROWS else 0


class RowLayout:
    """Where the columns of a schema are in the vector of a row, block after block, and how to read them.

    learns: whether rows are learned, not scored. Then columns that are new, or that have had no value so far, are left
    to the general path, which selects a family for them; otherwise they are ignored.

    >>> from tallybayes.columns.column_spec import ColumnSpec
    >>> from tallybayes.families import Bernoulli
    >>> schema = Schema("ill", {"smokes": ColumnSpec("smokes", Bernoulli(), "yes or no")})
    >>> layout, values = RowLayout(schema, [(("smokes",), Flags, None)]), np.empty(1)
    >>> layout.read({"smokes": True, "ill": "no"}, values), values
    (0, array([1.]))
    """

    def __init__(self, schema: Schema, blocks: Sequence[BlockLayout], *, learns: bool = False) -> None:
        self._blocks, families = blocks, schema.families
        counted = {name: (column, tally) for features, column, tally in blocks for name in features}
        self.names = list(counted)
        self.flags = [place for place, (column, _) in enumerate(counted.values()) if column is Flags]
        self.keyed = [place for place, (column, _) in enumerate(counted.values()) if column is Codes]
        self.has_key_forms = any(spec.reader.form is not None for spec in schema.columns.values())
        specs = schema.columns.items()
        apart = [name for name in (schema.label, schema.weight) if name is not None]
        self._unused = frozenset([*(name for name, spec in specs if spec.family is None), *apart])
        index: dict[str, Any] = dict.fromkeys(self._unused, _PASS)
        index |= {name: _GENERAL for name, spec in specs if learns and spec.is_undecided}
        index |= dict.fromkeys([*(families.keys() - counted.keys()), *schema.parts], _GENERAL)
        objects = {name.split(".", 1)[0] for name in families if "." in name}  # that columns may be paths into
        index = dict.fromkeys(objects, _GENERAL) | index
        for place, (name, (_, tally)) in enumerate(counted.items()):
            if name in families and name not in schema.parts:  # otherwise forgotten, and new; or two columns in one
                index[name] = schema.columns[name].reader.kernel_entry(place, name, tally)
        in_order = dict.fromkeys([*schema.columns, *index])  # as rows have them: the kernel is fastest then
        self.index: Mapping[str, Any] = {name: index[name] for name in in_order if name in index}
        ends = list(itertools.accumulate((len(features) for features, _, _ in blocks), initial=0))
        self.parts = [slice(first, last) for first, last in itertools.pairwise(ends)]  # of each block
        self.width, self._learns, self._read_row = ends[-1], learns, kernels.active.read_row

    def has_blocks(self, blocks: Sequence[tuple[Sequence[str], Tally | None]]) -> bool:
        """Whether it is a layout of these columns and keys."""
        return len(blocks) == len(self._blocks) and all(
            features is own_features and tally is own_tally
            for (features, tally), (own_features, _, own_tally) in zip(blocks, self._blocks, strict=True)
        )

    def read(self, row: dict[Any, Any], values: Floats, is_row: bool = True) -> int:
        """Read a dict into a vector: how many categories are unseen, -1 if it must take the general path.

        is_row: the dict is known to be one row; otherwise it may be a table of columns.
        """
        if not is_row and self.may_be_table(row):
            return -1
        n_unseen: int = self._read_row(row, self.index, values)
        if n_unseen < 0 and not self._learns:
            known = {name: value for name, value in row.items() if str(name) in self.index}
            if not 0 < len(known) < len(row) or not (is_row or is_single_row(row)):
                return -1
            n_unseen = self._read_row(known, self.index, values)
        return -1 if n_unseen and self.has_key_forms else n_unseen  # the key may be known in another form

    def may_be_table(self, data: dict[Any, Any]) -> bool:
        """Whether a dict may be a table although `read` takes it for a row, which looks at no value of unused columns.

        >>> schema = Schema("ill", {})
        >>> [RowLayout(schema, []).may_be_table(data) for data in ({"ill": "no"}, {"ill": ["no", "yes"]})]
        [False, True]
        """
        return not self._unused.isdisjoint(data) and not is_single_row(data)

    @cached_property
    def matrices(self) -> MatrixReader:
        """What reads small matrices into such vectors."""
        return MatrixReader(self.index, self.width, self.keyed, ignores_new=not self._learns)


class RowScorer:
    """Scores a few rows under one schema; returns None wherever the general path is needed.

    Each thread has a buffer, a small matrix of doubles that the predictives are bound to once after every change.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._local = threading.local()
        self._layout: RowLayout | None = None

    def score(self, data: Any, scorer: Scorer, *, is_row: bool = False) -> Floats | None:
        """Log P(c, x), (rows, classes), of a dict, a short list of dicts, or a small matrix, dense or sparse.

        is_row: a dict is one row, even if there are lists among its values.
        """
        kind = type(data)
        if kind is dict:
            buffer = self._buffer(scorer)
            return None if buffer is None or buffer.layout.read(data, buffer.first, is_row) < 0 else buffer.score(1)
        if kind.__name__ in ("csr_matrix", "csr_array"):
            return score_sparse_matrix(data, scorer) if len(data.shape) == 2 and data.shape[0] <= _ROWS else None
        if not (n_rows := n_few_rows(data)) or (buffer := self._buffer(scorer)) is None:
            return None
        is_read = buffer.read_rows(data) if kind is list else buffer.read_matrix(data, n_rows)
        return buffer.score(n_rows) if is_read and not buffer.must_warn(n_rows) else None

    def score_in_stream(
        self, row: dict[Any, Any], earlier: Scorer | None, state: ModelState, sums: object, *, is_row: bool = False
    ) -> Floats | None:
        """Log P(c, x) of a dict while rows are learned one by one: only the sums have changed since `earlier`.

        sums: an object that stands for the sums as they are; what was derived from them for another row is used again.
        """
        buffer: _Buffer | None = getattr(self._local, "buffer", None)
        if buffer is None or earlier is None or buffer.scorer is not earlier or not buffer.is_ready:
            return None
        if buffer.renewed_for is not sums and not buffer.renew(state, sums):
            return None
        return None if buffer.layout.read(row, buffer.first, is_row) < 0 else buffer.score_renewed()

    def _buffer(self, scorer: Scorer) -> _Buffer | None:
        """The buffer of this thread, bound to a scorer."""
        buffer: _Buffer | None = getattr(self._local, "buffer", None)
        if buffer is None or buffer.scorer is not scorer:
            blocks = [(p.features, p.keyed_tally()) for p in scorer.predictives]
            layout = self._layout
            if layout is None or not layout.has_blocks(blocks):
                kinds = (self._schema.families[names[0]].column if names else Codes for names, _ in blocks)
                parts = [(names, kind, tally) for (names, tally), kind in zip(blocks, kinds, strict=True)]
                self._layout = layout = RowLayout(self._schema, parts)
            if buffer is None or buffer.layout is not layout:
                self._local.buffer = buffer = _Buffer(layout)
            buffer.bind(scorer)
        return buffer if buffer.is_ready else None


class _Buffer:
    """A matrix of doubles, one line for each row, and scores that are bound to it."""

    def __init__(self, layout: RowLayout) -> None:
        self.layout = layout
        self._values = np.empty((_ROWS, layout.width))
        self.first, self._parts = self._values[0], [self._values[:, part] for part in layout.parts]
        self.scorer: Scorer | None = None
        self._renewed: list[RowScore] | None = None
        self.renewed_for: object = None

    # Reading

    def read_rows(self, rows: list[Any]) -> bool:
        """Read a list of dicts; False if a row must take the general path, or is not a dict."""
        read = self.layout.read
        return all(type(row) is dict and read(row, line) >= 0 for row, line in zip(rows, self._values, strict=False))

    def read_matrix(self, data: NDArray[Any] | Table, n_rows: int) -> bool:
        """Read a matrix; False if the general path is needed."""
        layout, values = self.layout, self._values[:n_rows]
        if not layout.matrices.read(data, values):
            return False
        return not (layout.has_key_forms and (values[:, layout.keyed] == -1).any())

    def must_warn(self, n_rows: int) -> bool:
        """Whether a column of categories may have no value that is known, which the general path warns of."""
        if n_rows < LEAST_ROWS or not (keyed := self.layout.keyed):
            return False
        return not (self._values[:n_rows, keyed] >= 0).any(axis=0).all()

    # Scoring

    def bind(self, scorer: Scorer) -> None:
        """Bind the predictives of a scorer; not ready if one of them cannot be scored from numbers."""
        self._scores = [p.bind_matrix(part) for p, part in zip(scorer.predictives, self._parts, strict=True)]
        if scorer.missing is not None:
            place = {name: i for i, name in enumerate(self.layout.names)}
            lacking = [name for name in scorer.missing.names if name not in place]
            places = [place.get(name, 0) for name in scorer.missing.names]
            self._scores.append(None if lacking else scorer.missing.bind_matrix(self._values, places))
        self._start, self.scorer = scorer.start[None], scorer
        self.is_ready = None not in self._scores and len(scorer.log_prior) > 0
        self._renewed, self.renewed_for = None, None

    def score(self, n_rows: int) -> Floats | None:
        """The scores of the first rows; None if a value cannot be scored."""
        out: Floats = self._start.copy() if n_rows == 1 else np.repeat(self._start, n_rows, axis=0)
        try:
            for score in self._scores:
                score(out, 0, n_rows)  # type: ignore[misc]
        except DataError:
            return None
        return out

    def renew(self, state: ModelState, sums: object) -> bool:
        """Derive again what depends on the sums; False if a family has no fast path for it."""
        assert self.scorer is not None
        if self._renewed is None:
            self._renewed = self.scorer.row_scores(state, self._parts)
        if not self._renewed or not all(renew() for renew, _ in self._renewed):
            return False
        self._renewed_start = self.scorer.renew_prior(state)[None]
        self.renewed_for = sums
        return True

    def score_renewed(self) -> Floats:
        """The scores of the first row by what was derived last."""
        out: Floats = self._renewed_start.copy()
        for _, score in self._renewed:  # type: ignore[union-attr]
            score(out, 0, 1)
        return out
