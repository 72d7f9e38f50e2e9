"""Exact sums per block of columns and class: no priors, no smoothing, no logarithms of probabilities.

A double is an integer times a power of two, and so is every sum and product of doubles. `Exact` keeps such numbers as
digits in base 2**32 with a common lowest place; a table of integers that fit into 64 bits is the case of one digit and
costs what an int64 array costs. Counts end at 2**63 with an error. Fractional amounts and weights turn a table into
wide digits, never into floats.

The native loop (`native/sums.cpp`) adds the bit patterns of x + M as integers, M = 1.5 * 2**m: the sum of a double and
such a constant holds x rounded to a multiple of ulp(M) in its low bits, so integer addition sums it without error. Two
such cuts take 103 bits below the column's largest value; the rest is checked to be zero, and the rare value for which
it is not takes a slower path. x*x is first split into p = x*x and e = fma(x, x, -p). Mean and variance are quotients of
exact integers, correctly rounded; a mean is kept as two doubles, because at an offset of 1e15 one is off by 0.06.

A tally changes in two steps, `prepare` and commit, so that a change of several blocks happens completely or not at all.
"""

from tallybayes.tally.class_sums import Sums
from tallybayes.tally.counts import Counts
from tallybayes.tally.exact import Exact
from tallybayes.tally.grid import Grid
from tallybayes.tally.tally import Tally
from tallybayes.tally.token_tally import TokenTally
from tallybayes.tally.vocabulary import Vocabulary

__all__ = ["Counts", "Exact", "Grid", "Sums", "Tally", "TokenTally", "Vocabulary"]
