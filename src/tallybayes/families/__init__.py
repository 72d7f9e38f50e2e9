"""How columns are counted and what the counts predict: one file per family, the same names in each.

The head of each file has the formulas of its family. Smoothing "auto" is explained in `shrinkage.py` (bags select
Laplace's k by evidence instead); k = 0, or `estimate="mle"`, is maximum likelihood, which has probabilities of zero.
Each family overrides the definition of leave-one-out scores (`leave_one_out_scores.py`) with a closed form, and
`tallybayes.testing` compares the two.
"""

from tallybayes.families.bernoulli import Bernoulli
from tallybayes.families.categorical import Categorical
from tallybayes.families.family import Family, Predictive, Smoothing
from tallybayes.families.gaussian import Gaussian
from tallybayes.families.histogram import Histogram
from tallybayes.families.interaction import Interaction
from tallybayes.families.multinomial import Multinomial
from tallybayes.families.one_dependence import OneDependence
from tallybayes.families.ordinal import Ordinal
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
    "Interaction",
    "Multinomial",
    "OneDependence",
    "Ordinal",
    "Poisson",
    "Predictive",
    "Smoothing",
    "Tags",
    "Text",
    "parse",
    "register_family",
]
