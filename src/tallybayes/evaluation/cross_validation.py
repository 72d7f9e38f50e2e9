"""Cross-validation: every row is scored by a model that was not trained on it.

It takes two passes over the data, whatever the number of folds. The first pass counts every fold by itself. The model
without a fold is the sum of the other folds. The second pass scores each row. How the rows are divided, by classes,
groups or time, is planned in `fold_plan.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from tallybayes.doubts import tell_together
from tallybayes.errors import DataError, Described, check_integer
from tallybayes.evaluation.evaluate import add_rows, plan_fits, score_table, unwarned
from tallybayes.evaluation.fold_plan import FoldRequest, plan_folds
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.io.read import to_source
from tallybayes.model import Change, Model
from tallybayes.model.fit import (
    check_learned,
    learn_and_sample,
    rereads,
    sample_for,
    set_column_weights,
    with_text_selection,
)
from tallybayes.model.fit_plan import Plan
from tallybayes.state.options import LABELLED, OPTIONS, FitOptions, with_options
from tallybayes.state.row_sample import RowSample
from tallybayes.tables.source import BadRows, Source, as_columns
from tallybayes.typing import LabelLike, TableLike
from tallybayes.weights.weight_selection import doubt_leaks

__all__ = ["cross_validate"]


@with_options(LABELLED)
@tell_together()
@rereads
def cross_validate(
    data: TableLike,
    label: LabelLike = None,
    *,
    folds: int | None = None,
    seed: int = 0,
    time: Any = None,
    holdout: float | None = None,
    positive: Any = None,
    by: str | None = None,
    **options: Unpack[FitOptions],
) -> Evaluation:
    """Evaluate a model of some data by stratified cross-validation.

    folds: 10 by default. The rows of every class are assigned to the folds in turn, in an order shuffled by `seed`.
    time: a column, or an array; the rows are cut into blocks in the order of time, and each is scored by the model of
    the blocks before it.
    holdout: instead of folds, the share of the rows that is scored by the model of the others: of every class the rows
    with the smallest hashes; whole groups; or the last in time.
    positive: the class whose precision, recall and F1 are reported apart.
    by: a column, whose values get figures of their own (`Evaluation.subgroups`).
    The other options are those of `fit`. Families are inferred once, from all rows. Rows of one `group`, a column or an
    array, are never in different folds.

    {options}

    >>> import tallybayes as tb
    >>> rows = {"x": [1.0, 1.1, 0.9, 3.0, 3.1, 2.9] * 5, "y": ["a", "a", "a", "b", "b", "b"] * 5}
    >>> tb.cross_validate(rows, label="y", folds=5).accuracy
    1.0
    >>> tb.cross_validate(rows, label="y", holdout=0.2).n_rows
    6
    """
    folds = None if folds is None else check_integer("folds", folds, at_least=2)
    check_integer("seed", seed, at_least=0)
    time = str(time) if isinstance(time, (int, float)) else time  # names of columns are text
    has_times = isinstance(time, str)  # as a column, which the model may use
    table_source, time, _ = as_columns(to_source(data), time, words=("time", ""))
    excluded = [time] if time is not None and not has_times else []
    source, fits = plan_fits(table_source, label, _exclude(excluded, options, table_source), "for cross-validation")
    label = fits.counting.label
    request = FoldRequest(folds, seed, fits.schema.group, time, holdout, by)
    request.check()
    result = _evaluate_folds(request, source, fits, label)
    likely = fits.likely_group
    if likely is not None and time is None:
        n_folds = None if folds is None else min(folds, likely.n_values)
        with unwarned(source):
            by_groups = replace(request, folds=n_folds, group=likely.name, by=None)
            result.grouped = grouped = _evaluate_folds(by_groups, source, fits, label)
            grouped.split = grouped.split.replace("groups", f"groups ({likely.name})", 1)
    return result.with_positive(positive)


def _evaluate_folds(request: FoldRequest, source: Source, fits: Plan, label: Any) -> Evaluation:
    """The evaluation of all rows by models of other rows."""
    weights = fits.weights
    # Each model selects text variants on all of its training rows.
    empty = with_text_selection(fits.empty_model(), now=False)
    plan = plan_folds(request, source, empty, label)
    parts = [empty.copy() for _ in range(plan.n_parts)]
    samples = [sample_for(weights, empty.schema) for _ in range(plan.n_parts)]
    skipped = 0
    for part, table in plan.tables(source, label):
        if part < 0:
            skipped += table.n_rows
        else:
            for _ in source.work_on_good_rows(
                table, partial(learn_and_sample, parts[part], samples[part], label=label)
            ):
                pass
    if sum(bool(part.classes) for part in parts) < 2:
        raise DataError(f"rows with a label in at least two of {plan.n_parts} folds", got=Described("fewer"))
    snapshots = {}
    models = _before_each(parts) if plan.forward else _without_each(parts)
    n_learned = sum(sum(part.class_counts.values()) for part in parts)
    n_rows = None if request.time is not None else n_learned
    for part in plan.tested:
        used = samples[:part] + ([] if plan.forward else samples[part + 1 :])
        sample = RowSample.merge(sample for sample in used if sample is not None)
        model = with_text_selection(models[part], now=True)
        model = set_column_weights(model, weights, sample, is_part=True, of_rows=n_rows)
        snapshots[part] = model.snapshot()
    model_of_all = models[-1].merge(parts[-1])
    check_learned(model_of_all, fits, Change(int(n_learned), skipped), source)
    doubt_leaks(model_of_all.snapshot().state, RowSample.merge(sample for sample in samples if sample is not None))
    bad, source.bad = source.bad, None if source.bad is None else BadRows()  # the first pass has counted them
    evaluations = [Evaluation(by=request.by) for _ in range(plan.n_parts)]
    for part, table in plan.tables(source, label):
        if part in snapshots and snapshots[part].classes:
            for good, (log_p, labels) in source.work_on_good_rows(table, partial(score_table, snapshots[part], label)):
                add_rows(evaluations[part], snapshots[part], log_p, labels, good)
    source.bad = bad
    accuracies = [part.accuracy for part in evaluations if part.n_rows] if request.holdout is None else []
    start = Evaluation(skipped=skipped, bad=0 if bad is None else bad.count, folds=accuracies, split=plan.words)
    return sum(evaluations, start)


def _exclude(names: list[str], options: FitOptions, source: Source) -> FitOptions:
    """The options with some columns excluded, unless they are named in the options."""
    chosen = options.get("families")
    there = [name for name in names if name in source.head().columns]
    unspecified = [name for name in there if not (isinstance(chosen, Mapping) and name in chosen)]
    if not unspecified:
        return options
    ignored = OPTIONS["ignore"].domain.check("ignore", options.get("ignore")) or []
    return {**options, "ignore": [*ignored, *unspecified]}


def _before_each(parts: list[Model]) -> list[Model]:
    """For every part the sum of those before it; the first, which has none, is not scored."""
    return [parts[0], *itertools.accumulate(parts[:-1], Model.merge)]


def _without_each(parts: list[Model]) -> list[Model]:
    """For every part the sum of all others, from running sums from the front and from the back."""
    front = list(itertools.accumulate(parts[:-1], Model.merge))
    back = list(itertools.accumulate(parts[:0:-1], Model.merge))[::-1]
    return [back[0], *(a.merge(b) for a, b in zip(front, back[1:], strict=False)), front[-1]]
