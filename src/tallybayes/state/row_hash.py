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
from tallybayes.arrays.column import Bag, Codes, Column, Derived, Flags, Key, Reals
from tallybayes.arrays.token_rules import pack_strings
from tallybayes.columns.batch import Batch
from tallybayes.families.tokens.token_weights import integer_amounts
from tallybayes.kernels.integer_hash import Hashes, hash_integers
from tallybayes.tally.key_index import lexicon_of

__all__ = ["Hashes", "RowHashes", "column_hashes", "document_hashes", "group_hashes", "key_hashes"]

_SIZES = (1, 2, 4, 8)  # bytes of the numbers that the kernel reads
_BYTES = np.arange(256, dtype=np.uint8)


class RowHashes:
    """A hash of every row of a batch with its label and weight; `keys` are the labels of the codes.

    Calling it gives the hashes of the rows from start to stop, and their signatures: those of near-copied texts are
    equal. A signature is the hash of the row without label and weight, where long texts have `sign_bags` instead of
    their hash. Rows without a long text have their hash as signature. Where rows have groups, these are the signatures.
    """

    def __init__(self, batch: Batch, keys: Sequence[Key], weights: NDArray[np.float64] | None = None) -> None:
        self._values = _ColumnHashes()
        self._bags: list[tuple[tuple[Any, ...], Any, Hashes]] = []  # arguments of the kernel, present, salts
        self._texts: list[tuple[tuple[Any, ...], Any, Hashes]] = []
        columns: dict[str, Codes | Flags | Reals] = {}
        for name, column in (batch.columns | batch.sources).items():
            if isinstance(column, Bag):
                bag = column.expanded()
                is_text = hasattr(column.keys, "tokenise")
                arguments = _document_arrays(bag) if is_text else _bag_arrays(bag)
                (self._texts if is_text else self._bags).append((arguments, bag.present, key_hashes([name])))
            elif not isinstance(column, Derived):  # derived columns follow from the others
                columns[name] = column
        names = list(columns)
        if names:
            prepared = in_threads(lambda i, _: _prepare(names[i], columns[names[i]]), len(names), size=1, small=0)
            for values, table, origin in prepared:
                self._values.add(values, table, origin)
        self._groups = None if batch.groups is None else group_hashes(batch.groups)
        self._labels = _ColumnHashes()
        self._labels.add(*_prepare("\0label", Codes(batch.labels.codes, keys)))
        if weights is not None:  # a weight of 1 is none
            self._labels.add(np.where(weights == 1, np.nan, weights), key_hashes(["\0weight"]), None)

    def __call__(self, start: int, stop: int) -> tuple[Hashes, Hashes]:
        """The hashes and the signatures of some rows, (stop - start,) each."""
        result = self._values(start, stop)
        for bag, present, salt in self._bags:
            result += _salt(_mask(_not_zero(kernels.active.hash_bags(*bag, start, stop)), present, start), salt)
        signatures, is_long = result.copy() if self._texts else result, np.zeros(stop - start, bool)
        for bag, present, salt in self._texts:
            indptr, indices, _, tokens, n_tokens = bag
            hashes = _mask(_not_zero(kernels.active.hash_bags(*bag, start, stop)), present, start)
            signs = _mask(kernels.active.sign_bags(indptr, indices, tokens, n_tokens, start, stop), present, start)
            result += _salt(hashes, salt)
            signatures += _salt(np.where(signs == 0, hashes, signs), salt)
            is_long |= signs != 0
        result += self._labels(start, stop)
        if self._groups is not None:
            groups = self._groups[start:stop]
            return result + _salt(groups, key_hashes(["\0group"])), groups
        return result, np.where(is_long, signatures, result) if is_long.any() else result


class _ColumnHashes:
    """The hashes of numbers and codes, added up row by row; columns of one type are read together."""

    def __init__(self) -> None:
        self._numbers: dict[Any, list[tuple[Any, Hashes]]] = {}  # by type: arrays and their salts
        self._tables: dict[Any, list[tuple[Any, Hashes, int]]] = {}  # by type: codes, hashes of keys, the first code

    def add(self, values: Any, hashes: Hashes, origin: int | None) -> None:
        """Add a column: numbers and a salt, or codes, the hashes of their keys and the first code."""
        if origin is None:
            self._numbers.setdefault(values.dtype, []).append((values, hashes))
        else:
            self._tables.setdefault(values.dtype, []).append((values, hashes, origin))

    def __call__(self, start: int, stop: int) -> Hashes:
        """The sums of some rows, (stop - start,)."""
        result = np.zeros(stop - start, np.uint64)
        for numbers in self._numbers.values():
            arrays, salts = zip(*numbers, strict=True)
            result += kernels.active.hash_columns(list(arrays), np.concatenate(salts), start, stop)
        for coded in self._tables.values():
            arrays, tables, origins = zip(*coded, strict=True)
            offsets = np.cumsum([0, *map(len, tables)])
            table = np.concatenate(tables)
            result += kernels.active.hash_codes(list(arrays), table, offsets, np.array(origins, np.int64), start, stop)
        return result


