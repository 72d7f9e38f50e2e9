"""Bags scored by a table of weights: for each token its amount times its weight, and what absent tokens contribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.column import Bag
from tallybayes.families.family import Floats, Score

__all__ = ["Absence", "score_bags"]


@dataclass(frozen=True, eq=False)
class Absence:
    """What absent tokens contribute to the scores."""

    log_none: Floats  # (classes,): the log probability of an empty bag, without tokens of probability 1
    n_certain: Floats  # (classes,): how many tokens have probability 1
    certain: Floats | None  # (tokens, classes): 1 where a token is one of these; None if there are none


def score_bags(bag: Bag, indices: Any, amounts: Any, table: Floats, absence: Absence | None = None) -> Score:
    """Add amount * table[token] for every token of a bag (None: one each), and the contribution of absent tokens.

    `indices` are the rows of the table for the tokens of the bags.
    """

    def score(out: Floats, start: int, stop: int) -> None:
        here = None if bag.present is None else bag.present[start:stop]
        if absence is not None:
            out[start:stop][slice(None) if here is None else here] += absence.log_none
        kernels.active.add_bags(bag.indptr, indices, amounts, table, out, start, stop)
        if absence is not None and absence.certain is not None:
            hits = np.zeros((stop - start, out.shape[1]))
            ends, ones = bag.indptr[start : stop + 1], None if amounts is None else (amounts != 0).astype(np.float64)
            kernels.active.add_bags(ends, indices, ones, absence.certain, hits, 0, stop - start)
            lacking = hits < absence.n_certain
            out[start:stop][lacking if here is None else lacking & here[:, None]] = -np.inf

    return score
