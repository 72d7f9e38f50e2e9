"""What a report is about: a model, what was found on the data, and what several sections need of both."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from tallybayes.explaining.description import Description
from tallybayes.formatting import shown
from tallybayes.model import Model
from tallybayes.report.column_chart import commonest
from tallybayes.report.findings import Findings
from tallybayes.report.palette import in_colour

__all__ = ["Subject"]


class Subject:
    """A model and the findings on the data."""

    def __init__(self, model: Model, found: Findings, *, leave_one_out: bool = False) -> None:
        self.model, self.found, self.leave_one_out = model, found, leave_one_out

    @cached_property
    def names(self) -> list[str]:
        """The classes as people see them."""
        return [shown(label) for label in self.model.classes]

    @cached_property
    def colours(self) -> list[str]:
        """The classes in the order of their colours."""
        return in_colour(self.names, [self.names[code] for code in commonest(self.model)])

    @cached_property
    def described(self) -> Description:
        """The parameters of every column."""
        return self.model.describe()

    @cached_property
    def ranked(self) -> list[str]:
        """The columns in use, those that are worth most first."""
        return [one.column for one in self.found.worth]

    @cached_property
    def rows(self) -> dict[Any, int]:
        """Rows judged, by their true label."""
        rows: dict[Any, int] = {}
        for (true, _), n in self.found.judged.confusion.items():
            rows[true] = rows.get(true, 0) + n
        return rows

    @cached_property
    def rarest(self) -> int:
        """The number of the class that fewest rows of the data were of: mostly the one that is looked for."""
        return int(np.argmin([self.rows.get(label, np.inf) for label in self.model.classes]))

    @cached_property
    def drawn(self) -> list[Any]:
        """The labels that curves are drawn of: the rarer of two, the commonest of many; not those without any rows."""
        codes = [self.rarest] if len(self.names) == 2 else commonest(self.model)
        labels = [self.model.classes[code] for code in codes]
        return [label for label in labels if 0 < self.rows.get(label, 0) < self.found.judged.n_rows]
