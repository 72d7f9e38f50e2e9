"""tallybayes: naive Bayes by exact counting.

>>> import tallybayes as tb
>>> model = tb.fit({"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}, label="ill")
>>> model.classes, model.predict({"fever": 1}).tolist()
(['no', 'yes'], ['yes'])
"""

import importlib
from typing import TYPE_CHECKING, Any

from tallybayes.version import __version__ as __version__

if TYPE_CHECKING:
    from tallybayes import dropin, errors, kernels, testing
    from tallybayes.data.files import read
    from tallybayes.data.schema import Schema
    from tallybayes.estimator import NaiveBayesClassifier
    from tallybayes.evaluation.comparison import Comparison
    from tallybayes.evaluation.cross_validation import cross_validate
    from tallybayes.evaluation.evaluate import evaluate
    from tallybayes.evaluation.learning_curve import compare
    from tallybayes.evaluation.metrics import Evaluation
    from tallybayes.evaluation.prequential import Prequential, prequential
    from tallybayes.families import (
        Bernoulli,
        Categorical,
        Family,
        Gaussian,
        Histogram,
        Multinomial,
        Poisson,
        Tags,
        Text,
        register_family,
    )
    from tallybayes.model.fit import fit
    from tallybayes.model.from_probabilities import from_probabilities
    from tallybayes.model.model import Change, Model
    from tallybayes.model.saved_model import edit_model_file, load
    from tallybayes.reporting.report import report
    from tallybayes.scoring.posterior import RuledOutWarning
    from tallybayes.state.calibration import Calibration
    from tallybayes.state.column_weights import ColumnWeights
    from tallybayes.state.decision import Decision
    from tallybayes.tuning.importance import Importance, importance
    from tallybayes.tuning.tune import tune
    from tallybayes.tuning.tuning_result import Tuning

_HOME = {
    "fit": "model.fit",
    "from_probabilities": "model.from_probabilities",
    "Model": "model.model",
    "Change": "model.model",
    "RuledOutWarning": "scoring.posterior",
    "edit_model_file": "model.saved_model",
    "load": "model.saved_model",
    "Calibration": "state.calibration",
    "Decision": "state.decision",
    "ColumnWeights": "state.column_weights",
    "tune": "tuning.tune",
    "Tuning": "tuning.tuning_result",
    "importance": "tuning.importance",
    "report": "reporting.report",
    "Importance": "tuning.importance",
    "read": "data.files",
    "Schema": "data.schema",
    "NaiveBayesClassifier": "estimator",
    "evaluate": "evaluation.evaluate",
    "Evaluation": "evaluation.metrics",
    "cross_validate": "evaluation.cross_validation",
    "prequential": "evaluation.prequential",
    "Prequential": "evaluation.prequential",
    "compare": "evaluation.learning_curve",
    "Comparison": "evaluation.comparison",
    "Family": "families",
    "Bernoulli": "families",
    "Categorical": "families",
    "Gaussian": "families",
    "Histogram": "families",
    "Multinomial": "families",
    "Poisson": "families",
    "Tags": "families",
    "Text": "families",
    "register_family": "families",
}
_MODULES = ("dropin", "errors", "kernels", "plot", "testing")

__all__ = [
    "Bernoulli",
    "Calibration",
    "Categorical",
    "Change",
    "ColumnWeights",
    "Comparison",
    "Decision",
    "Evaluation",
    "Family",
    "Gaussian",
    "Histogram",
    "Importance",
    "Model",
    "Multinomial",
    "NaiveBayesClassifier",
    "Poisson",
    "Prequential",
    "RuledOutWarning",
    "Schema",
    "Tags",
    "Text",
    "Tuning",
    "compare",
    "cross_validate",
    "dropin",
    "edit_model_file",
    "errors",
    "evaluate",
    "fit",
    "from_probabilities",
    "importance",
    "kernels",
    "load",
    "plot",
    "prequential",
    "read",
    "register_family",
    "report",
    "testing",
    "tune",
]


def __getattr__(name: str) -> Any:
    """Public names are imported when first used, so that `import tallybayes` is light."""
    if name in _HOME:
        return getattr(importlib.import_module(f"tallybayes.{_HOME[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"tallybayes.{name}")
    raise AttributeError(f"module 'tallybayes' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
