"""Fit a model, and select what a table is known to gain from, on rows that are scored without themselves.

By default: column weights with slopes, as `fit` has them, then corrections of single values, interactions of columns,
one-dependence estimators and a joint Gaussian of the columns of numbers (`tuning/term_search.py`), and the variants of
text columns. On request also the smoothing
(one k for all columns, or one for each), the families of numeric columns, the smoothing of the class prior and the set
of columns (`tuning/search.py`): with column weights these hardly matter, and they take longer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, Unpack

from tallybayes.columns.column_doubts import doubt_labels
from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.doubts import tell_together
from tallybayes.errors import DataError, Described, ParameterError, check_integer, did_you_mean
from tallybayes.evaluation.criterion import LOG_LOSS, Criterion
from tallybayes.evaluation.evaluate import evaluate
from tallybayes.io.read import to_source
from tallybayes.model import Model
from tallybayes.model.fit import (
    check_value,
    learn_and_sample,
    rereads,
    set_column_weights,
    with_group_column,
    without_group,
)
from tallybayes.model.fit_plan import Plan
from tallybayes.model.later_rows import doubt_later_rows, missing_label_words
from tallybayes.state.model_state import ModelState
from tallybayes.state.options import UNWEIGHTED, FitOptions, complete, with_options
from tallybayes.state.row_sample import RowSample
from tallybayes.tables.source import Source, Stream, as_columns
from tallybayes.tables.table import Table
from tallybayes.tuning.column_evidence import ColumnEvidence, LearnableRows, sample_rows
from tallybayes.tuning.correction_fit import correct_tokens
from tallybayes.tuning.group_folds import GroupedRows, GroupFolds
from tallybayes.tuning.judged_rows import Learn, nested_estimate
from tallybayes.tuning.search import Search, select_hyperparameters
from tallybayes.tuning.smoothing_selection import ValidationRows, by_evidence, by_validation
from tallybayes.tuning.term_search import TERMS, Budget, TermSearch, search_terms
from tallybayes.tuning.tuning_result import Estimate, Progress, Step, Tuning
from tallybayes.typing import LabelLike, TableLike, WeightLike

__all__ = ["DEFAULT", "LEAST_ROWS", "WHAT", "tune"]

HYPERPARAMETERS = ("smoothing", "families", "text", "class_smoothing", "columns")
WHAT = (*HYPERPARAMETERS, "column_weights", *TERMS)
DEFAULT = ("text", "column_weights", *TERMS)
LEAST_ROWS = 10  # to tune on


@with_options(UNWEIGHTED)
@tell_together()
@rereads
def tune(
    data: TableLike,
    label: LabelLike = None,
    *,
    what: Collection[str] | str = DEFAULT,
    seconds: float | None = None,
    by: Literal["leave-one-out", "evidence", "validation"] = "leave-one-out",
    criterion: str = "log_loss",
    validation: float | TableLike | None = None,
    rows: int = 4000,
    strengths: int = 50,
    seed: int = 0,
    progress: Progress | None = None,
    sample_weight: WeightLike = None,
    **options: Unpack[FitOptions],
) -> Tuning:
    """Fit a model, and select weights, corrections, interactions and hyperparameters on held-out rows.

    what: some of "column_weights", "corrections", "interactions", "dependence", "joint" and "text" (the default),
    "smoothing", "families", "class_smoothing", "columns". Corrections, interactions, dependence and joint come with
    column weights.
    seconds: the time that may be spent: when it is over, no other candidate is tried. None: as much as it takes.
    by: "leave-one-out"; "evidence" selects the smoothing of each column by its marginal likelihood, without the rows;
    "validation" splits the rows into three parts: each k of a grid is fitted on the first and evaluated on the second,
    and the third is used once, to evaluate the result.
    validation: the share of the second part, 0.2 by default (the third has 0.2 always); or a table or a file of rows
    that judge and are not learned: then all rows of the data are for training. With it `by` is "validation".
    criterion: the metric that is to be improved: "log_loss", "accuracy", or another one of `evaluate`, such as "auc".
    It decides what is used; weights and corrections are always fitted by log loss.
    rows: the size of the sample of rows to judge candidates on; the sums are those of all rows.
    strengths: the number of values of k to evaluate.
    progress: called with the name of the current step and the completed share of it.
    sample_weight: the weights of the rows: the name of a column, or an array.

    Gains are those over the default model, that of `fit`; if nothing is clearly better, it is kept.

    The other options are those of `fit`. Families and options of text given there are not changed.

    {options}

    >>> import tallybayes as tb
    >>> rows = {"a": ["r", "r", "s", "s"] * 50, "b": ["u", "v"] * 100, "y": ["p", "q", "q", "p"] * 50}
    >>> tuned = tb.tune(rows, label="y")  # a and b tell y together, and neither tells it alone
    >>> tuned.log_loss[0] > 0.6, tuned.log_loss[1] < 0.1, tuned.is_default
    (True, True, False)
    """
    if validation is not None and by == "leave-one-out":
        by = "validation"
    chosen, budget, metric = _check(what, by, rows, strengths, seed), Budget(seconds), Criterion.of(criterion)
    if by == "evidence" and metric is not LOG_LOSS:
        hint = "by='leave-one-out' and by='validation' score rows, of which there are metrics"
        raise ParameterError("criterion='log_loss' with by='evidence', which scores no rows", got=criterion, hint=hint)
    complete({name: value for name, value in options.items() if (name, value) != ("column_weights", None)}, UNWEIGHTED)
    if by != "leave-one-out" and chosen not in (DEFAULT, ("smoothing",)):
        raise ParameterError(f"what='smoothing' with by={by!r}, which selects nothing else", got=what)
    if validation is not None and by != "validation":
        raise ParameterError("by='validation' with validation=", got=by)
    judges = ValidationRows.of(validation, seed, label)
    source = to_source(data)
    arguments: dict[str, Any] = {"label": label, "weight": sample_weight, "group": options.get("group")}
    if isinstance(source, Stream):
        hint = "give a table or a path"
        raise ParameterError("data that can be read more than once, to tune on", got=type(data).__name__, hint=hint)
    source, label, sample_weight = as_columns(source, label, sample_weight)
    source, options, _ = with_group_column(source, options)
    plan = Plan.of(source, label, options, sample_weight=sample_weight)
    if plan.base is not None:
        hint = "tune the base model, then fit the own rows on it"
        raise ParameterError("tune without a base_model", got=Described("a base_model"), hint=hint)
    model, label = plan.empty_model(), plan.counting.label
    sample_weight, fields = model.schema.weight, dict(model.schema.columns)
    if model.settings.estimate == "mle":
        if by != "leave-one-out" or chosen == ("smoothing",):
            raise ParameterError("estimate='bayes' to tune the smoothing: maximum likelihood has none", got="mle")
        chosen = tuple(name for name in chosen if name != "smoothing")
    report = progress or (lambda step, share: None)
    if by == "evidence" and model.schema.group is not None:
        hint = "by='leave-one-out' or by='validation' keep groups together"
        raise ParameterError(
            "no group with by='evidence': it takes all rows for independent", got=model.schema.group, hint=hint
        )
    if by == "validation":
        if source.bad is not None:
            source = LearnableRows(source, model, label, sample_weight)
        if judges.own is not None and judges.own.bad is not None:
            judges = replace(judges, own=LearnableRows(judges.own, model, label, None))
        facts: dict[str, Any] = {"strengths": strengths, "progress": report, "criterion": metric}
        tuning = by_validation(source, model, label, validation=judges, **facts)
        return _without_names(tuning, arguments)
    sample = RowSample(rows, if_rare=rows)
    change = learn_and_sample(model, sample, source, label=label, sample_weight=sample_weight)
    check_value(model, label, source)
    doubt_labels(label, change.skipped, change.rows + change.skipped, missing_label_words(plan, change.skipped, source))
    doubt_later_rows(model.snapshot().state, plan, change, source)
    if len(model.classes) < 2:
        raise DataError("rows of at least two classes to tune on", got=model.classes)
    if change.rows < LEAST_ROWS:
        raise DataError(f"at least {LEAST_ROWS} rows with a label to tune on", got=change.rows)
    if by == "evidence":
        return _without_names(by_evidence(model), arguments)
    if source.bad is not None:
        source = LearnableRows(source, model, label, sample_weight, counted=True)
    tuned = _Tuned((model, sample), source, label, sample_weight, fields, budget, report, metric)
    n_rows = change.rows + change.skipped
    folds = cache(lambda: GroupFolds(source, model, label, sample_weight))

    def sample_of(limit: int) -> Table | GroupedRows:
        if model.schema.group is not None:
            return folds().sample(limit, seed)
        return sample_rows(source, model, label, sample_weight, n_rows=n_rows, limit=limit, seed=seed)

    if hyperparameters := [name for name in chosen if name in HYPERPARAMETERS and tuned.concerns(name)]:
        families = {name: spec.family for name, spec in fields.items() if spec.family is not None}
        search = Search.of(
            ColumnEvidence(model, sample_of(rows), label, sample_weight), model, families, report, metric
        )
        tuned.select_hyperparameters(search, hyperparameters, strengths)
    if terms := [name for name in chosen if name not in HYPERPARAMETERS]:
        tuned.search_terms(terms)
    result = tuned.result
    if "text" in chosen and not budget.is_spent:
        result = correct_tokens(result, sample_of, label, sample_weight, seed=seed, criterion=metric)
    if plan.likely_group is not None and not budget.is_spent:
        options_of_rows: dict[str, Any] = {"sample_weight": sample_weight, "group": plan.likely_group.name}
        grouped = evaluate(result.model, source, label, leave_one_out=True, **options_of_rows)
        result = replace(result, grouped=grouped)
    return _without_names(result, arguments)


@dataclass(eq=False)
class _Tuned:
    """A model that is tuned step by step, from the one that was fitted (`start`), and the result so far."""

    start: tuple[Model, RowSample]
    source: Source
    label: Any
    sample_weight: Any
    fields: Mapping[str, ColumnSpec]
    budget: Budget
    progress: Progress
    criterion: Criterion

    def __post_init__(self) -> None:
        model, self._sample = self.start
        self.result = Tuning(model, [], [], (float("nan"), float("nan")), 0, criterion=self.criterion)

    def concerns(self, name: str) -> bool:
        """Whether the model has anything to select."""
        families = self.start[0].schema.families.values()
        return name != "text" or any(family.tokeniser is not None for family in families)

    def select_hyperparameters(self, search: Search, what: Collection[str], strengths: int) -> None:
        """Select hyperparameters by leave-one-out."""
        before, log_loss, value = self.start[0].snapshot().state, search.log_loss(), search.value()
        model = select_hyperparameters(search, what, self.source, self.label, strengths=strengths)
        losses = log_loss, search.log_loss()
        values = None if self.criterion is LOG_LOSS else (value, search.value())
        facts: dict[str, Any] = {"criterion": self.criterion, "values": values}
        self.result = Tuning(model, search.steps, search.curve, losses, len(search.evidence.codes), **facts)
        after = model.snapshot().state
        if after.schema.families.keys() != before.schema.families.keys():  # the sample has other columns
            self._sample = RowSample(self._sample.limit, if_rare=self._sample.limit)
            empty = Model(ModelState(after.schema, after.settings))
            learn_and_sample(empty, self._sample, self.source, label=self.label, sample_weight=self.sample_weight)

    def search_terms(self, what: Collection[str]) -> None:
        """Fit column weights, and the terms that help; without a clear gain over the default model, that is kept."""
        now, start = self.result.model.snapshot().state, self.start[0].snapshot().state
        search = self._search(self.result.model, self._sample, what)
        if search is None:
            return
        default, steps, is_default = search.default, self.result.steps + search.steps, search.is_default
        if (now.schema.families, now.settings) != (start.schema.families, start.settings):
            first = self._search(*self.start, ("column_weights",))  # what is gained includes the hyperparameters
            default, is_default = default if first is None else first.default, False
            if first is not None and not search.is_clearly_better(first):
                values = [other.judged.value(other.joint) for other in (search, first)]
                steps.append(Step("default model", 1, "kept: nothing is clearly better", *values))
                search, is_default = first, first.is_default
        estimate = search.estimate
        if not self.budget.is_spent and (nested := self._nested(search, what)) is not None:
            estimate = nested
        shift = estimate.log_loss - search.estimate.log_loss  # the default model was judged like the tuned one
        log_loss, n_rows = (default.log_loss + shift, estimate.log_loss), search.estimate.n_rows
        facts: dict[str, Any] = {"log_loss": log_loss, "n_rows": n_rows, "estimate": estimate}
        if default.value is not None and estimate.value is not None and search.estimate.value is not None:
            facts["values"] = default.value + estimate.value - search.estimate.value, estimate.value
        self.result = replace(self.result, model=search.model, steps=steps, is_default=is_default, **facts)

    def _search(self, model: Model, sample: RowSample, what: Collection[str]) -> TermSearch | None:
        def learn(other: Model) -> Any:
            return other.learn(self.source, label=self.label, sample_weight=self.sample_weight)

        options: dict[str, Any] = {"budget": self.budget, "criterion": self.criterion}
        return search_terms(model, sample, learn, what, progress=self.progress, **options)

    def _nested(self, search: TermSearch, what: Collection[str]) -> Estimate | None:
        """The estimate by models that are tuned in the same way without the rows that they judge."""

        def fitted(model: Model, sample: RowSample, learn: Learn) -> Model:
            if search.is_default:
                return set_column_weights(model, "auto", sample)
            options: dict[str, Any] = {"budget": self.budget, "criterion": self.criterion}
            inner = search_terms(model, sample, learn, what, progress=lambda step, share: None, **options)
            return model if inner is None else inner.model

        schema = search.base.state.schema.copy()
        texts = [name for name, family in schema.families.items() if family.tokeniser is not None]
        schema.columns |= {name: self.fields[name] for name in texts if name in self.fields}
        self.progress("expected on new rows", 0.9)
        return nested_estimate(search.base, schema, fitted, self.criterion)


def _without_names(tuning: Tuning, arguments: dict[str, Any]) -> Tuning:
    """The result without column names for label, weight and group that were given as arrays, as `fit` leaves them."""
    for word, value in arguments.items():
        if value is None or isinstance(value, (str, int, float)):
            continue
        if word == "group":
            tuning = replace(tuning, model=without_group(tuning.model))
        else:
            state = tuning.model.snapshot().state
            schema = state.schema.copy()
            if word == "label":
                schema.label_spec = replace(schema.label_spec, name=None)
            else:
                schema.weight = None
            tuning = replace(tuning, model=Model(replace(state, schema=schema)))
    return tuning


def _check(what: Any, by: Any, rows: Any, strengths: Any, seed: Any) -> tuple[str, ...]:
    """The hyperparameters to tune, in the order of the steps."""
    names = list(what) if isinstance(what, Collection) and not isinstance(what, str) else [what]
    for name in names:
        if name not in WHAT:
            hint = did_you_mean(str(name), WHAT) or f"one of {', '.join(WHAT)}"
            raise ParameterError("what: a hyperparameter", got=name, hint=hint)
    if by not in ("leave-one-out", "evidence", "validation"):
        raise ParameterError("by: 'leave-one-out', 'evidence' or 'validation'", got=by)
    for name, value, least in (("rows", rows, LEAST_ROWS), ("strengths", strengths, 2), ("seed", seed, 0)):
        check_integer(name, value, at_least=least)
    return tuple(name for name in WHAT if name in names)
