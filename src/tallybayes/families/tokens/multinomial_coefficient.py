"""The multinomial coefficient: in how many orders the tokens of a bag can come.

    log n! - sum over tokens of log x!       x: how often the bag has a token, n: the sum of all x

The product of token probabilities is that of one order; multiplied by the coefficient it is the probability of the bag
under the multinomial distribution of bags of n tokens. It is the same for all classes.
"""

from __future__ import annotations

import numpy as np

from tallybayes.arrays.array_types import Floats, Indices
from tallybayes.errors import DataError
from tallybayes.families.shrinkage import log_gamma

__all__ = ["multinomial_coefficient"]


def multinomial_coefficient(name: str, ends: Indices, tokens: Indices, amounts: Floats) -> Floats:
    """Log n! minus the sum of log x! over the tokens of each bag, (bags,); amounts that are not whole have none.

    >>> ends, tokens = np.array([0, 2, 2]), np.array([0, 1])
    >>> np.exp(multinomial_coefficient("mail", ends, tokens, np.array([2.0, 1.0]))).round(9).tolist()
    [3.0, 1.0]
    """
    row = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    if len(parts := np.flatnonzero((amounts != np.floor(amounts)) | (amounts < 0))):
        hint = "without the coefficient, amounts may be any numbers; of a text, tf=count has whole amounts"
        got, at = float(amounts[parts[0]]), int(row[parts[0]])
        raise DataError("whole amounts, for a multinomial coefficient", got=got, column=name, row=at, hint=hint)
    places, group = np.unique(row * (int(tokens.max(initial=0)) + 1) + tokens, return_inverse=True)
    times = np.bincount(group, amounts, len(places))
    bag = places // (int(tokens.max(initial=0)) + 1)
    n_rows = len(ends) - 1
    sizes = np.bincount(row, amounts, n_rows)
    return np.asarray(log_gamma(sizes + 1) - np.bincount(bag, log_gamma(times + 1), n_rows))
