"""Cells of text as bytes with offsets: how they are written, what they may be, and which words they have."""

import itertools

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Booleans, Floats, Integers, Integers32
from tallybayes.errors import DataError
from tallybayes.kernels.contract import checked

Bytes = NDArray[np.uint8]

_DIGITS = 10


@checked("values: rows | finite")
def probability_texts(values: Floats) -> tuple[Integers, Bytes]:
    """Probabilities with ten significant digits, and a point: where the text of each ends, and the bytes of all.

    >>> ends, data = probability_texts(np.array([0.5, 1.0, 2 / 3, 1e-5]))
    >>> data.tobytes(), ends.tolist()
    (b'0.51.00.66666666671e-05', [0, 3, 6, 18, 23])
    """
    texts = [f"{p:.{_DIGITS}g}" for p in values.tolist()]
    texts = [text if len(text) > 1 else f"{text}.0" for text in texts]
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return ends, np.frombuffer("".join(texts).encode(), np.uint8)


@checked("data: bytes; offsets: cells+1 | ends bytes; n_columns: | at_least 1")
def join_cells(offsets: Integers, data: Bytes, n_columns: int, between: Bytes) -> Bytes:
    r"""The lines of a table whose cells come column by column, with a text between the cells of a line.

    Cell i has the bytes from offsets[i] to offsets[i + 1].

    >>> cells = np.frombuffer(b"appleplum37", np.uint8)
    >>> join_cells(np.array([0, 5, 9, 10, 11]), cells, 2, np.frombuffer(b", ", np.uint8)).tobytes()
    b'apple, 3\nplum, 7\n'
    """
    n_cells = len(offsets) - 1
    if n_cells % n_columns:
        raise DataError("as many cells in every column", got=n_cells)
    content, ends, gap = data.tobytes(), offsets.tolist(), between.tobytes()
    cells = [content[start:stop] for start, stop in itertools.pairwise(ends)]
    n_rows = n_cells // n_columns
    lines = [gap.join(cells[row::n_rows]) + b"\n" for row in range(n_rows)]
    return np.frombuffer(b"".join(lines), np.uint8)


@checked("data: bytes; first, last: 256; offsets: cells+1 | ends bytes")
def mark_cells(offsets: Integers, data: Bytes, first: Bytes, last: Bytes, longest: int) -> Bytes:
    """What the first and the last byte of each cell, and its length, say about it, (cells,).

    first, last: of every byte, 1 if white space may begin (end) with it, 2 if a word may, 3 if both. A cell has mark 1
    if either end may be white space, 2 if it may be a word of at most `longest` bytes, 3 if both. An empty cell has 2.

    >>> first, last = np.zeros(256, np.uint8), np.zeros(256, np.uint8)
    >>> first[[*b" n"]], last[[*b" a"]] = [1, 2], [1, 2]
    >>> cells = np.frombuffer(b"na no n a", np.uint8)
    >>> mark_cells(np.array([0, 2, 5, 6, 6, 9]), cells, first, last, 2).tolist()
    [2, 1, 1, 2, 0]
    """
    marks = np.full(len(offsets) - 1, 2, np.uint8)
    filled = np.flatnonzero(offsets[1:] > offsets[:-1])
    starts, ends = offsets[:-1][filled], offsets[1:][filled]
    start, end = first[data[starts]], last[data[ends - 1]]
    marks[filled] = ((start | end) & 1) | np.where(ends - starts <= longest, start & end & 2, 0)
    return marks


@checked("data: bytes; offsets: rows+1 | ends bytes; valid: rows")
def number_words(offsets: Integers32, data: NDArray[np.uint8], valid: Booleans | None) -> tuple[Integers32, Integers]:
    """Words numbered by first occurrence, and the row of each first occurrence.

    Row i has the bytes from offsets[i] to offsets[i + 1]; a row that is not valid has the number -1.

    >>> number_words(np.array([0, 1, 2, 4], np.int32), np.frombuffer(b"abab", np.uint8), None)
    (array([0, 1, 2], dtype=int32), array([0, 1, 2]))
    """
    content, numbers = data.tobytes(), dict[bytes, int]()
    first: list[int] = []
    codes = np.full(len(offsets) - 1, -1, np.int32)
    for row, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        if valid is None or valid[row]:
            word = content[start:stop]
            if word not in numbers:
                first.append(row)
            codes[row] = numbers.setdefault(word, len(numbers))
    return codes, np.array(first, np.int64)
