"""Hyperparameters selected by leave-one-out, and the importance of columns."""

from tallybayes.tuning.importance import ColumnImportance, Importance, importance
from tallybayes.tuning.tune import tune
from tallybayes.tuning.tuning_result import Step, Tuning

__all__ = ["ColumnImportance", "Importance", "Step", "Tuning", "importance", "tune"]
