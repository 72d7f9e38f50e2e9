"""How columns are counted and what the counts predict: one file per family, the same names in each."""

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
