"""Bags scored by their tokens, and where asked for by the tokens that they lack.

With one Bernoulli per token, a bag that holds nothing has the score `log_none`, and each token it holds adds log yes -
log no. Without smoothing a token may be certain in a class: there log no is minus infinity, which cannot be taken away
again, so such tokens are left out of the sum and counted instead; a bag that lacks one is ruled out.
"""

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
    """What tokens say that are not there."""

    log_none: Floats  # (classes,): the log probability that no token is there, but for those that are certain
    n_certain: Floats  # (classes,): how many tokens every bag of a class has had
    certain: Floats | None  # (tokens, classes): 1 where a token is one of them; None if there are none


def score_bags(bag: Bag, indices: Any, amounts: Any, table: Floats, absence: Absence | None = None) -> Score:
    """Adds amount * table[token] for every token of a bag (None: one each), and what absence says.

    `indices` are the tokens of the bags, in the numbers of the table.
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
