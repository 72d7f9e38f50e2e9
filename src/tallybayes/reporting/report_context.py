"""The model and data of a report, and values derived from them that several sections use."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from tallybayes.explaining.description import Description
from tallybayes.formatting import shown
from tallybayes.model import Model
from tallybayes.reporting.chart_style import colour_order
from tallybayes.reporting.column_chart_data import most_frequent_classes
from tallybayes.reporting.report_data import ReportData

__all__ = ["ReportContext"]


class ReportContext:
    """A model and the report data collected with it."""

    def __init__(self, model: Model, data: ReportData, *, leave_one_out: bool = False) -> None:
        self.model = model
        self.data = data
        self.leave_one_out = leave_one_out

    @cached_property
    def names(self) -> list[str]:
        """The classes as text."""
        return [shown(label) for label in self.model.classes]

    @cached_property
    def colours(self) -> list[str]:
        """The classes in the order of their colours."""
        return colour_order(self.names, [self.names[code] for code in most_frequent_classes(self.model)])

    @cached_property
    def description(self) -> Description:
        """The parameters of every column."""
        return self.model.describe()

    @cached_property
    def columns_by_information(self) -> list[str]:
        """The columns of the model in descending order of information, then derived columns."""
        families, derived = self.model.schema.families, self.model.schema.derived
        own = [one.column for one in self.data.importance if one.column in families and one.column not in derived]
        return [*own, *derived]

    @cached_property
    def rarest_class(self) -> int:
        """The code of the class with the fewest rows, usually the one of interest."""
        return int(np.argmin([self.data.evaluation.class_rows.get(label, np.inf) for label in self.model.classes]))

    @cached_property
    def curve_labels(self) -> list[Any]:
        """The classes with curves: the rarer of two, the most frequent of several, if they have rows."""
        codes = [self.rarest_class] if len(self.names) == 2 else most_frequent_classes(self.model)
        labels = [self.model.classes[code] for code in codes]
        rows = self.data.evaluation.class_rows
        return [label for label in labels if 0 < rows.get(label, 0) < self.data.evaluation.n_rows]
