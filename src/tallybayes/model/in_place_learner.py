"""Learning a few rows in place, at a cost in proportion to the rows: the fast path of `Model.learn` and `learn_one`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.columns.label import Labels
from tallybayes.families.family import Add, Family, Floats
from tallybayes.families.numbers.histogram import PendingRows
from tallybayes.scoring.rows import RowLayout
from tallybayes.state.model_state import ModelState
from tallybayes.tables.input_kind import has_attribute, library_of
from tallybayes.tables.table import Table
from tallybayes.tally import Exact

__all__ = ["InPlaceLearner"]

_LABELS = (str, bool, int, float)
_ROWS = 2**62  # counts below this have room for more single rows than there will ever be


class InPlaceLearner:
    """Adds rows to the statistics of a state in place, as long as its schema, labels and tallies stay the same."""

    def __init__(self, state: ModelState) -> None:
        schema, total = state.schema, state.statistics
        self._codes: dict[Any, int] = {}  # none, if there is no fast path
        self._waiting: list[tuple[PendingRows, slice]] = []
        self._kind: type | None = None
        self._learn: Callable[[dict[Any, Any], Any], int] = _take_general_path
        labels, class_rows = total.in_use(), total.class_rows
        if not labels or type(labels[0]) not in _LABELS or schema.weight is not None:
            return
        if not class_rows.is_whole or class_rows.digits.max() >= _ROWS:
            return
        if schema.derived or any(type(family).adder is Family.adder for family in total.blocks):
            return
        # Categories last: nothing is refused after them, so they need not be taken back.
        blocks = sorted(total.blocks.items(), key=lambda block: block[1].has_keys)
        self._tallies = [tally for _, tally in blocks if tally.has_keys]
        features = [(tally.features, family.column, tally) for family, tally in blocks]
        self._layout = RowLayout(schema, features, learns=True)
        self._values, parts = np.empty(self._layout.width), self._layout.parts
        adders = [family.adder(tally, self._values[part]) for (family, tally), part in zip(blocks, parts, strict=True)]
        if None in adders:
            return
        total.class_rows = Exact(class_rows.digits.copy())
        self._class_rows = total.class_rows.digits[:, 0]
        self._codes = {label: code for code, label in enumerate(total.labels)}
        self._kind = type(labels[0])
        every: list[Add] = adders  # type: ignore[assignment]
        kinds = list(zip(every, parts, (tally.has_keys for _, tally in blocks), strict=True))
        self._waiting = [(add, part) for add, part, _ in kinds if isinstance(add, PendingRows)]
        self._may_refuse = [add for add, _, has_keys in kinds if not has_keys and not isinstance(add, PendingRows)]
        self._count_keys = [add for add, _, has_keys in kinds if has_keys]
        facts = (self._kind, self._codes, self._layout.index, self._values, _together(every), self._class_rows)
        self._learn = partial(kernels.active.learn_row, *facts)

    def settle(self) -> None:
        """Count the rows that are waiting: before anyone reads the sums."""
        for rows, _ in self._waiting:
            rows.settle()

    def learn(self, row: dict[Any, Any], label: Any) -> bool:
        """Add a row and its label; False, with nothing changed, if the general path is needed."""
        unknown = self._learn(row, label) if label is not None else -1
        if unknown == 0:
            return True
        if isinstance(label, np.generic):
            return type(plain := label.item()) is self._kind and self.learn(row, plain)
        if unknown < 0 or self._layout.has_key_forms:
            return False
        self._add_keys(row)
        return self._learn(row, label) == 0

    def learn_dict(self, data: dict[Any, Any], label: Any) -> bool:
        """The same for a dict that may be a table of columns: the general path decides what it is."""
        return bool(self._codes) and not self._layout.may_be_table(data) and self.learn(data, label)

    def learn_rows(self, data: Any, labels: Any) -> bool:
        """Add a few rows with known labels, a matrix or dicts; False, with nothing changed, for the general path.

        data: a matrix, whose columns are x0, x1, ...; a table that is one; or a list of dicts.
        """
        if not self._codes:
            return False
        codes = [self._codes.get(label, -1) if type(label) is self._kind else -1 for label in _plain_labels(labels)]
        if len(codes) != (data.n_rows if isinstance(data, Table) else len(data)) or -1 in codes:
            return False
        values = self._dicts(data) if isinstance(data, list) else self._matrix(data, len(codes))
        if values is None or not self._add_rows(values, codes):
            return False
        self._class_rows += np.bincount(codes, minlength=len(self._class_rows))
        return True

    def _add_rows(self, values: Floats, codes: list[int]) -> bool:
        """Add rows to the sums: first where a row may be refused, so that categories need not be taken back."""
        if self._may_refuse:
            add = _together(self._may_refuse)
            for i, code in enumerate(codes):
                self._values[:] = values[i]
                if not add(code, 1):
                    for row, added in zip(values[:i], codes[:i], strict=True):
                        self._values[:] = row
                        add(added, -1)
                    return False
        for row, code in zip(values, codes, strict=True) if self._count_keys else ():
            self._values[:] = row
            for count in self._count_keys:
                count(code, 1)
        for rows, part in self._waiting:
            rows.extend(values[:, part], codes)
        return True

    def _dicts(self, rows: list[Any]) -> Floats | None:
        """Rows that are dicts as the adders take them; None if a column is new, or a value is unusual."""
        values = np.empty((len(rows), len(self._values)))
        for row, line in zip(rows, values, strict=True):
            if type(row) is not dict or self._layout.read(row, line):
                return None
        return values

    def _matrix(self, data: NDArray[Any] | Table, n_rows: int) -> Floats | None:
        """The rows of a matrix as the adders take them; None if a column is new or lacking, or a value is unusual."""
        layout, values = self._layout, np.empty((n_rows, len(self._values)))
        if not layout.matrices.read(data, values):
            return None
        if (np.abs(values) >= 2.0**53).any():  # infinities, and integers that a double may not hold
            return None
        flags, slots = values[:, layout.flags], values[:, layout.keyed]
        if not ((flags == 0) | (flags == 1) | np.isnan(flags)).all() or (slots == -1).any():
            return None
        return values

    def _add_keys(self, row: dict[Any, Any]) -> None:
        """Give slots to the new keys of a row, which are not visible until counted."""
        by_column = {name: tally for tally in self._tallies for name in tally.features}
        for name, value in row.items():
            tally, entry = by_column.get(str(name)), self._layout.index[str(name)]
            key = value.item() if isinstance(value, np.generic) else value
            if tally is not None and type(key) in entry[2] and key == key:
                tally.slot_for(str(name), int(key) if isinstance(key, float) and key.is_integer() else key)


def _take_general_path(row: dict[Any, Any], label: Any) -> int:
    """The general path."""
    return -1


def _together(adders: list[Add]) -> Add:
    """What adds a row to the sums of several blocks, all or nothing."""
    if len(adders) == 1:
        return adders[0]

    def add_all(code: int, sign: int) -> bool:
        for i, add in enumerate(adders):
            if not add(code, sign):
                for added in adders[:i]:
                    added(code, -sign)
                return False
        return True

    return add_all


def _plain_labels(labels: Any) -> list[Any]:
    """Labels as Python values; none for other forms than a list, an array, a series or encoded labels."""
    if isinstance(labels, Labels):
        return [labels.keys[code] if code >= 0 else None for code in labels.codes.tolist()]
    if library_of(labels) == "pandas" and has_attribute(labels, "to_numpy"):
        labels = labels.to_numpy()
    if type(labels) is np.ndarray and labels.ndim == 1 and labels.dtype.kind in "iubUfO":
        return list(labels.tolist())
    return labels if type(labels) is list else []
