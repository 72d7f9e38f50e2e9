"""Columns of bags of tokens: lists, sets, maps of amounts, text with separators, sparse rows.

The tokens of lists are texts without spaces around them, so that `["a", 1]` is the same list in JSON, in a data frame
and in a cell of text.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tallybayes.arrays.axis import sort_keys
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Bag, Key
from tallybayes.arrays.sparse_matrix import is_sparse
from tallybayes.cells.arrow import combine_chunks, to_list
from tallybayes.cells.list_cell import split_list
from tallybayes.columns.readers.key_reader import check_key, text_codes
from tallybayes.columns.readers.reader import Fact, ReadContext, Reader, check_column
from tallybayes.errors import DataError, Described
from tallybayes.formatting import shown
from tallybayes.tables.raw_values import is_missing, is_number
from tallybayes.tables.table import Raw

__all__ = ["BagReader", "missing_bags"]

Split = Callable[[str], list[str]]  # a text into tokens

_AMOUNT = "an amount (a finite number that is not negative)"


@dataclass(frozen=True)
class BagReader(Reader):
    """Bags of tokens; where text is separated is an option of the family, unless it is lists with brackets.

    has_brackets: whether the column is one of lists, which cells of text have in brackets.

    >>> BagReader().encode({"tags": [["a", "b"], None, []]}, ReadContext("tags", 3)).keys
    ['a', 'b']
    """

    kind = "bag"
    column = Bag
    facts = (Fact.switch("brackets", "has_brackets", "whether cells of text are lists with brackets"),)

    has_brackets: bool = False

    def encode(self, inputs: Mapping[Any, Any], context: ReadContext) -> Bag:
        """Check and encode bags."""
        if (raw := inputs.get(context.name)) is None:
            return missing_bags(context.n_rows)
        separator = None if context.family is None else context.family.separator
        split = split_list if self.has_brackets else None if separator is None else partial(_split, separator)
        reading = _Reading(split, are_sets=separator is not None, are_texts=self.has_brackets)
        return check_column(lambda n, r: _to_bag(n, r, reading), context.name, raw, "bags of tokens")


class _Reading(NamedTuple):
    """How bags are read.

    split: a text into tokens; are_sets: whether repeats do not count; are_texts: whether all tokens become texts.
    """

    split: Split | None
    are_sets: bool
    are_texts: bool


def _split(separator: str, text: str) -> list[str]:
    return [part.strip() for part in text.split(separator) if part.strip()]


def missing_bags(n_rows: int) -> Bag:
    """Bags that are all missing."""
    return Bag(np.zeros(n_rows + 1, np.int64), np.zeros(0, np.int64), None, [], np.zeros(n_rows, bool))


def _to_bag(name: str, raw: Raw, reading: _Reading) -> Bag:
    """Bags of tokens: sparse rows, lists, maps, or text that is split."""
    if is_sparse(raw):
        return _sparse_bag(name, raw.tocsr())
    if isinstance(raw, np.ndarray):
        raw = raw.tolist()
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        if pa.types.is_string(raw.type) or pa.types.is_large_string(raw.type):
            return _text_bag(name, combine_chunks(raw), reading)
        raw = [dict(row) if isinstance(row, list) and pa.types.is_map(raw.type) else row for row in to_list(raw)]
    index: dict[Key, int] = {}
    indptr = [0]
    indices: list[int] = []
    amounts: list[float] = []
    present = np.ones(len(raw), bool)
    for row, value in enumerate(raw):
        if is_missing(value):
            present[row] = False
            indptr.append(len(indices))
            continue
        for token, amount in _tokens(name, row, value, reading).items():
            if token not in index:
                check_key(token, "a token", name, row)
            indices.append(index.setdefault(token, len(index)))
            amounts.append(amount)
        indptr.append(len(indices))
    return Bag(
        np.array(indptr, np.int64),
        np.array(indices, np.int64),
        np.array(amounts, np.float64),
        list(index),
        None if present.all() else present,
    )


def _text_bag(name: str, raw: Any, reading: _Reading) -> Bag:
    """Bags of text: each distinct text is split once."""
    codes, values = text_codes(raw)
    try:
        once = _to_bag(name, values, reading)
    except DataError as error:
        raise error.at(row=int(np.argmax(codes == error.row))) from None
    amounts = None if reading.are_sets else once.amounts
    return Bag(once.indptr, once.indices, amounts, once.keys, None if raw.null_count == 0 else codes >= 0, codes)


def _tokens(name: str, row: int, value: Any, reading: _Reading) -> dict[Key, float]:
    """The tokens of one bag and their amounts."""
    bag: dict[Key, float] = {}
    if isinstance(value, Mapping):
        for token, amount in value.items():
            if is_missing(amount):
                continue
            if not is_number(amount) or not 0 <= amount < np.inf:
                raise DataError(_AMOUNT, got=amount, column=name, row=row)
            if amount:
                bag[token] = float(amount)
        return bag
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, str) and reading.split is not None:
        value = reading.split(value)
    elif not isinstance(value, (list, tuple, set, frozenset)):
        expected = "a list of tags or text with tags" if reading.are_sets else "a list of tokens or a map of amounts"
        raise DataError(expected, got=value, column=name, row=row)
    elif reading.are_texts:
        value = list(filter(None, map(_as_text, itertools.filterfalse(is_missing, value))))
    for token in sort_keys(value) if isinstance(value, (set, frozenset)) else value:
        if not is_missing(token):
            bag[token] = bag.get(token, 0.0) + 1.0
    return dict.fromkeys(bag, 1.0) if reading.are_sets else bag


def _as_text(token: Any) -> Any:
    """A token as it is written in a list; what can be no token stays, to be refused."""
    if isinstance(token, str):
        return token.strip()
    return shown(token) if is_number(token) else token


def _sparse_bag(name: str, matrix: Any) -> Bag:
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    data = matrix.data
    if data.dtype.kind not in "fiub":
        raise DataError(_AMOUNT, got=Described(f"values of type {data.dtype}"), column=name)
    if data.dtype not in (np.float64, np.float32, np.int64, np.int32):
        data = data.astype(np.float64)
    # One pass: as unsigned integers, the bits of negative numbers, infinities and NaN are the greatest.
    bits = data.view(f"u{data.dtype.itemsize}")
    limit = np.array(np.inf, data.dtype).view(bits.dtype) if data.dtype.kind == "f" else np.iinfo(data.dtype).max + 1
    tops = in_threads(lambda start, stop: bits[start:stop].max(initial=0), len(data))
    if max(tops) >= limit and not np.all((data >= 0) & (data < np.inf)):  # -0.0 is allowed
        place = int(np.argmax(~((data >= 0) & (data < np.inf))))
        row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
        raise DataError(
            _AMOUNT, got=Described(f"{data[place]} at column {matrix.indices[place]}"), column=name, row=row
        )
    return Bag(matrix.indptr, matrix.indices, data, range(matrix.shape[1]))
