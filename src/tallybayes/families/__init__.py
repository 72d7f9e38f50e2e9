"""How columns are counted and what the counts predict: one file per family, the same names in each.

* Smoothing "auto" models P(class | value), shrunk to the class shares with the strength that maximises the evidence
  (`shrinkage.py`); an uninformative column is shrunk to no contribution. A number k is Laplace smoothing. Bags select
  their k by evidence.
* `histogram` averages P(class | bucket) over all partitions of at most 128 buckets by a forward-backward pass, fewer
  buckets above 64 classes, so that the work per column is bounded.
* `gaussian` is Student's t with a normal-inverse-gamma prior (kappa 3, nu 5) on the pooled data; every column is
  measured in a unit of its own, a power of two, so that 1e200 and 1e-310 do not overflow.
* `text` keeps one tally for all of its variants: occurrences, documents and scaled logarithms per token and class. The
  default variant is selected once, by leave-one-out log loss on a sample of documents.
* k = 0, or `estimate="mle"`, is maximum likelihood with honest zeros.

Leave-one-out: `leave_one_out_scores.py` has the definition (take the row out of its column's tally, derive, score, put
it back); each family overrides it with a closed form, and `tallybayes.testing` compares the two. Held fixed are the
axis, the grid with its buckets and class shares, and every strength selected by evidence; recomputed are counts, the
class prior and pooled means.
"""

from tallybayes.families.bernoulli import Bernoulli
from tallybayes.families.categorical import Categorical
from tallybayes.families.family import Family, Predictive, Smoothing
from tallybayes.families.gaussian import Gaussian
from tallybayes.families.histogram import Histogram
from tallybayes.families.multinomial import Multinomial
from tallybayes.families.poisson import Poisson
from tallybayes.families.registry import FAMILIES, parse, register_family
from tallybayes.families.tags import Tags
from tallybayes.families.text import Text

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Categorical",
    "Family",
    "Gaussian",
    "Histogram",
    "Multinomial",
    "Poisson",
    "Predictive",
    "Smoothing",
    "Tags",
    "Text",
    "parse",
    "register_family",
]
