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
from tallybayes.arrays.token_rules import packed
from tallybayes.data.batch import Batch
from tallybayes.families.token_weights import integer_amounts
from tallybayes.kernels.integer_hash import Hashes, hash_integers
from tallybayes.tally.key_index import lexicon_of

__all__ = ["Hashes", "RowHashes", "document_hashes", "key_hashes"]

_SIZES = (1, 2, 4, 8)  # bytes of the numbers that the kernel reads
_BYTES = np.arange(256, dtype=np.uint8)


class RowHashes:
    """A hash of every row of a batch with its label and weight; `keys` are the labels of the codes.

    Calling it gives the hashes of the rows from start to stop.
    """

    def __init__(self, batch: Batch, keys: Sequence[Key], weights: NDArray[np.float64] | None = None) -> None:
        self._numbers: dict[Any, list[tuple[Any, Hashes]]] = {}  # by type: arrays and their salts
        self._tables: dict[Any, list[tuple[Any, Hashes, int]]] = {}  # by type: codes, hashes of keys, the first code
        self._bags: list[tuple[tuple[Any, ...], Any, Hashes]] = []  # arguments of the kernel, present, salts
        columns: dict[str, Codes | Flags | Reals | Bag] = {}
        for name, column in (batch.columns | batch.sources).items():
            if isinstance(column, Bag) and not hasattr(column.keys, "tokenise"):
                bag = column.expanded()
                self._bags.append((_bag_arrays(bag), bag.present, key_hashes([name])))
            elif not isinstance(column, Cells):  # derived columns follow from the others
                columns[name] = column
        names = list(columns)
        if names:
            prepared = in_threads(lambda i, _: _prepared(names[i], columns[names[i]]), len(names), size=1, small=0)
            for values, table, origin in prepared:
                self._add(values, table, origin)
        self._add(*_prepared("\0label", Codes(batch.labels.codes, keys)))
        if weights is not None:  # a weight of 1 is none
            self._add(np.where(weights == 1, np.nan, weights), key_hashes(["\0weight"]), None)

    def _add(self, values: Any, hashes: Hashes, origin: int | None) -> None:
        if origin is None:
            self._numbers.setdefault(values.dtype, []).append((values, hashes))
        else:
            self._tables.setdefault(values.dtype, []).append((values, hashes, origin))

    def __call__(self, start: int, stop: int) -> Hashes:
        """The hashes of some rows, (stop - start,)."""
        result = np.zeros(stop - start, np.uint64)
        for numbers in self._numbers.values():
            arrays, salts = zip(*numbers, strict=True)
            result += kernels.active.hash_columns(list(arrays), np.concatenate(salts), start, stop)
        for coded in self._tables.values():
            arrays, tables, origins = zip(*coded, strict=True)
            offsets = np.cumsum([0, *map(len, tables)])
            table = np.concatenate(tables)
            result += kernels.active.hash_codes(list(arrays), table, offsets, np.array(origins, np.int64), start, stop)
        for bag, present, salt in self._bags:
            own = _not_zero(kernels.active.hash_bags(*bag, start, stop))
            here = own if present is None else np.where(present[start:stop], own, np.uint64(0))
            result += _salted(here, salt)
        return result


def key_hashes(keys: Iterable[Key]) -> Hashes:
    """A hash of each key, which depends on nothing but the key and is not 0: that is a missing value.

    >>> both = key_hashes(["a", 1])
    >>> both.tolist() == [*key_hashes(["a"]), *key_hashes(range(1, 2))]
    True
    """
    if isinstance(keys, range):
        return _not_zero(hash_integers(np.arange(keys.start, keys.stop, keys.step)))
    given = list(keys)
    texts = [i for i, key in enumerate(given) if isinstance(key, str)]
    if len(texts) == len(given):
        return _not_zero(_text_hashes(given))
    result = np.zeros(len(given), np.uint64)
    result[texts] = _text_hashes([given[i] for i in texts])
    numbers = [i for i, key in enumerate(given) if _is_integer(key)]
    result[numbers] = hash_integers(np.array([given[i] for i in numbers], np.int64))
    for i in sorted({*range(len(given))}.difference(texts, numbers)):
        content = repr(given[i]).encode("utf-8", "surrogatepass")
        result[i] = int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")
    return _not_zero(result)


def _not_zero(hashes: Hashes) -> Hashes:
    """Hashes of values that are there: an empty text and the number -1 would have 0."""
    return np.maximum(hashes, np.uint64(1))


def _is_integer(key: Any) -> bool:
    """Whether a key is an integer of 64 bits."""
    return isinstance(key, int | np.integer) and not isinstance(key, bool) and -(2**63) <= int(key) < 2**63


def _text_hashes(texts: list[Any]) -> Hashes:
    hashes: Hashes = kernels.active.hash_texts(*packed(texts))
    return hashes


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


def _prepared(name: str, column: Bag | Codes | Flags | Reals) -> tuple[Any, Hashes, int | None]:
    """The values of a column for the kernels: numbers and a salt, or codes, hashes of their keys and the first code.

    NaN, -1, the hash 0 or a code without a key where a value is missing.
    """
    salt = key_hashes([name])
    if isinstance(column, Bag):
        bag = column.expanded()
        hashes = _not_zero(document_hashes(bag))
        return (hashes if bag.present is None else np.where(bag.present, hashes, np.uint64(0))), salt, None
    if isinstance(column, Codes):
        own = column.with_keys_in_use()
        if own.codes.dtype.kind == "i":
            return own.codes, _salted(key_hashes(own.keys), salt), own.origin
        return own.codes.astype(np.int64), _salted(key_hashes(own.keys), salt), own.origin
    values = column.values
    if values.dtype.kind in "bi" and values.dtype.itemsize == 1:  # a table for every byte
        every = _BYTES.astype(np.int64) if values.dtype.kind == "b" else _BYTES.view(np.int8)
        return values.view(np.uint8), _salted(every, salt), 0
    is_read = values.dtype.kind in "fib" and values.dtype.itemsize in _SIZES
    return (values if is_read else values.astype(np.float64)), salt, None


def _salted(values: NDArray[Any], salt: Hashes) -> Hashes:
    """What the values of a column add to the hash of a row."""
    hashes: Hashes = kernels.active.hash_columns([values], salt, 0, len(values))
    return hashes


def _bag_arrays(bag: Bag) -> tuple[Any, ...]:
    """The arguments of the kernel that hashes the tokens and amounts of bags."""
    tokens = None if bag.keys == range(len(bag.keys)) else key_hashes(bag.keys)
    amounts = None if bag.amounts is None else _amounts(bag.amounts)
    return bag.indptr, np.ascontiguousarray(bag.indices), amounts, tokens, len(bag.keys)


def _amounts(amounts: NDArray[Any]) -> NDArray[Any]:
    """Amounts in a type that the kernel reads."""
    is_read = amounts.dtype in (np.float64, np.float32, np.int64, np.int32)
    return np.ascontiguousarray(amounts if is_read else amounts.astype(np.float64))
