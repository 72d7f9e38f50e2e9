"""One pass over the data: predictions judged, gaps counted, columns weighed, and a few rows to be looked at.

Every row counts for the judgement. What columns are worth is found from rows picked evenly out of each batch, some
thousand in all, and the rows to be looked at come from the first batch, as many of each class as of the others.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.label import Labels, find_labels, to_label_type
from tallybayes.data.source import BadRows, Source, Stream, to_source
from tallybayes.data.table import Table, is_missing
from tallybayes.errors import DataError, check_integer
from tallybayes.evaluation import Evaluation
from tallybayes.evaluation.evaluate import add_rows
from tallybayes.explaining.explanation import Explanation
from tallybayes.model import Model
from tallybayes.report.column_weighing import Weighing
from tallybayes.tuning.importance import ColumnImportance, importance

__all__ = ["Findings", "gather"]

_WEIGHED = 10_000  # rows that columns are weighed by, in all
_PER_BATCH = 4_000
_CELLS = 20_000_000  # rows times columns times classes that are held for it at a time: 160 MB
_LOOKED_AT = 16  # rows that can be loaded into the nomogram


@dataclass(eq=False)
class Findings:
    """What a report tells of data: the judgement, gaps and worth of columns, a few rows."""

    judged: Evaluation = field(default_factory=Evaluation)
    n_rows: int = 0
    missing: dict[str, int] = field(default_factory=dict)
    worth: list[ColumnImportance] = field(default_factory=list)  # the column that says most by itself first
    n_weighed: int = 0
    examples: list[tuple[int, Any, Explanation]] = field(default_factory=list)  # row number, its label, why


def gather(
    model: Model, data: Any, *, label: Any = None, leave_one_out: bool = False, rows: int | None = None
) -> Findings:
    """Judge a model on labelled data, at most `rows` of it, and note what a report needs."""
    if not model.classes:
        raise DataError("the model has not learned any row yet")
    if rows is not None:
        rows = check_integer("rows", rows, at_least=1)
    source, found, weighing = to_source(data), Findings(), Weighing()
    snapshot = model.snapshot()
    label = snapshot.label_or_default(label)
    for table, log_proba in snapshot.log_proba_batches(source, label=label, leave_one_out=leave_one_out):
        labels = find_labels(table, label)
        if rows is not None and found.n_rows + table.n_rows > rows:
            first = rows - found.n_rows
            table, log_proba = table.part(0, first), log_proba[:first]
            labels = Labels(labels.keys, labels.codes[:first], np.bincount(labels.codes[:first] + 1)[1:])
        add_rows(found.judged, snapshot, log_proba, labels, from_file=table.is_from_file)
        _count_gaps(found, model, table)
        _look(found, weighing, model, table, _own_codes(model, table, labels))
        found.n_rows += table.n_rows
        if found.n_rows == rows:
            break
    found.judged.bad = 0 if source.bad is None else source.bad.count
    if not found.judged.n_rows:
        raise DataError("no row has a label")
    found.worth, found.n_weighed = weighing.columns(model), weighing.n_rows
    if leave_one_out and len(model.classes) > 1 and not isinstance(source, Stream):
        _rank_learned(found, model, source, label)
    found.worth.sort(key=lambda one: (-one.information, one.column))
    return found


def _rank_learned(found: Findings, model: Model, source: Source, label: Any) -> None:
    """Columns by rows that were learned, each left out."""
    bad, source.bad = source.bad, None if source.bad is None else BadRows()  # they have been counted
    ranking = importance(model, source, label=label)
    source.bad = bad
    found.worth, found.n_weighed = list(ranking.columns), ranking.n_rows


def _own_codes(model: Model, table: Table, labels: Labels) -> NDArray[np.int64]:
    """For every row the number of its class, -1 where there is none."""
    keys = to_label_type(model.classes, labels.keys, from_file=table.is_from_file)
    place = {key: i for i, key in enumerate(model.classes)}
    lookup = np.array([*(place.get(key, -1) for key in keys), -1], np.int64)
    return lookup[labels.codes]


def _count_gaps(found: Findings, model: Model, table: Table) -> None:
    for name in model.schema.families:
        raw = table.columns.get(name)
        n = table.n_rows if raw is None else _n_missing(raw)
        found.missing[name] = found.missing.get(name, 0) + n


def _n_missing(raw: Any) -> int:
    if hasattr(raw, "tocsr"):
        return 0
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "fiub":
        return int(np.isnan(raw).sum()) if raw.dtype.kind == "f" else 0
    if hasattr(raw, "null_count"):
        n = int(raw.null_count)
        if "float" in str(raw.type) or "double" in str(raw.type):
            n += int(np.isnan(raw.drop_null().to_numpy(zero_copy_only=False)).sum())
        return n
    return sum(map(is_missing, raw))


def _look(found: Findings, weighing: Weighing, model: Model, table: Table, own: NDArray[np.int64]) -> None:
    """Weigh the columns by some rows, and keep a few of them."""
    known = np.flatnonzero(own >= 0)
    cells = len(model.schema.families) * len(model.classes)
    n = min(len(known), _PER_BATCH, _WEIGHED - weighing.n_rows, max(_LOOKED_AT, _CELLS // max(cells, 1)))
    if n <= 0:
        return
    picked = known[np.linspace(0, len(known) - 1, n).astype(np.int64)]
    for _, parts in model.snapshot().evidence_batches(table.take(picked)):
        weighing.add(model, parts, own[picked])
    if not found.examples:
        rows = picked[_balanced(own[picked], _LOOKED_AT)]
        explained = zip(rows.tolist(), model.explain(table.take(rows)), strict=True)
        found.examples = [(found.n_rows + number, model.classes[own[number]], one) for number, one in explained]


def _balanced(codes: NDArray[np.int64], n: int) -> list[int]:
    """Some rows, the classes in turn.

    >>> _balanced(np.array([0, 0, 0, 1, 0]), 3)
    [0, 1, 3]
    """
    by_class = [np.flatnonzero(codes == code).tolist() for code in np.unique(codes)]
    in_turn = (row for turn in itertools.zip_longest(*by_class) for row in turn if row is not None)
    return sorted(itertools.islice(in_turn, n))
