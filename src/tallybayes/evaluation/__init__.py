"""Evaluation of models: on new data, by cross-validation, prequentially, and against baselines."""

from tallybayes.evaluation.cross_validation import cross_validate
from tallybayes.evaluation.evaluate import evaluate
from tallybayes.evaluation.learning_curve import Comparison, compare
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.evaluation.prequential import Prequential, prequential
from tallybayes.evaluation.row_split import split
from tallybayes.evaluation.scores import Scores

__all__ = [
    "Comparison",
    "Evaluation",
    "Prequential",
    "Scores",
    "compare",
    "cross_validate",
    "evaluate",
    "prequential",
    "split",
]
