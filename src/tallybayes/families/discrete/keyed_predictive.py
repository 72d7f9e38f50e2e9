"""What the predictives of categories share: a line of logs for each key, looked up by code or by slot of the tally."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Floats, Integers
from tallybayes.arrays.column import Codes, Column, Key
from tallybayes.arrays.memory_budget import BUDGET
from tallybayes.families.block_arrays import integer_arrays
from tallybayes.families.predictive import Predictive, Score
from tallybayes.tally import Counts

__all__ = ["KeyedPredictive"]

_FEW_KEYS = 256  # of a column whose table is remembered


class KeyedPredictive(Predictive):
    """Log probabilities by key, computed for the keys of a batch (valid until the tally changes)."""

    tally: Counts

    @abstractmethod
    def log_table(self, number: int, keys: Sequence[Key]) -> Floats:
        """Log P(key | class) of one column, (keys, classes)."""

    @abstractmethod
    def log_rows(self, numbers: Integers, slots: Integers) -> Floats:
        """Log P(key | class) of keys by the numbers of their columns and their slots (-1: never seen).

        A DataError leaves the row to `bind`, where the keys are known.
        """

    def bind(self, columns: Sequence[Column]) -> Score:
        """Prepare to score columns of categories."""
        coded = [column.with_keys_in_use() for column in columns if isinstance(column, Codes)]
        arrays = integer_arrays(coded)
        origins = np.array([column.origin for column in coded], np.int64)
        tables = [self._table(j, column.keys) for j, column in enumerate(coded)]
        offsets = np.cumsum([0, *(len(table) for table in tables)]).astype(np.int64)
        table = np.concatenate([*tables, np.zeros((0, self.n_classes))])

        def score(out: Floats, start: int, stop: int) -> None:
            kernels.active.add_codes(arrays, origins, offsets, table, out, start, stop)

        return score

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
