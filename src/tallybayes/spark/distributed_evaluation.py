"""Evaluate a model on a DataFrame: every task scores its rows and returns sums."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from tallybayes import engines
from tallybayes.columns.batch import columns_to_read
from tallybayes.columns.label_spec import check_label
from tallybayes.engines.plan import counted_rows
from tallybayes.errors import NONE, DataError
from tallybayes.evaluation.evaluate import WITH_THEMSELVES, evaluate_batches, finish_evaluation
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.model.model import Model
from tallybayes.model.saved_model import dumps
from tallybayes.spark.data_frame import SparkRows, named_batches
from tallybayes.spark.distributed_fit import count_rows
from tallybayes.spark.evaluation_bytes import combine_evaluations, evaluation_to_bytes, total_evaluation
from tallybayes.spark.tree import WIDTHS, Mapped, reduce_partitions
from tallybayes.spark.vector_columns import Forms, forms_of_schema
from tallybayes.spark.worker_model import ModelBytes, worker_snapshot
from tallybayes.tables.source import Stream

__all__ = ["evaluate"]


def evaluate(
    model: Model, df: Any, label: str | None = None, *, positive: Any = None, widths: Sequence[int] = WIDTHS
) -> Evaluation:
    """Evaluate a model on a labelled DataFrame that it was not trained on, as `tallybayes.evaluate`.

    The rows that the model has learned are recognised by their sums: each is scored with itself, and `split` says so.

    label: the name of a column, if it is not the one the model was fitted with.
    positive: the class whose precision, recall and F1 are reported apart.
    widths: how many values are left after each level of the tree that combines them; then one task combines the rest.

    Counts, and everything derived from them, equal those of `tallybayes.evaluate` exactly. Log loss and Brier score are
    sums of reals over partitions: they agree to about 13 digits. AUC, curves and calibration need the scores of all
    rows, which are sent to the driver while they have at most 2**25 cells (rows times classes, 256 MB); with more rows
    they are not known.
    """
    if not model.classes:
        raise DataError("a model with training rows", got=NONE)
    rows, snapshot = SparkRows(df), model.snapshot()
    label = snapshot.label_or_default(label)
    check_label(label, rows.types)
    forms = forms_of_schema(model.schema, rows.vectors)
    needed = {*columns_to_read(model.schema, label), *(name for name, size in forms.items() if size)}
    names = [name for name in rows.types if name in needed]
    rows.check_types(names)
    rows.tell_other_cases(columns_to_read(model.schema))
    forms_in_use = {name: form for name, form in forms.items() if name in names}
    scorer = _evaluator(dumps(model), names, forms_in_use, str(label))
    levels = [*widths, 1]  # the scores of all values together are limited, so the driver gets one value
    total = reduce_partitions(rows.select(names), scorer, combine_evaluations, total_evaluation, widths=levels)
    evaluation = Evaluation() if total is None else total
    decision = snapshot.posterior.decision
    evaluation.costs = evaluation.costs if decision is None else decision.costs
    finished = finish_evaluation(evaluation, snapshot, label, positive)
    if finished.class_rows == snapshot.state.class_counts and _are_learned(model, rows, label, forms, widths):
        finished.split = f"none: {WITH_THEMSELVES}"
    return finished


def _are_learned(model: Model, rows: SparkRows, label: Any, forms: Forms, widths: Sequence[int]) -> bool:
    """Whether a DataFrame has the rows that the model has learned: their sums are equal."""
    if model.is_given or model.schema.weight is not None:
        return False
    plan = engines.plan_change(model, label=label, verb="forget")
    part = counted_rows(plan, count_rows(rows, plan, forms, widths=widths))
    return part.statistics.same(model.snapshot().state.statistics)


def _evaluator(data: bytes, names: list[str], forms: Forms, label: str) -> Mapped:
    digest = hashlib.sha256(data).hexdigest()

    def evaluate_rows(number: int, batches: Iterator[pa.RecordBatch]) -> bytes:
        snapshot = worker_snapshot(digest, ModelBytes(data))
        source = Stream(named_batches(batches, names, forms))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nobody reads the warnings of a worker
            scored = snapshot.log_proba_batches(source, label=label) if source.head().columns else ()
            return evaluation_to_bytes(number, evaluate_batches(snapshot, label, scored))

    return evaluate_rows
