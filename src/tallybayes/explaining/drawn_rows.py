"""Complete rows drawn from the generative model in the form in which they are scored, class by class.

They have exactly the distribution that is scored. So numbers are not rounded, tokens are not made into a text that
would have to be read again, and the length of a bag, which is not scored, does not depend on the class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tallybayes.arrays.column import Bag, Cells, Codes, Column, Flags, Key, Reals, Vectors
from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.readers.word_reader import NUMBER_KEY
from tallybayes.columns.schema import Schema
from tallybayes.families.predictive import Predictive

__all__ = ["draw_columns"]


def draw_columns(
    predictives: Sequence[Predictive], schema: Schema, code: int, n: int, rng: np.random.Generator
) -> dict[str, Column]:
    """The columns of n rows of a class, encoded."""
    values = {
        name: drawn
        for predictive in predictives
        for name, drawn in zip(predictive.features, predictive.draw(rng, code, n), strict=True)
    }
    _remove_numbers(values, schema)
    return {name: _encode(schema.columns[name], drawn) for name, drawn in values.items()}


def _remove_numbers(values: dict[str, Any], schema: Schema) -> None:
    """Leave out the numbers of rows in which a word was drawn: a cell is one of both."""
    for name in schema.divided & values.keys():
        for part in schema.parts[name].keys() & values.keys():
            numbers = zip(values[name], values[part], strict=True)
            values[name] = [value if word == NUMBER_KEY else None for value, word in numbers]


def _encode(spec: ColumnSpec, values: Any) -> Column:
    """Drawn values as a column of the kind that the family takes."""
    kind = None if spec.family is None else spec.family.column
    if kind is Bag:
        return _to_bag(values)
    if kind is Cells:
        return Cells(np.asarray(values, np.int16), tuple(one.n_cells for one in spec.reader.inputs))
    if kind is Vectors:
        return Vectors(np.asarray(values, np.float64), tuple(one.column for one in spec.reader.inputs))
    if kind is Codes:
        number = {key: i for i, key in enumerate(dict.fromkeys(value for value in values if value is not None))}
        return Codes(np.array([number.get(value, -1) for value in values], np.int32), list(number))
    numbers = np.asarray(values, np.float64)
    return Flags(numbers) if kind is Flags else Reals(numbers)


def _to_bag(values: Sequence[Mapping[Key, int] | Sequence[Key]]) -> Bag:
    """Dicts of token and amount, or lists of tokens, as bags.

    >>> bag = _to_bag([{"b": 2}, {}, ["a", "b", "a"]])
    >>> bag.indptr.tolist(), [bag.keys[i] for i in bag.indices], bag.amounts.tolist()
    ([0, 1, 1, 3], ['b', 'a', 'b'], [2, 2, 1])
    """
    bags = [Counter(bag) for bag in values]
    number = {key: i for i, key in enumerate(dict.fromkeys(key for bag in bags for key in bag))}
    indptr = np.cumsum([0, *map(len, bags)]).astype(np.int64)
    indices = np.array([number[key] for bag in bags for key in bag], np.int32)
    amounts = np.array([amount for bag in bags for amount in bag.values()], np.int32)
    return Bag(indptr, indices, amounts, list(number))
