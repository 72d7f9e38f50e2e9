"""Documents with weights, and documents that belong to several classes, each with a share.

The tokens of the latter are counted as products of matrices.

    sum of a token in a class = sum over documents of amount * share

Amounts are integers, shares are multiples of 2**-20, and so few documents are taken at a time that all products and
sums are exact in 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Codes32, Floats, Indices, Integers, Integers32
from tallybayes.arrays.axis import distinct_numbers
from tallybayes.arrays.column import Bag
from tallybayes.families.family import SHARE_BITS, SHARE_UNIT
from tallybayes.families.tokens.bag_counts import lengths_by_class
from tallybayes.families.tokens.token_weights import integer_amounts
from tallybayes.tally import Counts, Exact, Vocabulary
from tallybayes.tally.entry_store import CLASS_BITS, EntryStore, EntryTable
from tallybayes.tally.key_index import index_of
from tallybayes.tally.vocabulary import TEXT_KINDS

__all__ = ["are_short", "count_shared_documents", "count_weighted_documents"]

_MOST_SHARE = 2.0**20
_MOST = 2.0**62  # of sums in 64 bits
_CELLS = 2**24  # tokens times classes at a time, 128 MB


def are_short(shares: Floats) -> bool:
    """Whether shares are multiples of 2**-20 from 0 to 2**20.

    >>> are_short(np.array([[0.25, 0.75]])), are_short(np.array([[1 / 3, 2 / 3]])), are_short(np.array([[-1.0]]))
    (True, False, False)
    """
    units = shares / SHARE_UNIT
    is_whole = bool((units == np.floor(units)).all())
    return is_whole and bool(shares.min(initial=0.0) >= 0 and shares.max(initial=0.0) <= _MOST_SHARE)


def count_weighted_documents(
    bag: Bag, codes: Codes32, n_classes: int, weights: Floats, *, unit: bool
) -> tuple[Vocabulary, Integers]:
    """The sums of a column of documents with weights, and the length of every document."""
    amounts, row = integer_amounts(bag), np.repeat(np.arange(len(codes)), np.diff(bag.indptr))
    kept = (codes[row] >= 0) & (weights[row] > 0)
    places = bag.indices[: len(row)][kept].astype(np.int64) << CLASS_BITS | codes[row[kept]]
    entries, group = np.unique(places, return_inverse=True)
    logs = kernels.active.log_amounts(np.ascontiguousarray(bag.indptr, np.int64), amounts, unit)
    values = (part[kept].astype(np.float64) for part in (amounts, np.ones_like(amounts), logs))
    sums = {
        kind: Exact.summed(part, group, len(entries), weights=weights[row[kept]])
        for kind, part in zip(TEXT_KINDS, values, strict=True)
    }
    store = EntryStore(n_classes, TEXT_KINDS, EntryTable(entries, sums))
    return Vocabulary(index_of(bag.keys), store), np.bincount(row, amounts, len(codes)).astype(np.int64)


def count_shared_documents(name: str, bag: Bag, shares: Floats, *, unit: bool) -> tuple[Vocabulary, Counts]:
    """The sums of a column of documents with shares (rows, classes), and documents by length."""
    amounts, n_rows = integer_amounts(bag), len(bag)
    logs = kernels.active.log_amounts(np.ascontiguousarray(bag.indptr, np.int64), amounts, unit)
    values = dict(zip(TEXT_KINDS, (amounts, np.ones_like(amounts), logs), strict=True))
    if bag.present is not None:
        shares = np.where(bag.present[:, None], shares, 0.0)
    rows, codes = np.nonzero(shares)
    lengths = np.bincount(np.repeat(np.arange(n_rows), np.diff(bag.indptr)), amounts, n_rows).astype(np.int64)
    of_rows = lengths[rows], codes.astype(np.int32), shares.shape[1], shares[rows, codes]
    return _add_up(bag, values, shares), lengths_by_class(name, *of_rows)


def _add_up(bag: Bag, values: Mapping[str, Integers32], shares: Floats) -> Vocabulary:
    """The sums of values of every token, by kind."""
    index, n_classes = index_of(bag.keys), shares.shape[1]
    used: Any
    used, tokens = distinct_numbers(bag.indices, len(index))
    units = (shares / SHARE_UNIT).astype(np.int64)
    step = max(1, _CELLS // max(len(used), 1))
    parts = [
        _count(bag, values, tokens, used, units[:, first : first + step], first) for first in range(0, n_classes, step)
    ]
    entries = np.concatenate([part for part, _ in parts])
    order = np.argsort(entries, kind="stable")
    sums = {kind: Exact.concatenate([sums[kind] for _, sums in parts])[order].trimmed() for kind in TEXT_KINDS}
    return Vocabulary(index, EntryStore(n_classes, TEXT_KINDS, EntryTable(entries[order], sums)))


def _count(
    bag: Bag, values: Mapping[str, Integers32], tokens: Indices, used: Indices, units: Integers, first: int
) -> tuple[Integers, dict[str, Exact]]:
    """Entries of tokens and some classes from number `first` on, and their sums by kind."""
    from scipy.sparse import csr_array

    n_rows, ends = len(bag), bag.indptr.astype(np.int64)
    totals = {}
    for kind, amounts in values.items():
        total = Exact.zeros((len(used), units.shape[1]))
        at_once = int(min(_MOST // max(float(amounts.max(initial=1)) * float(units.max(initial=1)), 1.0), n_rows))
        for start in range(0, n_rows, max(at_once, 1)):
            stop = min(start + max(at_once, 1), n_rows)
            cut = slice(int(ends[start]), int(ends[stop]))
            data = amounts[cut].astype(np.int64), tokens[cut], ends[start : stop + 1] - ends[start]
            matrix = csr_array(data, shape=(stop - start, len(used)))
            total = total + Exact.whole(matrix.T @ units[start:stop])
        totals[kind] = total
    token, klass = np.nonzero(totals["documents"].nonzero())
    entries = used[token].astype(np.int64) << CLASS_BITS | (klass + first)
    return entries, {kind: total[token, klass].over_power(SHARE_BITS) for kind, total in totals.items()}
