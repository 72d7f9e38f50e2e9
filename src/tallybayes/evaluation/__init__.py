"""How good a model is: on rows it has not seen, or by cross-validation."""

from tallybayes.evaluation.judge import cross_validate, evaluate
from tallybayes.evaluation.metrics import Evaluation

__all__ = ["Evaluation", "cross_validate", "evaluate"]
