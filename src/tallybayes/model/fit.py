"""Fit a model to data: infer the family of every column, then count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from tallybayes.arrays.axis import sort_keys
from tallybayes.columns.label_spec import label_column
from tallybayes.columns.readers.key_reader import as_codes
from tallybayes.errors import DataError, ParameterError, did_you_mean, shorten
from tallybayes.io.read import to_source
from tallybayes.model.fit_plan import FitPlan
from tallybayes.model.label_plan import warn_about_classes
from tallybayes.model.learning_steps import Weighting, learn_and_sample, sample_for, set_column_weights
from tallybayes.model.model import Change, Model
from tallybayes.state.options import FitOptions, with_options
from tallybayes.state.row_sample import RowSample
from tallybayes.tables.source import Source
from tallybayes.typing import LabelLike, TableLike, WeightLike

__all__ = ["check_value", "finish_fit", "fit"]


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
    plan = FitPlan.of(source, label, options, sample_weight=sample_weight)
    model, sample = plan.empty_model(), sample_for(plan.column_weights)
    change = learn_and_sample(model, sample, source, label=plan.label, sample_weight=plan.sample_weight)
    if not change.rows and not change.skipped and source.head().is_from_file:
        hint = "the file has no rows, or all of them were skipped as bad rows"
        raise source.head().locate(DataError("rows to learn from", got=0, hint=hint))
    return finish_fit(model, plan.label, plan.column_weights, sample, change, source)


def finish_fit(
    model: Model, label: Any, weights: Weighting, sample: RowSample | None, change: Change, source: Source
) -> Model:
    """The model after it has learned its rows: warn of what is doubtful, and fit column weights on the sample.

    source: whose first rows show the values of a label that is missing.
    """
    check_value(model, label, source)
    warn_about_classes(model.classes, label, change.notes)
    return set_column_weights(model, weights, sample, warns=True)


def check_value(model: Model, label: Any, source: Source) -> None:
    """Raise an error if the label is "rating=R" and no row has it, or if a class with a weight has no rows."""
    _check_class_weight(model)
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
