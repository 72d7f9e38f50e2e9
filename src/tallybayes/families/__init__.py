"""How columns are counted and what the counts predict: one file per family, the same names in each.

The head of each file has the formulas of its family. Smoothing "auto" is explained in `shrinkage.py` (bags select
Laplace's k by evidence instead); k = 0, or `estimate="mle"`, is maximum likelihood, which has probabilities of zero.
Each family overrides the definition of leave-one-out scores (`leave_one_out_scores.py`) with a closed form, and
`tallybayes.testing` compares the two.
"""

from tallybayes.families.discrete.bernoulli import Bernoulli
from tallybayes.families.discrete.categorical import Categorical
from tallybayes.families.discrete.ordinal import Ordinal
from tallybayes.families.family import Family, Predictive, Smoothing
from tallybayes.families.numbers.gaussian import Gaussian
from tallybayes.families.numbers.histogram import Histogram
from tallybayes.families.numbers.poisson import Poisson
from tallybayes.families.registry import FAMILIES, parse, register_family
from tallybayes.families.together.full_joint import FullJoint
from tallybayes.families.together.interaction import Interaction
from tallybayes.families.together.joint_gaussian import JointGaussian
from tallybayes.families.together.one_dependence import OneDependence
from tallybayes.families.tokens.multinomial import Multinomial
from tallybayes.families.tokens.tags import Tags
from tallybayes.families.tokens.text import Text

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Categorical",
    "Family",
    "FullJoint",
    "Gaussian",
    "Histogram",
    "Interaction",
    "JointGaussian",
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
