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
    from tallybayes.evaluation import (
        Comparison,
        Evaluation,
        Prequential,
        compare,
        cross_validate,
        evaluate,
        prequential,
    )
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
        register,
    )
    from tallybayes.model import Change, Model, fit, from_probabilities
    from tallybayes.model.calibration import Calibration
    from tallybayes.model.decision import Decision
    from tallybayes.model.scorer import RuledOutWarning
    from tallybayes.model.store import editing, load
    from tallybayes.model.trust import Trust
    from tallybayes.tuning import Ranking, Tuning, rank, tune

_HOME = {
    "fit": "model",
    "from_probabilities": "model",
    "Model": "model",
    "Change": "model",
    "RuledOutWarning": "model.scorer",
    "editing": "model.store",
    "load": "model.store",
    "Calibration": "model.calibration",
    "Decision": "model.decision",
    "Trust": "model.trust",
    "tune": "tuning",
    "Tuning": "tuning",
    "rank": "tuning",
    "Ranking": "tuning",
    "read": "data.files",
    "Schema": "data.schema",
    "NaiveBayesClassifier": "estimator",
    "evaluate": "evaluation",
    "Evaluation": "evaluation",
    "cross_validate": "evaluation",
    "prequential": "evaluation",
    "Prequential": "evaluation",
    "compare": "evaluation",
    "Comparison": "evaluation",
    "Family": "families",
    "Bernoulli": "families",
    "Categorical": "families",
    "Gaussian": "families",
    "Histogram": "families",
    "Multinomial": "families",
    "Poisson": "families",
    "Tags": "families",
    "Text": "families",
    "register": "families",
}
_MODULES = ("dropin", "errors", "kernels", "plot", "testing")

__all__ = [
    "Bernoulli",
    "Calibration",
    "Categorical",
    "Change",
    "Comparison",
    "Decision",
    "Evaluation",
    "Family",
    "Gaussian",
    "Histogram",
    "Model",
    "Multinomial",
    "NaiveBayesClassifier",
    "Poisson",
    "Prequential",
    "Ranking",
    "RuledOutWarning",
    "Schema",
    "Tags",
    "Text",
    "Trust",
    "Tuning",
    "compare",
    "cross_validate",
    "dropin",
    "editing",
    "errors",
    "evaluate",
    "fit",
    "from_probabilities",
    "kernels",
    "load",
    "plot",
    "prequential",
    "rank",
    "read",
    "register",
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
