"""What the predictives of categories share: a line of logs for each key, looked up by code or by slot of the tally."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Floats, Integers
from tallybayes.arrays.column import Codes, Column, Key
from tallybayes.arrays.memory_budget import BUDGET
from tallybayes.families.block_arrays import score_codes
from tallybayes.families.predictive import Correction, Predictive, Score, value_rows
from tallybayes.tally import Counts

__all__ = ["KeyedPredictive"]

_FEW_KEYS = 256  # of a column whose table is remembered


class KeyedPredictive(Predictive):
    """Log probabilities by key, computed for the keys of a batch (valid until the tally changes)."""

    tally: Counts
    corrections: tuple[Correction | None, ...]  # of the columns; none if it is empty

    @abstractmethod
    def log_table(self, number: int, keys: Sequence[Key]) -> Floats:
        """Log P(key | class) of one column, (keys, classes)."""

    @abstractmethod
    def log_rows(self, numbers: Integers, slots: Integers) -> Floats:
        """Log P(key | class) of keys by the numbers of their columns and their slots (-1: never seen).

        A DataError leaves the row to `bind`, where the keys are known.
        """

    @abstractmethod
    def keys_of(self, name: str) -> Sequence[Key]:
        """The keys of a column that people are shown."""

    def corrected(self, corrections: Sequence[Correction | None]) -> Self:
        """With corrections in the tables."""
        return replace(self, corrections=tuple(corrections))  # type: ignore[type-var]

    def table(self) -> list[dict[str, Any]]:
        """The probability of every value."""
        keys = [(j, name, self.keys_of(name)) for j, name in enumerate(self.features)]
        return [row for j, name, some in keys for row in value_rows(name, some, np.exp(self.log_table(j, some)))]

    def bind(self, columns: Sequence[Column]) -> Score:
        """Prepare to score columns of categories."""
        coded = [column.with_keys_in_use() for column in columns if isinstance(column, Codes)]
        return score_codes(coded, [self._table(j, column.keys) for j, column in enumerate(coded)], self.n_classes)

    def _table(self, number: int, keys: Sequence[Key]) -> Floats:
        """The table of one column, remembered for integers that stand for themselves: many batches have the same."""
        if not isinstance(keys, range) or len(keys) > _FEW_KEYS:
            return self.log_table(number, keys)
        table = self._tables.get((number, keys))
        if table is None:
            table = self._tables[number, keys] = self.log_table(number, keys)
        return table

    @cached_property
    def _tables(self) -> dict[tuple[int, range], Floats]:
        return {}

    def bind_matrix(self, values: Floats) -> Score | None:
        """Prepare to score a matrix of slots, slot by slot as they occur."""
        n_slots, n_columns = len(self.tally.key_of), values.shape[1]
        if n_slots * self.n_classes * 8 > BUDGET:
            return None
        table = np.zeros((n_slots + n_columns, self.n_classes))  # a line for each slot, and for a key new to a column
        known = np.zeros(len(table), bool)

        def score(out: Floats, start: int, stop: int) -> None:
            if not kernels.active.add_slots(values, known, table, out, start, stop):
                part = values[start:stop]
                row, number = (~np.isnan(part)).nonzero()
                slots = part[row, number].astype(np.int64)
                lines = np.where(slots < 0, n_slots + number, slots)
                table[lines], known[lines] = self.log_rows(number, slots), True
                kernels.active.add_slots(values, known, table, out, start, stop)

        return score

    def keyed_tally(self) -> Counts:
        """The counts."""
        return self.tally
