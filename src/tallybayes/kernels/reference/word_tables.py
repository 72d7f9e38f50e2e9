"""The different words of a column of text."""

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Booleans, Integers, Integers32
from tallybayes.kernels.contract import checked


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
