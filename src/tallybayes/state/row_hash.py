"""Hashes of the content of rows, by which samples are drawn.

A sample of the rows with the smallest hashes does not depend on the order of the rows, on batches or on threads, and
the sample of two samples is the sample of all their rows. The hash of a row is a sum over its columns, so that the
order of the columns does not matter and a missing value adds nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Bag, Cells, Codes, Flags, Key, Reals
from tallybayes.data.batch import Batch
from tallybayes.families.token_weights import integer_amounts
from tallybayes.tally.key_index import lexicon_of

__all__ = ["Hashes", "document_hashes", "key_hashes", "row_hashes"]

Hashes = NDArray[np.uint64]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: spreads integers over all bits
_SIZES = (1, 2, 4, 8)  # bytes of the numbers that the kernel reads


def row_hashes(batch: Batch, keys: Sequence[Key], weights: NDArray[np.float64] | None = None) -> Hashes:
    """A hash of every row of a batch with its label and weight; `keys` are the labels of the codes."""
    every, arrays = batch.columns | batch.sources, dict[str, Any]()
    columns = {name: own for name, own in every.items() if not isinstance(own, Cells)}  # these follow from the others
    names = list(columns)
    if names:
        prepared = in_threads(lambda i, _: _prepared(columns[names[i]]), len(names), size=1, small=0)
        arrays = dict(zip(names, prepared, strict=True))
    arrays["\0label"] = np.append(key_hashes(keys), np.uint64(0))[batch.labels.codes]
    if weights is not None:
        arrays["\0weight"] = np.where(weights == 1, np.nan, weights)  # a weight of 1 is none
    by_type: dict[Any, list[str]] = {}
    for name, array in arrays.items():
        by_type.setdefault(array.dtype, []).append(name)
    groups = [([arrays[name] for name in names], key_hashes(names)) for names in by_type.values()]

    def chunk(start: int, stop: int) -> Hashes:
        parts = [kernels.active.hash_columns(own, salts, start, stop) for own, salts in groups]
        return np.asarray(sum(parts[1:], parts[0]))

    return np.concatenate(in_threads(chunk, batch.n_rows))


def key_hashes(keys: Iterable[Key]) -> Hashes:
    """A hash of each key."""
    digests = (hashlib.blake2b(repr(key).encode("utf-8", "surrogatepass"), digest_size=8) for key in keys)
    return np.array([int.from_bytes(digest.digest(), "little") for digest in digests], np.uint64)


def document_hashes(bag: Bag) -> Hashes:
    """A hash of the tokens of each text; of hashed tokens, their buckets."""
    keys = lexicon_of(bag.keys)
    indices: NDArray[np.integer] = np.ascontiguousarray(bag.indices, np.int32)
    if hasattr(keys, "packed"):
        data, offsets = keys.packed()
    else:
        used, indices = np.unique(indices, return_inverse=True)
        data, offsets = used.astype(np.int64).view(np.uint8), np.arange(0, 8 * len(used) + 1, 8)
    prints: Hashes = kernels.active.fingerprint_documents(
        np.ascontiguousarray(bag.indptr, np.int64),
        np.ascontiguousarray(indices, np.int32),
        integer_amounts(bag),
        data,
        offsets,
    )
    return prints


def _prepared(column: Bag | Codes | Flags | Reals) -> Any:
    """The values of a column as numbers that the kernel can hash: NaN, -1 or the hash 0 where they are missing."""
    if isinstance(column, Bag):
        bag = column.expanded()
        hashes = np.maximum(_bag_hashes(bag), np.uint64(1))
        return hashes if bag.present is None else np.where(bag.present, hashes, np.uint64(0))
    if isinstance(column, Codes):
        own = column.with_keys_in_use()
        table = np.append(key_hashes(own.keys), np.uint64(0))  # the last is of a missing value
        if own.codes.dtype == np.int8:  # a table for every byte
            every = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.int64) - own.origin
            return table[np.where((every < 0) | (every >= len(own.keys)), -1, every)][own.codes.view(np.uint8)]
        place = own.codes if own.origin == 0 else own.codes.astype(np.int64) - own.origin
        if len(place) and (place.min() < -1 or place.max() >= len(own.keys)):
            place = np.where((place < 0) | (place >= len(own.keys)), -1, place)
        return table[place]
    values = column.values
    return values if values.dtype.kind in "fib" and values.dtype.itemsize in _SIZES else values.astype(np.float64)


def _bag_hashes(bag: Bag) -> Hashes:
    """A hash of the tokens and amounts of each bag."""
    if hasattr(bag.keys, "tokenise"):
        return document_hashes(bag)
    if isinstance(bag.keys, range):  # columns of a sparse matrix
        own = (bag.indices.astype(np.uint64) + np.uint64(bag.keys.start + 1)) * _SPREAD
        own ^= own >> np.uint64(29)
    else:
        used, place = np.unique(bag.indices, return_inverse=True)
        own = key_hashes([bag.keys[int(index)] for index in used])[place]
    amounts = np.ones(len(own)) if bag.amounts is None else np.asarray(bag.amounts).astype(np.float64)
    cells = own * (amounts.view(np.uint64) | np.uint64(1))  # odd, so that no bit of the token is lost
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(cells, dtype=np.uint64)])
    return np.asarray(ends[bag.indptr[1:]] - ends[bag.indptr[:-1]])
