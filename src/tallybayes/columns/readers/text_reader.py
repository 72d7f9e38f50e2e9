"""Columns of text as bags of tokens, tokenised in threads.

The tokeniser works on bytes in Arrow's layout (`kernels/reference/tokeniser.py` defines a token), so that nothing is
copied and any bytes are accepted. Every thread numbers the tokens of its part; the parts are then merged, so that each
token has the number that a single thread would have given it. Where a vocabulary is known, as in scoring, its numbers
are looked up and other tokens are skipped.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.chunks import in_threads, n_threads
from tallybayes.arrays.column import Bag
from tallybayes.arrays.token_rules import Tokeniser, pack_strings
from tallybayes.cells.arrow import combine_chunks, is_text_type, text_buffers, valid_rows
from tallybayes.columns.readers.bag_reader import missing_bags
from tallybayes.columns.readers.reader import Purpose, ReadContext, Reader, check_column
from tallybayes.errors import DataError
from tallybayes.tables.raw_values import is_missing
from tallybayes.tables.table import Raw

__all__ = ["TextReader", "to_documents"]

_SMALL = 2**16  # bytes below which a thread does not pay

_BYTES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
_PLAIN = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)

Bytes = tuple[NDArray[np.integer], NDArray[np.uint8], NDArray[np.bool_] | None]


@dataclass(frozen=True)
class TextReader(Reader):
    """Texts as bags of their tokens, cut by the tokeniser of the family."""

    kind = "text"
    column = Bag

    def encode(self, inputs: Mapping[Any, Any], context: ReadContext) -> Bag:
        """Check and tokenise texts."""
        if (raw := inputs.get(context.name)) is None:
            return missing_bags(context.n_rows)
        family, lexicon = context.family, context.lexicon
        assert family is not None
        tokeniser = family.scoring_tokeniser if context.purpose is Purpose.SCORE else family.tokeniser
        assert tokeniser is not None
        return check_column(lambda n, r: to_documents(n, r, tokeniser, lexicon), context.name, raw, "texts")


def to_documents(name: str, raw: Raw, tokeniser: Tokeniser, known: Any = None) -> Bag:
    """The tokens of every text and how often each occurs; `known` is a lexicon to look them up in.

    >>> from tallybayes.families import Text
    >>> bag = to_documents("mail", ["Cash! cash!", None, "Lunch?"], Text(ngrams=1))
    >>> bag.indptr.tolist(), bag.indices.tolist(), bag.amounts.tolist(), bag.present.tolist()
    ([0, 1, 1, 2], [0, 1], [2, 1], [True, False, True])
    """
    offsets, data, valid = _bytes(name, raw)
    ranges = _ranges(offsets)
    stop, rules = tokeniser.stop_words(), tokeniser.rules
    fixed = tokeniser.numbers() if tokeniser.buckets else tokeniser.only_tokens() if known is None else known

    def cut(i: int, _: int) -> tuple[Any, Any]:
        numbers = tokeniser.numbers() if fixed is None else fixed
        return numbers, numbers.tokenise(offsets, data, valid, *ranges[i], rules, stop, fixed is None)

    parts = in_threads(cut, len(ranges), size=1, small=0)
    numbers = parts[0][0]
    if len(parts) == 1:
        indptr, indices, amounts = parts[0][1]
        return Bag(indptr, indices, amounts, numbers, valid)
    number_of = [None if lexicon is numbers else numbers.add(*lexicon.packed()) for lexicon, _ in parts]
    n_before = np.cumsum([0, *(len(tokens) for _, (_, tokens, _) in parts)])
    indptr, indices = np.zeros(len(offsets), np.int64), np.empty(n_before[-1], np.int32)
    amounts = np.empty_like(indices)

    def place(i: int, _: int) -> None:
        ends, tokens, own_amounts = parts[i][1]
        here = slice(int(n_before[i]), int(n_before[i + 1]))
        indptr[ranges[i][0] + 1 : ranges[i][1] + 1] = ends[1:] + n_before[i]
        amounts[here] = own_amounts
        if (numbers_here := number_of[i]) is None:
            indices[here] = tokens
        else:
            np.take(numbers_here, tokens, out=indices[here], mode="clip")  # the mode that needs no copy

    in_threads(place, len(parts), size=1, small=0)
    return Bag(indptr, indices, amounts, numbers, valid)


def _ranges(offsets: NDArray[np.integer]) -> list[tuple[int, int]]:
    """Ranges of texts with about the same number of bytes, one for each thread."""
    n, size = len(offsets) - 1, int(offsets[-1]) - int(offsets[0])
    n_parts = max(1, min(n_threads(), size // _SMALL))
    cuts = np.searchsorted(offsets, [int(offsets[0]) + size * i // n_parts for i in range(1, n_parts)]).tolist()
    ends = [0, *cuts, n]
    return [(a, b) for a, b in itertools.pairwise(ends) if a < b] or [(0, n)]


def _bytes(name: str, raw: Raw) -> Bytes:
    """Where each text begins and ends, the bytes of all texts, and which are not missing (None: all)."""
    if isinstance(raw, np.ndarray):
        raw = raw.tolist()
    if not isinstance(raw, (pa.Array, pa.ChunkedArray)):
        return _from_list(name, list(raw))
    return text_buffers(_arrow(name, raw))


def _arrow(name: str, raw: Any) -> Any:
    """Texts as one Arrow array of strings or bytes."""
    if pa.types.is_dictionary(raw.type):
        parts = raw.chunks if isinstance(raw, pa.ChunkedArray) else [raw]
        raw = pa.chunked_array([part.dictionary_decode() for part in parts], raw.type.value_type)
    kind = raw.type
    if pa.types.is_null(kind):
        return pa.nulls(len(raw), pa.string())
    is_text = is_text_type(kind)
    if not is_text and not any(is_kind(kind) for is_kind in _BYTES):
        row = int(np.argmax(valid_rows(combine_chunks(raw))))
        raise _not_text(name, raw[row].as_py(), row)
    in_chunks = isinstance(raw, pa.ChunkedArray) and raw.num_chunks > 1
    if not any(is_kind(kind) for is_kind in _PLAIN) or (in_chunks and raw.nbytes >= 2**31):
        raw = raw.cast(pa.large_string() if is_text else pa.large_binary())
    if isinstance(raw, pa.ChunkedArray) and raw.num_chunks == 1:
        return raw.chunk(0)  # without a copy
    return combine_chunks(raw)


def _from_list(name: str, values: list[Any]) -> Bytes:
    packed_texts: Bytes | None = kernels.active.pack_texts(values)
    if packed_texts is not None:
        return packed_texts
    parts = [_encode(name, value, row) for row, value in enumerate(values)]  # NaN, half of a surrogate pair
    data, offsets = pack_strings(part or b"" for part in parts)
    return offsets, data, np.array([part is not None for part in parts], bool)


def _encode(name: str, value: Any, row: int) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if is_missing(value):
        return None
    raise _not_text(name, value, row)


def _not_text(name: str, value: Any, row: int) -> DataError:
    hint = "the families multinomial and tags take lists" if isinstance(value, (list, tuple, dict)) else None
    return DataError("a text", got=value, column=name, row=row, hint=hint)
