"""The data of a report, collected in one pass: evaluation, mistakes, importance and cells of columns, example rows.

With it go the values derived from it that several sections use, such as the colours of the classes.

Every row is evaluated. Importance, cells and missing values of columns are those of rows taken evenly from each batch,
some thousand in all. The example rows are taken from the first batch, stratified by class.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.columns.column_doubts import doubt_bad_rows, doubt_labels
from tallybayes.columns.label import Labels
from tallybayes.errors import DataError, DataWarning, check_integer
from tallybayes.evaluation import Evaluation
from tallybayes.evaluation.evaluate import (
    Batches,
    EvaluatedRows,
    add_rows,
    check_column,
    doubt_columns,
    group_column,
    no_label_words,
)
from tallybayes.explaining.description import Description
from tallybayes.explaining.explanation import Explanation
from tallybayes.families.family import Floats
from tallybayes.formatting import shown
from tallybayes.io.read import to_source
from tallybayes.model import Model
from tallybayes.reporting.chart_style import colour_order
from tallybayes.reporting.column_cells import JudgedColumns, learned_cells
from tallybayes.reporting.column_chart_data import most_frequent_classes
from tallybayes.reporting.held_out_importance import HeldOutImportance
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.tables.source import Source, Stream
from tallybayes.tables.table import Table
from tallybayes.tuning.importance import ColumnImportance, importance

__all__ = ["CURVES", "Mistake", "ReportData", "collect"]

CURVES = 100  # classes with curves and thresholds; more would make the page slow
_IMPORTANCE_ROWS = 10_000  # rows for the importance of columns
_PER_BATCH = 4_000
_CELLS = 20_000_000  # rows times columns times classes held at a time: 160 MB
_EXAMPLES = 16  # rows that can be loaded into the nomogram
_MISTAKES = 12  # wrong answers that are listed


@dataclass(frozen=True, eq=False)
class Mistake:
    """A row with a wrong answer: its number, its class, the answer and its probability, and the explanation."""

    row: int
    label: Any
    answer: Any
    probability: float
    explanation: Explanation


@dataclass(eq=False)
class ReportData:
    """A model, its evaluation, the columns of the evaluated rows and their importance, mistakes, and example rows.

    provenance: where the model and the data come from; group: the column of groups that were held out as a whole.
    """

    model: Model
    description: Description
    columns: JudgedColumns
    evaluation: Evaluation = field(default_factory=Evaluation)
    n_rows: int = 0
    mistakes: list[Mistake] = field(default_factory=list)  # in descending order of probability
    n_mistakes: int = 0
    importance: list[ColumnImportance] = field(default_factory=list)  # in descending order of information
    n_importance_rows: int = 0
    examples: list[tuple[int, Any, Explanation]] = field(default_factory=list)  # row number, label, explanation
    provenance: dict[str, str] = field(default_factory=dict)
    group: str | None = None

    @property
    def leave_one_out(self) -> bool:
        """Whether each row was scored without itself."""
        return self.evaluation.leave_one_out

    @cached_property
    def names(self) -> list[str]:
        """The classes as text."""
        return [shown(label) for label in self.model.classes]

    @cached_property
    def colours(self) -> list[str]:
        """The classes in the order of their colours."""
        return colour_order(self.names, [self.names[code] for code in most_frequent_classes(self.model)])

    @cached_property
    def columns_by_information(self) -> list[str]:
        """The columns of the model in descending order of information, then derived columns."""
        families, derived = self.model.schema.families, self.model.schema.derived
        plain = [
            column.column for column in self.importance if column.column in families and column.column not in derived
        ]
        return [*plain, *derived]

    @property
    def has_nomogram(self) -> bool:
        """Whether there are two classes to compare, and a column with a ruler."""
        return len(self.names) > 1 and bool(set(self.columns_by_information) - self.model.schema.derived.keys())

    @cached_property
    def rarest_class(self) -> int:
        """The code of the class with the fewest rows, usually the one of interest."""
        return int(np.argmin([self.evaluation.class_rows.get(label, np.inf) for label in self.model.classes]))

    @cached_property
    def curve_labels(self) -> list[Any]:
        """The classes with curves that can be picked: all that have rows, at most the hundred most frequent."""
        rows = self.evaluation.class_rows
        labels = [label for label in self.model.classes if 0 < rows.get(label, 0) < self.evaluation.n_rows]
        most = set(sorted(range(len(labels)), key=lambda i: -rows[labels[i]])[:CURVES])
        return [label for i, label in enumerate(labels) if i in most]

    @cached_property
    def drawn_classes(self) -> list[str]:
        """The classes in the charts of columns as long as no class is picked: as many as there are colours."""
        return [self.names[code] for code in most_frequent_classes(self.model)]

    @cached_property
    def drawn_first(self) -> list[str]:
        """The classes whose curves are drawn before one is picked: the rarer of two, the most frequent of several."""
        codes = [self.rarest_class] if len(self.names) == 2 else most_frequent_classes(self.model)
        drawn = [self.names[code] for code in codes]
        possible = [shown(label) for label in self.curve_labels]
        return [name for name in possible if name in drawn] or possible[:1]


def collect(
    model: Model,
    data: Any,
    *,
    label: Any = None,
    leave_one_out: bool | None = None,
    rows: int | None = None,
    group: Any = None,
    by: str | None = None,
) -> ReportData:
    """Evaluate a model on the first `rows` rows of labelled data, and collect the data of a report.

    leave_one_out: whether the rows are training rows; None: if their sums are those of the model.
    group: the column of groups, or an array of them, if it is not that of the model; by: the column of subgroups.
    """
    if not model.classes:
        raise DataError("a model with training rows", got=0)
    if rows is not None:
        rows = check_integer("rows", rows, at_least=1)
    (source, group), snapshot = group_column(to_source(data), group), model.snapshot()
    label = snapshot.label_or_default(label)
    check_column("by", by, source)
    words = no_label_words(snapshot, source, label)
    doubt_columns(snapshot, source)
    work = partial(_collect, model, snapshot, label, rows, by)
    scored = EvaluatedRows(snapshot, source, label, leave_one_out, group=group, by=by)
    collected = scored.score(work, _evaluation)
    evaluation = collected.evaluation
    evaluation.bad = 0 if source.bad is None else source.bad.count
    doubt_labels(label, evaluation.skipped, evaluation.n_rows + evaluation.skipped, words)
    doubt_bad_rows(source.bad)
    if not collected.evaluation.n_rows:
        raise DataError("rows with a label", got=0)
    collected.group = snapshot.state.schema.group if group is None else group
    if rows is None:
        collected.evaluation.grouped = scored.evaluate_likely_groups(collected.evaluation)
    if collected.evaluation.leave_one_out and len(model.classes) > 1 and not isinstance(source, Stream):
        _use_leave_one_out(collected, model, source, label)
    collected.importance.sort(key=lambda column: (-column.information, column.column))
    return collected


def _evaluation(collected: ReportData) -> Evaluation:
    return collected.evaluation


def _collect(
    model: Model, snapshot: Snapshot, label: Any, rows: int | None, by: str | None, batches: Batches
) -> ReportData:
    """The data of a report on scored batches."""
    held_out, description = HeldOutImportance(), model.describe()
    collected = ReportData(model, description, JudgedColumns(learned_cells(model, description), len(model.classes)))
    collected.evaluation = Evaluation(by=by)
    for table, log_proba in batches:
        labels = snapshot.labels(table, label)
        if rows is not None and collected.n_rows + table.n_rows > rows:
            first = rows - collected.n_rows
            table, log_proba = table.part(0, first), log_proba[:first]
            labels = Labels(labels.keys, labels.codes[:first], np.bincount(labels.codes[:first] + 1)[1:])
        add_rows(collected.evaluation, snapshot, log_proba, labels, table)
        codes = _class_codes(model, labels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # of a few of the rows: the whole table was read before
            _add_columns(collected, held_out, model, table, codes)
            _add_mistakes(collected, model, table, log_proba, codes)
        collected.n_rows += table.n_rows
        if collected.n_rows == rows:
            break
    if collected.evaluation.n_rows:
        collected.importance, collected.n_importance_rows = held_out.columns(model), held_out.n_rows
    return collected


def _use_leave_one_out(collected: ReportData, model: Model, source: Source, label: Any) -> None:
    """Replace the importance by that of training rows, by leave-one-out."""
    with source.read_again():
        exact = importance(model, source, label=label)
    collected.importance, collected.n_importance_rows = list(exact.columns), exact.n_rows


def _class_codes(model: Model, labels: Labels) -> NDArray[np.int64]:
    """For every row the code of its class, -1 for none."""
    place = {key: i for i, key in enumerate(model.classes)}
    lookup = np.array([*(place.get(key, -1) for key in labels.keys), -1], np.int64)
    return lookup[labels.codes]


def _add_columns(
    collected: ReportData, held_out: HeldOutImportance, model: Model, table: Table, codes: NDArray[np.int64]
) -> None:
    """Add some rows to the importance, cells and missing values of the columns, and keep a few as examples."""
    known = np.flatnonzero(codes >= 0)
    cells = len(model.schema.families) * len(model.classes)
    n = min(len(known), _PER_BATCH, _IMPORTANCE_ROWS - held_out.n_rows, max(_EXAMPLES, _CELLS // max(cells, 1)))
    if n <= 0:
        return
    picked = known[np.linspace(0, len(known) - 1, n).astype(np.int64)]
    snapshot = model.snapshot()
    evidence = snapshot.scorer.evidence
    for _, (columns, parts) in snapshot.map_batches(
        table.take(picked), lambda columns, n_rows: (columns, evidence(columns, n_rows))
    ):
        held_out.add(model, parts, codes[picked])
        collected.columns.add(columns, codes[picked])
    if not collected.examples:
        rows = picked[_pick_balanced(codes[picked], _EXAMPLES)]
        explained = zip(rows.tolist(), model.explain(table.take(rows)), strict=True)
        collected.examples = [
            (collected.n_rows + number, model.classes[codes[number]], explanation) for number, explanation in explained
        ]


def _add_mistakes(
    collected: ReportData, model: Model, table: Table, log_proba: Floats, codes: NDArray[np.int64]
) -> None:
    """Keep the rows with wrong answers of the greatest probability."""
    proba = np.exp(log_proba)
    answers = model.snapshot().posterior.answer_codes(proba)
    wrong = np.flatnonzero((codes >= 0) & (answers >= 0) & (answers != codes))
    collected.n_mistakes += len(wrong)
    p = proba[wrong, answers[wrong]]
    least = collected.mistakes[-1].probability if len(collected.mistakes) == _MISTAKES else -1.0
    first = [i for i in np.argsort(-p, kind="stable")[:_MISTAKES].tolist() if p[i] > least]
    if not first:
        return
    rows = wrong[first]
    explained = zip(rows.tolist(), p[first].tolist(), model.explain(table.take(rows)), strict=True)
    collected.mistakes += [
        Mistake(
            collected.n_rows + row, model.classes[codes[row]], model.classes[answers[row]], probability, explanation
        )
        for row, probability, explanation in explained
    ]
    collected.mistakes = sorted(collected.mistakes, key=lambda mistake: -mistake.probability)[:_MISTAKES]


def _pick_balanced(codes: NDArray[np.int64], n: int) -> list[int]:
    """The positions of n rows, stratified by class.

    >>> _pick_balanced(np.array([0, 0, 0, 1, 0]), 3)
    [0, 1, 3]
    """
    by_class = [np.flatnonzero(codes == code).tolist() for code in np.unique(codes)]
    in_turn = (row for turn in itertools.zip_longest(*by_class) for row in turn if row is not None)
    return sorted(itertools.islice(in_turn, n))
