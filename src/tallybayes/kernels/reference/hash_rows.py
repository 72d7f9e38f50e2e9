"""Hashes of the content of rows, by which samples are drawn."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Columns, Indices, Integers
from tallybayes.kernels.contract import checked
from tallybayes.kernels.integer_hash import Hashes, hash_integers
from tallybayes.kernels.reference.column_values import as_list

_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_AMOUNT = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: amounts differ in their highest bits only
_GROUPS = 4  # of tokens, each with its smallest hash: fewer would join texts that share four frequent words
_LONG = 8  # tokens that a bag has at least, so that it can be nearly equal to another


@checked("columns: columns; salts: columns")
def hash_columns(columns: Columns, salts: Hashes, start: int, stop: int) -> Hashes:
    """For every row the sum of the hashes of its values, each scrambled with the salt of its column, (stop - start,).

    A missing value (NaN, -1) adds nothing. Unsigned numbers of 64 bits are hashes already; 0 is missing.

    >>> one, two = (np.array([x, np.nan]) for x in (1.0, 2.0))
    >>> salts = np.array([3, 5], np.uint64)
    >>> both, (first, second) = hash_columns([one, two], salts, 0, 2), [
    ...     hash_columns([x], salts[i : i + 1], 0, 2) for i, x in enumerate((one, two))
    ... ]
    >>> both.tolist() == (first + second).tolist(), int(both[1])
    (True, 0)
    """
    result = np.zeros(stop - start, np.uint64)
    for column, salt in zip(as_list(columns), salts, strict=True):
        values = column[start:stop]
        missing = _missing(values)
        bits = values if values.dtype == np.uint64 else (values.astype(np.float64) + 0.0).view(np.uint64)
        result += np.where(missing, np.uint64(0), _mix(bits ^ salt))
    return result


@checked("columns: columns; offsets: columns+1; origins: columns; table: entries; offsets: columns+1 | ends entries")
def hash_codes(columns: Columns, table: Hashes, offsets: Indices, origins: Integers, start: int, stop: int) -> Hashes:
    """For every row the sum of the hashes of its codes, (stop - start,).

    Those of column j are table[offsets[j]:offsets[j + 1]], the first of them for the code origins[j]. A code outside
    is a missing value and adds nothing.

    >>> table = np.array([3, 5], np.uint64)
    >>> hash_codes([np.array([7, 8, 9])], table, np.array([0, 2]), np.array([7]), 0, 3).tolist()
    [3, 5, 0]
    """
    result = np.zeros(stop - start, np.uint64)
    for j, column in enumerate(as_list(columns)):
        hashes = np.append(table[offsets[j] : offsets[j + 1]], np.uint64(0))
        place = column[start:stop].astype(np.int64) - origins[j]
        result += hashes[np.where((place < 0) | (place >= len(hashes) - 1), -1, place)]
    return result


@checked("indptr: rows+1; indices: entries; amounts: entries; tokens: tokens; indices: entries | bags tokens")
def hash_bags(
    indptr: Indices,
    indices: Indices,
    amounts: NDArray[Any] | None,
    tokens: Hashes | None,
    n_tokens: int,
    start: int,
    stop: int,
) -> Hashes:
    """For every row the sum over its tokens of the hash of the token with its amount, scrambled, (stop - start,).

    `tokens` are the hashes of the tokens; without them a token has that of its number, `hash_integers`.

    >>> bags = np.array([0, 1, 2, 4]), np.array([0, 1, 1, 0]), np.array([2.0, 1.0, 1.0, 2.0])
    >>> first, second, both = hash_bags(*bags, np.array([4, 6], np.uint64), 2, 0, 3).tolist()
    >>> (first + second) % 2**64 == both
    True
    """
    ends = indptr[start : stop + 1]
    token = indices[ends[0] : ends[-1]]
    hashes = hash_integers(token) if tokens is None else tokens[token]
    amount = np.ones(len(token)) if amounts is None else amounts[ends[0] : ends[-1]].astype(np.float64)
    cells = _mix(hashes ^ (amount.view(np.uint64) * _AMOUNT))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(cells, dtype=np.uint64)])
    return np.asarray(sums[ends[1:] - ends[0]] - sums[ends[:-1] - ends[0]])


@checked("indptr: rows+1; indices: entries; tokens: tokens; indices: entries | bags tokens")
def sign_bags(indptr: Indices, indices: Indices, tokens: Hashes, n_tokens: int, start: int, stop: int) -> Hashes:
    """For every row a number that bags with nearly the same tokens share, (stop - start,); 0 for short ones.

    That is the smallest hash in each of four groups of tokens, scrambled together: bags of which a share J of all their
    tokens is in both have equal numbers with probability J**4 (Li, Owen and Zhang 2012, "One permutation hashing").
    `tokens` are the hashes of the tokens. Bags of fewer than 8 tokens are too short to be nearly equal.

    >>> tokens = np.arange(1, 41, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    >>> indptr, indices = np.array([0, 39, 78, 79]), np.array([*range(39), *range(1, 40), 0])
    >>> one, near, short = sign_bags(indptr, indices, tokens, 40, 0, 3).tolist()
    >>> one == near, short
    (True, 0)
    """
    result = np.zeros(stop - start, np.uint64)
    for row in range(start, stop):
        hashes = tokens[indices[indptr[row] : indptr[row + 1]]]
        if len(hashes) < _LONG:
            continue
        state = np.zeros(1, np.uint64)
        for group in range(_GROUPS):
            state = _mix(state ^ hashes[hashes % np.uint64(_GROUPS) == group].min(initial=np.uint64(2**64 - 1)))
        result[row - start] = max(state[0], np.uint64(1))
    return result


@checked("data: bytes; offsets: lines+1 | ends bytes")
def hash_texts(data: NDArray[np.uint8], offsets: Indices) -> Hashes:
    """A hash of every text; text i has the bytes from offsets[i] to offsets[i + 1].

    >>> first, second, third = hash_texts(np.frombuffer(b"tobeto", np.uint8), np.array([0, 2, 4, 6])).tolist()
    >>> first == third, first == second
    (True, False)
    """
    result = np.zeros(len(offsets) - 1, np.uint64)
    for i, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        state = np.array([stop - start], np.uint64)
        padded = data[start:stop].tobytes() + bytes(-(stop - start) % 8)
        for word in np.frombuffer(padded, "<u8"):
            state = _mix(state ^ word) + np.uint64(1)  # so that no two words in a row can cancel
        result[i] = _mix(state)[0]
    return result


def _missing(values: NDArray[Any]) -> Any:
    if values.dtype == np.uint64:
        return values == 0
    return np.isnan(values) if values.dtype.kind == "f" else values.astype(np.int64) == -1


def _mix(bits: Hashes) -> Hashes:
    """The finalizer of splitmix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators")."""
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return np.asarray(bits ^ (bits >> np.uint64(31)))
