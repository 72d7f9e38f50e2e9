"""Hyperparameters selected by leave-one-out, and the importance of columns.

Tuning is adding arrays. The contribution of each column to a sample of rows, each row left out of the sums, is an array
(`column_evidence.py`); a column under another family or k is another array. Each step evaluates candidates and keeps
the best one if it is better by more than its standard error. The last step fits a weight for each column by L-BFGS,
shrunk to one temperature, and whether that helps is evaluated on held-out rows.
"""

from tallybayes.tuning.importance import ColumnImportance, Importance, importance
from tallybayes.tuning.tune import tune
from tallybayes.tuning.tuning_result import Step, Tuning

__all__ = ["ColumnImportance", "Importance", "Step", "Tuning", "importance", "tune"]
