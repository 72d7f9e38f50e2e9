"""`Model`, a facade over snapshots of its state; `fit`, changes, given probabilities and saved models."""

from tallybayes.model.fit import fit
from tallybayes.model.from_probabilities import from_probabilities
from tallybayes.model.model import Change, Model

__all__ = ["Change", "Model", "fit", "from_probabilities"]
