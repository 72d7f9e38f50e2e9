"""Evaluate a model on a DataFrame: every task scores its rows and returns sums.

The evaluation of a partition is sent as bytes: its sums, and the scores of its rows while these are few enough to keep.
Counts are added up at once. Sums of reals (log loss, Brier score) of the partitions are kept apart and added up in the
end, in their order, so that they do not depend on which tasks were ready first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes import engines
from tallybayes.columns.label_spec import check_label
from tallybayes.engines.plan import counted_rows
from tallybayes.errors import NONE, DataError, UnsupportedError
from tallybayes.evaluation.evaluate import WITH_THEMSELVES, evaluate_batches, finish_evaluation
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.evaluation.scores import LIMIT, KeptRows, Scores
from tallybayes.model.model import Model
from tallybayes.spark.data_frame import SparkRows, named_batches
from tallybayes.spark.distributed_fit import count_rows
from tallybayes.spark.scored_columns import WorkerModel
from tallybayes.spark.tree import WIDTHS, Mapped, reduce_partitions
from tallybayes.spark.vector_columns import Forms
from tallybayes.storage.container import Tensors, pack, unpack
from tallybayes.storage.keys import key_text, pack_keys, text_key, unpack_keys
from tallybayes.tables.source import Stream

__all__ = ["combine_evaluations", "evaluate", "evaluation_to_bytes", "total_evaluation"]

_SUMS = ("sum_log_loss", "sum_brier", "sum_prior_log_loss", "n_majority_right")


def evaluate(
    model: Model, df: Any, label: str | None = None, *, positive: Any = None, widths: Sequence[int] = WIDTHS
) -> Evaluation:
    """Evaluate a model on a labelled DataFrame that it was not trained on, as `tallybayes.evaluate`.

    The rows that the model has learned are recognised by their sums: each is scored with itself, and `split` says so.
    Those of a model with groups are refused, because tasks cannot hold out the group of a row: hold out whole groups
    before the fit, and evaluate on them.

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
    used, forms = rows.scored(model.schema, label)
    scorer = _evaluator(model, list(used), forms, str(label))
    levels = [*widths, 1]  # the scores of all values together are limited, so the driver gets one value
    total = reduce_partitions(rows.select(used), scorer, combine_evaluations, total_evaluation, widths=levels)
    evaluation = Evaluation() if total is None else total
    decision = snapshot.posterior.decision
    evaluation.costs = evaluation.costs if decision is None else decision.costs
    finished = finish_evaluation(evaluation, snapshot, label, positive)
    if finished.class_rows == snapshot.state.class_counts and _are_learned(model, rows, label, forms, widths):
        if (group := model.schema.group) is not None:
            raise _scored_with_groups(group)
        finished.split = f"none: {WITH_THEMSELVES}"
    return finished


def _scored_with_groups(group: str) -> UnsupportedError:
    """The error for training rows of a model whose rows have groups."""
    share = f"pmod(xxhash64(`{group.replace('`', '``')}`), 5)"
    hint = f'fit on df.filter("{share} > 0"), and evaluate on df.filter("{share} = 0")'
    hint += "; tallybayes.evaluate holds groups out"
    return UnsupportedError(
        f"on Spark, rows of the groups {group!r} that the model has learned cannot be scored without their group",
        hint=hint,
    )


def _are_learned(model: Model, rows: SparkRows, label: Any, forms: Forms, widths: Sequence[int]) -> bool:
    """Whether a DataFrame has the rows that the model has learned: their sums are equal."""
    if model.is_given or model.schema.weight is not None:
        return False
    plan = engines.plan_change(model, label=label, verb="forget")
    part = counted_rows(plan, count_rows(rows, plan, forms, widths=widths))
    return part.statistics.same(model.snapshot().state.learned())


def _evaluator(model: Model, names: list[str], forms: Forms, label: str) -> Mapped:
    worker_model = WorkerModel(model)

    def evaluate_rows(number: int, batches: Iterator[pa.RecordBatch]) -> bytes:
        source = Stream(named_batches(batches, names, forms))
        with worker_model.scoring() as snapshot:
            scored = snapshot.log_proba_batches(source, label=label) if source.head().columns else ()
            return evaluation_to_bytes(number, evaluate_batches(snapshot, label, scored))

    return evaluate_rows


