"""Which rows mean the same alone and in the company of others, so that they may be counted together.

A row is read by the schema, value by value. What a batch of rows could decide is: the family of a new column, the type
of labels and categories of which there are none yet, how a label that is written otherwise meets a known one, and how
values of several types in one column are told apart. Rows that leave nothing of this open may be counted together.
"""

from __future__ import annotations

from typing import Any

from tallybayes.arrays.column import Bag, Codes, Column, Flags, Reals
from tallybayes.data.infer import NO_VALUES
from tallybayes.state.model_state import ModelState

__all__ = ["KnownValues", "ValueTypes"]

ValueTypes = dict[str, type]  # of the values in each column of the rows that are counted together

_LARGE = 2**53  # integers from here on are not exact as doubles
_LABELS = (str, bool, int, float)
_TYPES: dict[type[Column] | None, tuple[type, ...]] = {
    Reals: (float, int, bool),
    Flags: (bool, int, float),
    Codes: (str, bool, int, float),
    Bag: (str, list, dict),
    None: (str, bool, int, float),  # a column that is not used, or a date
}


class KnownValues:
    """The columns and labels of a state, as far as rows cannot decide anything about them."""

    def __init__(self, state: ModelState) -> None:
        schema, statistics = state.schema, state.statistics
        self._label, self._weight = schema.label, schema.weight
        self._labels = frozenset((type(label), label) for label in statistics.in_use())
        self._columns: dict[str, type[Column] | None] = {}
        for name, field in schema.fields.items():
            family = field.family
            if field.reason == NO_VALUES:
                continue
            if family is not None and family.column is Codes and statistics.any_key(family, name) is None:
                continue
            self._columns[name] = None if family is None else family.column
        limited = any(tally.is_limited for tally in statistics.blocks.values())
        self._any = bool(self._labels) and schema.bins is None and not limited and self._label is not None

    def may_join(self, rows: list[dict[str, Any]], types: ValueTypes) -> bool:
        """Whether rows may be counted together with others that have values of these types, which are updated."""
        if not self._any:
            return False
        found: ValueTypes = {}
        for row in rows:
            for name, value in row.items():
                if name == self._label:
                    if value is not None and not (type(value) in _LABELS and (type(value), value) in self._labels):
                        return False
                    continue
                kind = self._type_of(name, value)
                if kind is None:
                    return False
                if value is None:
                    continue
                if (known := found.get(name) or types.get(name)) is not None and known is not kind:
                    return False
                found[name] = kind
        types.update(found)
        return True

    def _type_of(self, name: str, value: Any) -> type | None:
        """The type of a value as far as it matters; None if its row must be counted alone."""
        if name == self._weight:
            return float if type(value) in (int, float) else None
        if name not in self._columns or (column := self._columns[name]) not in _TYPES:
            return None
        kind, allowed = type(value), _TYPES[column]
        if value is None:
            return kind
        if kind not in allowed or (kind is int and abs(value) >= _LARGE):
            return None
        if kind is list and not all(type(one) is str for one in value):
            return None
        if kind is dict and not all(type(one) in (int, float) and abs(one) < _LARGE for one in value.values()):
            return None
        return float if kind is int and column is Reals else kind
