"""What `fit` decides before it counts a row: the plan of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tallybayes.arrays.column import Codes
from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.label_spec import LabelSpec, label_column
from tallybayes.columns.schema import Schema
from tallybayes.errors import ParameterError
from tallybayes.model.column_plan import plan_columns
from tallybayes.model.dependence import with_one_dependence
from tallybayes.model.label_plan import plan_label
from tallybayes.model.learning_steps import Weighting
from tallybayes.model.model import Model
from tallybayes.state.counting_plan import CountingPlan
from tallybayes.state.model_state import ModelState
from tallybayes.state.option_domains import WEIGHTS
from tallybayes.state.options import OPTIONS, SETTINGS, FitOptions, complete
from tallybayes.state.settings import Settings
from tallybayes.tables.source import Source
from tallybayes.tables.table import Raw, Table

__all__ = ["FitPlan"]


@dataclass(frozen=True, eq=False)
class FitPlan:
    """The columns of a model and how their cells are read, its settings, its label, and how columns are weighted.

    label, sample_weight: names of columns, or arrays.
    """

    schema: Schema
    settings: Settings
    label: Any
    sample_weight: Any = None
    column_weights: Weighting = None

    @classmethod
    def of(cls, source: Source, label: Any, options: FitOptions, *, sample_weight: Any = None) -> FitPlan:
        """The plan for a source, from its first rows and the options of `fit`."""
        values = complete(options)
        column_weights = WEIGHTS.check("column_weights", values.pop("column_weights"))
        del values["preset"]  # which has filled in others
        settings = Settings(**{name: values.pop(name) for name in SETTINGS})
        columns = {name: OPTIONS[name].domain.check(name, value) for name, value in values.items()}
        dependence, bins = columns.pop("dependence"), columns.pop("bins")
        known: Schema | None = columns["schema"]
        source.missing = known.missing if known is not None and source.missing is None else source.missing
        label, sample_weight = _names(label, sample_weight, known, source.head())
        specs = plan_columns(source.head(), label, sample_weight, settings, **columns)
        name, weight = (name if isinstance(name, str) else None for name in (label, sample_weight))
        same = known.label_spec if known is not None and known.label == name else None  # of the same label
        label_spec = same or LabelSpec(name)
        if settings.infer == "data" or bins is not None:
            cells = _first_cells(specs, source, label)
            label_spec = plan_label(same, source, label, bins, cells=cells)
            for column in cells.keys() & specs.keys() if known is None else ():
                specs[column] = settings.inference.with_key_form(specs[column], cells[column])
        schema = Schema(label_spec, specs, weight, source.missing)
        if dependence == "one":
            schema = with_one_dependence(schema, source, label)
        return cls(schema, settings, label, sample_weight, column_weights)

    @property
    def counting(self) -> CountingPlan:
        """How the rows are counted."""
        return CountingPlan(self.schema, self.settings, self.label, self.schema.weight)

    def empty_model(self) -> Model:
        """A model that has not learned a row yet."""
        return Model(ModelState(self.schema, self.settings))


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


def _first_cells(specs: Mapping[str, ColumnSpec], source: Source, label: Any) -> dict[str, Raw]:
    """The label and the columns of categories in the first rows, in the types in which they are learned.

    Of a text file the first rows hold numbers where cells look like numbers, but labels and categories are learned as
    the texts that they are: `Table.texts`.
    """
    head = source.head()
    names: set[str | None] = {name for name, spec in specs.items() if spec.family and spec.family.column is Codes}
    names |= {label_column(label, head.columns)[0]}
    return {name: head.texts.get(name, raw) for name, raw in head.columns.items() if name in names}
