"""Bags counted: the total amount of every token in every class, and bags by their length.

Three ways to the same exact sums: a dense table where tokens times classes are few, sorted places where they are many,
and digits where amounts or weights are fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.chunks import SMALL, in_threads
from tallybayes.arrays.column import Bag, Key
from tallybayes.errors import DataError
from tallybayes.families.family import Codes32, Floats
from tallybayes.tally import Counts, Exact

__all__ = [
    "DENSE",
    "add_columns",
    "counted_lengths",
    "counted_tokens",
    "each_once",
    "fractional_sums",
    "lengths_by_class",
]

DENSE = 2**22  # tokens x classes up to which a dense table is worth its memory (32 MB per thread)


def each_once(bag: Bag, codes: Codes32, n_classes: int, weights: Floats | None) -> tuple[Bag, Codes32, Floats | None]:
    """Bags that come again and again as one row per bag and class, its weight the number of times."""
    n_bags = len(bag.indptr) - 1
    if bag.rows is None or weights is not None or n_bags * n_classes * 4 > len(codes):
        return bag.expanded(), codes, weights
    place = np.where(codes >= 0, bag.rows.astype(np.int64) * n_classes + codes, n_bags * n_classes)
    times = np.bincount(place, minlength=n_bags * n_classes + 1)[:-1]
    there = np.flatnonzero(times)
    distinct = Bag(bag.indptr, bag.indices, bag.amounts, bag.keys).take(there // max(n_classes, 1))
    return distinct, (there % max(n_classes, 1)).astype(np.int32), times[there].astype(np.float64)


def counted_tokens(name: str, bag: Bag, codes: Codes32, n_classes: int, weights: Floats | None) -> Counts:
    """Total amount of every token in every class."""
    _check_products(name, bag, weights)
    if weights is None:
        dense = len(bag.keys) * n_classes <= DENSE and len(bag.indices) * 4 >= len(bag.keys) * n_classes
        kernel = kernels.active.bag_table if dense else kernels.active.bags
        parts = in_threads(
            lambda start, stop: kernel(
                bag.indptr, bag.indices, bag.amounts, codes, n_classes, len(bag.keys), start, stop
            ),
            len(codes),
        )
        if all(part is not None for part in parts):
            for part in parts[1:] if dense else ():
                parts[0] += part
            return Counts.of_dense(name, bag.keys, parts[0]) if dense else _merged(name, bag.keys, parts, n_classes)
    if len(bag.keys) * n_classes <= DENSE:
        amounts = fractional_sums(bag, codes, n_classes, weights)
        token, klass = np.nonzero(amounts.nonzero().T)
        return Counts.of_bag(name, bag.keys, token * n_classes + klass, amounts[klass, token].trimmed(), n_classes)
    row = np.repeat(np.arange(len(codes)), np.diff(bag.indptr))
    amount = np.ones(len(row)) if bag.amounts is None else bag.amounts[: len(row)].astype(np.float64)
    kept = (codes[row] >= 0) & (amount != 0)
    place, group = np.unique(bag.indices[kept].astype(np.int64) * n_classes + codes[row[kept]], return_inverse=True)
    own_weights = None if weights is None else weights[row[kept]]
    amounts = Exact.summed(amount[kept], group, len(place), weights=own_weights)
    there = amounts.nonzero()
    return Counts.of_bag(name, bag.keys, place[there], amounts[there].trimmed(), n_classes)


def _check_products(name: str, bag: Bag, weights: Floats | None) -> None:
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


def fractional_sums(bag: Bag, codes: Codes32, n_classes: int, weights: Floats | None) -> Exact:
    """Exact total amount of every token in every class, (classes, tokens), whatever the amounts are."""
    indptr, n_tokens = np.ascontiguousarray(bag.indptr), len(bag.keys)
    parts = in_threads(
        lambda first, last: Exact(
            *kernels.active.bag_sums(indptr, bag.indices, bag.amounts, weights, codes, n_tokens, first, last)
        ),
        n_classes,
        small=0 if len(bag.indices) > SMALL else n_classes,
    )
    if len({(part.low, part.digits.shape[-1]) for part in parts}) == 1:  # digits of the same places
        return Exact(np.concatenate([part.digits for part in parts]), parts[0].low)
    return Exact.concatenate(parts)


def _merged(name: str, keys: Sequence[Key], parts: Sequence[Any], n_classes: int) -> Counts:
    """Sorted places and totals of several row ranges as one."""
    if len(parts) == 1:
        return Counts.of_bag(name, keys, parts[0][0], Exact.whole(parts[0][1]), n_classes)
    place, group = np.unique(np.concatenate([p for p, _ in parts]), return_inverse=True)
    amounts = Exact.whole(np.concatenate([t for _, t in parts])).grouped(group, len(place))
    return Counts.of_bag(name, keys, place, amounts, n_classes)


def add_columns(parts: list[Counts], n_classes: int) -> Counts:
    """The counts of several columns as one tally."""
    first, *rest = parts or [Counts((), n_classes)]
    for part in rest:
        first.prepare(part, 1)()
    return first


def counted_lengths(name: str, bag: Bag, codes: Codes32, n_classes: int, weights: Floats | None) -> Counts:
    """Bags by length, rounded up."""
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
    return lengths_by_class(name, length, codes, n_classes, weights)


def lengths_by_class(name: str, length: np.ndarray, codes: Codes32, n_classes: int, weights: Floats | None) -> Counts:
    """Bags by length, given the length of each."""
    kept = np.flatnonzero(codes >= 0)
    size = length[kept].astype(np.int64)
    if weights is None and 0 < (size.max(initial=0) + 1) * n_classes <= DENSE:
        table = np.bincount(size * n_classes + codes[kept], minlength=(size.max(initial=-1) + 1) * n_classes)
        return Counts.of_dense(name, range(len(table) // n_classes), table.reshape(-1, n_classes))
    keys, position = np.unique(size, return_inverse=True)
    place, group = np.unique(position * n_classes + codes[kept], return_inverse=True)
    values = np.ones(len(kept)) if weights is None else weights[kept]
    amounts_by_length = Exact.summed(values, group, len(place))
    there = amounts_by_length.nonzero()
    return Counts.of_bag(name, keys.tolist(), place[there], amounts_by_length[there].trimmed(), n_classes)
