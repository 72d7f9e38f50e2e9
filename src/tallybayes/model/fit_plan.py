"""What is decided before a row is counted: the plan of a model, and of a change to one.

Everything that depends on the data before counting is decided here, from the first rows: families, forms of labels and
categories, cells of derived columns. So no two pieces of the data can decide differently.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tallybayes.arrays.array_types import Codes32
from tallybayes.arrays.column import Codes, Column
from tallybayes.columns.batch import encode_columns, with_parts
from tallybayes.columns.cell_cuts import coarse_inputs
from tallybayes.columns.column_doubts import find_sign_values, words_for_no_label
from tallybayes.columns.column_spec import ColumnSpec, Origin
from tallybayes.columns.group_detection import GroupColumn
from tallybayes.columns.label_spec import LabelSpec, label_column
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.columns.readers.cells_reader import CellsReader
from tallybayes.columns.readers.date_reader import UnreadDates
from tallybayes.columns.schema import Schema
from tallybayes.doubts import tell_doubts, tell_together
from tallybayes.errors import DataError, ParameterError
from tallybayes.families import Family, FullJoint, OneDependence
from tallybayes.model.base_plan import base_state, base_sums, check_base_label, columns_in, options_on
from tallybayes.model.column_plan import plan_columns
from tallybayes.model.joint_columns import (
    CELL_KINDS,
    check_members,
    split_groups,
    with_all_numbers,
    with_group,
    with_groups,
)
from tallybayes.model.label_plan import plan_label
from tallybayes.model.likely_groups import find_likely_group, tell_likely_group
from tallybayes.model.model import Model
from tallybayes.model.option_conflicts import check_excluded_members, check_strengths_of_priors
from tallybayes.scoring.prior_rows import check_priors
from tallybayes.state.column_weights import Weighting
from tallybayes.state.counting import CountingPlan
from tallybayes.state.model_state import BaseSums, ModelState
from tallybayes.state.option_domains import WEIGHTS
from tallybayes.state.options import LABELLED, OPTIONS, SETTINGS, FitOptions, complete
from tallybayes.state.settings import Settings
from tallybayes.storage.plan_content import plan_to_bytes
from tallybayes.tables.source import BadRows, Source, TableSource
from tallybayes.tables.table import Raw, Table, concatenate_tables

__all__ = ["Plan"]

_FOLDER = "label"  # the column of documents that has the name of their folder
_NAME = "all columns"  # of the derived column
_ROWS = 20_000  # from which cells are cut
_CELL_FAMILIES: dict[str, tuple[Family, str]] = {  # by dependence: of the derived column, and the reason for it
    "one": (OneDependence(), "each column depends on the class and one other column"),
    "full": (FullJoint(), "a probability for each combination of cells"),
}


@dataclass(frozen=True, eq=False)
class Plan:
    """How rows are counted, and how their sum becomes a model. Print its `schema`.

    weights: the option of `fit`; rows are sampled only if the weights are to be fitted.
    no_label: the words that are read as a missing label, with how many of the first rows have them.
    likely_group: the column that the rows seem to be grouped by, if no groups are given.
    base: the sums that the model begins with; base_settings: of that model.
    is_part: a schema was given, so that the data may be a part that lacks some classes.
    """

    counting: CountingPlan
    weights: Weighting = None
    no_label: Mapping[str, int] = field(default_factory=dict)
    likely_group: GroupColumn | None = None
    base: BaseSums | None = None
    base_settings: Settings | None = None
    is_part: bool = False

    @classmethod
    def of(cls, source: Source, label: Any, options: FitOptions, *, sample_weight: Any = None) -> Plan:
        """The plan to fit a model to a source, from its first rows and the options of `fit`."""
        with tell_together() as doubts:
            plan = cls._of(source, label, options, sample_weight)
            plan.schema.doubts = tuple(doubts)
        return plan

    @classmethod
    def _of(cls, source: Source, label: Any, options: FitOptions, sample_weight: Any) -> Plan:
        base, given_options = base_state(options), options
        options = options if base is None else options_on(base, options)
        values = complete(options, LABELLED)
        strength = OPTIONS["base_strength"].domain.check("base_strength", values.pop("base_strength"))
        del values["base_model"]
        weights = WEIGHTS.check("column_weights", values.pop("column_weights"))
        del values["preset"]  # which has filled in others
        settings = Settings(**{name: values.pop(name) for name in SETTINGS})
        check_strengths_of_priors(given_options, settings)
        columns = {name: OPTIONS[name].domain.check(name, value) for name, value in values.items()}
        dependence, bins = columns.pop("dependence"), columns.pop("bins")
        columns["families"], groups = split_groups(columns["families"])
        check_excluded_members(groups, columns["ignore"], columns["only"])
        known: Schema | None = columns["schema"]
        is_there = base is None or known is not base.schema  # a base may have columns that the data lacks
        if columns["group"] is None and known is not None and (is_there or known.group in source.head().columns):
            columns["group"] = known.group
        source.use_words(None if known is None else known.missing)
        source.look_for([label, None if known is None else known.label, *([_FOLDER] if label is None else [])])
        label, sample_weight = _names(label, sample_weight, known, source.head())
        if known is None and settings.infer == "data":
            source.missing = find_sign_values(source.head(), source.missing, label)
        families = columns["families"]  # by column; one family is that of every column
        named = () if families is None else families if isinstance(families, Mapping) else source.head().columns
        settled = {*named, *(columns["ignore"] or ())}
        of_label = ("missing words", "categories")  # said of values that would be read as numbers: labels are not
        label_name = label_column(label, source.head().columns)[0]
        about = (one for one in source.head().doubts if one.column not in settled)
        tell_doubts(one for one in about if one.column != label_name or one.kind not in of_label)
        if base is not None:
            check_base_label(base, label if isinstance(label, str) else None)
        if base is not None and known is base.schema:
            columns["schema"] = columns_in(known, source.head())
        try:
            specs = plan_columns(
                source.head(), label, sample_weight, settings, **columns, words=source.missing, signs=source.signs
            )
        finally:  # what is wrong with a column of a group is said of the group
            check_members(groups, source.head(), label, source.signs)
        if base is not None:  # columns that the data lacks stay those of the base
            specs = {**{name: spec for name, spec in base.schema.columns.items() if name not in specs}, **specs}
        name, weight = (name if isinstance(name, str) else None for name in (label, sample_weight))
        same = known.label_spec if known is not None and known.label == name else None  # of the same label
        label_spec = same or LabelSpec(name)
        if settings.infer == "data" or bins is not None:
            cells = _first_cells(specs, source, label)
            label_spec = plan_label(same, source, label, bins, cells=cells)
            for column in cells.keys() & specs.keys() if known is None else ():
                specs[column] = settings.inference.with_key_form(specs[column], cells[column])
        schema = Schema(label_spec, specs, weight, source.missing, columns["group"])
        schema = with_groups(schema, groups, lambda schema, names: _cut(schema, source, label, names))
        if dependence in _CELL_FAMILIES:
            schema = _with_all_cells(schema, source, label, dependence)
        elif dependence == "gaussian":
            schema = with_all_numbers(schema)
        check_priors(settings, schema, _first_keys(settings, source, label, schema))
        likely = find_likely_group(source.head(), schema, label) if settings.infer == "data" else None
        if likely is not None:
            tell_likely_group(likely)
        no_label = words_for_no_label(source.head(), label)
        counting = CountingPlan(schema, settings, label, sample_weight)
        if base is None:
            return cls(counting, weights, no_label, likely, is_part=known is not None)
        sums = base_sums(base, strength, schema, settings)
        begins = ModelState(schema, settings, sums.statistics)  # labels and keys are read as those of the base
        counting = CountingPlan.of(begins, label, sample_weight, learns=True)
        return cls(counting, weights, no_label, likely, sums, base.settings, is_part=True)

    @property
    def schema(self) -> Schema:
        """The family of every column and the reason for it."""
        return self.counting.schema

    def empty_model(self) -> Model:
        """A model that has not learned a row yet."""
        if self.base is None:
            return Model(ModelState(self.schema, self.counting.settings))
        return Model(ModelState(self.schema, self.counting.settings, self.base.statistics.copy(), base=self.base))

    def to_bytes(self) -> bytes:
        """The plan for `engines.partial`; label and weight are names of columns."""
        return plan_to_bytes(self.counting, draws=isinstance(self.weights, str))

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of its bytes, which every partial sum carries."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


def _names(label: Any, sample_weight: Any, schema: Schema | None, head: Table) -> tuple[Any, Any]:
    """Label and weight: those given, else those of the schema."""
    if schema is not None:
        label = schema.label if label is None else label
        sample_weight = schema.weight if sample_weight is None else sample_weight
    if label is None and head.holds_documents and _FOLDER in head.columns:
        label = _FOLDER
    if label is None:
        raise ParameterError("label, the name of a column or an array of labels", got=None)
    if isinstance(label, (int, float)) and str(label) in head.columns:
        label = str(label)  # names of columns are text
    return label, sample_weight


def _first_keys(settings: Settings, source: Source, label: Any, schema: Schema) -> dict[str, Any]:
    """One category of each column of categories that has a prior, in the type in which they are learned."""
    specs = {name: schema.columns[name] for name in settings.column_priors or () if name in schema.families}
    keys: dict[str, Any] = {}
    for name, raw in _first_cells(specs, source, label).items() if specs else ():
        if name in specs:
            column = encode_columns(Table(len(raw), {name: raw}), Schema(None, {name: specs[name]}))[name]
            keys |= {name: column.keys[0]} if isinstance(column, Codes) and len(column.keys) else {}
    return keys


def _first_cells(specs: Mapping[str, ColumnSpec], source: Source, label: Any) -> dict[str, Raw]:
    """The label and the columns of categories in the first rows, in the types in which they are learned.

    Of a text file the first rows hold numbers where cells look like numbers, but labels and categories are learned as
    the texts that they are: `Table.texts`.
    """
    head = source.head()
    names: set[str | None] = {name for name, spec in specs.items() if spec.family and spec.family.column is Codes}
    names |= {label_column(label, head.columns)[0]}
    return {name: head.texts.get(name, raw) for name, raw in head.columns.items() if name in names}


def _with_all_cells(schema: Schema, source: Source, label: Any, dependence: str) -> Schema:
    """The schema in which columns depend on the class and on each other; itself if it has derived columns.

    The columns of numbers, booleans and categories become the inputs of one derived column and are not scored by
    themselves. Bags and texts are, as without dependence.
    """
    if schema.derived:
        return schema
    names = [name for name, family in schema.families.items() if family.column in CELL_KINDS]
    inputs, n_classes = _cut(schema, source, label, names)
    if len(inputs) < 2:
        got = [cell_input.column for cell_input in inputs]
        expected = f"two or more columns of numbers, booleans or categories for dependence {dependence!r}"
        raise ParameterError(expected, got=got)
    name = _NAME
    while name in source.head().columns:
        name += "_"
    family, reason = _CELL_FAMILIES[dependence]
    family.check_inputs(name, [cell_input.n_cells for cell_input in inputs], n_classes)
    return with_group(schema, CellsReader(inputs), name, family, reason, Origin.INFERRED)


def _cut(schema: Schema, source: Source, label: Any, names: Collection[str]) -> tuple[tuple[CellInput, ...], int]:
    """The cells of some columns, from the first rows, and the number of classes there.

    They are cut once, before anything is counted: the laws hold given the schema.
    """
    specs = {name: schema.columns[name] for name in names}
    head = with_parts(source.head(), schema, UnreadDates())
    columns, codes = _encode_some(source, head, Schema(None, specs), label)
    if not (codes >= 0).any():
        raise DataError("rows with a label, to cut columns into cells", got=0)
    return tuple(coarse_inputs(columns, codes).values()), int(codes.max()) + 1


def _encode_some(source: Source, head: Table, schema: Schema, label: Any) -> tuple[dict[str, Column], Codes32]:
    """The columns and classes of at most 20,000 rows, evenly spaced; bad rows are left out if the source skips them."""
    codes = schema.label_spec.read(head, label).codes
    at = np.arange(head.n_rows) if head.n_rows <= _ROWS else np.linspace(0, head.n_rows - 1, _ROWS).astype(np.int64)
    rows = TableSource(Table(len(at), head.take(at).columns, head.origin, at))  # errors name rows by `at`
    rows.bad = None if source.bad is None else BadRows()
    parts = [part for part, _ in rows.work_on_good_rows(rows.head(), lambda part: encode_columns(part, schema))]
    if not parts:
        return {}, codes[:0]
    kept = np.concatenate([part.rows for part in parts if part.rows is not None])
    return encode_columns(concatenate_tables(parts), schema), codes[kept]
