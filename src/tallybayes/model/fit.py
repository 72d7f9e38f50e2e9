"""Fit a model to data: infer the family of every column, then count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

from tallybayes.arrays.axis import sort_keys
from tallybayes.data.category_order import with_order
from tallybayes.data.date_format import DATE_PARTS, DateFormat
from tallybayes.data.date_parts import part_name
from tallybayes.data.encode import as_codes
from tallybayes.data.label import label_column
from tallybayes.data.number_columns import tell_doubts, tell_none, with_format, with_readings
from tallybayes.data.read import to_source
from tallybayes.data.schema import SPECIFIED, Field, Schema
from tallybayes.data.source import Source
from tallybayes.data.table import Table
from tallybayes.data.whole_numbers import with_whole
from tallybayes.errors import DataError, ParameterError, did_you_mean, shorten
from tallybayes.families import Family, Text
from tallybayes.model.dependence import with_one_dependence
from tallybayes.model.key_plan import add_key_forms, first_cells
from tallybayes.model.label_plan import plan_label, warn_about_classes
from tallybayes.model.model import Model
from tallybayes.model.weighting import Weighting, learn_sampled, sample_for, weighted
from tallybayes.state.model_state import ModelState
from tallybayes.state.options import OPTIONS, SETTINGS, FitOptions, complete, with_options
from tallybayes.state.settings import Settings

__all__ = ["check_value", "fit", "plan", "planned", "weighting"]

EXCLUDED = "excluded by the user"


@with_options()
def fit(data: Any, label: Any = None, *, weight: Any = None, **options: Unpack[FitOptions]) -> Model:
    """Fit a naive Bayes model to a table.

    data: a data frame of any kind, a NumPy or SciPy sparse matrix, a list of dicts or a dict of lists; a path, a glob,
    a query or "-" (standard input); an Arrow stream, a dataset, a lazy frame or an iterator of batches.
    label: the name of a column, or an array; the label "rating=R" is true where the column rating is R.
    weight: the weights of the rows: the name of a column, or an array.
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
    model, label = planned(source, label, options, weight=weight)
    weights = weighting(options)
    sample = sample_for(weights)
    change = learn_sampled(model, sample, source, label=label, weight=weight)
    if not change.rows and not change.skipped and source.head().is_from_file:
        hint = "the file has no rows, or all of them were skipped as bad rows"
        raise source.head().located(DataError("rows to learn from", got=0, hint=hint))
    check_value(model, label, source)
    warn_about_classes(model.classes, label, change.notes)
    return weighted(model, weights, sample, warns=True)


def weighting(options: FitOptions) -> Weighting:
    """The option `weights`, checked."""
    found: Weighting = OPTIONS["weights"].domain.check("weights", options.get("weights", OPTIONS["weights"].default))
    return found


def planned(source: Source, label: Any, options: FitOptions, *, weight: Any = None) -> tuple[Model, Any]:
    """The model that `fit` would fill, still empty, and its label."""
    values = complete(options)
    OPTIONS["weights"].domain.check("weights", values.pop("weights"))
    settings = Settings(**{name: values.pop(name) for name in SETTINGS})
    columns = {name: OPTIONS[name].domain.check(name, value) for name, value in values.items()}
    dependence, bins = columns.pop("dependence"), columns.pop("bins")
    schema: Schema | None = columns["schema"]
    source.missing = schema.missing if schema is not None and source.missing is None else source.missing
    head = source.head()
    label, weight = _names(label, weight, schema, head)
    result = plan(head, label, weight, settings, **columns)
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


