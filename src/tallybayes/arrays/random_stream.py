"""Random numbers by which rows are drawn.

Rows are often made, or shuffled, with `default_rng(seed)` and a small seed. If they were drawn with the same numbers,
which rows are drawn would depend on what is in them. So every purpose has a stream of its own.
"""

from __future__ import annotations

import zlib

import numpy as np

__all__ = ["row_stream"]


def row_stream(seed: int, purpose: str) -> np.random.Generator:
    """The random numbers of a seed for a purpose; no other purpose, and no `default_rng(seed)`, has the same.

    >>> row_stream(0, "split").random() == np.random.default_rng(0).random()
    False
    """
    return np.random.default_rng([seed, zlib.crc32(purpose.encode())])  # a last 0 would change nothing
