"""A model made better: smoothing, families, columns and weights chosen by rows left out."""

from tallybayes.tuning.course import tune
from tallybayes.tuning.result import Step, Tuning
from tallybayes.tuning.worth import Ranking, Worth, rank

__all__ = ["Ranking", "Step", "Tuning", "Worth", "rank", "tune"]
