"""A single row as a short vector of doubles, for the fast paths of learning and scoring.

A number is itself, true is 1 and false 0, a category is the slot of its key in the tally, missing is NaN. One kernel
reads a dict into such a vector; each block adds its part to its sums (`Family.adder`) or to the scores
(`Predictive.bind_matrix`). Anything unusual (a new label or column, text for a number, an infinity) is left to the
general path.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from tallybayes import kernels
from tallybayes.arrays.axis import rough_kind
from tallybayes.arrays.column import Column, Flags
from tallybayes.columns.schema import Schema
from tallybayes.tally import Tally

__all__ = ["BOOLEAN", "BlockLayout", "RowReader"]

BlockLayout = tuple[Sequence[str], type[Column], Tally | None]  # columns, their kind, and the slots of their keys

BOOLEAN = {0: 0, 1: 1}  # the codes of flags; 1, 1.0 and True are equal keys
_KINDS: dict[str, tuple[type, ...]] = {"text": (str,), "number": (int, float), "boolean": (bool,)}


class RowReader:
    """Reads dicts into vectors by an index of column names (see `read_row` in `kernels/reference`).

    undecided: columns without any value so far, whose first value selects a family: the general path reads them.

    >>> import numpy as np
    >>> from tallybayes.columns.column_spec import ColumnSpec
    >>> from tallybayes.families import Bernoulli
    >>> schema = Schema("ill", {"smokes": ColumnSpec("smokes", Bernoulli(), "yes or no")})
    >>> reader, values = RowReader(schema, [(("smokes",), Flags, None)]), np.empty(1)
    >>> reader.read({"smokes": True, "ill": "no"}, reader.index, values), values
    (0, array([1.]))
    """

    def __init__(self, schema: Schema, blocks: Sequence[BlockLayout], *, undecided: Iterable[str] = ()) -> None:
        counted = {name: (column, tally) for features, column, tally in blocks for name in features}
        apart = [name for name in (schema.label, schema.weight) if name is not None]
        self.unused = frozenset([*(name for name, field in schema.columns.items() if field.family is None), *apart])
        self.index: dict[str, Any] = {**dict.fromkeys(self.unused, -2), **dict.fromkeys(undecided, -1)}
        families = schema.families
        self.index |= dict.fromkeys([*(families.keys() - counted.keys()), *schema.date_parts], -1)
        for place, (name, (column, tally)) in enumerate(counted.items()):
            if name in families:  # else its rows were forgotten, and it would be new
                self.index[name] = _entry(place, name, column, tally)
        in_order = dict.fromkeys([*schema.columns, *self.index])  # as rows have them: the kernel is quickest then
        self.index = {name: self.index[name] for name in in_order if name in self.index}
        ends = list(itertools.accumulate((len(features) for features, _, _ in blocks), initial=0))
        self.parts = [slice(first, last) for first, last in itertools.pairwise(ends)]  # where each block is
        self.width, self.read = ends[-1], kernels.active.read_row


def _entry(place: int, name: str, column: type[Column], tally: Tally | None) -> Any:
    if column is Flags:
        return place, BOOLEAN, (bool, int, float)
    if tally is None or not tally.has_keys:
        return place
    return place, tally.key_slots(name), _KINDS.get(rough_kind(tally.any_key(name)), ())
