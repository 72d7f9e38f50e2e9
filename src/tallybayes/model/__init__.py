"""`Model`, a facade over snapshots of its state; `fit`, changes, given probabilities and saved models."""

from tallybayes.model.model import Change, Model

__all__ = ["Change", "Model"]
