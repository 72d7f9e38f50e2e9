"""Whether some data is the rows that a model has learned: their sums are equal.

A model is a sum, and nothing else of its rows is kept. So the data is counted under the model's schema and compared
with it; the order of the rows does not matter. Where the model has learned other rows as well, the sums differ. Data
whose classes have other numbers of rows is not counted at all.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tallybayes.errors import DataWarning, TallyError
from tallybayes.families.family import Floats
from tallybayes.model.row_counter import RowCounter
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.counting import CountingPlan
from tallybayes.tables.source import Source, Stream, TableSource
from tallybayes.tables.table import Table

__all__ = ["LearnedRows"]


class LearnedRows:
    """Compares data with the rows that a model has learned; a stream is counted while it is scored.

    >>> import tallybayes as tb
    >>> from tallybayes.io.read import to_source
    >>> rows = {"x": ["a", "b", "b"], "y": ["p", "p", "q"]}
    >>> snapshot = tb.fit(rows, label="y").snapshot()
    >>> others = [{"x": x, "y": ["q", "p", "p"]} for x in (["b", "a", "b"], ["b", "b", "b"])]
    >>> [LearnedRows(snapshot, to_source(rows), "y").are_all() for rows in others]
    [True, False]
    """

    def __init__(self, snapshot: Snapshot, source: Source, label: Any) -> None:
        self._state, self._source = snapshot.state, source
        self._weight = weight = self._state.schema.weight
        is_possible = self._state.given is None and (weight is None or weight in source.head().columns)
        plan = CountingPlan.of(self._state, label, weight, learns=False) if is_possible else None
        self._counter = None if plan is None else RowCounter(plan, grows=False)

    @property
    def can_be_read_again(self) -> bool:
        """Whether the data can be read again."""
        return not isinstance(self._source, Stream)

    def watch(self, scored: Iterable[tuple[Table, Floats]]) -> Iterator[tuple[Table, Floats]]:
        """Scored batches of the data as they are; those of a stream are counted."""
        for table, scores in scored:
            if not self.can_be_read_again:
                self._count(TableSource(table))
            yield table, scores

    def are_all(self, class_rows: Mapping[Any, int] | None = None) -> bool:
        """Whether the data is all that the model has learned, and nothing else.

        class_rows: the rows of each class in the data, if they are known: mostly they differ already.
        """
        if self._weight is None and class_rows is not None and dict(class_rows) != self._state.class_counts:
            return False
        if self.can_be_read_again:
            with self._source.read_again():
                self._count(self._source)
        return self._counter is not None and self._counter.rows.statistics.same(self._state.learned())

    def _count(self, source: Source) -> None:
        """Count rows; those that cannot be counted were not learned."""
        if self._counter is None:
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # they were issued when the rows were scored
                self._counter.count(source)
        except TallyError:
            self._counter = None
