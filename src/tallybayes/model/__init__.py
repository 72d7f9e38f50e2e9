"""Fit, learn, forget, merge, score: a model is a schema and a sum."""

from tallybayes.model.fit import fit
from tallybayes.model.from_probabilities import from_probabilities
from tallybayes.model.model import Change, Model

__all__ = ["Change", "Model", "fit", "from_probabilities"]
