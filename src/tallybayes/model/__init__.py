"""Fit, learn, forget, merge, score: a model is a schema and a sum."""

from tallybayes.model.fitting import fit
from tallybayes.model.model import Change, Model
from tallybayes.model.written import from_probabilities

__all__ = ["Change", "Model", "fit", "from_probabilities"]
