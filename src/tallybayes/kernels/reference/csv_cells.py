"""Cells as lines of text."""

import itertools

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Floats, Integers
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
