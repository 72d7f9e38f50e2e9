"""Fit a model to data: infer the family of every column, then count.

`tune`, engines and evaluations take the steps one by one. Rows are learned, and sampled if column weights are to be
fitted (`learn_and_sample`), or were counted elsewhere and are added (`apply_counted`). Then the variants of texts are
selected (`with_text_selection`) and the column weights are set (`set_column_weights`): fitted on the sample, given, or
none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, Unpack

from tallybayes.arrays.axis import sort_keys
from tallybayes.columns.column_doubts import doubt_bad_rows, doubt_labels
from tallybayes.columns.label_spec import label_column
from tallybayes.columns.readers.key_reader import as_codes
from tallybayes.columns.schema import Schema
from tallybayes.doubts import Doubt, collect_doubts, doubt, tell_doubts, tell_together
from tallybayes.errors import DataError, ParameterError, did_you_mean, shorten
from tallybayes.formatting import number
from tallybayes.io.read import are_paths, to_source
from tallybayes.model.fit_plan import Plan
from tallybayes.model.given_words import with_said_words, without_said_words
from tallybayes.model.joint_columns import doubt_incomplete_rows
from tallybayes.model.label_plan import doubt_classes, doubt_few_rows
from tallybayes.model.later_rows import doubt_later_rows, missing_label_words
from tallybayes.model.model import Change, Model
from tallybayes.model.unlabelled_rows import Progress, UnlabelledRows
from tallybayes.model.update import with_text_selected
from tallybayes.state.column_weights import ColumnWeights, Weighting
from tallybayes.state.counting import CountedRows
from tallybayes.state.options import OPTIONS, UNLABELLED, FitOptions, with_options
from tallybayes.state.prior_values import check_labels
from tallybayes.state.row_sample import RowSample
from tallybayes.tables.source import BadRows, Source, as_columns
from tallybayes.typing import LabelLike, TableLike, WeightLike
from tallybayes.weights.weight_selection import select_weights

__all__ = [
    "apply_counted",
    "check_learned",
    "check_value",
    "finish_fit",
    "fit",
    "keep_doubts",
    "keep_told",
    "learn_and_sample",
    "rereads",
    "sample_for",
    "set_column_weights",
    "with_group_column",
    "with_text_selection",
    "without_group",
]

_SMALL_WEIGHT = 0.5  # of a column whose prior then changes an answer less than half as much as its rows would

Work = TypeVar("Work", bound=Callable[..., Any])


@with_options()
def fit(
    data: TableLike,
    label: LabelLike = None,
    *,
    sample_weight: WeightLike = None,
    progress: Progress | None = None,
    **options: Unpack[FitOptions],
) -> Model:
    """Fit a naive Bayes model to a table.

    data: a data frame of any kind, a NumPy or SciPy sparse matrix, a list of dicts or a dict of lists; a path, a glob,
    a query or "-" (standard input); an Arrow stream, a dataset, a lazy frame or an iterator of batches.
    label: the name of a column, or an array; the label "rating=R" is true where the column rating is R.
    sample_weight: the weights of the rows: the name of a column, or an array.
    progress: called with the name of a step and the completed share of it (None: unknown), while unlabelled rows are
    divided among the classes.
    {options}

    >>> import tallybayes as tb
    >>> rows = [{"colour": "red", "size": 3.1, "fruit": "apple"}, {"colour": "red", "size": 2.9, "fruit": "apple"},
    ...         {"colour": "yellow", "size": 5.0, "fruit": "banana"},
    ...         {"colour": "yellow", "size": 5.2, "fruit": "banana"}]
    >>> model = tb.fit(rows, label="fruit")
    >>> model.predict([{"colour": "yellow"}, {"size": 3.0}]).tolist()
    ['banana', 'apple']
    """
    source, options, has_array = with_group_column(to_source(data), options)
    with tell_together() as doubts:
        unlabelled = UnlabelledRows.of(options, progress)
        labelled: Any = {name: value for name, value in options.items() if name not in UNLABELLED}
        model = _fit_source(source, label, sample_weight, labelled, unlabelled)
        keep_doubts(model, doubts)
    return without_group(model) if has_array else model


def rereads(work: Work) -> Work:
    """A decorator of a function of data: a file that turns out to be written otherwise is read again from its start.

    What was doubtful before it was known better is not told.
    """

    @functools.wraps(work)
    def run(data: Any, *arguments: Any, **options: Any) -> Any:
        if not isinstance(data, Source) and not are_paths(data):
            return work(data, *arguments, **options)
        source = to_source(data)
        while True:
            source.is_reconsidered = True
            try:
                with collect_doubts() as found:
                    result = work(source, *arguments, **options)
            except DataError as error:
                if source.reconsider(error):
                    source.bad = None if source.bad is None else BadRows()
                    continue
                tell_doubts(found)
                raise
            finally:
                source.is_reconsidered = False
            tell_doubts(found)
            return result

    return run  # type: ignore[return-value]


@rereads
def _fit_source(
    source: Source, label: Any, sample_weight: Any, options: FitOptions, unlabelled: UnlabelledRows | None
) -> Model:
    """The model of the data as it is taken for now."""
    if unlabelled is not None:
        unlabelled.check(source)
    plan = Plan.of(source, label, options, sample_weight=sample_weight)
    families = options.get("families") or {}
    given = list(families) if isinstance(families, Mapping) else list(plan.schema.columns)
    model, sample = with_said_words(plan, given).empty_model(), sample_for(plan.weights, plan.schema)
    label = plan.counting.label
    if unlabelled is not None:
        model = with_text_selection(model, now=False)  # but after all rows were counted
    change = learn_and_sample(model, sample, source, label=label, sample_weight=plan.counting.weight)
    model = without_said_words(model)
    if not change.rows and not change.skipped and source.head().is_from_file:
        hint = "the file has no rows, or all of them were skipped as bad rows"
        raise source.head().locate(DataError("rows to learn from", got=0, hint=hint))
    if unlabelled is not None:
        model = unlabelled.divide(model, source, plan)
        model = with_text_selection(model, now=True)
        change = replace(change, skipped=model.skipped)
    return finish_fit(model, plan, sample, change, source)


def with_group_column(source: Source, options: FitOptions) -> tuple[Source, FitOptions, bool]:
    """The data with an array of groups as a column, options that name it, and whether they were an array."""
    group = OPTIONS["group"].domain.check("group", options.get("group"))
    if group is None or isinstance(group, str):
        return source, options, False
    source, name, _ = as_columns(source, group, words=("group", ""))
    return source, {**options, "group": name}, True


def without_group(model: Model) -> Model:
    """The model without the name of a column of groups that was an array and not a column of the data."""
    state = model.snapshot().state
    schema = state.schema.copy()
    schema.columns.pop(str(schema.group), None)
    schema.group = None
    return Model(replace(state, schema=schema))


def finish_fit(model: Model, plan: Plan, sample: RowSample | None, change: Change, source: Source) -> Model:
    """The model after it has learned its rows: say what is doubtful, and fit column weights on the sample.

    source: whose first rows show the values of a label that is missing.
    """
    check_learned(model, plan, change, source)
    result = _with_base_weights(set_column_weights(model, plan.weights, sample, warns=True), plan)
    _doubt_small_priors(result)
    return result


def check_learned(model: Model, plan: Plan, change: Change, source: Source) -> None:
    """Check the rows that a model has learned, all of the data: raise an error for its label, say what is doubtful."""
    label = plan.counting.label
    check_value(model, label, source, is_part=plan.is_part)
    doubt_labels(label, change.skipped, change.rows + change.skipped, missing_label_words(plan, change.skipped, source))
    doubt_bad_rows(source.bad)
    doubt_later_rows(model.snapshot().state, plan, change, source)
    doubt_classes(model.classes, label, change.notes, missing=plan.schema.missing)
    doubt_few_rows(model.class_counts, label)
    doubt_incomplete_rows(model.snapshot().state.statistics)


def _doubt_small_priors(model: Model) -> None:
    """Say which columns with a prior that favours classes count much less than it says, because of column weights."""
    priors = model.settings.column_priors or {} if model.column_weights.fitted_on else {}
    for name in (name for name, prior in priors.items() if prior.labels):
        weight = float(model.column_weights.table([name], model.classes).max(initial=0.0))
        if weight < _SMALL_WEIGHT:
            hint = "column_weights=None (--column-weights none) counts columns and priors in full"
            text = f"its column weight is {number(weight, 2)}, so its prior counts {number(weight, 2)} times"
            doubt("priors", text, column=name, hint=hint)


def _with_base_weights(model: Model, plan: Plan) -> Model:
    """The model with the weights and token corrections of its base, if those were fitted on more rows than its own."""
    fitted = plan.base_settings if isinstance(plan.weights, str) else None
    given = None if fitted is None else fitted.column_weights
    if fitted is None or given is None or given.fitted_on <= model.column_weights.fitted_on:
        return model
    families, rows = model.schema.families, float(sum(model.class_counts.values()))
    model.column_weights = replace(given.only(families, model.classes), model_rows=rows)
    if fitted.token_corrections is not None:
        corrections = fitted.token_corrections.only(families, model.classes)
        model._current.set(token_corrections=replace(corrections, model_rows=rows))
    return model


def keep_told(work: Work) -> Work:
    """A decorator of a function whose result has a model: that keeps what was doubtful, told together at the end."""

    @functools.wraps(work)
    def run(*arguments: Any, **options: Any) -> Any:
        with tell_together() as doubts:
            result = work(*arguments, **options)
            keep_doubts(result.model, doubts)
        return result

    return run  # type: ignore[return-value]


def keep_doubts(model: Model, doubts: Iterable[Doubt]) -> None:
    """Let a model that was just fitted keep what was doubtful about its data, besides what its plan has found."""
    schema = model.snapshot().state.schema
    schema.doubts = tuple(dict.fromkeys([*schema.doubts, *doubts]))


def check_value(model: Model, label: Any, source: Source, *, is_part: bool = False) -> None:
    """Raise an error if the label is "rating=R" and no row has it, or if a class with a weight or prior has none.

    is_part: the data may lack classes that have a prior.
    """
    _check_class_weight(model)
    if model.classes:
        priors = model.settings.column_priors or {}
        check_labels(priors, model.settings.class_prior, model.classes, is_part=is_part)
    if model.classes != [False]:
        return
    head = source.head()
    column, value = label_column(label, head.columns)
    if column is None or value is None or column not in head.columns:
        return
    values = [str(key) for key in sort_keys(as_codes(column, head.columns[column]).keys)]
    hint = did_you_mean(value, values) or f"its values are {shorten(values, 200)}"
    raise DataError(f"a row with the value {value!r}", got=values, column=column, hint=hint)


def _check_class_weight(model: Model) -> None:
    """Raise a ParameterError if a class with a weight is not a class of the data."""
    weights = model.settings.class_weight
    for label in weights if isinstance(weights, Mapping) and model.classes else ():
        if label not in model.classes:
            hint = did_you_mean(label, model.classes, "classes")
            raise ParameterError("class_weight for classes of the data", got=label, hint=hint)


def sample_for(weights: Weighting, schema: Schema) -> RowSample | None:
    """The sample that learning has to draw for these weights; None if they need none."""
    return RowSample.of(schema) if isinstance(weights, str) else None


def learn_and_sample(
    model: Model, sample: RowSample | None, data: Any, *, label: Any, sample_weight: Any = None
) -> Change:
    """Let a model learn rows, as `Model.learn`, and add them to a sample."""
    return model._current.change(data, label, sample_weight, 1, sample)


def apply_counted(model: Model, counted: CountedRows, sign: int) -> Change:
    """Let a model learn (1) or forget (-1) rows that were counted for it, all or nothing."""
    return model._current.apply(counted, sign)


def with_text_selection(model: Model, *, now: bool) -> Model:
    """A copy of the model that selects the variants of its text columns now and later, or not until it is told to."""
    return Model(with_text_selected(model.snapshot().state, now=now))


def set_column_weights(
    model: Model,
    weights: Weighting,
    sample: RowSample | None,
    *,
    is_part: bool = False,
    warns: bool = False,
    of_rows: float | None = None,
) -> Model:
    """Set the column weights of a model: given ones, or fitted on a sample of the rows that it has learned; return it.

    is_part: the model has learned a part of the data, which may lack columns and classes that have a weight.
    warns: whether to warn of columns that may be leaks, which is known where weights are fitted.
    of_rows: how many rows there are in all, if the model stands for one of all rows (`select_weights`).
    """
    if weights is None:
        return model
    if isinstance(weights, ColumnWeights):
        selected: ColumnWeights | None = weights.only(model.schema.families, model.classes) if is_part else weights
    else:
        selected = select_weights(model.snapshot().state, sample, warns=warns, of_rows=of_rows)
    if selected is not None:
        model.column_weights = selected
    return model
