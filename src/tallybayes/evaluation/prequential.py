"""Prequential evaluation: test each block of a stream, then learn it (Dawid 1984).

Every block of rows is scored by the model of all rows before it, then learned. The curve shows how fast the model
learns and where the data drifts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Unpack

import numpy as np

from tallybayes.columns.batch import columns_to_read
from tallybayes.columns.column_doubts import doubt_bad_rows, doubt_labels
from tallybayes.doubts import tell_together
from tallybayes.errors import NONE, DataError, ParameterError, check_integer
from tallybayes.evaluation.evaluate import add_rows, plan_fits, score_table
from tallybayes.evaluation.evaluation_text import digits
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.formatting import finite_json, text_table
from tallybayes.model import Model
from tallybayes.model.fit import check_value, rereads
from tallybayes.state.options import UNWEIGHTED, FitOptions, complete, with_options
from tallybayes.tables.source import Source
from tallybayes.tables.table import Table
from tallybayes.typing import LabelLike, TableLike

__all__ = ["Prequential", "prequential"]

_SHARE = 50  # by default a block has one row for so many rows learned before
_LEAST_ROWS, _MOST_ROWS = 10, 2**16  # bounds of the default block size: the rows of a block are held in memory
_LINES = 20  # of the printed curve


@dataclass(eq=False, repr=False)
class Prequential:
    """The evaluation of a stream: the total as an `Evaluation`, and a curve with one dict per block. Print it."""

    evaluation: Evaluation = field(default_factory=Evaluation)
    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def accuracy(self) -> float:
        """The share of correct predictions over all evaluated rows."""
        return self.evaluation.accuracy

    @property
    def log_loss(self) -> float:
        """The mean of -log P(true label)."""
        return self.evaluation.log_loss

    def to_dict(self) -> dict[str, Any]:
        """The evaluation and the curve as plain Python objects, for JSON."""
        return self.evaluation.to_dict() | {"curve": finite_json(self.rows)}

    def __str__(self) -> str:
        names = ("accuracy", "log_loss")
        lines = [
            [str(row["rows"]), *(digits(row[name]) for name in names), *(digits(row[f"last_{name}"]) for name in names)]
            for row in _thin(self.rows)
        ]
        header = ["rows", "accuracy", "log loss", "last accuracy", "last log loss"]
        remark = "(accuracy and log loss of all rows so far; last: of the rows since the line above)"
        return f"{text_table(header, lines)}\n{remark}\n\n{self.evaluation}"

    __repr__ = __str__


@with_options(UNWEIGHTED)
@tell_together()
@rereads
def prequential(
    data: TableLike, label: LabelLike = None, *, every: int | None = None, **options: Unpack[FitOptions]
) -> Prequential:
    """Evaluate a model on a stream: score each block of rows, then learn it.

    every: rows per block. By default two percent of the rows learned so far, from 10 to 65,536. Smaller blocks follow
    the stream more closely and take longer. The first block is learned without being scored.

    The other options are those of `fit`.

    {options}

    >>> import tallybayes as tb
    >>> rows = {"x": [1, 3] * 50, "y": ["low", "high"] * 50}
    >>> [(row["rows"], row["block_accuracy"]) for row in tb.prequential(rows, label="y", every=20).rows]
    [(40, 1.0), (60, 1.0), (80, 1.0), (100, 1.0)]
    """
    if every is not None:
        every = check_integer("every", every, at_least=1)
    complete({name: value for name, value in options.items() if (name, value) != ("column_weights", None)}, UNWEIGHTED)
    if options.get("group") is not None:
        raise ParameterError("no group, for prequential evaluation: there are no folds", got=options["group"])
    source, fits = plan_fits(data, label, options, "for prequential evaluation")
    model, label = fits.empty_model(), fits.counting.label
    stream = _StreamEvaluation(source, model, label, every)
    for table in source.batches(columns_to_read(model.schema, label)):
        stream.read(table)
    stream.learn()
    check_value(model, label, source)
    if not stream.result.rows:
        raise DataError("rows with a label after the first block, which is learned without being scored", got=NONE)
    total = stream.result.evaluation
    total.skipped = model.skipped
    doubt_labels(label, model.skipped, int(sum(model.class_counts.values())) + model.skipped, fits.no_label)
    doubt_bad_rows(source.bad)
    total.bad = 0 if source.bad is None else source.bad.count
    return stream.result


class _StreamEvaluation:
    """The model, the current block, and its rows, which are learned when it is full.

    Block boundaries depend on the row number alone, not on the batches.
    """

    def __init__(self, source: Source, model: Model, label: Any, every: int | None) -> None:
        self._source, self._model, self._label, self._every = source, model, label, every
        self.result = Prequential()
        self._block = Evaluation()
        self._pending: list[Table] = []
        self._n_read = 0
        self._end = every or _LEAST_ROWS

    def read(self, table: Table) -> None:
        """Score the next rows, and learn each block when it is full."""
        done = 0
        while done < table.n_rows:
            stop = min(table.n_rows, done + self._end - self._n_read)
            self._test(table.part(done, stop))
            self._n_read += stop - done
            if self._n_read == self._end:
                self.learn()
            done = stop

    def _test(self, table: Table) -> None:
        if not self._model.classes:  # there is nothing to score with yet
            self._pending.append(table)
            return
        with self._model.reading() as snapshot:
            for part, (log_proba, labels) in self._source.work_on_good_rows(
                table, partial(score_table, snapshot, self._label)
            ):
                for evaluation in (self._block, self.result.evaluation):
                    add_rows(evaluation, snapshot, log_proba, labels)
                self._pending.append(part)

    def learn(self) -> None:
        """Learn the rows of the block and start the next one."""
        for table in self._pending:
            for _ in self._source.work_on_good_rows(table, partial(self._model.learn, label=self._label)):
                pass
        if self._block.n_rows:
            self.result.rows.append(self._point())
        self._pending = []
        self._block = Evaluation()
        self._end = self._n_read + (self._every or min(max(self._n_read // _SHARE, _LEAST_ROWS), _MOST_ROWS))

    def _point(self) -> dict[str, Any]:
        total, block = self.result.evaluation, self._block
        return {
            "rows": self._n_read,
            "accuracy": total.accuracy,
            "log_loss": total.log_loss,
            "block_rows": block.n_rows,
            "block_accuracy": block.accuracy,
            "block_log_loss": block.log_loss,
        }


def _thin(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most `_LINES` points of a curve, each with the means of the blocks since the one before."""
    kept = []
    for places in np.array_split(np.arange(len(rows)), min(len(rows), _LINES)):
        part = [rows[i] for i in places]
        kept.append(part[-1] | {f"last_{name}": _mean(part, f"block_{name}") for name in ("accuracy", "log_loss")})
    return kept


def _mean(rows: list[dict[str, Any]], name: str) -> float:
    """The mean over the blocks in which the metric is defined, weighted by their rows."""
    defined = [row for row in rows if not np.isnan(row[name])]
    n_rows = sum(row["block_rows"] for row in defined)
    return sum(row[name] * row["block_rows"] for row in defined) / n_rows if n_rows else float("nan")
