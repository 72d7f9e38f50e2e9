"""Exact sums per block of columns and class: no priors, no smoothing, no logarithms of probabilities.

`Exact` (`exact.py`) keeps all of them without rounding. Counts end at 2**63 with an error; fractional amounts and
weights turn a table into wide digits, never into floats.

The native loop (`native/sums/`) adds the bit patterns of x + M as integers, M = 1.5 * 2**m: the sum of a double and
such a constant holds x rounded to a multiple of ulp(M) in its low bits, so integer addition sums it without error. Two
such cuts take 103 bits below the column's largest value; the rest is checked to be zero, and the rare value for which
it is not takes a slower path. x*x is first split into p = x*x and e = fma(x, x, -p).
"""

from tallybayes.tally.cell_pair_counts import CellPairCounts
from tallybayes.tally.class_sums import Sums
from tallybayes.tally.combination_counts import CombinationCounts
from tallybayes.tally.counts import Counts
from tallybayes.tally.declared_tokens import DeclaredTokens
from tallybayes.tally.exact import Exact
from tallybayes.tally.histogram_grid import Grid
from tallybayes.tally.tally import Tally
from tallybayes.tally.token_tally import TokenTally
from tallybayes.tally.vector_sums import VectorSums
from tallybayes.tally.vocabulary import Vocabulary

__all__ = [
    "CellPairCounts",
    "CombinationCounts",
    "Counts",
    "DeclaredTokens",
    "Exact",
    "Grid",
    "Sums",
    "Tally",
    "TokenTally",
    "VectorSums",
    "Vocabulary",
]
