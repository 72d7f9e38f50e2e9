"""Learning a few rows in place, at a cost in proportion to the rows: the fast path of `Model.learn` and `learn_one`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.infer import NO_VALUES
from tallybayes.data.label import Labels
from tallybayes.families.family import Add, Family, Floats
from tallybayes.scoring.row_reader import RowReader
from tallybayes.scoring.small_batch import NUMBERS
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
        if not self._add(code):
            return False
        self._class_rows[code] += 1
        return True

    def _add(self, code: int) -> bool:
        """Add the row that was read to the sums of a class; False, with nothing changed, if it does not fit."""
        for add in self._adders:
            if not add(code, 1):
                for added in self._adders[: self._adders.index(add)]:
                    added(code, -1)
                return False
        return True

    def learn_matrix(self, data: NDArray[Any], labels: Any) -> bool:
        """Add the rows of a small matrix with the columns x0, x1, ... and known labels; False, with nothing changed."""
        if not self._codes or self._tallies or (values := self._matrix(data)) is None:
            return False
        codes = [self._codes.get(label, -1) if type(label) is self._kind else -1 for label in _plain_labels(labels)]
        if len(codes) != len(values) or -1 in codes:
            return False
        for i, code in enumerate(codes):
            self._values[:] = values[i]
            if not self._add(code):
                for row, own in zip(values[:i], codes[:i], strict=True):
                    self._values[:] = row
                    for add in self._adders:
                        add(own, -1)
                return False
        for code in codes:
            self._class_rows[code] += 1
        return True

    def _matrix(self, data: NDArray[Any]) -> Floats | None:
        """The rows of a matrix as the adders take them; None if a column is new or lacking, or a value is unusual."""
        if data.ndim != 2 or data.dtype not in NUMBERS:
            return None
        entries = [self._index.get(f"x{j}", -1) for j in range(data.shape[1])]
        places = [entry[0] if isinstance(entry, tuple) else entry for entry in entries]
        used = [j for j, place in enumerate(places) if place >= 0]
        if -1 in places or len(used) != len(self._values):
            return None
        values = np.empty((len(data), len(used)))
        values[:, [places[j] for j in used]] = data[:, used]
        flags = values[:, [places[j] for j in used if isinstance(entries[j], tuple)]]
        is_usual = not (np.abs(values) >= 2.0**53).any() if data.dtype.kind in "iu" else not np.isinf(values).any()
        return values if is_usual and ((flags == 0) | (flags == 1) | np.isnan(flags)).all() else None

    def _add_keys(self, row: dict[Any, Any]) -> bool:
        """Give slots to the new keys of a row, which are not visible until counted, and read it again."""
        by_column = {name: tally for tally in self._tallies for name in tally.features}
        for name, value in row.items():
            tally, entry = by_column.get(str(name)), self._index[str(name)]
            key = value.item() if isinstance(value, np.generic) else value
            if tally is not None and type(key) in entry[2] and key == key:
                tally.slot_for(str(name), int(key) if isinstance(key, float) and key.is_integer() else key)
        return bool(self._read(row, self._index, self._values) == 0)


def _plain_labels(labels: Any) -> list[Any]:
    """Labels as Python values; none for other forms than an array or encoded labels."""
    if isinstance(labels, Labels):
        return [labels.keys[code] if code >= 0 else None for code in labels.codes.tolist()]
    if type(labels) is np.ndarray and labels.ndim == 1 and labels.dtype.kind in "iubUf":
        return list(labels.tolist())
    return []
