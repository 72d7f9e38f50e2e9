"""How good a model is: on rows it has not seen, by cross-validation, as a stream goes by, against another kind."""

from tallybayes.evaluation.comparison import Comparison
from tallybayes.evaluation.folds import cross_validate
from tallybayes.evaluation.judge import evaluate
from tallybayes.evaluation.learning import compare
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.evaluation.scores import Scores
from tallybayes.evaluation.stream import Prequential, prequential

__all__ = ["Comparison", "Evaluation", "Prequential", "Scores", "compare", "cross_validate", "evaluate", "prequential"]
