"""Learning a single row in place, at a cost in proportion to the row: the fast path of `Model.learn_one`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.data.infer import NO_VALUES
from tallybayes.families.family import Add, Family
from tallybayes.scoring.row_reader import RowReader
from tallybayes.state.model_state import ModelState
from tallybayes.tally import Exact

__all__ = ["SingleRowLearner"]

_LABELS = (str, bool, int, float)
_ROWS = 2**62  # counts below this have room for more single rows than there will ever be


class SingleRowLearner:
    """Adds rows to the statistics of a state in place, as long as its schema, labels and tallies stay the same."""

    def __init__(self, state: ModelState) -> None:
        schema, total = state.schema, state.statistics
        self._codes: dict[Any, int] = {}  # none, if there is no fast path
        self._kind: type | None = None
        self._has_forms = any(field.key_form is not None for field in schema.fields.values())
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
        reader = RowReader(
            schema,
            [(tally.features, family.column, tally) for family, tally in blocks],
            undecided=[name for name, field in schema.fields.items() if field.reason == NO_VALUES],
        )
        self._read, self._index, self._values = reader.read, reader.index, np.empty(reader.width)
        adders = [
            family.adder(tally, self._values[part]) for (family, tally), part in zip(blocks, reader.parts, strict=True)
        ]
        if None in adders:
            return
        total.class_rows = Exact(class_rows.digits.copy())
        self._class_rows = memoryview(total.class_rows.digits[:, 0])  # type: ignore[arg-type]
        self._codes = {label: code for code, label in enumerate(total.labels)}
        self._kind = type(labels[0])
        self._adders: list[Add] = adders  # type: ignore[assignment]

    def learn(self, row: dict[Any, Any], label: Any) -> bool:
        """Add a row and its label; False, with nothing changed, if the general path is needed."""
        if type(label) is not self._kind:
            label = label.item() if isinstance(label, np.generic) else None
            if type(label) is not self._kind:
                return False
        if (code := self._codes.get(label)) is None:
            return False
        unknown = self._read(row, self._index, self._values)
        if unknown and (self._has_forms or not (unknown > 0 and self._add_keys(row))):
            return False
        for add in self._adders:
            if not add(code, 1):
                for added in self._adders[: self._adders.index(add)]:
                    added(code, -1)
                return False
        self._class_rows[code] += 1
        return True

    def _add_keys(self, row: dict[Any, Any]) -> bool:
        """Give slots to the new keys of a row, which are not visible until counted, and read it again."""
        by_column = {name: tally for tally in self._tallies for name in tally.features}
        for name, value in row.items():
            tally, entry = by_column.get(str(name)), self._index[str(name)]
            key = value.item() if isinstance(value, np.generic) else value
            if tally is not None and type(key) in entry[2] and key == key:
                tally.slot_for(str(name), int(key) if isinstance(key, float) and key.is_integer() else key)
        return bool(self._read(row, self._index, self._values) == 0)