def key_hashes(keys: Iterable[Key]) -> Hashes:
    """A hash of each key, which depends on nothing but the key and is not 0: that is a missing value.

    >>> both = key_hashes(["a", 1])
    >>> both.tolist() == [*key_hashes(["a"]), *key_hashes(range(1, 2))]
    True
    """
    if isinstance(keys, range):
        return _not_zero(hash_integers(np.arange(keys.start, keys.stop, keys.step)))
    listed = list(keys)
    texts = [i for i, key in enumerate(listed) if isinstance(key, str)]
    if len(texts) == len(listed):
        return _not_zero(_text_hashes(listed))
    result = np.zeros(len(listed), np.uint64)
    result[texts] = _text_hashes([listed[i] for i in texts])
    numbers = [i for i, key in enumerate(listed) if _is_integer(key)]
    result[numbers] = hash_integers(np.array([listed[i] for i in numbers], np.int64))
    for i in sorted({*range(len(listed))}.difference(texts, numbers)):
        content = repr(listed[i]).encode("utf-8", "surrogatepass")
        result[i] = int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")
    return _not_zero(result)


def _not_zero(hashes: Hashes) -> Hashes:
    """Hashes of values that are there: an empty text and the number -1 would have 0."""
    return np.maximum(hashes, np.uint64(1))


def _is_integer(key: Any) -> bool:
    """Whether a key is an integer of 64 bits."""
    return isinstance(key, int | np.integer) and not isinstance(key, bool) and -(2**63) <= int(key) < 2**63


def _text_hashes(texts: list[Any]) -> Hashes:
    hashes: Hashes = kernels.active.hash_texts(*pack_strings(texts))
    return hashes


def column_hashes(column: Column) -> Hashes:
    """A hash of every value of a column, which does not depend on its name; 0 where it is missing or derived."""
    if isinstance(column, Derived):
        return np.zeros(len(column), np.uint64)
    if isinstance(column, Bag):
        bag = column.expanded()
        arguments = _document_arrays(bag) if hasattr(column.keys, "tokenise") else _bag_arrays(bag)
        return _mask(_not_zero(kernels.active.hash_bags(*arguments, 0, len(bag))), bag.present, 0)
    hashes = _ColumnHashes()
    hashes.add(*_prepare("", column))
    return hashes(0, len(column))


def group_hashes(groups: Codes) -> Hashes:
    """A hash of the group of every row, the same for 7, 7.0 and "7"; rows without a group are one group."""
    used = groups.with_keys_in_use()
    texts = [str(int(key) if isinstance(key, float) and key.is_integer() else key) for key in used.keys]
    places = used.codes.astype(np.int64) - used.origin
    places[(places < 0) | (places >= len(texts))] = len(texts)
    return hash_integers(key_hashes([*texts, "\0missing"]).view(np.int64))[places]


def document_hashes(bag: Bag) -> tuple[Hashes, Hashes]:
    """A hash of the tokens of each text with their amounts, and its signature, which near copies share; 0 if short."""
    arguments = _document_arrays(bag)
    indptr, indices, _, tokens, n_tokens = arguments
    hashes = kernels.active.hash_bags(*arguments, 0, len(bag))
    return hashes, kernels.active.sign_bags(indptr, indices, tokens, n_tokens, 0, len(bag))


def _document_arrays(bag: Bag) -> tuple[Any, ...]:
    """The arguments of the kernels that hash texts; hashed tokens are their buckets."""
    keys, indices = lexicon_of(bag.keys), np.ascontiguousarray(bag.indices, np.int32)
    used: NDArray[np.integer] | None = None
    if len(keys) > len(indices) or not hasattr(keys, "packed"):
        used, numbers = np.unique(indices, return_inverse=True)
        indices = numbers.astype(np.int32)
    if hasattr(keys, "packed"):
        data, offsets = keys.packed()
        tokens = kernels.active.hash_texts(data, offsets) if used is None else _hashes_of_some(data, offsets, used)
    else:
        tokens = hash_integers(np.asarray(used, np.int64))
    return bag.indptr, indices, integer_amounts(bag), tokens, len(tokens)


def _hashes_of_some(data: NDArray[np.uint8], offsets: NDArray[np.int64], used: NDArray[np.integer]) -> Hashes:
    """The hashes of some of the texts that stand in one block of bytes."""
    content = data.tobytes()
    return _text_hashes([content[a:b] for a, b in zip(offsets[used].tolist(), offsets[used + 1].tolist(), strict=True)])


def _prepare(name: str, column: Codes | Flags | Reals) -> tuple[Any, Hashes, int | None]:
    """The values of a column for the kernels: numbers and a salt, or codes, hashes of their keys and the first code.

    NaN, -1 or a code without a key where a value is missing.
    """
    salt = key_hashes([name])
    if isinstance(column, Codes):
        used = column.with_keys_in_use()
        if used.codes.dtype.kind == "i":
            return used.codes, _salt(key_hashes(used.keys), salt), used.origin
        return used.codes.astype(np.int64), _salt(key_hashes(used.keys), salt), used.origin
    values = column.values
    if values.dtype.kind in "bi" and values.dtype.itemsize == 1:  # a table for every byte
        every = _BYTES.astype(np.int64) if values.dtype.kind == "b" else _BYTES.view(np.int8)
        return values.view(np.uint8), _salt(every, salt), 0
    is_read = values.dtype.kind in "fib" and values.dtype.itemsize in _SIZES
    return (values if is_read else values.astype(np.float64)), salt, None


def _mask(hashes: Hashes, present: Any, start: int) -> Hashes:
    """The hashes of rows from `start` on, 0 where the bag is missing."""
    return hashes if present is None else np.where(present[start : start + len(hashes)], hashes, np.uint64(0))


def _salt(values: NDArray[Any], salt: Hashes) -> Hashes:
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
