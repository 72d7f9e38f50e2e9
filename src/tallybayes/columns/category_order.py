"""The order of a column of the family `ordinal`: filled in where it is known, and compared with its values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tallybayes.cells.known_order import known_order
from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.encode import as_codes
from tallybayes.errors import ParameterError, shorten, warn
from tallybayes.families import Ordinal
from tallybayes.families.discrete.value_order import ValueOrder
from tallybayes.formatting import shown
from tallybayes.tables.table import Raw

__all__ = ["with_order"]


def with_order(field: ColumnSpec, raw: Raw) -> ColumnSpec:
    """The column with an order; a warning if some of its values are outside it, an error if none is known.

    >>> with_order(ColumnSpec("size", Ordinal(), "told"), ["L", "S", "M", "S"]).family
    Ordinal(order=('S', 'M', 'L'))
    """
    if not isinstance(field.family, Ordinal):
        return field
    column = as_codes(field.name, raw).with_keys_in_use()
    place = column.codes.astype(np.int64) - column.origin
    counts = np.bincount(place[(place >= 0) & (place < len(column.keys))], minlength=len(column.keys))
    keys = [column.keys[i] for i in np.flatnonzero(counts).tolist()]
    if not field.family.order and not all(map(ValueOrder.is_number, keys)):
        order = known_order({shown(key) for key in keys})
        if order is None:
            hint = "give the values from the lowest to the highest: ordinal:low<medium<high"
            expected = "an order of values that are no numbers"
            raise ParameterError(expected, got=[shown(key) for key in keys], column=field.name, hint=hint)
        field = replace(field, family=Ordinal(order))
    ranks = field.family.ranking.of_keys(keys)  # type: ignore[union-attr]
    if outside := [key for key, rank in zip(keys, ranks.tolist(), strict=True) if rank != rank]:
        n_rows = sum(int(counts[list(column.keys).index(key)]) for key in outside)
        rows = f"{n_rows:,} row{'s' * (n_rows != 1)}"
        text = f"values outside the order tell nothing: {shorten([shown(key) for key in outside])} in {rows}"
        hint = f"families= (--as {field.name}=ordinal:...) takes an order with all values"
        warn(text, column=field.name, hint=hint)
    return field