@dataclass(frozen=True, eq=False)
class _Parts:
    """Counts of all rows; arrays by the number of the partition, with scores only while all rows are few enough.

    confusion, unknown: rows by true and predicted label, and by label, as texts;  n_cells: rows times classes.
    """

    confusion: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    n_cells: int = 0
    arrays: dict[int, Tensors] = field(default_factory=dict)

    def __add__(self, other: _Parts) -> _Parts:
        n_cells, arrays = self.n_cells + other.n_cells, self.arrays | other.arrays
        if n_cells > LIMIT:
            arrays = {number: {"sums": parts["sums"]} for number, parts in arrays.items()}
        confusion, unknown = self.confusion + other.confusion, self.unknown + other.unknown
        return _Parts(confusion, unknown, self.skipped + other.skipped, n_cells, arrays)

    def to_bytes(self) -> bytes:
        """The arrays in the order of partitions."""
        confusion = sorted(([a, b, n] for (a, b), n in self.confusion.items()), key=str)
        facts = {"confusion": confusion, "unknown": sorted(self.unknown.items())}
        facts |= {"skipped": self.skipped, "n_cells": self.n_cells}
        numbered = sorted(self.arrays.items())
        tensors = {f"{number}.{name}": array for number, parts in numbered for name, array in parts.items()}
        return pack({"content": "evaluation"} | facts, tensors)

    @classmethod
    def from_bytes(cls, data: bytes) -> _Parts:
        """The inverse of `to_bytes`."""
        facts, tensors = unpack(data)
        arrays: dict[int, Tensors] = {}
        for name, array in tensors.items():
            number, _, part = name.partition(".")
            arrays.setdefault(int(number), {})[part] = array
        confusion = Counter({(a, b): n for a, b, n in facts["confusion"]})
        return cls(confusion, Counter(dict(facts["unknown"])), facts["skipped"], facts["n_cells"], arrays)


def evaluation_to_bytes(number: int, evaluation: Evaluation) -> bytes:
    """The evaluation of a partition."""
    confusion = {(key_text(a), None if b is None else key_text(b)): n for (a, b), n in evaluation.confusion.items()}
    unknown = Counter({key_text(label): n for label, n in evaluation.unknown.items()})
    arrays: Tensors = {"sums": np.array([getattr(evaluation, name) for name in _SUMS], np.float64)}  # may be infinite
    if evaluation.kept.complete and evaluation.kept.parts:
        scores = evaluation.kept.scores()
        arrays["codes"], arrays["predicted"] = scores.codes.astype(np.int64), scores.predicted.astype(np.int64)
        arrays["proba"], arrays["known"] = np.ascontiguousarray(scores.proba), scores.known.astype(np.uint8)
        arrays["classes"], arrays["ends"] = pack_keys(scores.classes)
    return _Parts(Counter(confusion), unknown, evaluation.skipped, evaluation.kept.n_cells, {number: arrays}).to_bytes()


def combine_evaluations(parts: Iterable[bytes]) -> bytes:
    """The evaluations of several partitions."""
    return _sum(parts).to_bytes()


def total_evaluation(parts: Iterable[bytes]) -> Evaluation:
    """The evaluation of all partitions, their sums added up in their order."""
    total = _sum(parts)
    pairs = (((text_key(a), None if b is None else text_key(b)), n) for (a, b), n in total.confusion.items())
    confusion, unknown = Counter(dict(pairs)), Counter({text_key(label): n for label, n in total.unknown.items()})
    result = Evaluation(confusion, unknown=unknown, skipped=total.skipped, kept=KeptRows([], total.n_cells))
    for _, arrays in sorted(total.arrays.items()):
        kept = KeptRows([_scores(arrays)] if "codes" in arrays else [])
        result += Evaluation(**dict(zip(_SUMS, arrays["sums"].tolist(), strict=True)), kept=kept)
    return result


def _sum(parts: Iterable[bytes]) -> _Parts:
    total = _Parts()
    for data in parts:
        total += _Parts.from_bytes(data)
    return total


def _scores(arrays: Tensors) -> Scores:
    codes, predicted = (arrays[name].astype(np.int32) for name in ("codes", "predicted"))
    classes = unpack_keys(arrays["classes"], arrays["ends"])
    return Scores(classes, codes, arrays["proba"], predicted, arrays["known"].astype(bool))
