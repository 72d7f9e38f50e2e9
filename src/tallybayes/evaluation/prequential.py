"""Test, then learn: a stream judged as it goes by (prequential evaluation; Dawid 1984).

Every block of rows is scored by the model of all rows before it, then learned. So each row is scored by a model that
has not seen it, in the order in which the rows came: the curve shows how fast the model learns and where it drifts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tallybayes.data.source import Source, Whole, as_columns, to_source
from tallybayes.data.table import Table
from tallybayes.errors import DataError, ParameterError, check_integer
from tallybayes.evaluation.evaluate import add, scored
from tallybayes.evaluation.evaluation_text import digits
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.formatting import finite_json, text_table
from tallybayes.model import Model
from tallybayes.model.fit import check_value, planned

__all__ = ["Prequential", "prequential"]

_SHARE = 50  # one row in so many learned before makes a block, if nobody chose its size
_LEAST, _MOST = 10, 2**16  # the bounds of that: rows that wait to be learned are held in memory
_LINES = 20  # of the curve in print


@dataclass(eq=False, repr=False)
class Prequential:
    """A stream judged: the whole as an `Evaluation`, and `rows` of a curve, one for every block. Print it."""

    evaluation: Evaluation = field(default_factory=Evaluation)
    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def accuracy(self) -> float:
        """The share of the answers that are right, from the first row judged to the last."""
        return self.evaluation.accuracy

    @property
    def log_loss(self) -> float:
        """The mean of -log P(true label)."""
        return self.evaluation.log_loss

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain values, and the curve beside it."""
        return self.evaluation.to_dict() | {"curve": finite_json(self.rows)}

    def __str__(self) -> str:
        names = ("accuracy", "log_loss")
        lines = [
            [str(row["rows"]), *(digits(row[name]) for name in names), *(digits(row[f"last_{name}"]) for name in names)]
            for row in _thinned(self.rows)
        ]
        header = ["rows", "accuracy", "log loss", "last accuracy", "last log loss"]
        remark = "(over all rows so far; last: since the row above)"
        return f"{text_table(header, lines)}\n{remark}\n\n{self.evaluation}"

    __repr__ = __str__


def prequential(data: Any, label: Any = None, *, every: int | None = None, **options: Any) -> Prequential:
    """How good a model is on a stream: each block of rows is scored, then learned.

    every: rows of a block. Without it, blocks grow with the model: two percent of the rows learned so far, from 10 to
    65,536. Smaller blocks follow the stream more closely and take longer. The first block is learned untested.
    The options are those of `tallybayes.fit`; families are inferred as there.

    >>> import tallybayes as tb
    >>> rows = {"x": [1, 3] * 50, "y": ["low", "high"] * 50}
    >>> [(row["rows"], row["block_accuracy"]) for row in tb.prequential(rows, label="y", every=20).rows]
    [(40, 1.0), (60, 1.0), (80, 1.0), (100, 1.0)]
    """
    if every is not None:
        every = check_integer("every", every, at_least=1)
    source, label, _ = as_columns(to_source(data), label)
    model, label = planned(source, label, **options)
    if model.schema.weight is not None or options.get("weight") is not None:
        raise ParameterError("data without weights, for prequential evaluation")
    judged = _Judged(source, model, label, every)
    for table in source.batches() if isinstance(source, Whole) else source.batches(model.wanted(label)):
        judged.read(table)
    judged.learn()
    check_value(model, label, source)
    if not judged.result.rows:
        raise DataError("there are not enough rows with a label: the first block is learned untested")
    whole = judged.result.evaluation
    whole.skipped, whole.bad = model.skipped, 0 if source.bad is None else source.bad.count
    return judged.result


class _Judged:
    """A stream so far: the model, the present block, and its rows, which wait to be learned until it is full.

    Where blocks end goes by the number of the row alone, so that batches do not show.
    """

    def __init__(self, source: Source, model: Model, label: Any, every: int | None) -> None:
        self._source, self._model, self._label, self._every = source, model, label, every
        self.result, self._block = Prequential(), Evaluation()
        self._waiting: list[Table] = []
        self._n_read, self._end = 0, every or _LEAST

    def read(self, table: Table) -> None:
        """The next rows, cut where blocks end."""
        done = 0
        while done < table.n_rows:
            stop = min(table.n_rows, done + self._end - self._n_read)
            self._test(table.part(done, stop))
            self._n_read += stop - done
            if self._n_read == self._end:
                self.learn()
            done = stop

    def _test(self, table: Table) -> None:
        if not self._model.classes:  # it cannot answer yet
            self._waiting.append(table)
            return
        for part, (log_proba, labels) in self._source.good(table, partial(scored, self._model, self._label)):
            for judged in (self._block, self.result.evaluation):
                add(judged, self._model, log_proba, labels, from_file=table.is_from_file)
            self._waiting.append(part)

    def learn(self) -> None:
        """Learn what waits; the block is over."""
        for table in self._waiting:
            for _ in self._source.good(table, partial(self._model.learn, label=self._label)):
                pass
        if self._block.n_rows:
            self.result.rows.append(self._point())
        self._waiting, self._block = [], Evaluation()
        self._end = self._n_read + (self._every or min(max(self._n_read // _SHARE, _LEAST), _MOST))

    def _point(self) -> dict[str, Any]:
        whole, block = self.result.evaluation, self._block
        return {
            "rows": self._n_read,
            "accuracy": whole.accuracy,
            "log_loss": whole.log_loss,
            "block_rows": block.n_rows,
            "block_accuracy": block.accuracy,
            "block_log_loss": block.log_loss,
        }


def _thinned(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A few rows of a curve, evenly along it, each with the figures since the one before."""
    kept = []
    for places in np.array_split(np.arange(len(rows)), min(len(rows), _LINES)):
        part = [rows[i] for i in places]
        kept.append(part[-1] | {f"last_{name}": _mean(part, f"block_{name}") for name in ("accuracy", "log_loss")})
    return kept


def _mean(rows: list[dict[str, Any]], name: str) -> float:
    """The mean over the blocks in which it is defined."""
    there = [row for row in rows if not np.isnan(row[name])]
    n_rows = sum(row["block_rows"] for row in there)
    return sum(row[name] * row["block_rows"] for row in there) / n_rows if n_rows else float("nan")
