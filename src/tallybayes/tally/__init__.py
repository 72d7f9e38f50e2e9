"""Sums and nothing else: no priors, no smoothing, no logarithms."""

from tallybayes.tally.bags import Bags
from tallybayes.tally.base import Tally
from tallybayes.tally.counts import Counts
from tallybayes.tally.exact import Exact
from tallybayes.tally.grid import Grid
from tallybayes.tally.sums import Sums

__all__ = ["Bags", "Counts", "Exact", "Grid", "Sums", "Tally"]
