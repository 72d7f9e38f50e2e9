"""Which rows mean the same in a batch as alone, so that they may be counted together.

A row is read by the schema, value by value. What a batch of rows could decide is: the family of a new column, the type
of labels and categories of which there are none yet, how a label that is written otherwise meets a known one, and how
values of several types in one column are told apart. Rows that leave nothing of this open may be counted together.
"""

from __future__ import annotations

from typing import Any

from tallybayes.arrays.column import Bag, Codes, Column, Flags, Reals
from tallybayes.state.model_state import ModelState

__all__ = ["GroupTypes", "KnownValues"]

_LARGE = 2**53  # integers from here on are not exact as doubles
_LABELS = (str, bool, int, float)
_TYPES: dict[type[Column] | None, tuple[type, ...]] = {
    Reals: (float, int, bool),
    Flags: (bool, int, float),
    Codes: (str, bool, int, float),
    Bag: (str, list, dict),
    None: (str, bool, int, float),  # a column that is not used, or a date
}

_Shape = tuple[tuple[str, ...], tuple[type, ...]]  # the names of a row and the types of its values


class GroupTypes:
    """The types of the values in each column of rows that are counted together."""

    def __init__(self) -> None:
        self.types: dict[str, type] = {}
        self.shapes: set[_Shape] = set()  # of rows that are among them

    def join(self, shape: _Shape, types: dict[str, type]) -> bool:
        """Add the types of a row; False, with nothing added, if the values of a column would be of several types."""
        if any(self.types.get(name, kind) is not kind for name, kind in types.items()):
            return False
        self.types.update(types)
        self.shapes.add(shape)
        return True


class KnownValues:
    """The columns and labels of a state, as far as rows cannot decide anything about them."""

    def __init__(self, state: ModelState) -> None:
        schema, statistics = state.schema, state.statistics
        self._label, self._weight = schema.label, schema.weight
        self._labels = frozenset((type(label), label) for label in statistics.in_use())
        self._columns: dict[str, type[Column] | None] = {}
        for name, spec in schema.columns.items():
            family = spec.family
            if spec.is_undecided:
                continue
            if family is not None and family.column is Codes and statistics.any_key(family, name) is None:
                continue
            self._columns[name] = None if family is None else family.column
        limited = any(tally.is_limited for tally in statistics.blocks.values())
        self._any = bool(self._labels) and schema.bins is None and not limited and self._label is not None
        self._shapes: dict[_Shape, tuple[dict[str, type] | None, list[str]]] = {}

    def may_join(self, rows: list[dict[str, Any]], group: GroupTypes) -> bool:
        """Whether rows may be counted together with others that have values of these types, which are updated.

        Rows none of which has the column of the label would be refused alone, so that they do not join others.
        """
        has_label = not rows or any(self._label in row for row in rows)
        return self._any and has_label and all(self._row_may_join(row, group) for row in rows)

    def _row_may_join(self, row: dict[str, Any], group: GroupTypes) -> bool:
        label = row.get(self._label)  # type: ignore[arg-type]
        if label is not None and not (type(label) in _LABELS and (type(label), label) in self._labels):
            return False
        shape = (tuple(row), tuple(map(type, row.values())))
        if (known := self._shapes.get(shape)) is None:
            to_check = [name for name, kind in zip(*shape, strict=True) if kind in (int, list, dict)]
            known = self._shapes[shape] = (self._types_of(shape), to_check)
        types, names = known
        if types is None or not (shape in group.shapes or group.join(shape, types)):
            return False
        return all(_is_plain(row[name]) for name in names)

    def _types_of(self, shape: _Shape) -> dict[str, type] | None:
        """The type of each value as far as it matters; None if a row of this shape must be counted alone."""
        types: dict[str, type] = {}
        for name, kind in zip(*shape, strict=True):
            if name == self._label:
                continue
            if name == self._weight:
                if kind not in (int, float):
                    return None
                continue
            if name not in self._columns or (column := self._columns[name]) not in _TYPES:
                return None
            if kind is type(None):
                continue
            if kind not in _TYPES[column]:
                return None
            types[name] = float if kind is int and column is Reals else kind
        return types


def _is_plain(value: Any) -> bool:
    """Whether a value, or each value in a list or dict, means the same whatever the others are."""
    kind = type(value)
    if kind is int:
        return bool(-_LARGE < value < _LARGE)
    if kind is list:
        return all(type(part) is str for part in value)
    if kind is dict:
        return all(type(part) in (int, float) and abs(part) < _LARGE for part in value.values())
    return True
