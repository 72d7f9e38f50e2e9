"""A model made better: smoothing, families, columns and weights chosen by rows left out."""

from tallybayes.tuning.importance import ColumnImportance, Importance, importance
from tallybayes.tuning.tune import tune
from tallybayes.tuning.tuning_result import Step, Tuning

__all__ = ["ColumnImportance", "Importance", "Step", "Tuning", "importance", "tune"]
