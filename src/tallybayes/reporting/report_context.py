"""The model and data of a report, and values derived from them that several sections use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from tallybayes.explaining.description import Description
from tallybayes.formatting import shown
from tallybayes.model import Model
from tallybayes.reporting.chart_style import colour_order
from tallybayes.reporting.column_chart_data import most_frequent_classes
from tallybayes.reporting.report_data import ReportData

__all__ = ["CURVES", "ReportContext"]

CURVES = 100  # classes with curves and thresholds; more would make the page slow


class ReportContext:
    """A model and the report data collected with it."""

    def __init__(self, model: Model, data: ReportData, *, provenance: Mapping[str, str] | None = None) -> None:
        self.model = model
        self.data = data
        self.leave_one_out = data.evaluation.leave_one_out
        self.provenance = dict(provenance or {})

    @cached_property
    def names(self) -> list[str]:
        """The classes as text."""
        return [shown(label) for label in self.model.classes]

    @cached_property
    def colours(self) -> list[str]:
        """The classes in the order of their colours."""
        return colour_order(self.names, [self.names[code] for code in most_frequent_classes(self.model)])

    @property
    def description(self) -> Description:
        """The parameters of every column."""
        return self.data.description

    @cached_property
    def columns_by_information(self) -> list[str]:
        """The columns of the model in descending order of information, then derived columns."""
        families, derived = self.model.schema.families, self.model.schema.derived
        plain = [
            column.column
            for column in self.data.importance
            if column.column in families and column.column not in derived
        ]
        return [*plain, *derived]

    @property
    def has_nomogram(self) -> bool:
        """Whether there are two classes to compare, and a column with a ruler."""
        return len(self.names) > 1 and bool(set(self.columns_by_information) - self.model.schema.derived.keys())

    @cached_property
    def rarest_class(self) -> int:
        """The code of the class with the fewest rows, usually the one of interest."""
        return int(np.argmin([self.data.evaluation.class_rows.get(label, np.inf) for label in self.model.classes]))

    @cached_property
    def curve_labels(self) -> list[Any]:
        """The classes with curves that can be picked: all that have rows, at most the hundred most frequent."""
        rows = self.data.evaluation.class_rows
        labels = [label for label in self.model.classes if 0 < rows.get(label, 0) < self.data.evaluation.n_rows]
        most = set(sorted(range(len(labels)), key=lambda i: -rows[labels[i]])[:CURVES])
        return [label for i, label in enumerate(labels) if i in most]

    @cached_property
    def drawn_classes(self) -> list[str]:
        """The classes in the charts of columns as long as no class is picked: as many as there are colours."""
        return [self.names[code] for code in most_frequent_classes(self.model)]

    @cached_property
    def drawn_first(self) -> list[str]:
        """The classes whose curves are drawn before one is picked: the rarer of two, the most frequent of several."""
        codes = [self.rarest_class] if len(self.names) == 2 else most_frequent_classes(self.model)
        drawn = [self.names[code] for code in codes]
        possible = [shown(label) for label in self.curve_labels]
        return [name for name in possible if name in drawn] or possible[:1]
