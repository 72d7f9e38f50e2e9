"""A model made better: smoothing, families, columns and weights chosen by rows left out."""

from tallybayes.tuning.result import Step, Tuning
from tallybayes.tuning.tune import tune

__all__ = ["Step", "Tuning", "tune"]