def plan(
    head: Table,
    label: Any,
    weight: Any,
    settings: Settings,
    *,
    families: Mapping[str, Family | DateFormat] | Family | DateFormat | None = None,
    ignore: list[str] | None = None,
    only: list[str] | None = None,
    schema: Schema | None = None,
) -> Schema:
    """The family of every column of a table, and the reason: specified by the user, from the schema, or inferred."""
    column = label_column(label, head.columns)[0] if isinstance(label, str) else None
    if column is not None and column not in head.columns and head.columns:
        hint = (
            did_you_mean(column, head.columns)
            or "label is the name of a column or an array of labels (tally learn and forget: --class)"
        )
        raise DataError("the label column in the data", got=list(head.columns), column=column, hint=hint)
    reserved = {name for name in (column, weight) if isinstance(name, str)}
    names = [name for name in head.columns if name not in reserved]
    chosen = families if isinstance(families, Mapping) else {} if families is None else dict.fromkeys(names, families)
    excluded = dict.fromkeys(ignore or [])
    every = {} if schema is None else schema.fields
    derived = {name: field for name, field in every.items() if field.inputs}
    given = {name: field for name, field in every.items() if name not in derived}
    by_column = (own for own in (settings.smoothing, settings.missing_as_value) if isinstance(own, Mapping))
    options = [name for own in by_column for name in own]
    for name in derived:
        if name in head.columns:
            raise ParameterError("a derived column with a name of its own", got=name)
    inputs = [own.column for field in derived.values() for own in field.inputs]

    named = {*chosen, *(only or ())}

    def asked(name: str) -> list[str]:
        """The parts of a column that the user names."""
        return [part for part in DATE_PARTS if part_name(name, part) in named]

    inferred = dict.fromkeys(name for name in names if name not in given and name not in excluded)
    head = with_readings(head, inferred) if settings.infer != "type" else head

    def field(name: str) -> Field:
        if name in chosen:
            own = chosen[name]
            if isinstance(own, DateFormat):
                return Field(name, None, SPECIFIED, dates=own)
            return replace(with_format(Field(name, own, ""), head.readings.get(name)), reason=SPECIFIED)
        if name in excluded or (only is not None and name not in only and not asked(name)):
            return Field(name, None, EXCLUDED)
        if name in given:
            return given[name]
        if schema is not None:
            return Field(name, None, "not in the schema")
        if head.tells_origin(name):
            return Field(name, None, "origin of the row")
        proposed = settings.propose(name, head.columns[name])
        if proposed.dates is not None and head.holds_documents:
            return Field(name, None, f"date of a mail; --as {name}=date uses it")
        if head.holds_prose(name):
            return proposed if proposed.is_text else Field(name, Text(), "texts of files")
        return with_format(proposed, head.readings.get(name))

    fields: dict[str, Field] = {}
    for name in names:
        own = field(name)
        if name not in chosen or chosen[name] == type(chosen[name])():  # options of a family that were given stay
            own = settings.with_unseen(own)
        if own.dates is None:
            fields[name] = with_whole(with_order(own, head.columns[name]), head.columns[name])
            continue
        parts = {part: known for part, known in given.items() if known.part is not None and known.part.column == name}
        parts = (
            {name: own, **parts}
            if given.get(name) is own
            else settings.with_parts(own, head.columns[name], asked(name))
        )
        for part, known in parts.items():
            if part not in head.columns or part == name:
                fields[part] = _part_field(
                    known, chosen, part in excluded or not (only is None or {name, part} & {*only})
                )
    fields |= {name: own for name, own in given.items() if own.dates is not None and name not in head.columns}
    for name in (*chosen, *excluded, *(only or ()), *given, *inputs, *options):
        if name not in head.columns and name not in fields and not (name in derived and name not in chosen):
            hint = did_you_mean(name, names) or f"the columns are {shorten(list(head.columns), 200)}"
            raise ParameterError("the name of a column", got=name, hint=hint)
        if name in reserved:
            raise ParameterError("a column that is neither the label nor the weight", got=name)
    usable = {name for name in fields if name not in excluded and fields[name].reason != EXCLUDED}
    fields |= _derived(derived, usable)
    for name in names:
        if name in inferred and fields[name].reason != EXCLUDED:
            tell_doubts(fields[name], head.readings.get(name))
            tell_none(name, head)
    if column is not None:
        tell_none(column, head, is_label=True)
    label_name, weight_name = (name if isinstance(name, str) else None for name in (label, weight))
    return Schema(label_name, fields, weight_name)


def _part_field(known: Field, chosen: Mapping[str, Any], is_excluded: bool) -> Field:
    """The field of a part of a date, or of the date itself, as the user wants it."""
    if known.part is None:
        return known
    if known.name in chosen:
        if isinstance(chosen[known.name], DateFormat):
            raise ParameterError("a family of a part of a date", got=str(chosen[known.name]), column=known.name)
        return replace(known, family=chosen[known.name], reason=SPECIFIED)
    return replace(known, family=None, reason=EXCLUDED) if is_excluded else known


def _derived(derived: Mapping[str, Field], usable: set[str]) -> dict[str, Field]:
    """Derived columns without the inputs that are excluded, the label or the weight."""
    return {
        name: replace(field, inputs=tuple(own for own in field.inputs if own.column in usable))
        for name, field in derived.items()
        if any(own.column in usable for own in field.inputs)
    }


def _names(label: Any, weight: Any, schema: Schema | None, head: Table) -> tuple[Any, Any]:
    """Label and weight: those given, else those of the schema."""
    if schema is not None:
        label = schema.label if label is None else label
        weight = schema.weight if weight is None else weight
    if label is None:
        raise ParameterError("label, the name of a column or an array of labels", got=None)
    if isinstance(label, (int, float)) and str(label) in head.columns:
        label = str(label)  # names of columns are text
    return label, weight


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
