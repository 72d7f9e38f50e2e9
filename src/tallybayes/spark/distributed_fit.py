"""Count the rows of a DataFrame, to fit or tune a model, or to let it learn or forget them, all or nothing.

A schema from a few rows, then one partial sum per task, combined by a tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack

import pyarrow as pa

from tallybayes import engines
from tallybayes.arrays.column import Bag
from tallybayes.columns.label_spec import check_label, label_column
from tallybayes.engines import Plan
from tallybayes.engines.partial_sums import combine_sums
from tallybayes.engines.plan import counted_rows
from tallybayes.errors import DataError, Described, ParameterError, check_integer
from tallybayes.model.fit import apply_counted
from tallybayes.model.model import Change, Model
from tallybayes.model.row_counter import grow_schema
from tallybayes.spark.data_frame import SparkRows, named_batches
from tallybayes.spark.tree import WIDTHS, Mapped, reduce_partitions
from tallybayes.spark.vector_columns import (
    BAG,
    Forms,
    element_name,
    forms_of_sample,
    forms_of_schema,
    n_elements,
    with_vectors,
)
from tallybayes.state.counting import CountingPlan
from tallybayes.state.model_state import ModelState
from tallybayes.state.options import LABELLED, OPTIONS, FitOptions, with_options
from tallybayes.storage.partial_content import PartialSum
from tallybayes.tables.table import to_table
from tallybayes.tuning import tune as tune_table
from tallybayes.tuning.tuning_result import Tuning
from tallybayes.weights.weight_selection import select_weights

__all__ = ["count_rows", "fit", "fit_rows", "forget", "learn", "tune"]


@with_options(LABELLED)
def fit(
    df: Any,
    label: str | None = None,
    *,
    sample_weight: str | None = None,
    widths: Sequence[int] = WIDTHS,
    **options: Unpack[FitOptions],
) -> Model:
    """Fit a model to a DataFrame of Spark.

    df: a DataFrame, of classic Spark or of Spark Connect. A column of vectors of Spark ML becomes a column for every
    element (`features[0]`), or a bag if all vectors of the sample are sparse.
    label: the name of a column; the label "rating=R" is true where the column rating is R.
    sample_weight: the name of a column with the weights of the rows.
    widths: how many partial sums are left after each level of the tree that combines them.
    {options}

    Families are inferred from up to 20,000 rows that Spark returns first, unless `schema` is given. Only the columns
    that the model needs are read. The model equals that of `tallybayes.fit` on the same rows with the same schema.
    """
    model = fit_rows(df, label, sample_weight, dict(options), widths)
    if not model.classes:
        column = label_column(str(model.schema.label), df.columns)[0]
        got = Described(f"{model.skipped:,} rows without one") if model.skipped else 0
        raise DataError("rows with a label to learn from", got=got, column=column)
    return model


def fit_rows(
    df: Any, label: str | None, sample_weight: str | None, options: dict[str, Any], widths: Sequence[int]
) -> Model:
    """The model of a DataFrame, without classes if no row has a label."""
    if options.get("base_model") is not None:
        hint = "fit the own rows without Spark, on the base model"
        raise ParameterError("no base_model on Spark", got=Described("one"), hint=hint)
    rows = SparkRows(df)
    names = _columns_in_question(rows, label, sample_weight, options)
    rows.check_types(names)
    sample = rows.sample(vectors=names)
    forms = _vector_forms(rows, sample, options)
    options = _for_elements(options, forms)
    head = to_table(with_vectors(sample, forms))
    plan = engines.plan_fit(head, label, sample_weight=sample_weight, **options)
    plan = _with_late_columns(plan, rows, plan.schema.columns, are_new=False)
    return engines.fitted(plan, count_rows(rows, plan, forms, widths=widths), data=head)


def count_rows(rows: SparkRows, plan: Plan, forms: Forms, *, widths: Sequence[int] = WIDTHS) -> PartialSum:
    """The partial sum of all rows of a DataFrame."""
    names = rows.needed(plan.schema, plan.counting.label, plan.counting.weight, forms)
    rows.check_types(names)
    counter = _counter(plan.to_bytes(), names, {name: form for name, form in forms.items() if name in names})
    total = reduce_partitions(rows.select(names), counter, engines.combine, combine_sums, widths=widths)
    return combine_sums(engines.partial([], plan.to_bytes())) if total is None else total


def _counter(plan: bytes, names: list[str], forms: Forms) -> Mapped:
    def count(number: int, batches: Iterator[pa.RecordBatch]) -> bytes:
        return engines.partial(named_batches(batches, names, forms), plan)

    return count


def _columns_in_question(
    rows: SparkRows, label: str | None, sample_weight: str | None, options: Mapping[str, Any]
) -> list[str]:
    """The columns that may be used, of whatever type they are."""
    ignored, only, schema, group = (options.get(name) for name in ("ignore", "only", "schema", "group"))
    apart = {label, sample_weight, group if isinstance(group, str) else None}
    names = [name for name in rows.types if name not in set(ignored or ())]
    if only is not None:
        names = [name for name in names if name in {*only, *apart}]
    if schema is not None:
        names = [name for name in names if name in {*schema.columns, *apart, schema.label, schema.weight, schema.group}]
    return names


def _vector_forms(rows: SparkRows, sample: pa.Table, options: Mapping[str, Any]) -> dict[str, int]:
    """What columns of vectors become: as the user says, as in the schema, or by their first rows."""
    schema, vectors = options.get("schema"), rows.vectors
    if schema is not None:
        return forms_of_schema(schema, vectors)
    forms = forms_of_sample(sample, vectors)
    families = OPTIONS["families"].domain.check("families", options.get("families"))
    for name in vectors if isinstance(families, Mapping) else ():
        family = families.get(name)
        if family is not None:
            forms[name] = BAG if getattr(family, "column", None) is Bag else n_elements(sample, name)
    return forms


def _for_elements(options: Mapping[str, Any], forms: Forms) -> dict[str, Any]:
    """Options that name a column of vectors, for the columns of its elements."""
    result = dict(options)
    names = {name: [element_name(name, i) for i in range(size)] for name, size in forms.items() if size != BAG}
    for option in ("ignore", "only"):
        if result.get(option) is not None:
            result[option] = [element for name in result[option] for element in names.get(name, [name])]
    for option in ("families", "smoothing", "missing_as_value"):
        if isinstance(by_column := result.get(option), Mapping):
            result[option] = {
                element: value for name, value in by_column.items() for element in names.get(name, [name])
            }
    return result


def _with_late_columns(plan: Plan, rows: SparkRows, names: Iterable[str], *, are_new: bool) -> Plan:
    """The plan with the families of those of some columns that have no values in the sample but elsewhere.

    are_new: whether they came while a model was learning.
    """
    fields = plan.schema.columns
    left = {name for name in names if name not in fields or fields[name].has_no_value} & rows.types.keys()
    left -= {*rows.vectors}
    while left:
        schema = plan.schema.copy()
        schema.columns = {name: spec for name, spec in schema.columns.items() if name not in left}
        grown = grow_schema(schema, to_table(rows.with_values(left)), plan.counting, are_new=are_new).columns
        new = {name: spec for name, spec in grown.items() if name not in schema.columns}
        known = left & new.keys()
        if not known:
            break
        parts = {name: spec for name, spec in new.items() if (part := spec.reader.part) and part.column in known}
        schema.columns = plan.schema.columns | {name: new[name] for name in known} | parts
        plan, left = replace(plan, counting=replace(plan.counting, schema=schema)), left - known
    return plan


def learn(
    model: Model, df: Any, *, label: str | None = None, sample_weight: str | None = None, widths: Sequence[int] = WIDTHS
) -> Change:
    """Add the rows of a DataFrame to a model, as `Model.learn`; new labels, categories and columns are added too.

    label, sample_weight: names of columns, if they are not those that the model was fitted with.
    widths: how many partial sums are left after each level of the tree that combines them.
    """
    return _change(model, df, "learn", label, sample_weight, widths)


def forget(
    model: Model, df: Any, *, label: str | None = None, sample_weight: str | None = None, widths: Sequence[int] = WIDTHS
) -> Change:
    """Subtract the rows of a DataFrame from a model, as `Model.forget`."""
    return _change(model, df, "forget", label, sample_weight, widths)


def _change(
    model: Model, df: Any, verb: Literal["learn", "forget"], label: Any, sample_weight: Any, widths: Sequence[int]
) -> Change:
    rows, schema = SparkRows(df), model.schema
    forms, data = forms_of_schema(schema, rows.vectors), None
    plan = engines.plan_change(model, label=label, sample_weight=sample_weight, verb=verb)
    if isinstance(plan.counting.label, str):
        check_label(plan.counting.label, rows.types)
    if verb == "learn":
        known = {name for name, spec in schema.columns.items() if not spec.is_undecided}
        apart = {*known, plan.counting.label, plan.counting.weight, schema.label, schema.weight}
        new = [name for name in rows.types if name not in apart and not forms.get(name)]
        rows.check_types(new)
        if new:
            sample = rows.sample({*new, plan.counting.label}, vectors=new)
            forms |= forms_of_sample(sample, [name for name in new if name in forms])
            data = to_table(with_vectors(sample, {name: form for name, form in forms.items() if name in new}))
            plan = engines.plan_change(model, data, label=label, sample_weight=sample_weight, verb=verb)
            plan = _with_late_columns(plan, rows, new, are_new=True)
    return engines.apply(model, plan, count_rows(rows, plan, forms, widths=widths), verb=verb)


def tune(
    df: Any,
    label: str | None = None,
    *,
    sample_weight: str | None = None,
    sample: int = 50_000,
    seed: int = 0,
    widths: Sequence[int] = WIDTHS,
    **options: Any,
) -> Tuning:
    """Select weights, corrections, interactions and hyperparameters on a sample, and count all rows by them.

    label, sample_weight: names of columns.
    sample: how many rows are drawn at random and sent to the driver, to tune on.
    options: those of `tallybayes.tune`.

    The steps and losses of the result are those of the sample. Its model has the sums of all rows, with column weights
    fitted anew on a sample of these; other corrections are those of the sample.
    """
    check_integer("sample", sample, at_least=10)
    rows = SparkRows(df)
    rows.check_types(_columns_in_question(rows, label, sample_weight, options))
    drawn = rows.random_rows(sample, seed)
    forms = _vector_forms(rows, drawn, options)
    head = to_table(with_vectors(drawn, forms))
    tuning: Tuning = tune_table(head, label, sample_weight=sample_weight, seed=seed, **_for_elements(options, forms))
    state = tuning.model.snapshot().state
    settings = replace(state.settings, column_weights=None)
    counting = CountingPlan(state.schema, settings, state.schema.label, state.schema.weight)
    plan = Plan(counting, "auto" if state.settings.column_weights is not None else None)
    plan = _with_late_columns(plan, rows, plan.schema.columns, are_new=False)
    part = counted_rows(plan, count_rows(rows, plan, forms, widths=widths))
    model = Model(ModelState(plan.schema, settings))
    drawn_rows = part.sample
    apply_counted(model, part, 1)
    if state.settings.column_weights is not None:
        weights = select_weights(model.snapshot().state, drawn_rows, like=state.settings.column_weights)
        if weights is not None:
            model.column_weights = weights
    return replace(tuning, model=model)
