"""tallybayes: naive Bayes by exact counting.

>>> import tallybayes as tb
>>> model = tb.fit({"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}, label="ill")
>>> model.classes, model.predict({"fever": 1}).tolist()
(['no', 'yes'], ['yes'])
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tallybayes import errors, kernels, testing
    from tallybayes.families import (
        Bernoulli,
        Categorical,
        Family,
        Gaussian,
        Histogram,
        Multinomial,
        Poisson,
        Tags,
        register,
    )
    from tallybayes.model import Change, Model, fit, from_probabilities
    from tallybayes.model.scorer import RuledOutWarning

__version__ = "0.1.0"

_HOME = {
    "fit": "model",
    "from_probabilities": "model",
    "Model": "model",
    "Change": "model",
    "RuledOutWarning": "model.scorer",
    "Family": "families",
    "Bernoulli": "families",
    "Categorical": "families",
    "Gaussian": "families",
    "Histogram": "families",
    "Multinomial": "families",
    "Poisson": "families",
    "Tags": "families",
    "register": "families",
}
_MODULES = ("errors", "kernels", "testing")

__all__ = [
    "Bernoulli",
    "Categorical",
    "Change",
    "Family",
    "Gaussian",
    "Histogram",
    "Model",
    "Multinomial",
    "Poisson",
    "RuledOutWarning",
    "Tags",
    "errors",
    "fit",
    "from_probabilities",
    "kernels",
    "register",
    "testing",
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
