"""Counting bags: the total amount of every token in every class, and bags by length.

The sums are exact. They are added up in a dense table where tokens times classes are few, at sorted places where they
are many, and in digits where amounts or weights are not integers.
"""

from __future__ import annotations

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Integers, Weights
from tallybayes.arrays.chunks import SMALL, in_threads
from tallybayes.arrays.column import Bag
from tallybayes.errors import DataError
from tallybayes.families.family import Codes32, Floats
from tallybayes.tally import Counts, Exact, Vocabulary

__all__ = [
    "DENSE",
    "add_columns",
    "check_products",
    "collapse_repeated",
    "count_places",
    "count_tokens",
    "dense_tables",
    "fractional_sums",
    "lengths_by_class",
]

DENSE = 2**22  # tokens x classes up to which a dense table is used (32 MB per thread)


def collapse_repeated(bag: Bag, codes: Codes32, n_classes: int, weights: Weights) -> tuple[Bag, Codes32, Floats | None]:
    """Repeated bags as one row per bag and class, weighted by the number of repetitions."""
    n_bags = len(bag.indptr) - 1
    if bag.rows is None or weights is not None or n_bags * n_classes * 4 > len(codes):
        return bag.expanded(), codes, weights
    place = np.where(codes >= 0, bag.rows.astype(np.int64) * n_classes + codes, n_bags * n_classes)
    times = np.bincount(place, minlength=n_bags * n_classes + 1)[:-1]
    there = np.flatnonzero(times)
    distinct = Bag(bag.indptr, bag.indices, bag.amounts, bag.keys).take(there // max(n_classes, 1))
    return distinct, (there % max(n_classes, 1)).astype(np.int32), times[there].astype(np.float64)


def count_tokens(name: str, bag: Bag, codes: Codes32, n_classes: int, weights: Weights) -> tuple[Vocabulary, Counts]:
    """Total amount of every token in every class, and bags by length, rounded up."""
    n_entries = len(bag.keys) * n_classes
    if weights is None and n_entries <= min(DENSE, len(bag.indices) * 4):
        tables, lengths = dense_tables(bag, codes, n_classes)
        if tables is not None:
            for table in tables[1:]:
                tables[0] += table
            return Vocabulary.of_dense(bag.keys, tables[0]), lengths_by_class(name, lengths, codes, n_classes, None)
    tokens = Vocabulary.of_places(bag.keys, *count_places(bag, codes, n_classes, weights), n_classes)
    return tokens, lengths_by_class(name, _lengths(bag), codes, n_classes, weights)


def count_places(bag: Bag, codes: Codes32, n_classes: int, weights: Weights) -> tuple[Integers, Exact]:
    """The same as sorted places `token number * n_classes + class`, and the amount at each."""
    if weights is None:
        arguments = (bag.indptr, bag.indices, bag.amounts, codes, n_classes, len(bag.keys))
        parts = in_threads(lambda start, stop: kernels.active.count_bags(*arguments, start, stop), len(codes))
        if len(parts) == 1 and parts[0] is not None:
            return parts[0][0], Exact.whole(parts[0][1])
        if all(part is not None for part in parts):
            place, group = np.unique(np.concatenate([places for places, _ in parts]), return_inverse=True)
            return place, Exact.whole(np.concatenate([amounts for _, amounts in parts])).grouped(group, len(place))
    if len(bag.keys) * n_classes <= DENSE:
        amounts = fractional_sums(bag, codes, n_classes, weights)
        token, klass = np.nonzero(amounts.nonzero().T)
        return token * n_classes + klass, amounts[klass, token]
    row = np.repeat(np.arange(len(codes)), np.diff(bag.indptr))
    amount = np.ones(len(row)) if bag.amounts is None else bag.amounts[: len(row)].astype(np.float64)
    kept = (codes[row] >= 0) & (amount != 0)
    place, group = np.unique(bag.indices[kept].astype(np.int64) * n_classes + codes[row[kept]], return_inverse=True)
    entry_weights = None if weights is None else weights[row[kept]]
    return place, Exact.summed(amount[kept], group, len(place), weights=entry_weights)


def dense_tables(bag: Bag, codes: Codes32, n_classes: int) -> tuple[list[Integers] | None, Floats]:
    """Tables (tokens, classes) of ranges of rows, None if amounts are not integers; and the total of every row."""
    lengths = np.empty(len(codes))
    arguments = (bag.indptr, bag.indices, bag.amounts, codes, n_classes, len(bag.keys), lengths)
    parts = in_threads(lambda start, stop: kernels.active.count_bags_dense(*arguments, start, stop), len(codes))
    tables = [part for part in parts if part is not None]
    return tables if len(tables) == len(parts) else None, lengths


def check_products(name: str, bag: Bag, weights: Weights) -> None:
    """Raise if an amount times a weight is below the least double: such a count could not be told from 0."""
    if weights is None or bag.amounts is None:
        return
    row = np.repeat(np.arange(len(bag)), np.diff(bag.indptr))
    amount, weight = bag.amounts[: len(row)].astype(np.float64), weights[row]
    with np.errstate(under="ignore", over="ignore"):
        lost = (amount * weight == 0) & (amount != 0) & (weight != 0)
    if lost.any():
        at = int(np.argmax(lost))
        hint = "multiply all weights by one large number, or use 0 for what is not to count"
        got = f"{amount[at]} * {weight[at]}"
        raise DataError(
            "an amount times a weight of at least 5e-324", got=got, column=name, row=int(row[at]), hint=hint
        )


def fractional_sums(bag: Bag, codes: Codes32, n_classes: int, weights: Weights) -> Exact:
    """Exact total amount of every token in every class, (classes, tokens), for any amounts."""
    indptr, n_tokens = np.ascontiguousarray(bag.indptr), len(bag.keys)
    parts = in_threads(
        lambda first, last: Exact(
            *kernels.active.sum_bags(indptr, bag.indices, bag.amounts, weights, codes, n_tokens, first, last)
        ),
        n_classes,
        small=0 if len(bag.indices) > SMALL else n_classes,
    )
    if len({(part.low, part.digits.shape[-1]) for part in parts}) == 1:  # digits of the same places
        return Exact(np.concatenate([part.digits for part in parts]), parts[0].low)
    return Exact.concatenate(parts)


def add_columns(parts: list[Counts], n_classes: int) -> Counts:
    """The counts of several columns in one tally."""
    first, *rest = parts or [Counts((), n_classes)]
    for part in rest:
        first.prepare(part, 1)()
    return first


def _lengths(bag: Bag) -> Floats:
    """The total amount of every bag, rounded up."""
    length = np.diff(bag.indptr).astype(np.float64)
    if (amounts := bag.amounts) is not None:
        filled = np.flatnonzero(length)
        first = bag.indptr[filled]

        def add_up(start: int, stop: int) -> None:
            end = int(first[stop]) if stop < len(first) else int(bag.indptr[-1])
            part = amounts[int(first[start]) : end] if stop > start else amounts[:0]
            if stop > start:
                length[filled[start:stop]] = np.add.reduceat(part, first[start:stop] - first[start], dtype=np.float64)

        in_threads(add_up, len(filled))
        length = np.minimum(np.ceil(np.round(length, 6)), 2.0**53)
    return length


def lengths_by_class(name: str, length: np.ndarray, codes: Codes32, n_classes: int, weights: Weights) -> Counts:
    """Bags by length, given the length of each."""
    kept = np.flatnonzero(codes >= 0)
    size = length[kept].astype(np.int64)
    if weights is None and 0 < (size.max(initial=0) + 1) * n_classes <= DENSE:
        table = np.bincount(size * n_classes + codes[kept], minlength=(size.max(initial=-1) + 1) * n_classes)
        sizes = range(len(table) // n_classes)
        return Counts.of_table((name,), [sizes], Exact.whole(table.reshape(-1, n_classes)))
    keys, position = np.unique(size, return_inverse=True)
    place, group = np.unique(position * n_classes + codes[kept], return_inverse=True)
    values = np.ones(len(kept)) if weights is None else weights[kept]
    return Counts.of_places(name, keys.tolist(), place, Exact.summed(values, group, len(place)), n_classes)
