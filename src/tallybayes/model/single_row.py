"""One row at a time, at the speed of the row.

One plain idea: a row is a short vector of doubles. A number is itself, yes is 1 and no 0, a category is the slot of its
key in the tally, missing is NaN. One kernel reads a dict into such a vector; each block adds its part of it to its sums
in place (`Family.adder`) or to the scores (`Predictive.bind_matrix`). Everything unusual (a new label or column, text
for a number, an infinity, a digit that does not fit) is left to the general way, which says what it means.

Here rows are read and learned; `tallybayes.scoring.small_batch` scores them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.axis import rough_kind
from tallybayes.arrays.column import Column, Flags
from tallybayes.data.infer import NO_VALUES
from tallybayes.data.schema import Schema
from tallybayes.families.family import Add, Family
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.tally import Exact, Tally

__all__ = ["Block", "Reader", "SingleRowLearner"]

Block = tuple[Sequence[str], type[Column], Tally | None]  # columns, their kind, and the slots of their keys

_LABELS = (str, bool, int, float)
_ROWS = 2**62  # counts below it have room for more single rows than there will ever be
_YES_NO = {0: 0, 1: 1}  # what equals 1 is yes: 1, 1.0, True
_KINDS: dict[str, tuple[type, ...]] = {"text": (str,), "number": (int, float), "yes/no": (bool,)}


class Reader:
    """Dicts into vectors: what becomes of each name (see `tallybayes.kernels.reference.read_row`).

    undecided: columns that a first value is still to decide on, so that it cannot be passed over.

    >>> from tallybayes.data.schema import Field
    >>> from tallybayes.families import Bernoulli
    >>> schema = Schema("ill", {"smokes": Field("smokes", Bernoulli(), "yes or no")})
    >>> reader, values = Reader(schema, [(("smokes",), Flags, None)]), np.empty(1)
    >>> reader.read({"smokes": True, "ill": "no"}, reader.index, values), values
    (0, array([1.]))
    """

    def __init__(self, schema: Schema, blocks: Sequence[Block], *, undecided: Iterable[str] = ()) -> None:
        counted = {name: (column, tally) for features, column, tally in blocks for name in features}
        apart = [name for name in (schema.label, schema.weight) if name is not None]
        passed_over = [*(name for name, field in schema.fields.items() if field.family is None), *apart]
        self.index: dict[str, Any] = {**dict.fromkeys(passed_over, -2), **dict.fromkeys(undecided, -1)}
        families = schema.families
        self.index |= dict.fromkeys(families.keys() - counted.keys(), -1)
        for place, (name, (column, tally)) in enumerate(counted.items()):
            if name in families:  # else it has come and was forgotten: it would be new
                self.index[name] = _entry(place, name, column, tally)
        ends = list(itertools.accumulate((len(features) for features, _, _ in blocks), initial=0))
        self.parts = [slice(first, last) for first, last in itertools.pairwise(ends)]  # where each block is
        self.width, self.read = ends[-1], kernels.active.read_row


def _entry(place: int, name: str, column: type[Column], tally: Tally | None) -> Any:
    if column is Flags:
        return place, _YES_NO, (bool, int, float)
    if tally is None or not tally.has_keys:
        return place
    return place, tally.key_slots(name), _KINDS.get(rough_kind(tally.any_key(name)), ())


class SingleRowLearner:
    """The quick way to learn, until the shape of the model changes; where there is none, it always says so."""

    def __init__(self, schema: Schema, total: SufficientStatistics) -> None:
        self._adders: list[Add] | None = None
        labels, class_rows = total.in_use(), total.class_rows
        if not labels or type(labels[0]) not in _LABELS or schema.weight is not None:
            return
        if not class_rows.is_whole or class_rows.digits.max() >= _ROWS:
            return
        if any(type(family).adder is Family.adder for family in total.blocks):
            return
        # Categories last: nothing is refused after them, so they need not be taken back.
        blocks = sorted(total.blocks.items(), key=lambda block: block[1].has_keys)
        self._tallies = [tally for _, tally in blocks if tally.has_keys]
        reader = Reader(
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
        self._class_rows = total.class_rows.digits[:, 0]
        self._codes = {label: code for code, label in enumerate(total.labels)}
        self._kind, self._label = type(labels[0]), schema.label
        self._adders = adders  # type: ignore[assignment]

    def learn(self, row: dict[Any, Any]) -> bool:
        """Add a row that holds its label; False, with nothing changed, if the general way must be taken."""
        return self._adders is not None and self._label is not None and self.learn_one(row, row.get(self._label))

    def learn_one(self, row: dict[Any, Any], label: Any) -> bool:
        """Add a row and its label; False, with nothing changed, if the general way must be taken."""
        if self._adders is None:
            return False
        if type(label) is not self._kind:
            label = label.item() if isinstance(label, np.generic) else None
            if type(label) is not self._kind:
                return False
        if (code := self._codes.get(label, -1)) < 0:
            return False
        unknown = self._read(row, self._index, self._values)
        if unknown and not (unknown > 0 and self._welcome(row)):
            return False
        for add in self._adders:
            if not add(code, 1):
                for added in self._adders[: self._adders.index(add)]:
                    added(code, -1)
                return False
        self._class_rows[code] += 1
        return True

    def _welcome(self, row: dict[Any, Any]) -> bool:
        """Give slots to the new keys of a row, which do not show until they are counted, and read it again."""
        by_column = {name: tally for tally in self._tallies for name in tally.features}
        for name, value in row.items():
            tally, entry = by_column.get(str(name)), self._index[str(name)]
            key = value.item() if isinstance(value, np.generic) else value
            if tally is not None and type(key) in entry[2] and key == key:
                tally.slot_for(str(name), int(key) if isinstance(key, float) and key.is_integer() else key)
        return bool(self._read(row, self._index, self._values) == 0)
