"""Fit a model to data: infer the family of every column, then count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from tallybayes.arrays.axis import sort_keys
from tallybayes.columns.encode import as_codes
from tallybayes.columns.label import label_column
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, ParameterError, did_you_mean, shorten
from tallybayes.io.read import to_source
from tallybayes.model.column_plan import plan_columns
from tallybayes.model.dependence import with_one_dependence
from tallybayes.model.key_plan import add_key_forms, first_cells
from tallybayes.model.label_plan import plan_label, warn_about_classes
from tallybayes.model.model import Change, Model
from tallybayes.model.weighting import Weighting, learn_sampled, sample_for, weighted
from tallybayes.state.model_state import ModelState
from tallybayes.state.option_domains import WEIGHTS
from tallybayes.state.options import OPTIONS, SETTINGS, FitOptions, complete, with_options
from tallybayes.state.row_sample import RowSample
from tallybayes.state.settings import Settings
from tallybayes.tables.source import Source
from tallybayes.tables.table import Table
from tallybayes.typing import LabelLike, TableLike, WeightLike

__all__ = ["check_value", "finished_fit", "fit", "planned", "weighting"]


@with_options()
def fit(
    data: TableLike, label: LabelLike = None, *, sample_weight: WeightLike = None, **options: Unpack[FitOptions]
) -> Model:
    """Fit a naive Bayes model to a table.

    data: a data frame of any kind, a NumPy or SciPy sparse matrix, a list of dicts or a dict of lists; a path, a glob,
    a query or "-" (standard input); an Arrow stream, a dataset, a lazy frame or an iterator of batches.
    label: the name of a column, or an array; the label "rating=R" is true where the column rating is R.
    sample_weight: the weights of the rows: the name of a column, or an array.
    {options}

    >>> import tallybayes as tb
    >>> rows = [{"colour": "red", "size": 3.1, "fruit": "apple"}, {"colour": "red", "size": 2.9, "fruit": "apple"},
    ...         {"colour": "yellow", "size": 5.0, "fruit": "banana"},
    ...         {"colour": "yellow", "size": 5.2, "fruit": "banana"}]
    >>> model = tb.fit(rows, label="fruit")
    >>> model.predict([{"colour": "yellow"}, {"size": 3.0}]).tolist()
    ['banana', 'apple']
    """
    source = to_source(data)
    model, label = planned(source, label, options, sample_weight=sample_weight)
    weights = weighting(options)
    sample = sample_for(weights)
    change = learn_sampled(model, sample, source, label=label, sample_weight=sample_weight)
    if not change.rows and not change.skipped and source.head().is_from_file:
        hint = "the file has no rows, or all of them were skipped as bad rows"
        raise source.head().located(DataError("rows to learn from", got=0, hint=hint))
    return finished_fit(model, label, weights, sample, change, source)


def finished_fit(
    model: Model, label: Any, weights: Weighting, sample: RowSample | None, change: Change, source: Source
) -> Model:
    """The model after it has learned its rows: warn of what is doubtful, and fit column weights on the sample.

    source: whose first rows show the values of a label that is missing.
    """
    check_value(model, label, source)
    warn_about_classes(model.classes, label, change.notes)
    return weighted(model, weights, sample, warns=True)


def weighting(options: FitOptions) -> Weighting:
    """The option `column_weights`, checked."""
    found: Weighting = WEIGHTS.check("column_weights", complete(options)["column_weights"])
    return found


def planned(source: Source, label: Any, options: FitOptions, *, sample_weight: Any = None) -> tuple[Model, Any]:
    """The model that `fit` would fill, still empty, and its label."""
    values = complete(options)
    WEIGHTS.check("column_weights", values.pop("column_weights"))
    del values["preset"]
    settings = Settings(**{name: values.pop(name) for name in SETTINGS})
    columns = {name: OPTIONS[name].domain.check(name, value) for name, value in values.items()}
    dependence, bins = columns.pop("dependence"), columns.pop("bins")
    schema: Schema | None = columns["schema"]
    source.missing = schema.missing if schema is not None and source.missing is None else source.missing
    head = source.head()
    label, sample_weight = _names(label, sample_weight, schema, head)
    result = plan_columns(head, label, sample_weight, settings, **columns)
    result.missing = source.missing
    same = schema if schema is not None and schema.label == result.label else None  # of the same label
    result.bins = same.bins if same is not None else None
    if settings.infer == "data" or bins is not None:
        cells = first_cells(result, source, label)
        plan_label(result, source, label, bins, cells=cells)
        if schema is None:
            add_key_forms(result, cells)
    if same is not None:
        result.label_form = same.label_form
    if dependence == "one":
        result = with_one_dependence(result, source, label)
    return Model(ModelState(result, settings)), label


def _names(label: Any, sample_weight: Any, schema: Schema | None, head: Table) -> tuple[Any, Any]:
    """Label and weight: those given, else those of the schema."""
    if schema is not None:
        label = schema.label if label is None else label
        sample_weight = schema.weight if sample_weight is None else sample_weight
    if label is None:
        raise ParameterError("label, the name of a column or an array of labels", got=None)
    if isinstance(label, (int, float)) and str(label) in head.columns:
        label = str(label)  # names of columns are text
    return label, sample_weight


def check_value(model: Model, label: Any, source: Source) -> None:
    """Raise an error if the label is "rating=R" and no row has it, or if a class with a weight has no rows."""
    _check_class_weight(model)
    if not isinstance(label, str) or model.classes != [False]:
        return
    head = source.head()
    column, value = label_column(label, head.columns)
    if value is None or column not in head.columns:
        return
    values = [str(key) for key in sort_keys(as_codes(column, head.columns[column]).keys)]
    hint = did_you_mean(value, values) or f"its values are {shorten(values, 200)}"
    raise DataError(f"a row with the value {value!r}", got=values, column=column, hint=hint)


def _check_class_weight(model: Model) -> None:
    """Raise a ParameterError if a class with a weight is not a class of the data."""
    given = model.settings.class_weight
    for label in given if isinstance(given, Mapping) and model.classes else ():
        if label not in model.classes:
            hint = did_you_mean(label, model.classes, "classes")
            raise ParameterError("class_weight for classes of the data", got=label, hint=hint)
