"""Single rows to be counted together, for families whose sums cost more to change than a row costs to keep.

Adding a row to a histogram writes all of its cells anew, and a thousand rows cost hardly more. So rows are kept as they
are read, and counted when somebody reads the sums or when a thousand are waiting. Only for families that can count any
finite numbers: what is wrong with a row must be said when it is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tallybayes.arrays.column import Reals
from tallybayes.families.family import Family, Floats
from tallybayes.tally.tally import Tally

__all__ = ["PendingRows"]

_ROWS = 1024  # that wait at most: counting so many at once costs little more than one
_CELLS = 2**20  # numbers that wait at most, where a row has many


class PendingRows:
    """The adder of a tally (see `Family.adder`) that keeps rows until `settle`."""

    def __init__(self, family: Family[Any, Any], tally: Tally, values: Floats) -> None:
        self._family, self._tally, self._values = family, tally, values
        n_rows = max(1, min(_ROWS, _CELLS // max(1, len(values))))
        self._rows, self._codes, self._n = np.empty((n_rows, len(values))), np.empty(n_rows, np.int32), 0

    def __call__(self, code: int, sign: int) -> bool:
        """Keep the row that was read (sign 1), or drop the last one (-1)."""
        if sign < 0:
            self._n -= 1
            return True
        if self._n == len(self._codes):
            self.settle()
        self._rows[self._n], self._codes[self._n] = self._values, code
        self._n += 1
        return True

    def extend(self, rows: Floats, codes: Sequence[int]) -> None:
        """Keep several rows (rows, columns) of these classes."""
        size = len(self._codes)
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            if self._n + len(part) > size:
                self.settle()
            end = self._n + len(part)
            self._rows[self._n : end], self._codes[self._n : end] = part, codes[start : start + size]
            self._n = end

    def settle(self) -> None:
        """Count the rows that are waiting."""
        if n := self._n:
            tally, columns = self._tally, [Reals(column) for column in self._rows[:n].T]
            rows = self._family.observe(tally.features, columns, self._codes[:n], tally.n_classes, None)
            commit = tally.prepare(rows, 1)
            self._n = 0  # not before: what is interrupted above is done again
            commit()
