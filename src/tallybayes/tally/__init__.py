"""Sums and nothing else: no priors, no smoothing, no logarithms."""

from tallybayes.tally.bags import Bags
from tallybayes.tally.class_sums import Sums
from tallybayes.tally.counts import Counts
from tallybayes.tally.documents import Documents
from tallybayes.tally.exact import Exact
from tallybayes.tally.grid import Grid
from tallybayes.tally.tally import Tally
from tallybayes.tally.vocabulary import Vocabulary

__all__ = ["Bags", "Counts", "Documents", "Exact", "Grid", "Sums", "Tally", "Vocabulary"]
