"""Evaluate a model on new data, or on its training data by leave-one-out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from tallybayes.arrays.axis import sort_keys
from tallybayes.columns.label import Labels
from tallybayes.doubts import doubt
from tallybayes.errors import NONE, DataError, DataWarning, Described, ParameterError, did_you_mean, shorten, warn
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.families.family import Floats
from tallybayes.io.read import to_source
from tallybayes.model import Model
from tallybayes.model.fit import with_group_column
from tallybayes.model.fit_plan import Plan
from tallybayes.model.learned_rows import LearnedRows
from tallybayes.model.training_scores import log_proba_of_training_rows, needs_folds
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.options import FitOptions
from tallybayes.tables.source import Source, as_columns
from tallybayes.tables.table import Table
from tallybayes.typing import GroupLike, LabelLike, TableLike, WeightLike

__all__ = [
    "WITH_THEMSELVES",
    "Batches",
    "add_rows",
    "evaluate",
    "evaluate_batches",
    "finish_evaluation",
    "plan_fits",
    "score_honestly",
    "score_table",
    "with_groups",
]

T = TypeVar("T")
Batches = Iterable[tuple[Table, Floats]]  # with log P(class | row)

WITH_THEMSELVES = "the rows that the model has learned, each scored with itself"


def evaluate(
    model: Model,
    data: TableLike,
    label: LabelLike = None,
    *,
    leave_one_out: bool | None = None,
    sample_weight: WeightLike = None,
    positive: Any = None,
    group: GroupLike = None,
) -> Evaluation:
    """Evaluate a model on labelled data; its own training rows are scored by models without them.

    label: the name of a column or an array, if it is not the one the model was fitted with.
    leave_one_out: whether the data is the training data, so that each row is scored by a model without that row. By
    default that is found out: the data is the training data if it has the sums of the model. `split` tells which.
    sample_weight: with leave_one_out, the training weight of each row: a column or an array.
    positive: the class whose precision, recall and F1 are reported apart.
    group: a column or an array, if it is not the column of groups that the model was fitted with; training rows are
    scored by models without all rows of their group.

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
    source, snapshot = with_groups(to_source(data), model.snapshot(), group)
    label = snapshot.label_or_default(label)
    options: dict[str, Any] = {"leave_one_out": leave_one_out, "sample_weight": sample_weight}
    work = partial(evaluate_batches, snapshot, label)
    evaluation = score_honestly(snapshot, source, label, work, lambda result: result, **options)
    evaluation.bad = 0 if source.bad is None else source.bad.count
    return finish_evaluation(evaluation, snapshot, label, positive)


def score_honestly(
    snapshot: Snapshot,
    source: Source,
    label: Any,
    work: Callable[[Batches], T],
    evaluation_of: Callable[[T], Evaluation],
    *,
    leave_one_out: bool | None,
    sample_weight: Any = None,
) -> T:
    """The result of `work` on the scored batches of some data: training rows are scored by models without them.

    evaluation_of: the evaluation in the result, which tells how the rows were scored.
    leave_one_out: whether the rows are training rows; None: if their sums are those of the model.
    """
    result = _score(
        snapshot, source, label, work, evaluation_of, leave_one_out=leave_one_out, sample_weight=sample_weight
    )
    group = snapshot.state.schema.group
    if evaluation_of(result).leave_one_out and group is not None and group not in source.head().columns:
        text = f"the column of groups {group!r} is not in the data: rows are scored with others of their group"
        doubt("groups", text, hint="group= (--group) names the column of groups")
    return result


def _score(
    snapshot: Snapshot,
    source: Source,
    label: Any,
    work: Callable[[Batches], T],
    evaluation_of: Callable[[T], Evaluation],
    *,
    leave_one_out: bool | None,
    sample_weight: Any,
) -> T:
    if leave_one_out:
        result = work(log_proba_of_training_rows(snapshot, source, label=label, sample_weight=sample_weight))
        evaluation_of(result).leave_one_out = True
        evaluation_of(result).split = f"training rows, scored by {_division(snapshot, source)}"
        return result
    learned = LearnedRows(snapshot, source, label)
    result = work(learned.watch(snapshot.log_proba_batches(source, label=label)))
    if not learned.are_all(evaluation_of(result).class_rows):
        return result
    if leave_one_out is None and learned.can_be_read_again:
        with warnings.catch_warnings(), source.read_again():
            warnings.simplefilter("ignore", DataWarning)  # they were issued when the rows were read first
            return _score(snapshot, source, label, work, evaluation_of, leave_one_out=True, sample_weight=sample_weight)
    evaluation_of(result).split = f"none: {WITH_THEMSELVES}"
    if leave_one_out is None:
        hint = "a stream is read only once; each row of a table or a file would be scored by a model without it"
        warn(f"{WITH_THEMSELVES}: the metrics are optimistic", hint=hint)
    return result


def with_groups(source: Source, snapshot: Snapshot, group: Any) -> tuple[Source, Snapshot]:
    """The data with its groups as a column, and the model as if it had been fitted with that column; None: as it is."""
    source, options, _ = with_group_column(source, {"group": group})
    if group is None:
        return source, snapshot
    schema = snapshot.state.schema.copy()
    schema.group = str(options["group"])
    if schema.group not in (names := source.head().columns):
        hint = did_you_mean(schema.group, names, "columns")
        raise ParameterError("group: the name of a column", got=schema.group, hint=hint)
    return source, Snapshot(replace(snapshot.state, schema=schema))


def _division(snapshot: Snapshot, source: Source) -> str:
    """How training rows were kept apart from the model that scored them, in words."""
    group = snapshot.state.schema.group
    if group is not None and group in source.head().columns:
        return f"folds of whole groups ({group}): each by a model without its group"
    return f"{'folds' if needs_folds(snapshot.state) else 'leave-one-out'}: each by a model without it"


def evaluate_batches(snapshot: Snapshot, label: Any, batches: Batches) -> Evaluation:
    """The evaluation of batches with log P(class | row) of their rows."""
    evaluation = Evaluation()
    for table, log_proba in batches:
        add_rows(evaluation, snapshot, log_proba, snapshot.labels(table, label))
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


def add_rows(evaluation: Evaluation, snapshot: Snapshot, log_proba: Floats, labels: Labels) -> None:
    """Add scored rows to an evaluation, with the predictions of the model; rows without a label are only counted."""
    rows = np.flatnonzero(labels.codes >= 0)
    evaluation.skipped += len(log_proba) - len(rows)
    row_labels = [labels.keys[code] for code in labels.codes[rows].tolist()]
    log_p = log_proba[rows]
    decision = snapshot.posterior.decision
    evaluation.costs = evaluation.costs if decision is None else decision.costs
    predicted = snapshot.posterior.answer_codes(np.exp(log_p))
    evaluation.add(snapshot.classes, row_labels, log_p, predicted, log_prior=log_class_shares(snapshot))


def log_class_shares(snapshot: Snapshot) -> Floats:
    """Log of the share of each class among the training rows; the class prior of a model from given probabilities."""
    if snapshot.state.given is not None:
        return snapshot.scorer.log_prior
    rows = np.array(list(snapshot.state.class_counts.values()), np.float64)
    return np.asarray(np.log(rows / rows.sum()))
