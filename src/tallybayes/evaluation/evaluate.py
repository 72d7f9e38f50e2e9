"""Evaluate a model on new data, or on its training data by leave-one-out."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from tallybayes.arrays.axis import sort_keys
from tallybayes.columns.batch import names_to_find
from tallybayes.columns.column_doubts import doubt_absent_columns, doubt_bad_rows, doubt_labels, words_for_no_label
from tallybayes.columns.label import Labels
from tallybayes.doubts import collect_doubts, doubt, tell_together
from tallybayes.errors import NONE, DataError, DataWarning, Described, ParameterError, did_you_mean, shorten, warn
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.families.family import Floats
from tallybayes.io.read import to_source
from tallybayes.model import Model
from tallybayes.model.fit import with_group_column
from tallybayes.model.fit_plan import Plan
from tallybayes.model.learned_rows import LearnedRows
from tallybayes.model.likely_groups import find_likely_group, tell_likely_group
from tallybayes.model.training_scores import log_proba_of_training_rows, needs_folds
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.options import FitOptions
from tallybayes.tables.source import Source, as_columns
from tallybayes.tables.table import Table, column_values
from tallybayes.typing import GroupLike, LabelLike, TableLike, WeightLike

__all__ = [
    "WITH_THEMSELVES",
    "Batches",
    "EvaluatedRows",
    "add_rows",
    "check_column",
    "doubt_columns",
    "evaluate",
    "evaluate_batches",
    "finish_evaluation",
    "group_column",
    "no_label_words",
    "plan_fits",
    "score_table",
    "unwarned",
]

T = TypeVar("T")
Batches = Iterable[tuple[Table, Floats]]  # with log P(class | row)

WITH_THEMSELVES = "the rows that the model has learned, each scored with itself"


@tell_together()
def evaluate(
    model: Model,
    data: TableLike,
    label: LabelLike = None,
    *,
    leave_one_out: bool | None = None,
    sample_weight: WeightLike = None,
    positive: Any = None,
    group: GroupLike = None,
    by: str | None = None,
) -> Evaluation:
    """Evaluate a model on labelled data; its own training rows are scored by models without them.

    label: the name of a column or an array, if it is not the one the model was fitted with.
    leave_one_out: whether the data is the training data, so that each row is scored by a model without that row. By
    default that is found out: the data is the training data if it has the sums of the model. `split` tells which.
    sample_weight: with leave_one_out, the training weight of each row: a column or an array.
    positive: the class whose precision, recall and F1 are reported apart.
    group: a column or an array, if it is not the column of groups that the model was fitted with; training rows are
    scored by models without all rows of their group.
    by: a column, whose values get figures of their own (`Evaluation.subgroups`).

    Probabilities are calibrated and predictions decided as by `predict`. Under a rule with costs, `mean_cost` is known.

    >>> import tallybayes as tb
    >>> model = tb.fit({"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}, label="ill")
    >>> tb.evaluate(model, {"fever": [1, 0, 0, 0], "ill": ["yes", "no", "no", "yes"]}).accuracy
    0.75
    """
    if not model.classes:
        raise DataError("a model with training rows", got=NONE)
    if sample_weight is not None and not leave_one_out:
        raise ParameterError(
            "sample_weight= only with leave_one_out=True", got=sample_weight, hint="otherwise all rows count alike"
        )
    source, group = group_column(to_source(data), group)
    check_column("by", by, source)
    snapshot = model.snapshot()
    label = snapshot.label_or_default(label)
    words = no_label_words(snapshot, source, label)
    doubt_columns(snapshot, source)
    rows = EvaluatedRows(snapshot, source, label, leave_one_out, sample_weight, group, by)
    evaluation = rows.score(partial(evaluate_batches, snapshot, label, by=by), lambda result: result)
    evaluation.bad = 0 if source.bad is None else source.bad.count
    evaluation.grouped = rows.evaluate_likely_groups(evaluation)
    doubt_labels(label, evaluation.skipped, evaluation.n_rows + evaluation.skipped, words)
    doubt_bad_rows(source.bad)
    return finish_evaluation(evaluation, snapshot, label, positive)


def doubt_columns(snapshot: Snapshot, source: Source) -> None:
    """Say which columns of a model some data to evaluate it on does not have."""
    schema = snapshot.state.schema
    source.look_for(schema.columns)
    doubt_absent_columns(source.head().with_names(names_to_find(schema)), schema)


def no_label_words(snapshot: Snapshot, source: Source, label: Any) -> Mapping[str, int]:
    """The words of the first rows that a model reads as a missing label."""
    source.use_words(snapshot.state.schema.missing)
    return words_for_no_label(source.head(), label)


def group_column(source: Source, group: Any) -> tuple[Source, str | None]:
    """The data with its groups as a column, and the name of the column; None: as the model was fitted."""
    source, options, _ = with_group_column(source, {"group": group})
    name = None if options["group"] is None else str(options["group"])
    check_column("group", name, source)
    return source, name


def check_column(word: str, name: Any, source: Source) -> None:
    """Raise a ParameterError unless a column, if it is given, is in the data."""
    names = source.head().columns
    if name is not None and (not isinstance(name, str) or name not in names):
        hint = did_you_mean(str(name), names, "columns")
        raise ParameterError(f"{word}: the name of a column", got=name, hint=hint)


@dataclass(frozen=True, eq=False)
class EvaluatedRows:
    """Some data, and how its rows are scored: training rows by models without them.

    leave_one_out: whether the rows are training rows; None: if their sums are those of the model.
    group: the column of groups that are held out together, if it is not that of the model; by: another column to read.
    """

    snapshot: Snapshot
    source: Source
    label: Any
    leave_one_out: bool | None
    sample_weight: Any = None
    group: str | None = None
    by: str | None = None

    def score(self, work: Callable[[Batches], T], evaluation_of: Callable[[T], Evaluation]) -> T:
        """The result of `work` on the scored batches.

        evaluation_of: the evaluation in the result, which tells how the rows were scored.
        """
        result = self._score(work, evaluation_of)
        lacking = self.snapshot.state.schema.group
        is_lacking = self.group is None and lacking is not None and lacking not in self.source.head().columns
        if is_lacking and evaluation_of(result).leave_one_out:
            text = f"the column of groups {lacking!r} is not in the data: rows are scored with others of their group"
            doubt("groups", text, hint="group= (--group) names the column of groups")
        return result

    def _score(self, work: Callable[[Batches], T], evaluation_of: Callable[[T], Evaluation]) -> T:
        snapshot, source, label, also = self.snapshot, self.source, self.label, [self.by] if self.by else []
        if self.leave_one_out:
            options: dict[str, Any] = {"sample_weight": self.sample_weight, "group": self.group, "also": also}
            result = work(log_proba_of_training_rows(snapshot, source, label=label, **options))
            evaluation_of(result).leave_one_out = True
            evaluation_of(result).split = f"training rows, scored by {self._division()}"
            return result
        learned = LearnedRows(snapshot, source, label)
        result = work(learned.watch(snapshot.log_proba_batches(source, label=label, also=also)))
        if not learned.are_all(evaluation_of(result).class_rows):
            return result
        if self.leave_one_out is None and learned.can_be_read_again:
            with unwarned(source):
                return replace(self, leave_one_out=True)._score(work, evaluation_of)
        evaluation_of(result).split = f"none: {WITH_THEMSELVES}"
        if self.leave_one_out is None:
            hint = "a stream is read only once; each row of a table or a file would be scored by a model without it"
            warn(f"{WITH_THEMSELVES}: the metrics are optimistic", hint=hint)
        return result

    def _division(self) -> str:
        """How training rows were kept apart from the model that scored them, in words."""
        state = self.snapshot.state
        group = state.schema.group if self.group is None else self.group
        if group is not None and group in self.source.head().columns:
            return f"folds of whole groups ({group}): each by a model without its group"
        return f"{'folds' if needs_folds(state, group) else 'leave-one-out'}: each by a model without it"

    def evaluate_likely_groups(self, evaluation: Evaluation) -> Evaluation | None:
        """The evaluation of training rows with whole groups held out, if they seem to be in groups; None otherwise."""
        state = self.snapshot.state
        if not evaluation.leave_one_out or self.group is not None or state.settings.infer != "data":
            return None
        likely = find_likely_group(self.source.head(), state.schema, self.label)
        if likely is None:
            return None
        tell_likely_group(likely)
        work = partial(evaluate_batches, self.snapshot, self.label)
        with unwarned(self.source):
            return replace(self, leave_one_out=True, group=likely.name, by=None).score(work, lambda result: result)


@contextlib.contextmanager
def unwarned(source: Source) -> Iterator[None]:
    """A context in which rows are read once more: what is doubtful was said when they were read first."""
    with warnings.catch_warnings(), collect_doubts(), source.read_again():
        warnings.simplefilter("ignore", DataWarning)
        yield


def evaluate_batches(snapshot: Snapshot, label: Any, batches: Batches, by: str | None = None) -> Evaluation:
    """The evaluation of batches with log P(class | row) of their rows; by: the column of subgroups."""
    evaluation = Evaluation(by=by)
    for table, log_proba in batches:
        add_rows(evaluation, snapshot, log_proba, snapshot.labels(table, label), table)
    return evaluation


def finish_evaluation(evaluation: Evaluation, snapshot: Snapshot, label: Any, positive: Any) -> Evaluation:
    """The evaluation of all rows, if there are any; a warning if all their labels are unknown to the model."""
    if not evaluation.n_rows:
        raise DataError("rows with a label", got=NONE)
    labels = evaluation.class_rows.keys()
    if labels.isdisjoint(snapshot.classes):
        text = f"none of the labels is a class of the model: {shorten(sort_keys(labels))}, where it has"
        warn(f"{text} {shorten(snapshot.classes)}", column=label if isinstance(label, str) else None)
    return evaluation.with_positive(positive)


def plan_fits(data: Any, label: Any, options: FitOptions, purpose: str) -> tuple[Source, Plan]:
    """The data, and the plan of models of its columns with the label as one of them; weights are refused."""
    source, label, _ = as_columns(to_source(data), label)
    source, options, _ = with_group_column(source, options)
    plan = Plan.of(source, label, options)
    if plan.schema.weight is not None:
        raise ParameterError(f"data without weights, {purpose}", got=Described("weights"))
    return source, plan


def score_table(snapshot: Snapshot, label: Any, table: Table) -> tuple[Floats, Labels]:
    """Log P(class | row) of a table, and the labels of its rows."""
    return next(iter(snapshot.log_proba_batches(table)))[1], snapshot.labels(table, label)


def add_rows(
    evaluation: Evaluation, snapshot: Snapshot, log_proba: Floats, labels: Labels, table: Table | None = None
) -> None:
    """Add scored rows to an evaluation, with the predictions of the model; rows without a label are only counted.

    table: the rows, for an evaluation by subgroups.
    """
    rows = np.flatnonzero(labels.codes >= 0)
    evaluation.skipped += len(log_proba) - len(rows)
    row_labels = [labels.keys[code] for code in labels.codes[rows].tolist()]
    log_p = log_proba[rows]
    decision = snapshot.posterior.decision
    evaluation.costs = evaluation.costs if decision is None else decision.costs
    predicted = snapshot.posterior.answer_codes(np.exp(log_p))
    evaluation.add(snapshot.classes, row_labels, log_p, predicted, log_prior=log_class_shares(snapshot))
    if evaluation.by is not None and table is not None and evaluation.kept.complete:
        evaluation.by_values += column_values(table.take(rows).columns[evaluation.by])


def log_class_shares(snapshot: Snapshot) -> Floats:
    """Log of the share of each class among the training rows; the class prior of a model from given probabilities."""
    if snapshot.state.given is not None:
        return snapshot.scorer.log_prior
    rows = snapshot.state.class_rows
    return np.asarray(np.log(rows / rows.sum()))
